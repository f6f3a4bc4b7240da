// The searches that the product's own is compared with, by name. Graph searches take and
// give what the optimizer of one device does (optimize/single/optimizer.h): the same
// graph, rules, cost model and limits, and the same kind of result. Plan searches stand
// in the planner's place (optimize/search/plan_searcher.h), on the same layout problem.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_ALGORITHM_H
#define EG_BASELINES_ALGORITHM_H

#include "baselines/graph_search.h"
#include "baselines/plan_algorithm.h"
#include "baselines/stages/stage_report.h"

typedef struct eg_algorithm {
  const char *name, *what, *paper;
  // What it finds: one of them.
  eg_graph_algorithm *graphs;     // a graph for one device
                                  // NULL: it finds no graph
  const eg_plan_algorithm *plans; // a plan for several; NULL: it finds no plan
  eg_stage_search *stages;        // pipelines of a training step; NULL: it finds none
} eg_algorithm;

/// Fails with EGRAPH_E_ARGUMENT, listing the names, where there is none of that name.
egraph_status eg_algorithm_find(const char *name, const eg_algorithm **out);
/// Searches for a graph. `algorithm` is an eg_algorithm with `graphs`. Fails as
/// eg_optimizer_run.
egraph_status eg_algorithm_optimize(const void *algorithm, egraph_allocator alloc,
                                    const eg_optimizer_input *input,
                                    eg_optimization **out);
/// The search of an algorithm with `plans`, in the planner's terms.
eg_plan_searcher eg_algorithm_plan_searcher(const eg_algorithm *algorithm);

#endif
