// The searches with which the product's own search is compared, by name, and the parts of
// a request that each accepts.
//
// A search of the kind `graphs` replaces the optimizer of one device
// (optimize/single/optimizer.h): it takes the same graph, rules, cost model and limits,
// and returns the same kind of result. A search of the kind `plans` replaces the planner
// on each mesh (optimize/search/plan_searcher.h), on the same layout problem. A search of
// the kind `stages` finds pipelines (stages/stage_report.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_ALGORITHM_H
#define EG_BASELINES_ALGORITHM_H

#include "baselines/graph_search.h"
#include "baselines/plan_algorithm.h"
#include "baselines/stages/stage_report.h"

typedef struct eg_algorithm {
  const char *name, *what, *paper;
  // Exactly one of these pointers is set:
  eg_graph_algorithm *graphs;    // a graph for one device
  const eg_plan_searcher *plans; // a plan for several devices
  eg_stage_search *stages;       // pipelines of a training step
} eg_algorithm;

// The parts of a request that some searches do not accept: id, bit, spelling, and true if
// a request with the part asks for a plan.
#define EG_REQUEST_PART_LIST(X)                                                          \
  X(EG_PART_TARGET, 0, "target", true)                                                   \
  X(EG_PART_TRAINING, 1, "training", true)                                               \
  X(EG_PART_CONSTRAINTS, 2, "constraints", true)                                         \
  X(EG_PART_BASELINES, 3, "baselines", true)                                             \
  X(EG_PART_CERTIFICATE, 4, "certificate", true)                                         \
  X(EG_PART_OVERLAP, 5, "overlap", true)                                                 \
  X(EG_PART_MESH, 6, "mesh", false)                                                      \
  X(EG_PART_ALGEBRA_FIRST, 7, "algebra-first", false)                                    \
  X(EG_PART_EXPLANATION, 8, "explanation", false)
#define EG_REQUEST_PART(id, bit, name, is_of_plan) id = 1u << (bit),
enum { EG_REQUEST_PART_LIST(EG_REQUEST_PART) };
#undef EG_REQUEST_PART

/// True when a request with these parts asks for a plan.
bool eg_parts_need_plan(uint32_t parts);
/// Fails with EGRAPH_E_UNSUPPORTED when a search (NULL: the product's own) does not
/// accept one of the parts, naming the first, or when a part that it needs is missing.
egraph_status eg_algorithm_check(const eg_algorithm *algorithm, uint32_t parts);

/// Finds a search by name. Fails with EGRAPH_E_ARGUMENT for an unknown name, listing
/// the names.
egraph_status eg_algorithm_find(const char *name, const eg_algorithm **out);
/// Searches for a graph. `algorithm` is an eg_algorithm with `graphs`. Fails
/// as eg_optimizer_run.
egraph_status eg_algorithm_optimize(const void *algorithm, egraph_allocator alloc,
                                    const eg_optimizer_input *input,
                                    eg_optimization **out);

#endif
