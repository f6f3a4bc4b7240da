// Deferred rebuilding (egg, section 3.2), one child word at a time.
//
// First the new nodes enter the indexes. A class that lost a union waits on the `repairs`
// stack: its members move to its root, and its parents list is processed word by word.
// The node of the word leaves the hash-cons under its stale key and returns under the
// canonical one. If an equal node is there already, the younger of the two dies and their
// classes are united, which puts more work on the stack. Then the word moves to the list
// of the class that it now names. When the stack is empty congruence holds, and the
// analysis follows: data of terms above changed data are computed again, then `modify` is
// called, and each may cause new work. Every step is atomic, so that rebuild can be
// called again after a failure. Cost: the new nodes, the parents and members of united
// classes, and the touched member lists.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

// ---- compaction: frees the words of dead nodes --------------------------------------

// Moves live nodes down in the pool, in order, so that "oldest first" still holds. While
// references are rewritten, the class word of a node holds its new place; afterwards the
// members of the classes give the class again. Needs no memory, and cannot fail.
static uint32_t new_place(const eg_engine *engine, uint32_t node) {
  return eg_engine_class_word(engine, node);
}

static void choose_places(eg_engine *engine) {
  uint32_t place = 0;
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node)) {
    if (eg_engine_is_dead(engine, node)) continue;
    engine->nodes.data[node + EG_CLASS_WORD] = place;
    place += eg_engine_node_words(engine, eg_engine_head(engine, node)->arity);
  }
}

static void rename_nodes(const eg_engine *engine, uint32_t *nodes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    nodes[i] = new_place(engine, nodes[i]);
}

/// Drops dead nodes from a list of changed nodes, and renames the others.
static void rename_changed(const eg_engine *engine, eg_node_list *changed) {
  uint32_t *nodes = changed->cap == 0 ? &changed->one : changed->many, kept = 0;
  for (uint32_t i = 0; i < changed->len; i++)
    if (!eg_engine_is_dead(engine, nodes[i])) nodes[kept++] = new_place(engine, nodes[i]);
  changed->len = kept;
}

static void rename_in_ops(eg_engine *engine) {
  for (size_t i = 0; i < engine->ops.len; i++) {
    eg_op_index *op = &engine->ops.data[i];
    rename_nodes(engine, op->nodes.cap == 0 ? &op->nodes.one : op->nodes.many,
                 op->nodes.len);
    rename_changed(engine, &op->changed);
  }
}

static void rename_in_table(eg_engine *engine) {
  for (uint32_t i = 0; i < engine->table.capacity; i++) {
    eg_flat_slot *slot = &engine->table.slots[i];
    if (slot->id_plus_one != 0)
      slot->id_plus_one = new_place(engine, slot->id_plus_one - 1) + 1;
  }
}

static void rename_in_classes(eg_engine *engine) {
  for (uint32_t c = 0; c < engine->classes.len; c++) {
    eg_class_record *class = &engine->classes.data[c];
    if (class->len == 0) continue;
    uint32_t *members =
        class->len == 1 ? &class->begin : engine->members.data + class->begin;
    rename_nodes(engine, members, class->len);
  }
}

static void move_nodes(eg_engine *engine) {
  uint32_t end = 0, after;
  for (uint32_t node = 0; node < engine->nodes.len; node = after) {
    after = eg_engine_node_after(engine, node);
    if (eg_engine_is_dead(engine, node)) continue;
    memmove(engine->nodes.data + end, engine->nodes.data + node,
            (after - node) * sizeof *engine->nodes.data);
    end += after - node;
  }
  engine->nodes.len = end;
}

static void compact_nodes(eg_engine *engine) {
  choose_places(engine);
  rename_in_classes(engine);
  rename_in_ops(engine);
  rename_in_table(engine);
  move_nodes(engine);
  for (uint32_t c = 0; c < engine->classes.len; c++) {
    uint32_t count;
    const uint32_t *members = eg_members_of(engine, c, &count);
    for (uint32_t i = 0; i < count; i++)
      engine->nodes.data[members[i] + EG_CLASS_WORD] = c;
  }
  eg_index_link_parents(engine);
  engine->child_words -= engine->swept_words;
  engine->swept_words = 0;
  engine->indexed = (uint32_t)engine->nodes.len;
}

// ---- congruence ----------------------------------------------------------------------

static bool has_canonical_children(const eg_engine *engine, const eg_term *term) {
  for (uint32_t i = 0; i < term->arity; i++)
    if (engine->up.data[term->children[i].id] != term->children[i].id) return false;
  return true;
}

