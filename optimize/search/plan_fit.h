// The cheapest plan whose peak of memory is within the limit of a device.
//
// What a layout problem limits is what a plan keeps from phase to phase: inputs, weights,
// and what is handed on, at the end of FORWARD and at the end of BACKWARD. No peak is
// below these. What is there for a few steps only, the ends of a move, operands and
// results, is known when the steps have an order (pcg/plan/plan_cost.h). So a plan is
// made and its peak counted. Where the limit may bind, what no plan within it has is
// forbidden (plan_forbid.h), and where a plan exceeds it, what every plan holds at the
// step of its peak becomes a row (plan_step_row.h), as long as such rows tell. Where they
// do not, what is kept has a price, as low as a plan fits at, and the next plan must hold
// less where the peak is. Between the first that fits and the last that does not a few
// more are tried. Then, as long as there is time, the solutions that the limit allows are
// gone through, cheapest first: the first that fits is the cheapest plan there is.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_FIT_H
#define EG_OPTIMIZE_SEARCH_PLAN_FIT_H

#include "optimize/model/plan_emit.h"
#include "optimize/model/plan_recall.h"

typedef struct eg_fitted_plan {
  eg_layout_status status; // NO_MEMORY: proven that no plan fits. UNKNOWN: none was found
  double cost, bound, gap; // seconds of a step; gap = (cost - bound) / cost
  double memory;           // bytes of a device at the plan's peak, at most the limit
  double kept;             // of these, the most that the problem counts at one time
  double price[EG_LAYOUT_MEMORY_ROWS]; // seconds of a byte of each row, of the bound
  double least_memory;   // without a plan: the least peak of any that was made, or 0
  uint32_t places, arcs; // of the layout problem
  uint64_t work;         // steps done
  bool has_plan;
  eg_emitted_plan emitted;
  eg_plan_choices choices; // of the solution that it is made of
} eg_fitted_plan;

/// The limit is the one of the space's step; the model's problem has it in all its rows,
/// and again at the end. Solves once if the first plan fits, else some twenty times,
/// within the options' time. Fails like eg_layout_solve and eg_plan_emit, and with
/// EGRAPH_E_INTERNAL when a plan contradicts a proof. `only_fitting`: if no plan fits,
/// does not look for one that needs more.
egraph_status eg_plan_fit(eg_plan_model *model, egraph_allocator alloc,
                          const eg_layout_options *options, bool only_fitting,
                          eg_fitted_plan *out);
void eg_fitted_plan_init(eg_fitted_plan *fitted, egraph_allocator alloc);
void eg_fitted_plan_deinit(eg_fitted_plan *fitted);

#endif
