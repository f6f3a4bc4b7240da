// A plan in which one block stands for many, made the plan of the whole step: every block
// gets the choices of the block that stands for it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_PLAN_UNFOLD_H
#define EG_OPTIMIZE_FOLD_PLAN_UNFOLD_H

#include "optimize/fold/unfold_draft.h"
#include "optimize/model/plan_emit.h"

/// `folded` is the plan of the small step (its graph's pool of attributes may grow);
/// `costs` prices moves that it does not have: where what blocks hand on is wanted in
/// another way than the plan's ties say. The new plan passes eg_plan_check and is not
/// folded; names are those of the whole step. It costs what the folded plan does, but for
/// what cannot be read from that (unfold_draft.c): nodes of the step that every device
/// does whole, with the moves that this takes. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_unfold(egraph_allocator alloc, const eg_unfold_steps *steps,
                             const eg_emitted_plan *folded, const eg_plan_costs *costs,
                             eg_emitted_plan *out);

#endif
