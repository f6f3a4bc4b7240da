// Verifies the invariants of engine_internal.h one by one. The first group always holds,
// the second on a clean engine. Allocates only the data of two classes.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/owner.h"

#include "egraph/engine_internal.h"

#define VIOLATED(...)                                                                    \
  EG_FAIL(EGRAPH_E_INTERNAL, "e-graph invariant violated: " __VA_ARGS__)

// ---- always ---------------------------------------------------------------------------

/// Checks that the node pool is a row of complete nodes with existing children, whose
/// head words are marked.
static egraph_status check_pool(const eg_engine *engine) {
  const uint32_t *words = engine->nodes.data;
  size_t len = engine->nodes.len, child_words = 0;
  for (uint32_t node = 0; node < len; node = eg_engine_node_after(engine, node)) {
    if ((words[node] & EG_NODE_BIT) == 0 ||
        (words[node] & EG_HEAD_MASK) >= engine->heads.len)
      return VIOLATED("word %u is no head of a node", node);
    uint32_t arity = eg_engine_head(engine, node)->arity;
    if (len - node < eg_engine_node_words(engine, arity))
      return VIOLATED("node %u with %u children goes beyond the end", node, arity);
    if (words[node + EG_CLASS_WORD] >= engine->up.len)
      return VIOLATED("node %u is in class %u of %zu", node, words[node + EG_CLASS_WORD],
                      engine->up.len);
    for (uint32_t i = 0; i < arity; i++)
      if (eg_engine_children(engine, node)[i] >= engine->up.len)
        return VIOLATED("child %u of node %u is class %u of %zu", i, node,
                        eg_engine_children(engine, node)[i], engine->up.len);
    child_words += arity;
  }
  if (child_words != engine->child_words)
    return VIOLATED("nodes have %zu children, but %zu are counted", child_words,
                    engine->child_words);
  return EGRAPH_OK;
}

static egraph_status check_engine_sizes(const eg_engine *engine) {
  size_t classes = engine->up.len;
  if (engine->flags.len != classes || engine->classes.len != classes)
    return VIOLATED("%zu union-find entries, %zu flags, %zu classes", classes,
                    engine->flags.len, engine->classes.len);
  for (size_t i = 0; i < engine->heads.len; i++)
    if (engine->heads.data[i].op >= engine->ops.len)
      return VIOLATED("head %zu has operator %u of %zu", i, engine->heads.data[i].op,
                      engine->ops.len);
  return check_pool(engine);
}

static egraph_status check_union_find(const eg_engine *engine) {
  uint32_t roots = 0;
  for (uint32_t i = 0; i < engine->up.len; i++) {
    uint32_t id = i, steps = 0;
    for (; engine->up.data[id] != id; id = engine->up.data[id])
      if (engine->up.data[id] >= engine->up.len || ++steps > engine->up.len)
        return VIOLATED("the union-find path of class %u leads nowhere", i);
    roots += id == i && !eg_engine_is_dropped(engine, i);
  }
  if (roots != engine->class_count)
    return VIOLATED("%u roots but %u classes counted", roots, engine->class_count);
  return EGRAPH_OK;
}

static egraph_status check_table(const eg_engine *engine) {
  uint32_t live = 0;
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node)) {
    if (eg_engine_is_dead(engine, node)) continue;
    live++;
    eg_term term = eg_engine_stored(engine, node);
    uint32_t tag = (uint32_t)(eg_engine_hash(&term) >> 32), mask;
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

/// Checks that each live node has canonical children and that its look-up finds this
/// node, so that no two nodes are congruent.
static egraph_status check_congruence(const eg_engine *engine) {
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node)) {
    if (eg_engine_is_dead(engine, node)) continue;
    eg_term term = eg_engine_stored(engine, node);
    for (uint32_t i = 0; i < term.arity; i++)
      if (engine->up.data[term.children[i].id] != term.children[i].id)
        return VIOLATED("child %u of node %u is class %u, which is not canonical", i,
                        node, term.children[i].id);
    uint32_t found = EG_NONE;
    uint32_t head = engine->nodes.data[node] & EG_HEAD_MASK;
    if (!eg_engine_find_stored(engine, head, &term, eg_engine_hash(&term), &found) ||
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
    if (count == 0 && (!eg_engine_is_dropped(engine, root) ||
                       engine->classes.data[root].parents != EG_NONE))
      return VIOLATED("class %u has no node", root);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t node = members[i];
      if (node >= engine->nodes.len || eg_engine_is_dead(engine, node))
        return VIOLATED("class %u lists node %u, which does not live", root, node);
      if (eg_engine_class_word(engine, node) != root)
        return VIOLATED("class %u lists node %u of class %u", root, node,
                        eg_engine_class_word(engine, node));
      if (i != 0 && !eg_members_in_order(engine, members[i - 1], node, count))
        return VIOLATED("class %u lists node %u after %u", root, node, members[i - 1]);
    }
    total += count;
  }
  if (total != engine->table.len)
    return VIOLATED("classes list %u nodes, but %u live", (unsigned)total,
                    engine->table.len);
  return EGRAPH_OK;
}

