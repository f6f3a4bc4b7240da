// Deferred rebuilding (egg, section 3.2), one slot at a time.
//
// A class that lost a union keeps its parents list and waits on the `repairs` stack. Each
// step takes one slot from the list on top: its node leaves the hash-cons under its stale
// key and returns under the canonical one. If an equal node is there already, the younger
// of the two dies and their classes are united, which puts more work on the stack. Then
// the slot moves to the list of the class that it now names. When the stack is empty
// congruence holds, and the analysis has its turn: terms above changed data are made
// again, then `modify` is called, and each may cause new work. Every step either happens
// as a whole or not at all, so that rebuild can be called again after a failure. Cost:
// the parents of what was united, and the touched member lists.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

static bool has_canonical_children(const eg_engine *engine, const eg_term *term) {
  for (uint32_t i = 0; i < term->arity; i++)
    if (engine->up.data[term->children[i].id] != term->children[i].id) return false;
  return true;
}

static void kill_node(eg_engine *engine, uint32_t node) {
  engine->flags.data[node] |= EG_FLAG_DEAD;
  engine->dead_slots += eg_engine_stored(engine, node).arity;
  uint32_t op = engine->nodes.data[node].op;
  eg_op_list *list = &engine->ops.data[op];
  if (list->first_dead == EG_NONE) engine->ops_dirty.data[engine->ops_dirty.len++] = op;
  if (node < list->first_dead) list->first_dead = node;
  eg_engine_touch(engine, eg_engine_root_halving(engine, node));
}

/// `node` has become equal to `other`, which is in the table under their common key.
static egraph_status merge_nodes(eg_engine *engine, uint32_t node, uint32_t other) {
  bool changed;
  EG_TRY(eg_engine_reserve_union(engine)); // for the death below, which must not fail
  EG_TRY(eg_engine_unite(engine, (eg_class){node}, (eg_class){other},
                         EG_REASON_CONGRUENCE, &changed));
  eg_term stale = eg_engine_stored(engine, node);
  eg_flatmap_remove(&engine->table, eg_engine_hash_stored(&stale), node);
  if (node > other) {
    kill_node(engine, node);
    return EGRAPH_OK;
  }
  eg_term kept = eg_engine_stored(engine, other);
  eg_flatmap_replace(&engine->table, eg_engine_hash_stored(&kept), other, node);
  memcpy(engine->slots.data + engine->nodes.data[node].first, kept.children,
         kept.arity * sizeof *kept.children);
  kill_node(engine, other);
  return EGRAPH_OK;
}

static egraph_status repair_node(eg_engine *engine, uint32_t node) {
  eg_term term = eg_engine_stored(engine, node);
  if (has_canonical_children(engine, &term)) return EGRAPH_OK;
  uint64_t hash = eg_engine_hash_canonical(engine, &term);
  uint32_t other;
  if (eg_engine_find_node(engine, &term, hash, &other))
    return merge_nodes(engine, node, other);
  eg_flatmap_remove(&engine->table, eg_engine_hash_stored(&term), node);
  eg_class *children = engine->slots.data + engine->nodes.data[node].first;
  for (uint32_t i = 0; i < term.arity; i++)
    children[i].id = eg_engine_root_halving(engine, children[i].id);
  egraph_status status = eg_flatmap_insert(&engine->table, hash, node);
  assert(status == EGRAPH_OK && "one was removed");
  return status;
}

/// Repairs the node of one slot in the list of `class`, which is no root, and
/// moves the slot on.
static egraph_status repair_slot(eg_engine *engine, uint32_t class) {
  uint32_t slot = engine->classes.data[class].parents;
  uint32_t node = engine->links.data[slot].node;
  if (!eg_engine_is_dead(engine, node)) EG_TRY(repair_node(engine, node));
  engine->classes.data[class].parents = engine->links.data[slot].next;
  if (eg_engine_is_dead(engine, node)) return EGRAPH_OK;
  // The child was a root when the node was repaired. If that very repair united it, it is
  // on the stack now and passes the slot on.
  eg_class_record *target = &engine->classes.data[engine->slots.data[slot].id];
  engine->links.data[slot].next = target->parents;
  target->parents = slot;
  return EGRAPH_OK;
}

static egraph_status repair_all(eg_engine *engine) {
  while (engine->repairs.len != 0) {
    uint32_t class = engine->repairs.data[engine->repairs.len - 1];
    if (engine->classes.data[class].parents == EG_NONE)
      engine->repairs.len--;
    else
      EG_TRY(repair_slot(engine, class));
  }
  return EGRAPH_OK;
}

// ---- analysis -------------------------------------------------------------------------

static egraph_status remake_node(eg_engine *engine, uint32_t node) {
  const eg_analysis *analysis = &engine->analysis;
  eg_term term = eg_engine_stored(engine, node);
  uint32_t root = eg_engine_root_halving(engine, node);
  size_t size = analysis->data_size;
  unsigned char *data = engine->data + (size_t)root * size;
  unsigned char *joined = engine->scratch_data, *made = joined + size;
  memset(made, 0, size);
  EG_TRY(analysis->make(analysis->self, engine, &term, made));
  EG_TRY(eg_engine_reserve_union(engine));
  memcpy(joined, data, size);
  bool changed = false;
  EG_TRY(analysis->join(analysis->self, joined, made, &changed));
  if (!changed) return EGRAPH_OK;
  memcpy(data, joined, size);
  eg_engine_data_changed(engine, root);
  return EGRAPH_OK;
}

