// The bytes of a solution in the memory row of a step.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_STEP_ROW_SUM_H
#define EG_TESTS_STEP_ROW_SUM_H

#include "optimize/search/plan_peak.h"
#include "tests/testing.h"

/// With what is kept as it enters counted once.
static inline double step_row_sum(eg_plan_model *model, const eg_peak_row *row,
                                  const eg_layout_solution *solution) {
  eg_layout_problem *p = &model->problem;
  double kept[EG_LAYOUT_MEMORY_ROWS], sum;
  uint32_t mine = p->memory_rows++;
  assert_true(eg_peak_row_set(row, p, mine, INFINITY));
  assert_ok(eg_plan_sum_kept(model, eg_allocator_heap(), solution, kept));
  p->memory_rows--;
  sum = kept[mine];
  for (uint32_t v = 0; v < model->values.len; v++)
    for (uint32_t a = 0; a < eg_layout_arc_count(p); a++) {
      uint32_t to = p->arc_to.data[a];
      bool is_mine = to >= p->place_begin.data[v] && to < p->place_begin.data[v + 1];
      if (is_mine && solution->arc_used.data[a])
        sum += row->arc.data[a] * p->memory_times.data[v];
    }
  return sum;
}

#endif
