// What became of the baselines on all meshes, for the plan that has won.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_PLAN_RIVALS_H
#define EG_API_PLAN_RIVALS_H

#include "api/planned.h"
#include "optimize/plan/planner.h"

/// The best of each baseline up to now; starts as zeros.
typedef struct eg_rival_list {
  eg_baseline_outcome best[EG_BASELINES];
  eg_mesh mesh[EG_BASELINES];
} eg_rival_list;

/// Takes over what is better on this mesh.
void eg_rival_list_join(eg_rival_list *list, const eg_planning *planning,
                        const eg_mesh *mesh);
/// Appends all that were tried to the plan's rivals, the best first, with what takes them
/// longer.
egraph_status eg_rival_list_finish(const eg_rival_list *list, eg_plan *plan,
                                   egraph_allocator alloc);

#endif
