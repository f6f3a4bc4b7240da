// The invariants of engine_internal.h, verified one by one. Those of the first group hold
// always, the others on a clean engine. Allocates only two class data.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "egraph/engine_internal.h"

#define VIOLATED(...)                                                                    \
  EG_FAIL(EGRAPH_E_INTERNAL, "e-graph invariant violated: " __VA_ARGS__)

// ---- always ---------------------------------------------------------------------------

static egraph_status check_sizes(const eg_engine *engine) {
  size_t ids = engine->nodes.len;
  if (engine->up.len != ids || engine->flags.len != ids || engine->classes.len != ids)
    return VIOLATED("%zu nodes, %zu union-find entries, %zu flags, %zu classes", ids,
                    engine->up.len, engine->flags.len, engine->classes.len);
  if (engine->links.len != engine->slots.len)
    return VIOLATED("%zu child slots but %zu links", engine->slots.len,
                    engine->links.len);
  for (size_t i = 0; i < ids; i++) {
    uint32_t first = engine->nodes.data[i].first;
    size_t end = i + 1 < ids ? engine->nodes.data[i + 1].first : engine->slots.len;
    if (first > end || end > engine->slots.len)
      return VIOLATED("node %zu has children %u to %zu of %zu", i, first, end,
                      engine->slots.len);
    if (engine->nodes.data[i].op >= engine->ops.len)
      return VIOLATED("node %zu has operator %u of %zu", i, engine->nodes.data[i].op,
                      engine->ops.len);
  }
  for (size_t i = 0; i < engine->slots.len; i++)
    if (engine->slots.data[i].id >= ids)
      return VIOLATED("child slot %zu names class %u of %zu", i, engine->slots.data[i].id,
                      ids);
  return EGRAPH_OK;
}

static egraph_status check_union_find(const eg_engine *engine) {
  uint32_t roots = 0;
  for (uint32_t i = 0; i < engine->up.len; i++) {
    uint32_t id = i, steps = 0;
    for (; engine->up.data[id] != id; id = engine->up.data[id])
      // Union by weight: a path is at most as long as an id has bits.
      if (engine->up.data[id] >= engine->up.len || ++steps > 64)
        return VIOLATED("the union-find path of class %u leads nowhere", i);
    roots += id == i;
  }
  if (roots != engine->class_count)
    return VIOLATED("%u roots but %u classes counted", roots, engine->class_count);
  return EGRAPH_OK;
}

static egraph_status check_table(const eg_engine *engine) {
  uint32_t live = 0;
  for (uint32_t node = 0; node < engine->nodes.len; node++) {
    if (eg_engine_is_dead(engine, node)) continue;
    live++;
    eg_term term = eg_engine_stored(engine, node);
    uint32_t tag = (uint32_t)(eg_engine_hash_stored(&term) >> 32), mask;
    if (engine->table.capacity == 0) return VIOLATED("the hash-cons has no slots");
    mask = engine->table.capacity - 1;
    uint32_t i = tag & mask;
    while (engine->table.slots[i].id_plus_one != node + 1) {
      if (engine->table.slots[i].id_plus_one == 0)
        return VIOLATED("live node %u is not in the hash-cons under its key", node);
      i = (i + 1) & mask;
    }
  }
  if (live != engine->table.len)
    return VIOLATED("%u live nodes but %u in the hash-cons", live, engine->table.len);
  return EGRAPH_OK;
}

// ---- clean engines --------------------------------------------------------------------

/// Each live node has canonical children and is found as itself, so no two are congruent.
static egraph_status check_congruence(const eg_engine *engine) {
  for (uint32_t node = 0; node < engine->nodes.len; node++) {
    if (eg_engine_is_dead(engine, node)) continue;
    eg_term term = eg_engine_stored(engine, node);
    for (uint32_t i = 0; i < term.arity; i++)
      if (engine->up.data[term.children[i].id] != term.children[i].id)
        return VIOLATED("child %u of node %u is class %u, which is not canonical", i,
                        node, term.children[i].id);
    uint32_t found = EG_NONE;
    if (!eg_engine_find_node(engine, &term, eg_engine_hash_stored(&term), &found) ||
        found != node)
      return VIOLATED("node %u is found as %u: two congruent nodes live", node, found);
  }
  return EGRAPH_OK;
}

