// The request of a call of egraph_optimize, its budget, and the call and result of a
// search for a plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_REQUEST_H
#define EG_OPTIMIZE_REQUEST_H

#include "include/egraph.h"
#include "optimize/model/plan_constraints.h"
#include "optimize/price/host_costs.h"
#include "optimize/search/planner.h"
#include "optimize/single/optimizer.h"
#include "pcg/plan/plan_json.h"
#include "pcg/training/training.h"

/// A search for the cheapest graph for one device, instead of eg_optimizer_run.
typedef struct eg_graph_searcher {
  egraph_status (*run)(const void *self, egraph_allocator alloc,
                       const eg_optimizer_input *input, eg_optimization **out);
  const void *self;
} eg_graph_searcher;

struct eg_plan_call; // below
/// A search for pipelines of a training step, which a plan cannot express; the search
/// keeps its results.
typedef struct eg_stage_searcher {
  egraph_status (*run)(void *self, const struct eg_plan_call *call);
  void *self;
} eg_stage_searcher;

/// A request to egraph_optimize, complete and checked; it is never changed. Target,
/// training, constraints and compare ask for a plan.
typedef struct eg_request {
  egraph_allocator alloc;
  const eg_graph *graph;
  const eg_rules *rules;                  // NULL: none; not NULL for one device
  const eg_host_costs *costs;             // NULL: none; not NULL for one device
  const egraph_search *search;            // not NULL
  eg_kernel_types *kernels;               // as in eg_optimizer_input
  const egraph_target *target;            // NULL: one device of this host
  const eg_training_options *training;    // NULL: the graph alone
  const eg_plan_constraints *constraints; // NULL: none
  const egraph_baselines *compare;        // NULL: no comparison
  // At most one search by another algorithm replaces the product's search; NULL: none.
  const eg_graph_searcher *graphs;
  const eg_plan_searcher *plans;
  const eg_stage_searcher *stages;
  bool (*progress)(void *user, const char *phase, const char *line); // may be NULL
  void *user;
} eg_request;

/// The limits that the searches of a call share.
typedef struct eg_budget {
  double start;      // of the clock (base/clock.h)
  double seconds;    // since the start
  double steps;      // of work, on all meshes
  double memory;     // bytes of a device; INFINITY: any
  uint64_t done;     // steps
  bool is_cancelled; // by the user's progress callback
  bool (*progress)(void *user, const char *phase, const char *line); // as in eg_request
  void *user;
} eg_budget;
/// Starts a budget now, with the time and work limits of a plan search. (plan_job.c)
eg_budget eg_budget_begin(const egraph_search *search);

#define EG_STEPS_OF_WORK 1e6 // in a unit of egraph_search.work_limit

/// A request for a plan whose names are resolved: the model prepared, the machine opened.
typedef struct eg_plan_call {
  const eg_request *request;
  eg_plan_context context;             // machine, costs, rules
  const eg_graph *forward;             // the model; values of weights alone are weights
  const eg_training_options *training; // with the names of trained weights; NULL: none
  // Attention became an operator before gradients were taken; plans that keep its parts
  // are variants which no search reaches.
  bool recognized;
  const eg_mesh *mesh; // NULL: all of the machine's meshes
  eg_budget budget;
} eg_plan_call;

typedef struct eg_plan_search {
  // Without `seed` and `uncertified` texts; the caller fills total_seconds and measured
  egraph_report report;
  bool has_plan;
  eg_loaded_plan planned;
  char seed[EG_RIVAL_NAME_SIZE]; // baseline that found this plan; "": the search did
  bool is_certified;
  eg_text certificate; // when it is
  eg_text uncertified; // why a requested certificate is missing, or ""
} eg_plan_search;

#endif
