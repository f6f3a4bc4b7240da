// Plans a step without rewrite rules and groups, then with them: more rules or groups,
// never a dearer plan.
//
// Without rules and groups a step is smaller, folds its equal blocks more often, and is
// mostly planned with a proof. This search has the limit of work of a call without rules.
// The search with rules and groups has as much work again, begins with the plan found,
// and returns no dearer one. The bound is over all variants: it comes from the second
// search, or from the first if there was no new variant. Both searches first ignore the
// limit of memory, unless it is known to bind: if that plan fits, the limit changes
// neither the plan nor the work on this mesh, unless the clock ends the search.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_JOINT_STEP_H
#define EG_OPTIMIZE_FOLD_JOINT_STEP_H

#include "optimize/fold/whole_step.h"

typedef struct eg_joint_step {
  eg_whole_step
      *given; // folded for a search without rules and groups; NULL: there are none
  eg_whole_step *step;
  double memory; // bytes of a device
} eg_joint_step;

/// Creates the step planned without rules and groups and, if there are any, also the step
/// with them; after a failure neither exists. Fails like eg_whole_step_create.
egraph_status eg_joint_step_init(eg_joint_step *joint, egraph_allocator alloc,
                                 const eg_whole_input *input, bool has_rules,
                                 bool has_groups);
void eg_joint_step_deinit(eg_joint_step *joint);
/// Sets the memory of a device, in bytes, for later plans.
void eg_joint_step_limit_memory(eg_joint_step *joint, double bytes);
/// Plans like eg_whole_step_plan; without rules and groups only once. If that bound is at
/// least 1.5 times the input's ceiling (4 times with groups), the other search is
/// skipped.
egraph_status eg_joint_step_plan(eg_joint_step *joint, const eg_planner_input *planner,
                                 eg_planning *out);

#endif
