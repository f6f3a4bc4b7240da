// The public plan: a plan with its graph, and how it came about.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_PLANNED_H
#define EG_API_PLANNED_H

#include "pcg/plan_json.h"

struct egraph_plan {
  egraph_allocator alloc;
  egraph_plan_report report; // points to the text below
  eg_text mesh, uncertified;
  char seed[EG_RIVAL_NAME_SIZE];
  bool is_there;
  eg_loaded_plan planned; // when it is there
};

/// An empty one. Fails with EGRAPH_E_MEMORY.
egraph_status eg_planned_create(const egraph_allocator *alloc, egraph_plan **out);
/// Fills what the report says of the plan itself.
egraph_status eg_planned_describe(egraph_plan *plan);
/// The cost of its steps and its memory, of a plan that no search has just made.
egraph_status eg_planned_sum_up(egraph_plan *plan);
/// Fails with EGRAPH_E_ARGUMENT when there is no plan, saying what would help.
egraph_status eg_planned_require(const egraph_plan *plan);

#endif