/// Marks a node as dead. Memory must have been reserved.
static void kill_node(eg_engine *engine, uint32_t node) {
  assert(!eg_engine_is_dead(engine, node));
  const eg_head *head = eg_engine_head(engine, node);
  eg_op_index *op = &engine->ops.data[head->op];
  engine->nodes.data[node] |= EG_DEAD_BIT;
  engine->dead_words += head->arity;
  if (op->first_dead == UINT32_MAX)
    engine->ops_dirty.data[engine->ops_dirty.len++] = head->op;
  if (node < op->first_dead) op->first_dead = node;
  eg_engine_touch(engine,
                  eg_engine_root_halving(engine, eg_engine_class_word(engine, node)));
}

/// Merges `node` into `other`: the nodes have become equal, and `other` is in the
/// hash-cons under their common key.
static egraph_status merge_nodes(eg_engine *engine, uint32_t node, uint32_t other) {
  assert(node != other);
  bool changed;
  eg_class a = {eg_engine_class_word(engine, node)};
  eg_class b = {eg_engine_class_word(engine, other)};
  // Reserves memory for killing a node below, which must not fail.
  EG_TRY(eg_engine_reserve_union(engine));
  EG_TRY(eg_engine_unite(engine, a, b, EG_REASON_CONGRUENCE, &changed));
  eg_term stale = eg_engine_stored(engine, node);
  eg_flatmap_remove(&engine->table, eg_engine_hash(&stale), node);
  if (node > other) {
    kill_node(engine, node);
    return EGRAPH_OK;
  }
  eg_term kept = eg_engine_stored(engine, other);
  eg_flatmap_replace(&engine->table, eg_engine_hash(&kept), other, node);
  memcpy(eg_engine_children(engine, node), kept.children,
         kept.arity * sizeof *kept.children);
  kill_node(engine, other);
  eg_index_mark_changed(engine, node);
  return EGRAPH_OK;
}

static egraph_status repair_node(eg_engine *engine, uint32_t node) {
  eg_term term = eg_engine_stored(engine, node), canonical;
  if (has_canonical_children(engine, &term)) return EGRAPH_OK;
  EG_TRY(eg_index_reserve_changed(engine, term.op));
  uint64_t hash;
  EG_TRY(eg_engine_canonical(engine, &term, &canonical, &hash));
  uint32_t other;
  uint32_t head = engine->nodes.data[node] & EG_HEAD_MASK;
  if (eg_engine_find_stored(engine, head, &canonical, hash, &other))
    return merge_nodes(engine, node, other);
  eg_flatmap_remove(&engine->table, eg_engine_hash(&term), node);
  memcpy(eg_engine_children(engine, node), canonical.children,
         canonical.arity * sizeof *canonical.children);
  eg_index_mark_changed(engine, node);
  eg_flatmap_put(&engine->table, hash, node); // has room, because an entry was removed
  return EGRAPH_OK;
}

/// Repairs the node of the first word in the list of `class`, which is not a root, and
/// moves the word to the list of the class that the word names.
static egraph_status repair_parent(eg_engine *engine, uint32_t class) {
  uint32_t word = engine->classes.data[class].parents;
  uint32_t node = eg_engine_node_of_word(engine, word);
  if (!eg_engine_is_dead(engine, node)) EG_TRY(repair_node(engine, node));
  uint32_t *link = eg_engine_link(engine, node, word);
  engine->classes.data[class].parents = *link;
  if (eg_engine_is_dead(engine, node)) {
    engine->dead_words--; // not in any list now
    engine->swept_words++;
    return EGRAPH_OK;
  }
  // The child was a root when the node was repaired. If this repair united it, the child
  // is now on the stack and passes the word on.
  eg_class_record *target = &engine->classes.data[engine->nodes.data[word]];
  *link = target->parents;
  target->parents = word;
  return EGRAPH_OK;
}

/// Marks the nodes of a class as fresh.
static egraph_status mark_members(eg_engine *engine, uint32_t root) {
  uint32_t count;
  const uint32_t *members = eg_members_of(engine, root, &count);
  for (uint32_t i = 0; i < count; i++) {
    EG_TRY(eg_index_reserve_changed(engine, eg_engine_head(engine, members[i])->op));
    eg_index_mark_changed(engine, members[i]);
  }
  return EGRAPH_OK;
}

