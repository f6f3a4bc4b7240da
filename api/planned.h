// The public plan: a plan with its graph, and its figures.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_PLANNED_H
#define EG_API_PLANNED_H

#include "pcg/plan/plan_json.h"

struct egraph_plan {
  egraph_allocator alloc;
  egraph_plan_info info; // points to the text below
  eg_text mesh;
  eg_loaded_plan planned;
};

/// Creates a public plan and computes its figures. Owns `planned` from then on, also when
/// it fails.
egraph_status eg_planned_create(egraph_allocator alloc, eg_loaded_plan *planned,
                                double memory_limit, egraph_plan **out);

#endif
