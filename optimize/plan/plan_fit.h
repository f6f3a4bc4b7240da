// The cheapest plan that fits in the memory of a device.
//
// What a layout problem limits is what a plan keeps: inputs, weights, and what a phase
// hands to a later one, all together. What is there for a few steps only, the ends of a
// move, operands and results, is known when the steps have an order (pcg/plan_life.h). So
// a plan is made and its peak counted; if that exceeds the limit, the next one must keep
// so much less. Between the first that fits and the last that does not a few more are
// tried. When none fits, the one that keeps least is tried.
//
// The bound is of plans that keep at most the limit. With one micro-batch that leaves out
// some whose peak fits: what FORWARD and what BACKWARD keep counts together, though they
// are not there at the same time.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_PLAN_FIT_H
#define EG_OPTIMIZE_PLAN_PLAN_FIT_H

#include "optimize/plan/plan_choices.h"
#include "optimize/plan/plan_emit.h"

typedef struct eg_fitted_plan {
  eg_layout_status status; // NO_MEMORY: no plan keeps so little. UNKNOWN: none was found
                           // to fit, for lack of time or because the peaks are too high
  double cost, bound, gap; // seconds of a step; gap = (cost - bound) / cost
  double memory;           // bytes of a device at the plan's peak, at most the limit
  double kept;             // of these, what the problem counts
  double least_memory;     // without a plan: the least peak that is known to do, or 0
  uint32_t places, arcs;   // of the layout problem
  bool has_plan;
  eg_emitted_plan emitted;
  eg_plan_choices choices; // of the solution that it is made of
} eg_fitted_plan;

/// The limit is that of the model's problem, which has it again at the end. Solves once
/// if the first plan fits, else up to 19 times, within the options' time. Fails like
/// eg_layout_solve and eg_plan_emit.
egraph_status eg_plan_fit(eg_plan_model *model, egraph_allocator alloc,
                          const eg_layout_options *options, eg_fitted_plan *out);
void eg_fitted_plan_deinit(eg_fitted_plan *fitted);

#endif
