// Copies engines. A clone is the engine's structure with its own arrays. Pushed states
// are clones, linked newest first; pop swaps the structures, so it needs no memory and
// cannot fail.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/owner.h"
#include "egraph/engine_internal.h"

// ---- copying --------------------------------------------------------------------------

#define EMPTY_ARRAY(member, type) type##_init(&copy->member, copy->alloc);
#define EMPTY_MAP(member) eg_flatmap_init(&copy->member, copy->alloc);
#define COPY_ARRAY(member, type)                                                         \
  EG_TRY(type##_append(&copy->member, engine->member.data, engine->member.len));
#define COPY_MAP(member) EG_TRY(copy_map(&engine->member, &copy->member));

static egraph_status copy_map(const eg_flatmap *map, eg_flatmap *copy) {
  EG_TRY(eg_alloc(copy->alloc, map->capacity, sizeof *map->slots, &copy->slots));
  copy->capacity = map->capacity;
  copy->len = map->len;
  if (map->capacity != 0)
    memcpy(copy->slots, map->slots, map->capacity * sizeof *map->slots);
  return EGRAPH_OK;
}

static egraph_status copy_node_list(egraph_allocator alloc, const eg_node_list *list,
                                    eg_node_list *copy) {
  if (list->len < 2) {
    if (list->len == 1) copy->one = *eg_node_list_data(list);
    copy->len = list->len;
    return EGRAPH_OK;
  }
  uint32_t *many;
  EG_TRY(eg_alloc(alloc, list->len, sizeof *many, &many));
  memcpy(many, list->many, list->len * sizeof *many);
  copy->many = many;
  copy->len = copy->cap = list->len;
  return EGRAPH_OK;
}

static egraph_status copy_ops(const eg_engine *engine, eg_engine *copy) {
  // Marking an operator's list as dirty later must not allocate.
  EG_TRY(eg_u32s_reserve(&copy->ops_dirty, engine->ops.len));
  EG_TRY(eg_op_indexes_reserve(&copy->ops, engine->ops.len));
  for (size_t i = 0; i < engine->ops.len; i++) {
    const eg_op_index *from = &engine->ops.data[i];
    eg_op_index *to = &copy->ops.data[copy->ops.len++];
    *to = (eg_op_index){.fresh_from = from->fresh_from, .first_dead = from->first_dead};
    EG_TRY(copy_node_list(copy->alloc, &from->nodes, &to->nodes));
    EG_TRY(copy_node_list(copy->alloc, &from->changed, &to->changed));
  }
  return EGRAPH_OK;
}

static egraph_status copy_data(const eg_engine *engine, eg_engine *copy) {
  size_t size = engine->analysis.data_size, classes = engine->up.len;
  if (size == 0) return EGRAPH_OK;
  EG_TRY(eg_alloc(copy->alloc, 2, size, &copy->scratch_data));
  EG_TRY(eg_alloc(copy->alloc, classes, size, &copy->data));
  copy->data_cap = classes;
  if (classes != 0) memcpy(copy->data, engine->data, classes * size);
  return EGRAPH_OK;
}

egraph_status eg_engine_clone(const eg_engine *engine, eg_engine **out) {
  EG_HELD(eg_engine, copy);
  EG_TRY(eg_alloc(engine->alloc, 1, sizeof *copy, &copy));
  *copy = *engine;
  copy->saved = NULL;
  copy->data = copy->scratch_data = NULL;
  copy->data_cap = 0;
  EG_ENGINE_ARRAYS(EMPTY_ARRAY)
  EG_ENGINE_MAPS(EMPTY_MAP)
  EG_ENGINE_STATE_ARRAYS(COPY_ARRAY)
  EG_ENGINE_MAPS(COPY_MAP)
  EG_TRY(copy_ops(engine, copy));
  EG_HAND_OVER(copy_data(engine, copy), copy, out);
}

// ---- the stack ------------------------------------------------------------------------

egraph_status eg_engine_push(eg_engine *engine) {
  eg_engine *copy;
  EG_TRY(eg_engine_clone(engine, &copy));
  copy->saved = engine->saved;
  engine->saved = copy;
  return EGRAPH_OK;
}

static egraph_status check_saved(const eg_engine *engine) {
  if (engine->saved != NULL) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "no state of the e-graph was pushed");
}

