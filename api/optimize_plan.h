// From the public options to a search for a plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_OPTIMIZE_PLAN_H
#define EG_API_OPTIMIZE_PLAN_H

#include "api/result.h"

/// A call of egraph_optimize; groups are complete, or NULL where the caller has none.
typedef struct eg_optimize_call {
  egraph_allocator alloc;
  const egraph_graph *graph;
  const egraph_rules *rules; // NULL: none
  egraph_costs *costs;       // NULL: none
  const egraph_target *target;
  const egraph_training *training;
  const egraph_search *search; // not NULL, checked
  const egraph_constraints *constraints;
  const egraph_baselines *compare;
  bool (*progress)(void *user, const char *phase, const char *line); // may be NULL
  void *user;
} eg_optimize_call;

/// Fails with EGRAPH_E_UNSUPPORTED for open dimensions and operators of unknown type.
egraph_status eg_optimize_check_plannable(const egraph_graph *graph);
/// Fills the plan and the report of a result. Fails as egraph_optimize does.
egraph_status eg_optimize_plan(const eg_optimize_call *call, egraph_result *result);

#endif
