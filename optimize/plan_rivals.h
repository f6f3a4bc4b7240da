// What became of the baselines on all meshes, for the plan that has won.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_RIVALS_H
#define EG_OPTIMIZE_PLAN_RIVALS_H

#include "optimize/fold/joint_step.h"
#include "pcg/plan/plan.h"

/// The best of each baseline up to now; starts as zeros.
typedef struct eg_rival_list {
  bool is_wanted;        // among the plan's rivals
  bool is_constrained;   // all of them keep to the user's constraints
  double single_seconds; // of one device, the least; 0: not known
  eg_baseline_outcome best[EG_BASELINE_OUTCOMES];
  eg_mesh mesh[EG_BASELINE_OUTCOMES];
} eg_rival_list;

/// Takes over what is better on this mesh.
void eg_rivals_join(eg_rival_list *list, const eg_planning *planning,
                    const eg_mesh *mesh);
/// Appends all that were tried to the plan's rivals, if they are wanted: the best first,
/// with what takes them longer. Tells the plan what one device takes.
egraph_status eg_rivals_list(const eg_rival_list *list, double memory_limit,
                             eg_plan *plan, egraph_allocator alloc);

#endif