egraph_status eg_engine_pop(eg_engine *engine) {
  EG_TRY(check_saved(engine));
  eg_engine *older = engine->saved;
  eg_engine newer = *engine;
  *engine = *older; // including `saved`
  *older = newer;
  older->saved = NULL;
  eg_engine_destroy(older);
  return EGRAPH_OK;
}

egraph_status eg_engine_drop(eg_engine *engine) {
  EG_TRY(check_saved(engine));
  eg_engine *older = engine->saved;
  engine->saved = older->saved;
  older->saved = NULL;
  eg_engine_destroy(older);
  return EGRAPH_OK;
}

// ---- pruning ------------------------------------------------------------------------
// First the removed nodes are found: nodes that are not kept, then, by a stack of classes
// without nodes, the parents of these classes. Then the rest is copied into a separate
// engine, which replaces the old one: a failure changes nothing.

typedef struct pruning {
  eg_engine *engine;
  // [old nodes] new ids of nodes; the old id before the copy; EG_NONE: removed.
  eg_u32s map;
  eg_u32s left;  // remaining nodes of each class
  eg_u32s empty; // stack of classes without nodes
} pruning;
EG_OWNER_DEFINE_STATIC(pruning, (eg_u32s, map, left, empty))

static egraph_status lose_node(pruning *p, uint32_t class) {
  assert(p->left.data[class] != 0);
  if (--p->left.data[class] != 0) return EGRAPH_OK;
  return eg_u32s_push(&p->empty, class);
}

static egraph_status choose_kept(pruning *p,
                                 bool (*keep)(void *user, const eg_engine *, eg_node),
                                 void *user) {
  eg_engine *engine = p->engine;
  EG_TRY(eg_u32s_resize(&p->map, engine->nodes.len));
  EG_TRY(eg_u32s_resize(&p->left, engine->up.len));
  if (p->map.len != 0) memset(p->map.data, 0xff, p->map.len * sizeof *p->map.data);
  for (uint32_t i = 0; i < engine->up.len; i++)
    p->left.data[i] = engine->classes.data[i].len;
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n)) {
    if (keep == NULL || keep(user, engine, n))
      p->map.data[n.id] = n.id;
    else
      EG_TRY(lose_node(p, eg_engine_class_word(engine, n.id)));
  }
  return EGRAPH_OK;
}

static egraph_status drop_empty(pruning *p) {
  const eg_engine *engine = p->engine;
  while (p->empty.len != 0) {
    eg_class class = {eg_u32s_pop(&p->empty)};
    for (eg_parent parent = eg_engine_parents(engine, class);
         parent.node.id != EG_NODE_NONE.id;
         parent = eg_engine_next_parent(engine, parent)) {
      uint32_t node = parent.node.id;
      if (p->map.data[node] == EG_NODE_NONE.id) continue;
      p->map.data[node] = EG_NODE_NONE.id;
      EG_TRY(lose_node(p, eg_engine_class_word(engine, node)));
    }
  }
  return EGRAPH_OK;
}

static egraph_status copy_kept_node(pruning *p, eg_engine *out, uint32_t node) {
  assert(p->map.data[node] == node);
  const eg_engine *engine = p->engine;
  const uint32_t *words = engine->nodes.data + node;
  eg_head head = *eg_engine_head(engine, node);
  uint32_t id;
  if (!eg_engine_find_head(out, head, &id)) EG_TRY(eg_engine_add_head(out, head, &id));
  p->map.data[node] = (uint32_t)out->nodes.len;
  EG_TRY(eg_u32s_push(&out->nodes, id | (words[0] & ~EG_HEAD_MASK)));
  // The links of the node's children are set by eg_engine_reindex.
  return eg_u32s_append(&out->nodes, words + 1,
                        eg_engine_node_words(engine, head.arity) - 1);
}

