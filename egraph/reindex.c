// All indexes at once, for an engine that was loaded or pruned: lists are counted, get
// exactly the room that they need, and are filled in the order of the nodes, which is
// oldest first, as rebuild keeps them. Dead nodes are in none.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "egraph/engine_internal.h"

static uint32_t first_live(const eg_engine *engine, uint32_t node) {
  while (node < engine->nodes.len && eg_engine_is_dead(engine, node))
    node = eg_engine_node_after(engine, node);
  return node;
}

/// Iterates the live nodes, oldest first.
#define EACH_LIVE(node)                                                                  \
  uint32_t node = first_live(engine, 0);                                                 \
  node < engine->nodes.len;                                                              \
  node = first_live(engine, eg_engine_node_after(engine, node))

// ---- classes --------------------------------------------------------------------------

static egraph_status make_segments(eg_engine *engine) {
  uint64_t words = 0;
  for (uint32_t i = 0; i < engine->up.len; i++) {
    eg_class_record *class = &engine->classes.data[i];
    uint32_t cap = eg_members_capacity(class->len);
    class->begin = cap == 0 ? EG_NONE : (uint32_t)words;
    class->len = 0;
    words += cap;
    if (words >= EG_NONE)
      return EG_FAIL(EGRAPH_E_MEMORY, "the member lists of an e-graph are full");
  }
  return eg_u32s_resize(&engine->members, (size_t)words);
}

static egraph_status make_classes(eg_engine *engine) {
  EG_TRY(eg_flags_resize(&engine->flags, engine->up.len));
  EG_TRY(eg_class_records_resize(&engine->classes, engine->up.len));
  for (uint32_t i = 0; i < engine->up.len; i++)
    engine->classes.data[i].parents = EG_NONE;
  for (EACH_LIVE(node))
    engine->classes.data[eg_engine_class_word(engine, node)].len++;
  EG_TRY(make_segments(engine));
  for (EACH_LIVE(node)) {
    eg_class_record *class = &engine->classes.data[eg_engine_class_word(engine, node)];
    if (class->begin == EG_NONE)
      class->begin = node;
    else
      engine->members.data[class->begin + class->len] = node;
    class->len++;
  }
  for (uint32_t i = 0; i < engine->classes.len; i++)
    if (engine->classes.data[i].len >= EG_GROUPED_MEMBERS)
      EG_TRY(eg_members_clean(engine, i));
  engine->class_count = 0;
  for (uint32_t i = 0; i < engine->up.len; i++) {
    eg_class_record *class = &engine->classes.data[i];
    if (class->len == 0) class->begin = 0;
    engine->class_count += class->len != 0;
  }
  return EGRAPH_OK;
}

// ---- operators ------------------------------------------------------------------------

static eg_op_index *index_of(eg_engine *engine, uint32_t node) {
  return &engine->ops.data[eg_engine_head(engine, node)->op];
}

/// Turns the length of an empty list, which was used to count, into room.
static egraph_status make_list(eg_engine *engine, eg_node_list *list) {
  uint32_t count = list->len, *many;
  list->len = 0;
  if (count < 2) return EGRAPH_OK;
  EG_TRY(eg_alloc(engine->alloc, count, sizeof *many, &many));
  list->many = many;
  list->cap = count;
  return EGRAPH_OK;
}

static void list_push(eg_node_list *list, uint32_t node) {
  uint32_t *nodes = list->cap == 0 ? &list->one : list->many;
  nodes[list->len++] = node;
}

/// The last nodes, as long as they are fresh, were made in this epoch; other fresh ones
/// have changed.
static egraph_status split_fresh(eg_engine *engine, eg_op_index *op) {
  const uint32_t *nodes = eg_node_list_data(&op->nodes);
  op->fresh_from = op->nodes.len;
  while (op->fresh_from != 0 && eg_engine_is_fresh(engine, nodes[op->fresh_from - 1]))
    op->fresh_from--;
  for (uint32_t i = 0; i < op->fresh_from; i++)
    op->changed.len += eg_engine_is_fresh(engine, nodes[i]);
  EG_TRY(make_list(engine, &op->changed));
  for (uint32_t i = 0; i < op->fresh_from; i++)
    if (eg_engine_is_fresh(engine, nodes[i])) list_push(&op->changed, nodes[i]);
  return EGRAPH_OK;
}

static egraph_status make_ops(eg_engine *engine) {
  for (EACH_LIVE(node))
    index_of(engine, node)->nodes.len++;
  for (size_t i = 0; i < engine->ops.len; i++)
    EG_TRY(make_list(engine, &engine->ops.data[i].nodes));
  for (EACH_LIVE(node))
    list_push(&index_of(engine, node)->nodes, node);
  for (size_t i = 0; i < engine->ops.len; i++)
    EG_TRY(split_fresh(engine, &engine->ops.data[i]));
  return EGRAPH_OK;
}

// ---- parents and hash-cons ------------------------------------------------------------

static void link_children(eg_engine *engine, uint32_t node) {
  uint32_t arity = eg_engine_head(engine, node)->arity;
  uint32_t *children = eg_engine_children(engine, node);
  bool dead = eg_engine_is_dead(engine, node);
  engine->child_words += arity;
  if (dead) engine->swept_words += arity;
  for (uint32_t i = 0; i < arity; i++) {
    children[arity + i] = EG_NONE;
    if (dead) continue;
    eg_class_record *class = &engine->classes.data[children[i]];
    children[arity + i] = class->parents;
    class->parents = node + EG_FIRST_CHILD + i;
    class->parent_count++;
  }
}

static egraph_status make_table(eg_engine *engine) {
  uint32_t live = 0;
  for (EACH_LIVE(node))
    live++;
  EG_TRY(eg_flatmap_reserve(&engine->table, live));
  for (EACH_LIVE(node)) {
    eg_term term = eg_engine_stored(engine, node);
    EG_TRY(eg_flatmap_insert(&engine->table, eg_engine_hash(&term), node));
  }
  return EGRAPH_OK;
}

egraph_status eg_engine_reindex(eg_engine *engine) {
  assert(engine->table.len == 0 && engine->classes.len == 0);
  EG_TRY(make_classes(engine));
  EG_TRY(make_ops(engine));
  engine->child_words = engine->dead_words = engine->swept_words = 0;
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    link_children(engine, node);
  engine->indexed = (uint32_t)engine->nodes.len;
  engine->indexed_classes = (uint32_t)engine->up.len;
  return make_table(engine);
}
