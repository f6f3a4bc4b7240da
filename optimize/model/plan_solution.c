// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_solution.h"

#include <assert.h>

#include "base/owner.h"
#include "optimize/space/groups.h"

#define NONE EG_SPACE_NONE
#define LISTS (eg_u32s, value_of_place, move_into, operator_of, value_begin, values)

// ---- indexes ------------------------------------------------------------------------

/// `row` is scratch: the value of the space that each problem value stands for.
static egraph_status index_problem(eg_plan_solution *s, eg_u32s *row) {
  const eg_layout_problem *problem = s->problem;
  for (uint32_t v = 0; v < eg_layout_value_count(problem); v++)
    for (uint32_t p = problem->place_begin.data[v]; p < problem->place_begin.data[v + 1];
         p++) {
      EG_TRY(eg_u32s_push(&s->value_of_place, v));
      EG_TRY(eg_u32s_push(&s->move_into, NONE));
    }
  for (uint32_t a = 0; a < eg_layout_arc_count(problem); a++)
    if (s->solution->arc_used.data[a]) s->move_into.data[problem->arc_to.data[a]] = a;
  const uint32_t *begin = problem->strategy_begin.data;
  for (uint32_t o = 0; o < eg_layout_operator_count(problem); o++)
    for (uint32_t k = begin[o]; k < begin[o + 1]; k++)
      EG_TRY(eg_u32s_push(&s->operator_of, o));
  for (size_t i = 0; i < s->model->values.len; i++)
    EG_TRY(eg_u32s_push(row, s->model->values.data[i].value));
  return eg_group_items(row, s->space->values.len, &s->value_begin, &s->values);
}

egraph_status eg_plan_solution_init(eg_plan_solution *s, egraph_allocator alloc,
                                    const eg_plan_model *model,
                                    const eg_layout_solution *solution) {
  *s = (eg_plan_solution){.model = model,
                          .space = model->space,
                          .problem = &model->problem,
                          .solution = solution};
  EG_INIT_MEMBERS(s, alloc, LISTS)
  eg_u32s row;
  eg_u32s_init(&row, alloc);
  egraph_status status = index_problem(s, &row);
  eg_u32s_deinit(&row);
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
