// A clone is the engine's structure with its own arrays. Pushed states are clones, linked
// newest first; pop swaps the structures, so that it needs no memory and cannot fail.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/snapshot.h"

#include <string.h>

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

static egraph_status copy_list(egraph_allocator alloc, const eg_node_list *list,
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
  // Marking an operator takes the room for it for granted.
  EG_TRY(eg_u32s_reserve(&copy->ops_dirty, engine->ops.len));
  EG_TRY(eg_op_indexes_reserve(&copy->ops, engine->ops.len));
  for (size_t i = 0; i < engine->ops.len; i++) {
    const eg_op_index *from = &engine->ops.data[i];
    eg_op_index *to = &copy->ops.data[copy->ops.len++];
    *to = (eg_op_index){.fresh_from = from->fresh_from, .first_dead = from->first_dead};
    EG_TRY(copy_list(copy->alloc, &from->nodes, &to->nodes));
    EG_TRY(copy_list(copy->alloc, &from->changed, &to->changed));
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

static egraph_status copy_arrays(const eg_engine *engine, eg_engine *copy) {
  EG_ENGINE_STATE_ARRAYS(COPY_ARRAY)
  EG_ENGINE_MAPS(COPY_MAP)
  EG_TRY(copy_ops(engine, copy));
  return copy_data(engine, copy);
}

egraph_status eg_engine_clone(const eg_engine *engine, eg_engine **out) {
  eg_engine *copy;
  EG_TRY(eg_alloc(engine->alloc, 1, sizeof *copy, &copy));
  *copy = *engine;
  copy->saved = NULL;
  copy->data = copy->scratch_data = NULL;
  copy->data_cap = 0;
  EG_ENGINE_ARRAYS(EMPTY_ARRAY)
  EG_ENGINE_MAPS(EMPTY_MAP)
  egraph_status status = copy_arrays(engine, copy);
  if (status != EGRAPH_OK) {
    eg_engine_destroy(copy);
    return status;
  }
  *out = copy;
  return EGRAPH_OK;
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
  *engine = *older; // its `saved` with it
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
