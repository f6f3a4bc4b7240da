// What is behind public objects that several files of api/ share: costs, plans, results.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_OBJECTS_H
#define EG_API_OBJECTS_H

#include "baselines/stages/stage_report.h"
#include "exec/profile.h"
#include "optimize/optimize.h"
#include "optimize/price/target_machine.h"
#include "pcg/plan/plan_json.h"

/// A cost model and the profiler that feeds it.
struct egraph_costs {
  egraph_allocator alloc;
  egraph_costs_options options; // database and backend are the texts below
  eg_profiler *profiler;
  eg_cost_model *model;
  eg_text backend, machine, database;
};

/// Returns cost model and profiler as plan searches take them; valid as long as `costs`.
eg_host_costs eg_costs_of_host(egraph_costs *costs);

/// A plan with its graph, and its figures.
struct egraph_plan {
  egraph_allocator alloc;
  egraph_plan_info info; // points to the text below
  eg_text mesh;
  eg_loaded_plan planned;
};

/// Creates a public plan with its figures. Takes ownership of `planned`, also on failure.
egraph_status eg_planned_create(egraph_allocator alloc, eg_loaded_plan *planned,
                                double memory_limit, egraph_plan **out);

/// A plan for one device or many, and the data of its search.
struct egraph_result {
  egraph_allocator alloc;
  eg_optimized made;
  egraph_plan *plan; // NULL: none, or taken
  bool is_staged;    // the result of a search for pipelines
  eg_staged staged;
};

#endif
