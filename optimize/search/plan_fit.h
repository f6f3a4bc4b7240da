// Finds the cheapest plan whose peak of memory is within the limit of a device.
//
// A layout problem limits only the bytes that a plan keeps from phase to phase (inputs,
// weights, stashes, sums) at the end of FORWARD and of BACKWARD. No peak is below these.
// Values held for a few steps only, such as operands, results and the ends of a move, are
// known when the steps have an order (pcg/plan/plan_cost.h). Therefore each plan is
// emitted and its peak counted. If the limit may bind, choices that exceed it in every
// plan are forbidden (plan_forbid.h). If a plan exceeds the limit, the bytes that every
// plan holds at its peak step become a row of the problem (plan_step_row.h), as long as
// such rows change the plan. After that, kept bytes get the lowest price at which a plan
// fits, and the next plan must hold less at the peak. A few more plans are tried between
// the first that fits and the last that does not. In the remaining time, the solutions
// within the limit are visited: the cheapest that fits is the cheapest plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_FIT_H
#define EG_OPTIMIZE_SEARCH_PLAN_FIT_H

#include "optimize/model/plan_emit.h"
#include "optimize/model/plan_recall.h"
#include "optimize/search/plan_peak.h"

typedef struct eg_fitted_plan {
  eg_layout_status status; // NO_MEMORY: proven that no plan fits. UNKNOWN: none was found
  double cost, bound, gap; // seconds of a step; gap = (cost - bound) / cost
  double memory;           // bytes of a device at the plan's peak, at most the limit
  double kept;             // the most of these bytes that the problem counts at one time
  eg_memory_prices prices; // of the bound; its step is one at which a plan was too large
  double least_memory;     // without a plan: the least peak of all emitted plans, or 0
  uint32_t places, arcs;   // of the layout problem
  uint64_t work;           // steps done
  bool has_plan;
  eg_emitted_plan emitted;
  eg_plan_choices choices; // the choices of the plan's solution
} eg_fitted_plan;

/// Finds the plan within the memory limit of the space's step, which all memory rows of
/// the problem have, before and after the call. Solves once if the first plan fits,
/// otherwise about twenty times, within the options' time. Fails like eg_layout_solve and
/// eg_plan_emit, and with EGRAPH_E_INTERNAL when a plan contradicts a proof.
/// `only_fitting`: if no plan fits, does not look for a plan that needs more memory.
egraph_status eg_plan_fit(eg_plan_model *model, egraph_allocator alloc,
                          const eg_layout_options *options, bool only_fitting,
                          eg_fitted_plan *out);
void eg_fitted_plan_init(eg_fitted_plan *fitted, egraph_allocator alloc);
void eg_fitted_plan_deinit(eg_fitted_plan *fitted);

#endif
