// The bytes that a device holds at the peak of a plan, as a row of memory of its layout
// problem; and the bytes that it really keeps from phase to phase.
//
// The solution that the plan is made of exceeds such a row as the plan does the limit,
// and another keeps to it by holding less of what is there at that step.
//
//   inputs, weights          strategies of the entry
//   kept for a later phase   strategies that keep it
//   operands of the step     strategies of the step's operator, by the layouts they need
//   other values             strategies of the producer, by the layout made
//   moved from another way   arcs, by where they lead
//   scratch of the step      strategies of its operator, arcs into where it leads
//
// The values held at a step depend on the plan's order of steps, and on how layouts are
// reached; for another solution the row is an estimate. It helps to find plans, and
// proves nothing.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_PEAK_H
#define EG_OPTIMIZE_SEARCH_PLAN_PEAK_H

#include "base/owner.h"
#include "optimize/model/plan_emit.h"

typedef struct eg_peak_row {
  eg_doubles strategy, arc; // bytes of each of the problem
  double constant;          // bytes at the step that depend on no choice
  double value;             // of the solution; together: the peak
  uint32_t made; // problem value that the step makes or moves, or EG_SPACE_NONE
  uint32_t into; // place that it moves it into, or EG_SPACE_NONE: it makes it
} eg_peak_row;

static inline void eg_peak_row_init(eg_peak_row *row, egraph_allocator alloc) {
  *row = (eg_peak_row){.made = EG_SPACE_NONE, .into = EG_SPACE_NONE};
  EG_INIT_MEMBERS(row, alloc, (eg_doubles, strategy, arc))
}
static inline void eg_peak_row_deinit(eg_peak_row *row){
    EG_DEINIT_MEMBERS(row, (eg_doubles, strategy, arc))}
/// The row of what `emitted`, the plan of the solution, holds at a step; replaces what
/// was in the row. Fails with EGRAPH_E_MEMORY.
egraph_status eg_peak_row_make(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, const eg_layout_solution *solution,
                               const eg_emitted_plan *emitted, uint32_t step);
/// Writes it to a row of the problem, with this limit of the peak. False: what is
/// constant exceeds that.
bool eg_peak_row_set(const eg_peak_row *row, eg_layout_problem *problem, uint32_t number,
                     double limit);

/// Bytes in each row of the problem that the solution's plan really has at that time:
/// what is kept twice, or kept as it enters, is one state. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_sum_kept(const eg_plan_model *model, egraph_allocator alloc,
                               const eg_layout_solution *solution,
                               double out[EG_LAYOUT_MEMORY_ROWS]);

#endif
