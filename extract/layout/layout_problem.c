// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_problem.h"

#include <math.h>

#define OWNED                                                                            \
  (eg_u32s, place_begin, input_begin, strategy_begin, need_begin, root_begin,            \
   tie_begin),                                                                           \
      (eg_u32s, source_layout, arc_from, arc_to, operator_value, inputs, output, needs,  \
       root_value, root_places, tie_members),                                            \
      (eg_doubles, cost_times, memory_times, arc_cost, cost),                            \
      (eg_bytes, place_forbidden, arc_forbidden, forbidden)

egraph_status eg_layout_problem_init(eg_layout_problem *problem, egraph_allocator alloc) {
  *problem = (eg_layout_problem){.memory_rows = 1};
  EG_INIT_MEMBERS(problem, alloc, OWNED)
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++) {
    eg_doubles_init(&problem->arc_memory[r], alloc);
    eg_doubles_init(&problem->memory[r], alloc);
    problem->memory_limit[r] = INFINITY;
  }
  eg_u32s *const begins[] = {&problem->place_begin,    &problem->input_begin,
                             &problem->strategy_begin, &problem->need_begin,
                             &problem->root_begin,     &problem->tie_begin};
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; i < sizeof begins / sizeof *begins && status == EGRAPH_OK; i++)
    status = eg_u32s_push(begins[i], 0);
  EG_RETURN_FILLED(status, eg_layout_problem, problem);
}

void eg_layout_problem_deinit(eg_layout_problem *problem) {
  EG_DEINIT_MEMBERS(problem, OWNED)
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++) {
    eg_doubles_deinit(&problem->arc_memory[r]);
    eg_doubles_deinit(&problem->memory[r]);
  }
}

static bool is_amount(double value) { return value >= 0 && isfinite(value); }

static bool are_amounts(const double rows[EG_LAYOUT_MEMORY_ROWS]) {
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    if (!is_amount(rows[r])) return false;
  return true;
}

static egraph_status check_value(const eg_layout_problem *problem, uint32_t value) {
  if (value < eg_layout_value_count(problem)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "layout problem: there is no value %u", value);
}

static egraph_status check_layout(const eg_layout_problem *problem, uint32_t value,
                                  uint32_t layout) {
  EG_TRY(check_value(problem, value));
  if (layout < eg_layout_layout_count(problem, value)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "layout problem: value %u has no layout %u", value,
                 layout);
}

egraph_status eg_layout_problem_add_value(eg_layout_problem *problem, uint32_t layouts,
                                          double cost_times, double memory_times,
                                          uint32_t *out_value) {
  uint32_t value = eg_layout_value_count(problem);
  if (layouts == 0 || layouts > 1u << 20 || !is_amount(cost_times) ||
      !is_amount(memory_times))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "layout problem: value %u needs a layout, and factors >= 0", value);
  EG_TRY(eg_u32s_reserve(&problem->place_begin, value + (size_t)2));
  EG_TRY(eg_doubles_reserve(&problem->cost_times, value + (size_t)1));
  EG_TRY(eg_doubles_reserve(&problem->memory_times, value + (size_t)1));
  EG_TRY(eg_u32s_reserve(&problem->source_layout, value + (size_t)1));
  EG_TRY(
      eg_bytes_resize(&problem->place_forbidden, problem->place_forbidden.len + layouts));
  (void)eg_u32s_push(&problem->place_begin, eg_layout_place_count(problem));
  (void)eg_doubles_push(&problem->memory_times, memory_times);
  (void)eg_u32s_push(&problem->source_layout, EG_LAYOUT_NONE);
  *out_value = value;
  return eg_doubles_push(&problem->cost_times, cost_times);
}

egraph_status eg_layout_problem_add_arc(eg_layout_problem *problem,
                                        const eg_layout_arc *arc) {
  EG_TRY(check_layout(problem, arc->value, arc->from));
  EG_TRY(check_layout(problem, arc->value, arc->to));
  if (!is_amount(arc->cost) || !are_amounts(arc->memory))
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "layout problem: transition %u -> %u of value %u: cost and memory must "
        "be finite and >= 0",
        arc->from, arc->to, arc->value);
  size_t len = problem->arc_from.len + 1;
  EG_TRY(eg_u32s_reserve(&problem->arc_to, len));
  EG_TRY(eg_doubles_reserve(&problem->arc_cost, len));
  EG_TRY(eg_bytes_reserve(&problem->arc_forbidden, len));
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    EG_TRY(eg_doubles_reserve(&problem->arc_memory[r], len));
  EG_TRY(
      eg_u32s_push(&problem->arc_from, eg_layout_place(problem, arc->value, arc->from)));
  (void)eg_u32s_push(&problem->arc_to, eg_layout_place(problem, arc->value, arc->to));
  (void)eg_bytes_push(&problem->arc_forbidden, 0);
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    (void)eg_doubles_push(&problem->arc_memory[r], arc->memory[r]);
  return eg_doubles_push(&problem->arc_cost, arc->cost);
}

