// From the graph of a step to the cheapest plan of it on a mesh of devices.
//
//   graph -> e-graph -> saturate -> plan space -> layout problem -> solve -> plan
//
// What rules have found and how it is split are chosen together. Rules do not look across
// what adds up over micro-batches, nor from block to block of a folded step: what is
// equal in one micro-batch need not be in the step, and a block that stands for many is
// rewritten alone.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_PLANNER_H
#define EG_OPTIMIZE_PLAN_PLANNER_H

#include "optimize/plan/machine_costs.h"
#include "optimize/plan/plan_compete.h"
#include "optimize/plan/training_info.h"
#include "pcg/plan_summary.h"
#include "rewrites/saturate.h"

typedef struct eg_planner_input {
  const eg_graph *graph;
  const eg_step_info *info;
  const eg_machine *machine;
  const eg_machine_mesh *mesh;             // of the machine
  eg_cost_model *costs;                    // profile of the machine's device, or NULL
  const eg_rules *rules;                   // NULL: the graph as it is
  const eg_saturation_options *saturation; // NULL: defaults
  bool algebra_first;       // the graph cheapest on one device, then its layouts
                            // (plan_algebra.h)
  eg_layout_options layout; // time limit of all stages, gap, passes, progress
  const eg_plan_constraints *constraints; // NULL: none
  bool compares;                          // plan every baseline, for comparison
  const eg_baseline *baseline;            // plan this one instead; NULL: search
} eg_planner_input;

/// What became of a baseline.
typedef struct eg_baseline_outcome {
  bool is_tried;
  eg_layout_status status;
  double cost, memory, least_memory; // as in eg_fitted_plan
  bool has_summary;
  eg_plan_summary summary; // of its plan
} eg_baseline_outcome;

typedef struct eg_planning {
  eg_layout_status status; // as eg_fitted_plan has it, likewise what follows
  double cost, bound, gap; // seconds of a step; gap = (cost - bound) / cost
  double memory, kept;     // bytes of a device
  double least_memory;
  uint32_t nodes, classes, iterations; // of the e-graph
  uint32_t places, arcs; // of the layout problem: values in their layouts, transitions
  eg_stop stop;          // of saturation
  double saturate_seconds, space_seconds, solve_seconds;
  bool has_plan;
  eg_emitted_plan emitted;
  const char *seed; // baseline whose plan this is; NULL: the search's
  eg_baseline_outcome baseline[EG_BASELINES];
} eg_planning;

/// A search that ends without a proof is followed by the baselines, within the limit of
/// time or for a fraction of a second each; the cheapest plan wins, so that none of them
/// is better. Where no rule has made variants, the search begins with the cheapest.
/// Limits and "does not fit" are results. Fails with EGRAPH_E_UNSUPPORTED (operators of
/// unknown type, too many layouts), EGRAPH_E_TYPE (an unsound rule), EGRAPH_E_ARGUMENT
/// (constraints that leave no plan on this mesh), EGRAPH_E_MEMORY.
egraph_status eg_planner_run(egraph_allocator alloc, const eg_planner_input *input,
                             eg_planning *out);
void eg_planning_deinit(eg_planning *planning);

#endif
