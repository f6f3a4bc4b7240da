// Answers a request (request.h) with the cheapest graph for one device of this host and a
// plan that runs it, or with a plan for the devices of a target.
//
//   graph -> optimizer (single/optimizer.h) -> graph -> plan that runs it
//   graph -> weights ahead of planning (model_weights.h) -> target, its costs
//         -> search on its meshes (plan_search.h) -> plan
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_OPTIMIZE_H
#define EG_OPTIMIZE_OPTIMIZE_H

#include "optimize/plan_search.h"
#include "optimize/request.h"

typedef struct eg_optimized {
  egraph_report report;          // its texts belong to the search
  eg_optimization *optimization; // of one device, or NULL; a plan takes its graph
  eg_plan_search search;         // the plan and the other results of its search
  eg_text no_plan;               // why there is no plan
} eg_optimized;

void eg_optimized_init(eg_optimized *optimized, egraph_allocator alloc);
/// Frees a result, also after a failure.
void eg_optimized_deinit(eg_optimized *optimized);
/// Fails with EGRAPH_E_UNSUPPORTED for a graph with open dimensions or unknown operators.
egraph_status eg_optimize_check_plannable(const eg_graph *graph);
/// Answer the request for one device, or with a plan, in an initialized result. Fail
/// like egraph_optimize.
egraph_status eg_optimize_device(const eg_request *request, eg_optimized *out);
egraph_status eg_optimize_plan(const eg_request *request, eg_optimized *out);

#endif
