// The way of a call of egraph_optimize: for one device of this host the cheapest graph
// and a plan that runs it, else a search for a plan on the devices of a target.
//
//   graph -> optimizer (single/optimizer.h) -> graph -> plan that runs it
//   graph -> weights ahead of planning (model_weights.h) -> target, its costs
//         -> search on its meshes (plan_search.h) -> plan
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_OPTIMIZE_H
#define EG_OPTIMIZE_OPTIMIZE_H

#include "optimize/plan_search.h"
#include "optimize/price/target_machine.h"
#include "optimize/single/optimizer.h"

/// A search for the cheapest graph for one device, as eg_optimizer_run is one.
typedef struct eg_graph_searcher {
  egraph_status (*run)(const void *self, egraph_allocator alloc,
                       const eg_optimizer_input *input, eg_optimization **out);
  const void *self;
} eg_graph_searcher;

/// A search for pipelines of a training step, which have no plan: what it finds is its
/// own.
typedef struct eg_stage_searcher {
  egraph_status (*run)(void *self, const eg_plan_search_input *input);
  void *self;
} eg_stage_searcher;

/// Options were checked; of a plan alone: target, training, constraints, compare.
typedef struct eg_optimize_call {
  egraph_allocator alloc;
  const eg_graph *graph;
  const eg_rules *rules;                   // NULL: none; of one device not NULL
  const eg_host_costs *costs;              // NULL: none; of one device not NULL
  const egraph_target *target;             // NULL: one device of this host
  eg_training_options *training;           // NULL: the graph alone
  const egraph_search *search;             // not NULL
  eg_kernel_types *kernels;                // eg_optimizer_input
  const eg_graph_searcher *searcher;       // of one device; NULL: the optimizer
  const eg_stage_searcher *stage_searcher; // instead of a plan; NULL: a plan
  const eg_plan_searcher *plan_searcher;   // of a plan; NULL: the product's own search
  const eg_plan_constraints *constraints;  // NULL: none
  const egraph_baselines *compare;         // NULL: with nothing
  bool (*progress)(void *user, const char *phase, const char *line); // may be NULL
  void *user;
} eg_optimize_call;

typedef struct eg_optimized {
  egraph_report report;          // its texts are those of the search
  eg_optimization *optimization; // of one device; NULL of a search. Its graph is the
                                 // plan's where there is one
  eg_plan_search search;         // the plan; of a search all else
  eg_text no_plan;               // why there is none
} eg_optimized;

void eg_optimized_init(eg_optimized *optimized, egraph_allocator alloc);
/// Also after a failure.
void eg_optimized_deinit(eg_optimized *optimized);
/// Fails with EGRAPH_E_UNSUPPORTED for open dimensions and operators of unknown type.
egraph_status eg_optimize_check_plannable(const eg_graph *graph);
/// Fill an initialized result. Fail as egraph_optimize does.
egraph_status eg_optimize_device(const eg_optimize_call *call, eg_optimized *out);
egraph_status eg_optimize_plan(const eg_optimize_call *call, eg_optimized *out);

#endif
