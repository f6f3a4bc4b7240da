// Searches all meshes of a machine for the cheapest plan of a graph or of its
// training step.
//
//   model -> whole step -> on every mesh: plan (whole_step.h) -> the cheapest ->
//   certificate
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_SEARCH_H
#define EG_OPTIMIZE_PLAN_SEARCH_H

#include "optimize/request.h"

void eg_plan_search_init(eg_plan_search *search, egraph_allocator alloc);
/// Frees a search, also after a failure.
void eg_plan_search_deinit(eg_plan_search *search);
/// Runs a search and fills `out`, which is initialized. Reaching a limit and finding no
/// plan that fits are results, not failures. Fails like eg_joint_step_init and
/// eg_joint_step_plan, and with EGRAPH_E_ARGUMENT (a mesh that the machine does not have,
/// constraints that leave no plan on any mesh).
egraph_status eg_plan_search_run(const eg_plan_call *call, eg_plan_search *out);

#endif