/// Moves the nodes of a class that is no longer a root to its root, and marks them
/// as fresh.
static egraph_status move_members(eg_engine *engine, uint32_t class) {
  assert(engine->up.data[class] != class);
  uint32_t root = eg_engine_root_halving(engine, class);
  bool in_order;
  EG_TRY(eg_u32s_reserve(&engine->touched, engine->touched.len + 1));
  EG_TRY(mark_members(engine, class)); // harmless if the move fails
  EG_TRY(eg_members_move(engine, root, class, &in_order));
  if (!in_order || engine->classes.data[root].len >= EG_GROUPED_MEMBERS ||
      (engine->flags.data[class] & EG_FLAG_TOUCHED) != 0)
    eg_engine_touch(engine, root);
  return EGRAPH_OK;
}

static egraph_status repair_all(eg_engine *engine) {
  EG_TRY(eg_index_new_nodes(engine));
  while (engine->repairs.len != 0) {
    uint32_t class = engine->repairs.data[engine->repairs.len - 1];
    if (engine->classes.data[class].len != 0)
      EG_TRY(move_members(engine, class));
    else if (engine->classes.data[class].parents != EG_NONE)
      EG_TRY(repair_parent(engine, class));
    else
      engine->repairs.len--;
  }
  return EGRAPH_OK;
}

// ---- analysis -------------------------------------------------------------------------

static egraph_status remake_node(eg_engine *engine, uint32_t node) {
  const eg_analysis *analysis = &engine->analysis;
  eg_term term = eg_engine_stored(engine, node);
  uint32_t root = eg_engine_root_halving(engine, eg_engine_class_word(engine, node));
  size_t size = analysis->data_size;
  unsigned char *data = engine->data + (size_t)root * size;
  unsigned char *joined = engine->scratch_data, *made = joined + size;
  EG_TRY(eg_index_reserve_changed(engine, term.op));
  eg_index_mark_changed(engine, node); // conditions may read the data
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
  EG_TRY(mark_members(engine, root));
  uint32_t word = engine->classes.data[root].parents;
  while (word != EG_NONE) {
    uint32_t node = eg_engine_node_of_word(engine, word);
    if (!eg_engine_is_dead(engine, node)) EG_TRY(remake_node(engine, node));
    word = *eg_engine_link(engine, node, word);
  }
  return EGRAPH_OK;
}

static egraph_status modify_class(eg_engine *engine, uint32_t class) {
  const eg_analysis *analysis = &engine->analysis;
  return analysis->modify(analysis->self, engine,
                          (eg_class){eg_engine_root_halving(engine, class)});
}

/// Processes the oldest class of a queue. On failure the class stays in the queue.
static egraph_status step_queue(eg_engine *engine, eg_queue *queue, uint8_t flag,
                                egraph_status (*step)(eg_engine *, uint32_t)) {
  uint32_t class = queue->items.data[queue->next];
  engine->flags.data[class] &= (uint8_t)~flag; // a step may queue its own class again
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

/// True when compaction pays: it costs some visits of each live node and makes later work
/// fit into the cache. Recorded nodes keep their names.
static bool should_compact(const eg_engine *engine) {
  size_t dead = engine->dead_words + engine->swept_words;
  return !engine->record && dead > engine->child_words / 2;
}

/// True when a quarter of all words are dead: waiting for that keeps the parents lists
/// linear in the live nodes at a constant cost per death.
static bool should_sweep(const eg_engine *engine) {
  size_t linked = engine->child_words - engine->swept_words;
  return engine->dead_words > (linked + engine->up.len) / 4;
}

#if EG_CHECK_LEVEL >= 2
/// Checks a large engine only when a sixteenth of it has changed since the last check, so
/// that many small rebuilds stay linear.
static egraph_status check_in_turn(eg_engine *engine) {
  size_t size = engine->nodes.len + engine->up.len - engine->class_count;
  if (size > 16384 && size - engine->checked_size < size / 16) return EGRAPH_OK;
  engine->checked_size = size;
  return eg_engine_check(engine);
}
#endif

egraph_status eg_engine_rebuild(eg_engine *engine) {
  engine->is_rebuilding = true;
  EG_TRY(reach_fixpoint(engine));
  EG_TRY(clean_members(engine));
  eg_index_clean_ops(engine);
  if (should_compact(engine))
    compact_nodes(engine);
  else if (should_sweep(engine))
    eg_index_link_parents(engine);
  // The stacks are empty between rebuilds; keep the memory of small stacks only.
  enum { SMALL = 4096 };
  if (engine->repairs.cap > SMALL) eg_u32s_deinit(&engine->repairs);
  if (engine->touched.cap > SMALL) eg_u32s_deinit(&engine->touched);
  if (engine->sort_scratch.cap > SMALL) eg_keys_deinit(&engine->sort_scratch);
  engine->is_rebuilding = false;
#if EG_CHECK_LEVEL >= 2
  EG_TRY(check_in_turn(engine));
#endif
  return EGRAPH_OK;
}