static egraph_status check_members(const eg_engine *engine) {
  uint64_t total = 0;
  for (uint32_t root = 0; root < engine->up.len; root++) {
    if (engine->up.data[root] != root) continue;
    uint32_t count;
    const uint32_t *members = eg_members_of(engine, root, &count);
    if (count == 0) return VIOLATED("class %u has no node", root);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t node = members[i];
      if (node >= engine->nodes.len || eg_engine_is_dead(engine, node))
        return VIOLATED("class %u lists node %u, which does not live", root, node);
      if (eg_engine_root(engine, node) != root)
        return VIOLATED("class %u lists node %u of class %u", root, node,
                        eg_engine_root(engine, node));
      if (i != 0 && members[i - 1] >= node)
        return VIOLATED("class %u lists node %u after %u", root, node, members[i - 1]);
    }
    total += count;
  }
  if (total != engine->table.len)
    return VIOLATED("classes list %u nodes, but %u live", (unsigned)total,
                    engine->table.len);
  return EGRAPH_OK;
}

static egraph_status check_ops(const eg_engine *engine) {
  uint64_t total = 0;
  for (uint32_t op = 0; op < engine->ops.len; op++) {
    const eg_u32s *nodes = &engine->ops.data[op].nodes;
    for (size_t i = 0; i < nodes->len; i++) {
      uint32_t node = nodes->data[i];
      if (node >= engine->nodes.len || eg_engine_is_dead(engine, node) ||
          engine->nodes.data[node].op != op)
        return VIOLATED("operator %u lists node %u, which is not a live one of it", op,
                        node);
      if (i != 0 && nodes->data[i - 1] >= node)
        return VIOLATED("operator %u lists node %u after %u", op, node,
                        nodes->data[i - 1]);
    }
    total += nodes->len;
  }
  if (total != engine->table.len)
    return VIOLATED("operators list %u nodes, but %u live", (unsigned)total,
                    engine->table.len);
  return EGRAPH_OK;
}

/// Each slot of a live node stands exactly once, in the list of its child: the lists are
/// disjoint by that, and complete by their number.
static egraph_status check_parents(const eg_engine *engine) {
  uint64_t listed = 0, living = 0, steps = 0;
  for (uint32_t root = 0; root < engine->up.len; root++) {
    if (engine->up.data[root] != root) continue;
    uint32_t length = 0, slot = engine->classes.data[root].parents;
    for (; slot != EG_NONE; slot = engine->links.data[slot].next) {
      if (slot >= engine->links.len || ++steps > engine->links.len)
        return VIOLATED("the parents list of class %u does not end", root);
      uint32_t node = engine->links.data[slot].node;
      length++;
      if (eg_engine_is_dead(engine, node)) continue;
      if (engine->slots.data[slot].id != root)
        return VIOLATED("class %u lists parent node %u, which has child %u", root, node,
                        engine->slots.data[slot].id);
      listed++;
    }
    if (length > engine->classes.data[root].parent_count)
      return VIOLATED("class %u lists %u parents but counts %u", root, length,
                      engine->classes.data[root].parent_count);
  }
  for (uint32_t node = 0; node < engine->nodes.len; node++)
    if (!eg_engine_is_dead(engine, node)) living += eg_engine_stored(engine, node).arity;
  if (listed != living)
    return VIOLATED("%u parents listed, but live nodes have %u children",
                    (unsigned)listed, (unsigned)living);
  return EGRAPH_OK;
}

/// The data of a class already contain those of each of its nodes.
static egraph_status check_node_data(const eg_engine *engine, uint32_t node,
                                     unsigned char *made, unsigned char *joined) {
  const eg_analysis *analysis = &engine->analysis;
  eg_term term = eg_engine_stored(engine, node);
  bool changed = false;
  memset(made, 0, analysis->data_size);
  EG_TRY(analysis->make(analysis->self, engine, &term, made));
  memcpy(joined, eg_engine_data(engine, (eg_class){node}), analysis->data_size);
  EG_TRY(analysis->join(analysis->self, joined, made, &changed));
  if (changed)
    return VIOLATED("the data of class %u lack those of its node %u",
                    eg_engine_root(engine, node), node);
  return EGRAPH_OK;
}

static egraph_status check_data(const eg_engine *engine) {
  size_t size = engine->analysis.data_size;
  if (size == 0) return EGRAPH_OK;
  unsigned char *scratch;
  EG_TRY(eg_alloc(engine->alloc, 2, size, &scratch));
  egraph_status status = EGRAPH_OK;
  for (uint32_t node = 0; node < engine->nodes.len && status == EGRAPH_OK; node++)
    if (!eg_engine_is_dead(engine, node))
      status = check_node_data(engine, node, scratch, scratch + size);
  eg_free(engine->alloc, scratch, 2, size);
  return status;
}

egraph_status eg_engine_check(const eg_engine *engine) {
  EG_TRY(check_sizes(engine));
  EG_TRY(check_union_find(engine));
  EG_TRY(check_table(engine));
  if (!eg_engine_is_clean(engine)) return EGRAPH_OK;
  EG_TRY(check_congruence(engine));
  EG_TRY(check_members(engine));
  EG_TRY(check_ops(engine));
  EG_TRY(check_parents(engine));
  return check_data(engine);
}