static egraph_status copy_nodes(pruning *p, eg_engine *out) {
  const eg_engine *engine = p->engine;
  size_t words = 0;
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    if (p->map.data[node] != EG_NODE_NONE.id)
      words += eg_engine_node_words(engine, eg_engine_head(engine, node)->arity);
  EG_TRY(eg_u32s_reserve(&out->nodes, words));
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    if (p->map.data[node] != EG_NODE_NONE.id) EG_TRY(copy_kept_node(p, out, node));
  return EGRAPH_OK;
}

static egraph_status copy_classes(const eg_engine *engine, eg_engine *out) {
  size_t size = engine->analysis.data_size, classes = engine->up.len;
  EG_TRY(eg_u32s_resize(&out->up, classes));
  for (uint32_t i = 0; i < classes; i++)
    out->up.data[i] = eg_engine_root(engine, i);
  out->epoch_class = engine->epoch_class;
  EG_TRY(eg_unions_append(&out->unions, engine->unions.data, engine->unions.len));
  if (size == 0) return EGRAPH_OK;
  EG_TRY(eg_alloc(out->alloc, classes, size, &out->data));
  out->data_cap = classes;
  if (classes != 0) memcpy(out->data, engine->data, classes * size);
  return EGRAPH_OK;
}

/// Copies the log of explanations, whose terms name heads and classes.
static egraph_status copy_log(const eg_engine *engine, eg_engine *out) {
  out->has_log = engine->has_log;
  out->own_reasons = engine->own_reasons;
  if (!engine->has_log) return EGRAPH_OK;
  uint32_t id;
  for (size_t i = 0; i < engine->heads.len; i++)
    EG_TRY(eg_engine_add_head(out, engine->heads.data[i], &id));
  const eg_u32s *classes = &engine->log_classes, *notes = &engine->log_notes;
  EG_TRY(eg_u32s_append(&out->log_classes, classes->data, classes->len));
  EG_TRY(eg_u32s_append(&out->log_notes, notes->data, notes->len));
  return eg_unions_append(&out->log_unions, engine->log_unions.data,
                          engine->log_unions.len);
}

/// Exchanges the engine and `other`, except for the pushed states.
static void replace_engine(eg_engine *engine, eg_engine *other) {
  assert(eg_engine_is_clean(other));
  eg_engine old = *engine;
  *engine = *other;
  *other = old;
  engine->saved = other->saved;
  other->saved = NULL;
}

static egraph_status prune_into_copy(pruning *p,
                                     bool (*keep)(void *user, const eg_engine *, eg_node),
                                     void *user) {
  EG_TRY(choose_kept(p, keep, user));
  EG_TRY(drop_empty(p));
  EG_HELD(eg_engine, other);
  eg_engine_options options = {.record = p->engine->record};
  if (p->engine->analysis.data_size != 0) options.analysis = &p->engine->analysis;
  EG_TRY(eg_engine_create(&p->engine->alloc, &options, &other));
  EG_TRY(copy_log(p->engine, other));
  EG_TRY(copy_nodes(p, other));
  EG_TRY(copy_classes(p->engine, other));
  EG_TRY(eg_engine_reindex(other));
  replace_engine(p->engine, other);
  return EGRAPH_OK;
}

egraph_status eg_engine_prune(eg_engine *engine,
                              bool (*keep)(void *user, const eg_engine *, eg_node),
                              void *user, eg_u32s *out_map) {
  if (!eg_engine_is_clean(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the e-graph is dirty; rebuild it before pruning");
  EG_LOCAL_WITH(pruning, p, engine->alloc, .engine = engine);
  EG_TRY(prune_into_copy(&p, keep, user));
  if (out_map == NULL) return EGRAPH_OK;
  eg_u32s map = *out_map;
  *out_map = p.map;
  p.map = map;
  return EGRAPH_OK;
}
