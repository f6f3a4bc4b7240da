// Finds the plan of a mesh whose step is shortest when exchanges overlap computing
// (sim/plan), and a lower bound of all such steps.
//
// The first micro-batch's backward pass begins when its forward pass has ended. Before
// that, and after it, a step takes at least as long as any stream is busy, so it is no
// shorter than any of these paths:
//
//   all computing
//   computing of the first forward pass, then exchanges of one class of links of what
//   later phases make (gradients)
//   all exchanges of one class of links
//
// So for weights >= 0 of the paths that add up to 1, the weighted seconds of a plan's
// paths are at most its step's, and their least over all plans bounds the step of every
// plan. A search finds this least: for a plan whose seconds are multiplied by the weights
// of their paths (eg_cost_weights). The next weights have the best bound over the plans
// so far (Kelley's cutting planes: a matrix game of paths against plans).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_OVERLAP_H
#define EG_OPTIMIZE_OVERLAP_H

#include "optimize/plan_job.h"

enum { EG_OVERLAP_PLANS = 16, EG_OVERLAP_PATHS = 2 * EG_MACHINE_MAX_LINKS + 1 };

typedef struct eg_overlap {
  const eg_machine_mesh *mesh;
  double memory_limit;
  double beside; // as in eg_simulation_setup
  uint32_t streams;
  uint32_t stream_of_link[EG_MACHINE_MAX_LINKS]; // 0: no axis uses this link
  uint32_t micro_batches;
  uint32_t paths; // 0: all computing; then two for each stream of exchanges
  uint32_t plans;
  double seconds[EG_OVERLAP_PLANS][EG_OVERLAP_PATHS]; // of a plan's paths
  double bound;                                       // of the step of any plan
  double shortest;                                    // of all plans added so far
  double last;                                        // seconds of the last plan's step
  double missing;                  // bytes whose lack makes that step longer; 0: none
  double weight[EG_OVERLAP_PATHS]; // of the next search
} eg_overlap;

/// Starts with equal path weights. `beside`: the factor by which computing is slower
/// while its device exchanges (eg_machine.beside); the bound ignores it and stays valid.
void eg_overlap_init(eg_overlap *overlap, const eg_machine_mesh *mesh,
                     uint32_t micro_batches, double memory_limit, double beside);
/// Simulates a plan's step, exchanges in closed form, in the order of issue (eg_issue) in
/// which it is shortest and fits in memory. The next weights take account of the plan.
egraph_status eg_overlap_add(eg_overlap *overlap, const eg_plan *plan,
                             egraph_allocator alloc, double *out_seconds);
/// Sets the lower bound that a search proved for path seconds times current weights.
void eg_overlap_set_bound(eg_overlap *overlap, double weighted);
/// Finds the path weights of the next search. Returns false when they equal the last
/// search's, when no weights can raise the bound by more than `gap` of the shortest step,
/// or when the shortest step is that close to the bound already.
bool eg_overlap_next(eg_overlap *overlap, double gap);
/// Returns the current path weights as factors of a plan's seconds.
eg_cost_weights eg_overlap_prices(const eg_overlap *overlap);

/// The share of the time for a mesh that the first search gets, before overlapped ones.
#define EG_OVERLAP_FIRST_SHARE 0.5
/// Simulates the plans of the first search on a mesh (limited to `seconds` and `steps`),
/// of the baselines, of searches with path weights and of random walks, and keeps the
/// plan of the shortest step. Fails like eg_joint_step_plan.
egraph_status eg_overlap_search(eg_plan_job *job, const eg_machine_mesh *mesh,
                                eg_planning *planning, double seconds, double steps);

#endif
