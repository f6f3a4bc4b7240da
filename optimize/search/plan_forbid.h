// Forbids strategies and moves that no plan within a limit of memory uses: they exceed
// the limit at their own step, or together with the least bytes that every plan holds at
// some step (plan_step_row.h). The smaller problem has the same plans within the limit.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_FORBID_H
#define EG_OPTIMIZE_SEARCH_PLAN_FORBID_H

#include "base/owner.h"
#include "optimize/model/plan_model.h"

typedef struct eg_plan_forbidden {
  eg_bytes strategy, arc; // forbidden flags of the problem before the call
  size_t count;           // strategies and arcs that are forbidden now
  bool is_all;            // true: no plan is within the limit
} eg_plan_forbidden;
EG_OWNER_DEFINE_STATIC(eg_plan_forbidden, (eg_bytes, strategy, arc))

/// Forbids strategies and moves that no plan within `limit` bytes uses; none if the
/// problem is too large for some rounds of O(values * (strategies + arcs + operators)).
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_forbid_large(eg_plan_model *model, egraph_allocator alloc,
                                   double limit, eg_plan_forbidden *out);
/// Restores the flags of forbidden choices that the problem had before.
void eg_plan_forbid_undo(eg_plan_model *model, const eg_plan_forbidden *forbidden);

#endif
