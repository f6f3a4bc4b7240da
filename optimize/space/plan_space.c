// Questions about a plan space; space_build.c fills it.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/plan_space.h"

#include "base/owner.h"

static const eg_engine *engine_of(const eg_plan_space *space) {
  return eg_tensor_egraph_engine_of(space->egraph);
}

uint32_t eg_plan_space_value(const eg_plan_space *space, eg_class class) {
  return space->value_of[eg_engine_find(engine_of(space), class).id];
}

static egraph_status find_term(const eg_plan_space *space, const eg_attrs *attrs,
                               const uint32_t *operands, uint32_t count, eg_arena *arena,
                               uint32_t *out) {
  eg_attrs_id id;
  eg_class *children, found;
  EG_TRY(eg_arena_alloc(arena, count, sizeof *children, &children));
  for (uint32_t i = 0; i < count; i++)
    children[i] = space->values.data[operands[i]].class;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(space->egraph), attrs, &id));
  eg_term term = {
      .op = attrs->op, .payload = id.id, .arity = count, .children = children};
  if (eg_engine_find_term(engine_of(space), &term, &found))
    *out = eg_plan_space_value(space, found);
  return EGRAPH_OK;
}

egraph_status eg_plan_space_find_term(const eg_plan_space *space, const eg_attrs *attrs,
                                      const uint32_t *operands, uint32_t count,
                                      uint32_t *out) {
  eg_arena arena;
  *out = EG_SPACE_NONE;
  eg_arena_init(&arena, space->alloc);
  egraph_status status = find_term(space, attrs, operands, count, &arena, out);
  eg_arena_deinit(&arena);
  return status;
}

double eg_plan_space_bytes(const eg_plan_space *space, uint32_t value, uint32_t layout) {
  const eg_layout_graph *graph = eg_plan_space_layouts(space, value);
  eg_type local =
      eg_sharding_local(&space->mesh, &graph->type, &graph->layouts.data[layout]);
  return (double)eg_type_bytes(&local);
}

void eg_plan_space_deinit(eg_plan_space *space) {
  for (size_t i = 0; i < space->graphs.len; i++)
    eg_layout_graph_deinit(&space->graphs.data[i]);
  EG_DEINIT_MEMBERS(space, EG_PLAN_SPACE_MEMBERS)
  eg_free(space->alloc, space->value_of, space->class_limit, sizeof *space->value_of);
  space->value_of = NULL;
}

double eg_plan_space_whole_bytes(const eg_plan_space *space) {
  double bytes = 0;
  for (uint32_t v = 0; v < space->values.len; v++) // layout 0: R on every axis
    bytes += space->values.data[v].times * eg_plan_space_bytes(space, v, 0);
  return bytes;
}