egraph_status eg_layout_problem_add_operator(eg_layout_problem *problem, uint32_t value,
                                             const uint32_t *inputs, uint32_t count,
                                             uint32_t *out_operator) {
  assert(problem->strategy_begin.len == problem->operator_value.len + 1);
  EG_TRY(check_value(problem, value));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(check_value(problem, inputs[i]));
  size_t len = problem->operator_value.len + 1;
  EG_TRY(eg_u32s_reserve(&problem->operator_value, len));
  EG_TRY(eg_u32s_reserve(&problem->input_begin, len + 1));
  EG_TRY(eg_u32s_reserve(&problem->strategy_begin, len + 1));
  EG_TRY(eg_u32s_append(&problem->inputs, inputs, count));
  (void)eg_u32s_push(&problem->input_begin, (uint32_t)problem->inputs.len);
  (void)eg_u32s_push(&problem->strategy_begin, eg_layout_strategy_count(problem));
  if (out_operator != NULL) *out_operator = eg_layout_operator_count(problem);
  return eg_u32s_push(&problem->operator_value, value);
}

static egraph_status check_strategy(const eg_layout_problem *problem, uint32_t op,
                                    const eg_layout_strategy *strategy) {
  EG_TRY(check_layout(problem, problem->operator_value.data[op], strategy->output));
  uint32_t first = problem->input_begin.data[op];
  for (uint32_t i = first; i < problem->input_begin.data[op + 1]; i++)
    EG_TRY(check_layout(problem, problem->inputs.data[i], strategy->needs[i - first]));
  if (is_amount(strategy->cost) && are_amounts(strategy->memory)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "layout problem: operator %u: cost and memory of a strategy must be "
                 "finite and >= 0",
                 op);
}

egraph_status eg_layout_problem_add_strategy(eg_layout_problem *problem,
                                             const eg_layout_strategy *strategy) {
  if (problem->operator_value.len == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "layout problem: a strategy before any operator");
  uint32_t op = eg_layout_operator_count(problem) - 1;
  EG_TRY(check_strategy(problem, op, strategy));
  size_t len = problem->output.len + 1;
  uint32_t first = problem->input_begin.data[op], end = problem->input_begin.data[op + 1];
  EG_TRY(eg_u32s_reserve(&problem->needs, problem->needs.len + (end - first)));
  EG_TRY(eg_u32s_reserve(&problem->need_begin, len + 1));
  EG_TRY(eg_u32s_reserve(&problem->output, len));
  EG_TRY(eg_doubles_reserve(&problem->cost, len));
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    EG_TRY(eg_doubles_reserve(&problem->memory[r], len));
  EG_TRY(eg_bytes_push(&problem->forbidden, 0));
  for (uint32_t i = first; i < end; i++)
    (void)eg_u32s_push(&problem->needs, eg_layout_place(problem, problem->inputs.data[i],
                                                        strategy->needs[i - first]));
  (void)eg_u32s_push(&problem->need_begin, (uint32_t)problem->needs.len);
  (void)eg_doubles_push(&problem->cost, strategy->cost);
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    (void)eg_doubles_push(&problem->memory[r], strategy->memory[r]);
  problem->strategy_begin.data[op + 1]++;
  return eg_u32s_push(
      &problem->output,
      eg_layout_place(problem, problem->operator_value.data[op], strategy->output));
}

egraph_status eg_layout_problem_add_root(eg_layout_problem *problem, uint32_t value,
                                         const uint32_t *layouts, uint32_t count) {
  EG_TRY(check_value(problem, value));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(check_layout(problem, value, layouts[i]));
  EG_TRY(eg_u32s_reserve(&problem->root_places, problem->root_places.len + count));
  EG_TRY(eg_u32s_reserve(&problem->root_begin, problem->root_begin.len + 1));
  EG_TRY(eg_u32s_push(&problem->root_value, value));
  for (uint32_t i = 0; i < count; i++)
    (void)eg_u32s_push(&problem->root_places,
                       eg_layout_place(problem, value, layouts[i]));
  return eg_u32s_push(&problem->root_begin, (uint32_t)problem->root_places.len);
}

egraph_status eg_layout_problem_tie(eg_layout_problem *problem, const uint32_t *values,
                                    uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(check_value(problem, values[i]));
  EG_TRY(eg_u32s_reserve(&problem->tie_begin, problem->tie_begin.len + 1));
  EG_TRY(eg_u32s_append(&problem->tie_members, values, count));
  return eg_u32s_push(&problem->tie_begin, (uint32_t)problem->tie_members.len);
}

egraph_status eg_layout_problem_forbid_layout(eg_layout_problem *problem, uint32_t value,
                                              uint32_t layout) {
  EG_TRY(check_layout(problem, value, layout));
  problem->place_forbidden.data[eg_layout_place(problem, value, layout)] = 1;
  return EGRAPH_OK;
}

egraph_status eg_layout_problem_fix_layout(eg_layout_problem *problem, uint32_t value,
                                           uint32_t layout) {
  EG_TRY(check_layout(problem, value, layout));
  problem->source_layout.data[value] = layout;
  return EGRAPH_OK;
}

egraph_status eg_layout_problem_forbid_strategy(eg_layout_problem *problem, uint32_t op,
                                                uint32_t strategy) {
  if (op >= eg_layout_operator_count(problem))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "layout problem: there is no operator %u", op);
  uint32_t begin = problem->strategy_begin.data[op];
  if (strategy >= problem->strategy_begin.data[op + 1] - begin)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "layout problem: operator %u has no strategy %u",
                   op, strategy);
  problem->forbidden.data[begin + strategy] = 1;
  return EGRAPH_OK;
}

void eg_layout_potentials_init(eg_layout_potentials *potentials, egraph_allocator alloc,
                               const eg_layout_seam_list *seams) {
  potentials->seams = seams;
  eg_layout_potentials_init_members(potentials, alloc);
}
