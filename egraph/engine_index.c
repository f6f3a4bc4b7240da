// The indexes over nodes: members of classes, nodes of operators, parents of classes;
// and which nodes are fresh.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

// ---- lists of nodes -------------------------------------------------------------------

static egraph_status list_reserve(eg_engine *engine, eg_node_list *list, uint32_t len) {
  uint32_t cap = list->cap == 0 ? 1 : list->cap;
  if (len <= cap) return EGRAPH_OK;
  uint32_t grown = list->cap + list->cap / 2 + 4;
  if (grown < len) grown = len;
  uint32_t *many = list->cap == 0 ? NULL : list->many, one = list->one;
  EG_TRY(eg_resize(engine->alloc, list->cap, grown, sizeof *many, &many));
  if (list->cap == 0 && list->len == 1) many[0] = one;
  list->many = many;
  list->cap = grown;
  return EGRAPH_OK;
}

static uint32_t *list_data(eg_node_list *list) {
  return list->cap == 0 ? &list->one : list->many;
}

/// Room has been made.
static void list_push(eg_node_list *list, uint32_t node) {
  list_data(list)[list->len++] = node;
}

static void list_deinit(eg_engine *engine, eg_node_list *list) {
  if (list->cap != 0) eg_free(engine->alloc, list->many, list->cap, sizeof *list->many);
  *list = (eg_node_list){.len = 0};
}

void eg_index_deinit(eg_engine *engine) {
  for (size_t i = 0; i < engine->ops.len; i++) {
    list_deinit(engine, &engine->ops.data[i].nodes);
    list_deinit(engine, &engine->ops.data[i].changed);
  }
  eg_op_indexes_deinit(&engine->ops);
}

// ---- new nodes ------------------------------------------------------------------------

static eg_op_index *index_of(eg_engine *engine, uint32_t node) {
  return &engine->ops.data[eg_engine_head(engine, node)->op];
}

/// A child may have lost its root-hood since the node was made. The word goes into its
/// own list all the same, which waits on the repairs stack, but counts for the root.
static void link_children(eg_engine *engine, uint32_t node) {
  uint32_t arity = eg_engine_head(engine, node)->arity;
  uint32_t *children = eg_engine_children(engine, node);
  for (uint32_t i = 0; i < arity; i++) {
    eg_class_record *class = &engine->classes.data[children[i]];
    children[arity + i] = class->parents;
    class->parents = node + EG_FIRST_CHILD + i;
    engine->classes.data[eg_engine_root_halving(engine, children[i])].parent_count++;
  }
}

static egraph_status index_node(eg_engine *engine, uint32_t node) {
  eg_op_index *op = index_of(engine, node);
  uint32_t root = eg_engine_root_halving(engine, eg_engine_class_word(engine, node));
  EG_TRY(list_reserve(engine, &op->nodes, op->nodes.len + 1));
  EG_TRY(eg_u32s_reserve(&engine->touched, engine->touched.len + 1));
  EG_TRY(eg_members_append(engine, root, node));
  if (engine->classes.data[root].len >= EG_GROUPED_MEMBERS) eg_engine_touch(engine, root);
  list_push(&op->nodes, node);
  engine->nodes.data[node + EG_CLASS_WORD] = root;
  link_children(engine, node);
  return EGRAPH_OK;
}

/// What indexing the node will touch, ahead of time.
EG_PREFETCHING prefetch_classes(const eg_engine *engine, uint32_t node) {
  uint32_t arity = eg_engine_head(engine, node)->arity;
  __builtin_prefetch(&engine->classes.data[eg_engine_class_word(engine, node)], 1);
  for (uint32_t i = 0; i < arity; i++)
    __builtin_prefetch(&engine->classes.data[eg_engine_children(engine, node)[i]], 1);
}

enum { PREFETCH_NODES = 12 };

egraph_status eg_index_new_nodes(eg_engine *engine) {
  uint32_t ahead = engine->indexed;
  for (uint32_t i = 0; i < PREFETCH_NODES && ahead < engine->nodes.len; i++)
    ahead = eg_engine_node_after(engine, ahead);
  while (engine->indexed < engine->nodes.len) {
    if (ahead < engine->nodes.len) {
      prefetch_classes(engine, ahead);
      ahead = eg_engine_node_after(engine, ahead);
    }
    EG_TRY(index_node(engine, engine->indexed));
    engine->indexed = eg_engine_node_after(engine, engine->indexed);
  }
  engine->indexed_classes = (uint32_t)engine->up.len;
  return EGRAPH_OK;
}

// ---- freshness ------------------------------------------------------------------------

egraph_status eg_index_reserve_changed(eg_engine *engine, uint32_t op) {
  eg_node_list *changed = &engine->ops.data[op].changed;
  return list_reserve(engine, changed, changed->len + 1);
}

void eg_index_mark_changed(eg_engine *engine, uint32_t node) {
  if (eg_engine_is_fresh(engine, node)) return;
  engine->nodes.data[node] |= EG_FRESH_BIT;
  list_push(&index_of(engine, node)->changed, node);
}

static void make_stale(eg_engine *engine, const uint32_t *nodes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    engine->nodes.data[nodes[i]] &= ~EG_FRESH_BIT;
}

void eg_engine_start_epoch(eg_engine *engine) {
  for (size_t i = 0; i < engine->ops.len; i++) {
    eg_op_index *op = &engine->ops.data[i];
    make_stale(engine, list_data(&op->nodes) + op->fresh_from,
               op->nodes.len - op->fresh_from);
    make_stale(engine, list_data(&op->changed), op->changed.len);
    op->fresh_from = op->nodes.len;
    list_deinit(engine, &op->changed);
  }
  engine->epoch_class = engine->indexed_classes;
}

// ---- the dead -------------------------------------------------------------------------

/// Position of the first node >= `node` in a sorted list.
static uint32_t lower_bound(const uint32_t *nodes, uint32_t len, uint32_t node) {
  uint32_t low = 0, high = len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (nodes[middle] < node)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void clean_op(eg_engine *engine, eg_op_index *op) {
  uint32_t *nodes = list_data(&op->nodes);
  uint32_t kept = lower_bound(nodes, op->nodes.len, op->first_dead);
  uint32_t fresh_from = op->fresh_from;
  for (uint32_t i = kept; i < op->nodes.len; i++) {
    if (i == op->fresh_from) fresh_from = kept;
    if (!eg_engine_is_dead(engine, nodes[i])) nodes[kept++] = nodes[i];
  }
  op->fresh_from = op->fresh_from == op->nodes.len ? kept : fresh_from;
  op->nodes.len = kept;
  op->first_dead = UINT32_MAX;
}

void eg_index_clean_ops(eg_engine *engine) {
  while (engine->ops_dirty.len != 0)
    clean_op(engine, &engine->ops.data[eg_u32s_pop(&engine->ops_dirty)]);
}

// In the order of the pool, which is far faster than following the old lists.
void eg_index_link_parents(eg_engine *engine) {
  for (uint32_t root = 0; root < engine->up.len; root++) {
    eg_class_record *class = &engine->classes.data[root];
    class->parents = EG_NONE;
    class->parent_count = 0;
  }
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    if (!eg_engine_is_dead(engine, node)) link_children(engine, node);
  engine->swept_words += engine->dead_words;
  engine->dead_words = 0;
}