static egraph_status check_op(const eg_engine *engine, uint32_t op) {
  const eg_op_index *index = &engine->ops.data[op];
  const uint32_t *nodes = eg_node_list_data(&index->nodes);
  for (uint32_t i = 0; i < index->nodes.len; i++) {
    uint32_t node = nodes[i];
    if (node >= engine->nodes.len || eg_engine_is_dead(engine, node) ||
        eg_engine_head(engine, node)->op != op)
      return VIOLATED("operator %u lists node %u, which is not a live one of it", op,
                      node);
    if (i != 0 && nodes[i - 1] >= node)
      return VIOLATED("operator %u lists node %u after %u", op, node, nodes[i - 1]);
    if (i >= index->fresh_from && !eg_engine_is_fresh(engine, node))
      return VIOLATED("node %u of operator %u is new but not fresh", node, op);
  }
  uint32_t changed = 0, listed = 0;
  for (uint32_t i = 0; i < index->fresh_from; i++)
    changed += eg_engine_is_fresh(engine, nodes[i]);
  for (uint32_t i = 0; i < index->changed.len; i++) {
    uint32_t node = eg_node_list_data(&index->changed)[i];
    if (!eg_engine_is_fresh(engine, node))
      return VIOLATED("node %u of operator %u changed but is not fresh", node, op);
    listed += !eg_engine_is_dead(engine, node);
  }
  if (changed != listed)
    return VIOLATED("%u old nodes of operator %u are fresh, but %u are listed", changed,
                    op, listed);
  return EGRAPH_OK;
}

static egraph_status check_ops(const eg_engine *engine) {
  uint64_t total = 0;
  for (uint32_t op = 0; op < engine->ops.len; op++) {
    EG_TRY(check_op(engine, op));
    total += engine->ops.data[op].nodes.len;
  }
  if (total != engine->table.len)
    return VIOLATED("operators list %u nodes, but %u live", (unsigned)total,
                    engine->table.len);
  return EGRAPH_OK;
}

/// Checks that each child word of a live node is in the parents list of its class: so the
/// lists are disjoint, and their total length proves that they are complete.
static egraph_status check_parents(const eg_engine *engine) {
  uint64_t listed = 0, living = 0, steps = 0;
  for (uint32_t root = 0; root < engine->up.len; root++) {
    if (engine->up.data[root] != root) continue;
    uint32_t length = 0, word = engine->classes.data[root].parents;
    while (word != EG_NONE) {
      if (word >= engine->nodes.len || ++steps > engine->child_words)
        return VIOLATED("the parents list of class %u does not end", root);
      uint32_t node = eg_engine_node_of_word(engine, word);
      length++;
      if (!eg_engine_is_dead(engine, node)) {
        if (engine->nodes.data[word] != root)
          return VIOLATED("class %u lists parent node %u, which has child %u", root, node,
                          engine->nodes.data[word]);
        listed++;
      }
      word = *eg_engine_link(engine, node, word);
    }
    if (length > engine->classes.data[root].parent_count)
      return VIOLATED("class %u lists %u parents but counts %u", root, length,
                      engine->classes.data[root].parent_count);
  }
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    if (!eg_engine_is_dead(engine, node)) living += eg_engine_head(engine, node)->arity;
  if (listed != living)
    return VIOLATED("%u parents listed, but live nodes have %u children",
                    (unsigned)listed, (unsigned)living);
  return EGRAPH_OK;
}

/// Checks that a class's analysis data already contain the data of each of its nodes.
static egraph_status check_node_data(const eg_engine *engine, uint32_t node,
                                     unsigned char *made, unsigned char *joined) {
  const eg_analysis *analysis = &engine->analysis;
  eg_term term = eg_engine_stored(engine, node);
  bool changed = false;
  memset(made, 0, analysis->data_size);
  EG_TRY(analysis->make(analysis->self, engine, &term, made));
  eg_class class = {eg_engine_class_word(engine, node)};
  memcpy(joined, eg_engine_data(engine, class), analysis->data_size);
  EG_TRY(analysis->join(analysis->self, joined, made, &changed));
  if (changed)
    return VIOLATED("the data of class %u lack those of its node %u", class.id, node);
  return EGRAPH_OK;
}

static egraph_status check_data(const eg_engine *engine) {
  size_t size = engine->analysis.data_size;
  if (size == 0) return EGRAPH_OK;
  EG_LOCAL(eg_arena, arena, engine->alloc);
  unsigned char *made, *joined;
  EG_TRY(eg_arena_alloc(&arena, 1, size, &made));
  EG_TRY(eg_arena_alloc(&arena, 1, size, &joined));
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    if (!eg_engine_is_dead(engine, node))
      EG_TRY(check_node_data(engine, node, made, joined));
  return EGRAPH_OK;
}

egraph_status eg_engine_check(const eg_engine *engine) {
  EG_TRY(check_engine_sizes(engine));
  EG_TRY(check_union_find(engine));
  EG_TRY(check_table(engine));
  if (!eg_engine_is_clean(engine)) return EGRAPH_OK;
  EG_TRY(check_congruence(engine));
  EG_TRY(check_members(engine));
  EG_TRY(check_ops(engine));
  EG_TRY(check_parents(engine));
  return check_data(engine);
}
