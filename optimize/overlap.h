// The plan of a mesh whose step is shortest when exchanges run beside computing
// (sim/plan), and a lower bound of all such steps.
//
// No step is shorter than any stream is busy. So for weights >= 0 of the streams that add
// up to 1, the weighted seconds of a plan's streams are at most those of its step, and
// the least of them over all plans bounds the step of every plan. That least is a search
// for a plan whose seconds of computing, and of exchanges over each class of links, are
// multiplied by the weights. Equal weights give the plan that is cheapest one thing after
// the other. The next ones are those that bound best by what the plans met so far allow
// (Kelley's cutting planes: a matrix game of streams against plans).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_OVERLAP_H
#define EG_OPTIMIZE_OVERLAP_H

#include "optimize/price/plan_price.h"

enum { EG_OVERLAP_PLANS = 16, EG_OVERLAP_STREAMS = EG_MACHINE_MAX_LINKS + 1 };

typedef struct eg_overlap {
  const eg_machine_mesh *mesh;
  double memory_limit;
  uint32_t streams;
  uint32_t stream_of_link[EG_MACHINE_MAX_LINKS]; // 0: no axis goes over it
  uint32_t plans;
  double busy[EG_OVERLAP_PLANS][EG_OVERLAP_STREAMS]; // seconds
  double bound;                                      // of the step of any plan
  double shortest;                                   // of all plans met
  double weight[EG_OVERLAP_STREAMS];                 // of the search to come
} eg_overlap;

/// With equal weights.
void eg_overlap_init(eg_overlap *overlap, const eg_machine_mesh *mesh,
                     double memory_limit);
/// The seconds of a plan's step, in the first order of issue (eg_issue) in which it holds
/// no more than the limit. The plan counts for the next weights.
egraph_status eg_overlap_add(eg_overlap *overlap, const eg_plan *plan,
                             egraph_allocator alloc, double *out_seconds);
/// A lower bound of weighted seconds, by a search with the current weights.
void eg_overlap_set_bound(eg_overlap *overlap, double weighted);
/// Finds the weights of the next search. False where none can bound better by more than
/// `gap` of the shortest step, or the shortest step is that close to the bound already.
bool eg_overlap_next(eg_overlap *overlap, double gap);
/// The current weights as prices.
eg_cost_weights eg_overlap_prices(const eg_overlap *overlap);

#endif
