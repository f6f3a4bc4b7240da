// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_solution.h"

#include <assert.h>

#include "base/owner.h"

#define NONE EG_SPACE_NONE
#define LISTS (eg_u32s, value_of_place, move_into, operator_of, value_begin, values)

// ---- indexes ------------------------------------------------------------------------

static egraph_status index_places(eg_plan_solution *s) {
  const eg_layout_problem *problem = s->problem;
  for (uint32_t v = 0; v < eg_layout_value_count(problem); v++)
    for (uint32_t p = problem->place_begin.data[v]; p < problem->place_begin.data[v + 1];
         p++) {
      EG_TRY(eg_u32s_push(&s->value_of_place, v));
      EG_TRY(eg_u32s_push(&s->move_into, NONE));
    }
  for (uint32_t a = 0; a < eg_layout_arc_count(problem); a++)
    if (s->solution->arc_used.data[a]) s->move_into.data[problem->arc_to.data[a]] = a;
  return EGRAPH_OK;
}

static egraph_status index_strategies(eg_plan_solution *s) {
  const eg_u32s *begin = &s->problem->strategy_begin;
  for (uint32_t o = 0; o < eg_layout_operator_count(s->problem); o++)
    for (uint32_t k = begin->data[o]; k < begin->data[o + 1]; k++)
      EG_TRY(eg_u32s_push(&s->operator_of, o));
  return EGRAPH_OK;
}

/// Copies and kept values of the problem by the value of the space that they stand for.
static egraph_status index_values(eg_plan_solution *s) {
  const eg_model_values *values = &s->model->values;
  uint32_t count = (uint32_t)s->space->values.len;
  EG_TRY(eg_u32s_resize(&s->value_begin, (size_t)count + 1));
  EG_TRY(eg_u32s_resize(&s->values, values->len));
  for (size_t i = 0; i < values->len; i++)
    s->value_begin.data[values->data[i].value + 1]++;
  for (uint32_t v = 0; v < count; v++)
    s->value_begin.data[v + 1] += s->value_begin.data[v];
  for (size_t i = 0; i < values->len; i++)
    s->values.data[s->value_begin.data[values->data[i].value]++] = (uint32_t)i;
  for (uint32_t v = count; v > 0; v--)
    s->value_begin.data[v] = s->value_begin.data[v - 1];
  s->value_begin.data[0] = 0;
  return EGRAPH_OK;
}

egraph_status eg_plan_solution_init(eg_plan_solution *s, egraph_allocator alloc,
                                    const eg_plan_model *model,
                                    const eg_layout_solution *solution) {
  *s = (eg_plan_solution){.model = model,
                          .space = model->space,
                          .problem = &model->problem,
                          .solution = solution};
  EG_INIT_MEMBERS(s, alloc, LISTS)
  egraph_status status = index_places(s);
  if (status == EGRAPH_OK) status = index_strategies(s);
  if (status == EGRAPH_OK) status = index_values(s);
  if (status != EGRAPH_OK) eg_plan_solution_deinit(s);
  return status;
}

void eg_plan_solution_deinit(eg_plan_solution *s){EG_DEINIT_MEMBERS(s, LISTS)}

// ---- questions ----------------------------------------------------------------------

uint32_t eg_plan_solution_made(const eg_plan_solution *s, uint32_t v) {
  const eg_space_value *value = &s->space->values.data[v];
  return value->is_entry
             ? s->model->entries.data[v]
             : s->model->copies.data[(size_t)v * EG_PHASE_COUNT + value->phase];
}

const eg_space_operator *eg_plan_solution_operator(const eg_plan_solution *s,
                                                   uint32_t v) {
  uint32_t strategy = eg_plan_solution_strategy(s, eg_plan_solution_made(s, v));
  if (strategy == EG_LAYOUT_NONE) return NULL;
  uint32_t op = s->model->operators.data[s->operator_of.data[strategy]];
  assert(op != NONE && "only copies are kept");
  return &s->space->operators.data[op];
}

const eg_space_strategy *eg_plan_solution_spread(const eg_plan_solution *s, uint32_t v) {
  uint32_t strategy = eg_plan_solution_strategy(s, eg_plan_solution_made(s, v));
  return &s->space->strategies.data[s->model->strategies.data[strategy]];
}

eg_layout eg_plan_solution_layout(const eg_plan_solution *s, uint32_t place) {
  uint32_t value = s->value_of_place.data[place];
  uint32_t number = place - s->problem->place_begin.data[value];
  uint32_t v = s->model->values.data[value].value;
  return eg_plan_space_layouts(s->space, v)
      ->layouts.data[eg_plan_model_layout(s->model, value, number)];
}

uint32_t eg_plan_solution_kept_from(const eg_plan_solution *s, uint32_t value) {
  uint32_t strategy = eg_plan_solution_strategy(s, value);
  if (strategy == EG_LAYOUT_NONE || s->model->strategies.data[strategy] != NONE)
    return NONE;
  return s->problem->needs.data[s->problem->need_begin.data[strategy]];
}
