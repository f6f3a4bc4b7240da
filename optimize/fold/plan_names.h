// The values of a user's model that constraints name, in the step that is planned: names
// with wildcards stand for all that they match, and values of repeated blocks for those
// of the block that stands for many, where all of these are wanted alike.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_PLAN_NAMES_H
#define EG_OPTIMIZE_FOLD_PLAN_NAMES_H

#include "optimize/model/plan_constraints.h"
#include "optimize/fold/unfold_match.h"

bool eg_plan_names_any(const eg_plan_constraints *constraints);
/// Puts a statement for every match in the place of one whose name has a '*', which
/// stands for any characters; a value of just that name comes first. Fails with
/// EGRAPH_E_ARGUMENT ("file:line:col: ...") for a name that no value of the whole step
/// has, saying which is closest; EGRAPH_E_MEMORY.
egraph_status eg_plan_names_match(eg_plan_constraints *constraints,
                                  const eg_graph *whole);
/// The longest run of the steps' blocks of which those in the middle are wanted alike; a
/// count of 0: there is none, so that nothing can be folded. Looks at the whole step
/// alone. O(names * blocks). Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_names_agree(const eg_plan_constraints *constraints,
                                  egraph_allocator alloc, const eg_unfold_steps *steps,
                                  eg_blocks *out);
/// Names of the whole step become names of the small one, of blocks on which they agree.
/// Fails with EGRAPH_E_MEMORY, EGRAPH_E_ARGUMENT for a value that the small step has not.
egraph_status eg_plan_names_fold(eg_plan_constraints *constraints, egraph_allocator alloc,
                                 const eg_unfold_steps *steps);

#endif
