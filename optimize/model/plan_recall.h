// Finds an existing plan's choices in a plan model of its step, to begin a search with.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_RECALL_H
#define EG_OPTIMIZE_MODEL_PLAN_RECALL_H

#include "optimize/model/plan_model.h"

/// The choice that makes a problem value, by numbers of the plan space.
typedef struct eg_plan_choice {
  bool is_needed;
  uint32_t strategy;            // of the space; EG_SPACE_NONE: it is kept
  uint32_t layout;              // of the value
  uint32_t source, from_layout; // kept from this problem value; EG_SPACE_NONE: not kept
} eg_plan_choice;
EG_VEC_DEFINE(eg_plan_choices, eg_plan_choice);

/// Fills the empty `choices` (by problem value) from strategies. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_plan_choices_note(eg_plan_choices *choices, const eg_plan_model *model,
                                   const eg_u32s *strategy);
/// Fills the empty `strategy`, by problem value, with the model's strategies for the
/// choices; EG_LAYOUT_NONE if it has none. Fails with EGRAPH_E_MEMORY. O(strategies).
egraph_status eg_plan_choices_find(const eg_plan_choices *choices,
                                   const eg_plan_model *model, eg_u32s *strategy);

/// Appends the strategy of every problem value, EG_LAYOUT_NONE where the plan does not
/// need it. The plan is for the model's mesh, which may lack axes of one device. Appends
/// nothing if the e-graph of the space lacks the plan's graph: rules have made a variant
/// there, but not here. Fails with EGRAPH_E_MEMORY. O(plan + problem).
egraph_status eg_plan_recall(const eg_plan_model *model, const eg_plan *plan,
                             eg_u32s *strategy);
/// Finds a plan's strategies in a model of the space; if it has them all, also fills the
/// empty `choices`.
egraph_status eg_plan_choices_recall(eg_plan_choices *choices, egraph_allocator alloc,
                                     const eg_plan_space *space, const eg_plan *plan,
                                     eg_u32s *strategy);

#endif
