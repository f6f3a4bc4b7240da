// A plan that is there already, found again in a plan model of its step: for a search to
// begin with.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_RECALL_H
#define EG_OPTIMIZE_MODEL_PLAN_RECALL_H

#include "optimize/model/plan_model.h"

/// Appends the strategy of every problem value, EG_LAYOUT_NONE where it is not needed.
/// The plan is of the model's mesh, which may lack axes of one device, its graph one that
/// the e-graph of the space holds; nothing is appended where it does not: rules have made
/// something there that they have not made here. Fails with EGRAPH_E_MEMORY. O(plan +
/// problem).
egraph_status eg_plan_recall(const eg_plan_model *model, const eg_plan *plan,
                             eg_u32s *strategy);

#endif
