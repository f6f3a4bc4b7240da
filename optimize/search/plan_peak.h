// Expresses the bytes that a device holds at the peak of a plan as a memory row of the
// layout problem, and counts the bytes that the plan really keeps from phase to phase.
//
// The plan's solution exceeds the row by as much as the plan exceeds the limit; another
// solution obeys the row if it holds fewer bytes at that step.
//
//   inputs, weights          strategies of the entry
//   kept for a later phase   strategies that keep it
//   operands of the step     strategies of the step's operator, by the layouts they need
//   other values             strategies of the producer, by the layout made
//   moved from elsewhere     arcs, by their destination
//   scratch of the step      strategies of its operator, arcs into its destination
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
  eg_doubles strategy, arc; // bytes of each strategy and arc of the problem
  // [problem values] 0: all strategies have 0 bytes; empty: not known
  eg_bytes counts;
  double constant; // bytes at the step that depend on no choice
  double value;    // bytes of the solution's choices; with `constant`: the peak
  uint32_t made;   // problem value that the step makes or moves, or EG_SPACE_NONE
  uint32_t into; // place into which the step moves the value; EG_SPACE_NONE: it makes it
} eg_peak_row;
EG_OWNER_DEFINE_STATIC_FROM(eg_peak_row, (.made = EG_SPACE_NONE, .into = EG_SPACE_NONE),
                            (eg_doubles, strategy, arc), (eg_bytes, counts))

/// Prices of memory that belong to a bound.
typedef struct eg_memory_prices {
  // Seconds of a byte of each memory row of a model, and behind them of `step`
  double at[EG_LAYOUT_MEMORY_ROWS];
  // The memory row of a step, of all plans of the model (plan_step_row.h); no strategies:
  // there is none
  eg_peak_row step;
} eg_memory_prices;
EG_OWNER_DEFINE_STATIC(eg_memory_prices, (eg_peak_row, step))

/// The price of memory that a search found, for a search of the same step on another
/// mesh.
typedef struct eg_memory_hint {
  double price;    // seconds of a byte; 0: there is none
  uint32_t values; // of the problem, if a step has a memory row; 0: none has
  uint32_t made;   // problem value of this step
  bool is_moved;   // the step moves the value
} eg_memory_hint;

/// Fills the memory row with the bytes that `emitted`, the solution's plan, holds at a
/// step. Fails with EGRAPH_E_MEMORY.
egraph_status eg_peak_row_make(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, const eg_layout_solution *solution,
                               const eg_emitted_plan *emitted, uint32_t step);
/// Copies the memory row to row `number` of the problem, with `limit` for the peak.
/// False: the bytes that depend on no choice exceed the limit.
bool eg_peak_row_set(const eg_peak_row *row, eg_layout_problem *problem, uint32_t number,
                     double limit);

/// Counts the bytes that the solution's plan really stores for each memory row of the
/// problem: a value that is stored twice, or stored in its layout as an input, is one
/// state. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_sum_kept(const eg_plan_model *model, egraph_allocator alloc,
                               const eg_layout_solution *solution,
                               double out[EG_LAYOUT_MEMORY_ROWS]);

#endif
