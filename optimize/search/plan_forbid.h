// Strategies and moves that no plan within a limit of memory has: at their own step, or
// next to the least that every plan holds at some step (plan_step_row.h), they exceed it.
// The rest is a smaller problem with the same plans.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_FORBID_H
#define EG_OPTIMIZE_SEARCH_PLAN_FORBID_H

#include "optimize/model/plan_model.h"

typedef struct eg_plan_forbidden {
  eg_bytes strategy, arc; // what the problem forbade before
  size_t count;           // strategies and arcs that it forbids now
  bool is_all;            // no plan is within the limit
} eg_plan_forbidden;

void eg_plan_forbidden_init(eg_plan_forbidden *forbidden, egraph_allocator alloc);
void eg_plan_forbidden_deinit(eg_plan_forbidden *forbidden);
/// Forbids them in the model's problem. Nothing where it is too large for that: some
/// rounds of O(values * (strategies + arcs + operators)). Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_forbid_large(eg_plan_model *model, egraph_allocator alloc,
                                   double limit, eg_plan_forbidden *out);
/// Allows them again.
void eg_plan_forbid_undo(eg_plan_model *model, const eg_plan_forbidden *forbidden);

#endif
