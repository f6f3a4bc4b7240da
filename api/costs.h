// The public cost object: a cost model and the profiler that feeds it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_COSTS_H
#define EG_API_COSTS_H

#include "exec/profile.h"
#include "optimize/price/target_machine.h"

struct egraph_costs {
  egraph_allocator alloc;
  egraph_costs_options options; // database and backend are the texts below
  eg_profiler *profiler;
  eg_cost_model *model;
  eg_text backend, machine, database;
};

/// Returns the costs in the form that planning takes; valid as long as `costs`.
eg_host_costs eg_costs_of_host(egraph_costs *costs);

#endif
