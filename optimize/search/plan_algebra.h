// Fixes the graph before layouts are chosen: the given graph, for a first plan; or the
// graph that is cheapest on one device, for comparison with systems that optimize the
// graph first and its parallel execution second.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_ALGEBRA_H
#define EG_OPTIMIZE_SEARCH_PLAN_ALGEBRA_H

#include "optimize/model/plan_model.h"
#include "optimize/model/plan_recall.h"
#include "optimize/price/plan_price.h"

/// Fills `best`, which is initialized and empty, with the strategies, by value of the
/// space's model, of a plan that costs no more than plan `given` of cost `cost`; `best`
/// stays empty if `given` is no plan. `layout` has the total time limit and the progress.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_improve(egraph_allocator alloc, const eg_plan_space *space,
                              const eg_layout_options *layout,
                              const eg_plan_choices *given, double cost, eg_u32s *best);

typedef struct eg_plan_algebra {
  eg_bytes chosen; // [node limit] e-nodes that may be used
  bool is_found;   // false: no graph in time
} eg_plan_algebra;

// Call eg_plan_algebra_deinit also after a failure of the functions below.

/// Finds the graph that is cheapest on one device of unlimited memory. `layout` has the
/// time limit. Fails with EGRAPH_E_MEMORY, EGRAPH_E_UNSUPPORTED.
egraph_status eg_plan_algebra_cheapest(eg_plan_algebra *algebra, egraph_allocator alloc,
                                       eg_tensor_egraph *egraph, const eg_step_info *info,
                                       const eg_device_cost *device,
                                       const eg_layout_options *layout);
/// Allows only the e-nodes that no rule has made. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_algebra_original(eg_plan_algebra *algebra, egraph_allocator alloc,
                                       const eg_tensor_egraph *egraph);
/// Allows only the e-nodes of a plan of the space. Fills `strategy`, which is initialized
/// and empty, by value of the space's model. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_algebra_of(eg_plan_algebra *algebra, egraph_allocator alloc,
                                 const eg_plan_space *space, const eg_plan_choices *plan,
                                 eg_u32s *strategy);
void eg_plan_algebra_deinit(eg_plan_algebra *algebra);
/// Forbids, in a model of the same e-graph, all e-nodes that `algebra` does not allow.
egraph_status eg_plan_algebra_fix(const eg_plan_algebra *algebra, eg_plan_model *model);

#endif