static egraph_status remake_parents(eg_engine *engine, uint32_t class) {
  uint32_t root = eg_engine_root_halving(engine, class);
  uint32_t slot = engine->classes.data[root].parents;
  for (; slot != EG_NONE; slot = engine->links.data[slot].next)
    if (!eg_engine_is_dead(engine, engine->links.data[slot].node))
      EG_TRY(remake_node(engine, engine->links.data[slot].node));
  return EGRAPH_OK;
}

static egraph_status modify_class(eg_engine *engine, uint32_t class) {
  const eg_analysis *analysis = &engine->analysis;
  return analysis->modify(analysis->self, engine,
                          (eg_class){eg_engine_root_halving(engine, class)});
}

/// Does the oldest item of a queue. The item stays when it fails.
static egraph_status step_queue(eg_engine *engine, eg_queue *queue, uint8_t flag,
                                egraph_status (*step)(eg_engine *, uint32_t)) {
  uint32_t class = queue->items.data[queue->next];
  engine->flags.data[class] &= (uint8_t)~flag; // it may be queued again while it is done
  egraph_status status = step(engine, class);
  if (status != EGRAPH_OK) {
    engine->flags.data[class] |= flag;
    return status;
  }
  if (++queue->next == queue->items.len) queue->next = queue->items.len = 0;
  return EGRAPH_OK;
}

static egraph_status reach_fixpoint(eg_engine *engine) {
  for (;;) {
    EG_TRY(repair_all(engine));
    if (engine->stale.next != engine->stale.items.len)
      EG_TRY(step_queue(engine, &engine->stale, EG_FLAG_STALE, remake_parents));
    else if (engine->modify.next != engine->modify.items.len)
      EG_TRY(step_queue(engine, &engine->modify, EG_FLAG_MODIFY, modify_class));
    else
      return EGRAPH_OK;
  }
}

// ---- indexes --------------------------------------------------------------------------

static egraph_status clean_members(eg_engine *engine) {
  while (engine->touched.len != 0) {
    uint32_t class = engine->touched.data[engine->touched.len - 1];
    if (engine->up.data[class] == class) EG_TRY(eg_members_clean(engine, class));
    engine->flags.data[class] &= (uint8_t)~EG_FLAG_TOUCHED;
    engine->touched.len--;
  }
  return EGRAPH_OK;
}

/// Position of the first id >= `id` in a sorted list.
static size_t lower_bound(const eg_u32s *list, uint32_t id) {
  size_t low = 0, high = list->len;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (list->data[middle] < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void clean_ops(eg_engine *engine) {
  while (engine->ops_dirty.len != 0) {
    eg_op_list *list = &engine->ops.data[eg_u32s_pop(&engine->ops_dirty)];
    size_t kept = lower_bound(&list->nodes, list->first_dead);
    for (size_t i = kept; i < list->nodes.len; i++)
      if (!eg_engine_is_dead(engine, list->nodes.data[i]))
        list->nodes.data[kept++] = list->nodes.data[i];
    list->nodes.len = kept;
    list->first_dead = EG_NONE;
  }
}

/// Unlinks the slots of dead nodes. Waiting until they are a quarter of what
/// the sweep looks at keeps the parents lists linear in the live nodes at a
/// constant cost per death.
static void sweep_parents(eg_engine *engine) {
  size_t linked = engine->slots.len - engine->swept_slots;
  if (engine->dead_slots <= (linked + engine->up.len) / 4) return;
  for (uint32_t root = 0; root < engine->up.len; root++) {
    if (engine->up.data[root] != root) continue;
    eg_class_record *class = &engine->classes.data[root];
    uint32_t *link = &class->parents;
    class->parent_count = 0;
    while (*link != EG_NONE) {
      eg_slot_link *slot = &engine->links.data[*link];
      if (eg_engine_is_dead(engine, slot->node)) {
        *link = slot->next;
        continue;
      }
      class->parent_count++;
      link = &slot->next;
    }
  }
  engine->swept_slots += engine->dead_slots;
  engine->dead_slots = 0;
}

#if EG_CHECK_LEVEL >= 2
/// Checks a large engine only when a sixteenth of it has changed since the last time, so
/// that many small rebuilds stay linear.
static egraph_status check_in_turn(eg_engine *engine) {
  size_t changes = engine->up.len + engine->unions.len - engine->checked_changes;
  if (engine->up.len > 4096 && changes < engine->up.len / 16) return EGRAPH_OK;
  engine->checked_changes = engine->up.len + engine->unions.len;
  return eg_engine_check(engine);
}
#endif

egraph_status eg_engine_rebuild(eg_engine *engine) {
  EG_TRY(reach_fixpoint(engine));
  EG_TRY(clean_members(engine));
  clean_ops(engine);
  sweep_parents(engine);
#if EG_CHECK_LEVEL >= 2
  EG_TRY(check_in_turn(engine));
#endif
  return EGRAPH_OK;
}
