// Translates the names in the user's constraints, values of the model, to values of the
// step that is planned.
//
// A name with wildcards means all values that it matches. In a folded step, names of
// values in repeated blocks become names in the one block that represents them, provided
// that the constraints demand the same of all these blocks: the statements that name
// their values are the same, in the same order, except for the block.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_STEP_NAMES_H
#define EG_OPTIMIZE_FOLD_STEP_NAMES_H

#include "optimize/fold/unfold.h"
#include "optimize/model/plan_constraints.h"

/// True when some statement of the constraints names a value.
bool eg_step_names_any(const eg_plan_constraints *constraints);
/// Replaces each statement whose name has a '*' by one statement for each matching value
/// of the whole step; a value of exactly that name comes first. Fails with
/// EGRAPH_E_ARGUMENT ("file:line:col: ...") for a name without a value, naming the
/// closest; EGRAPH_E_MEMORY.
egraph_status eg_step_names_match(eg_plan_constraints *constraints,
                                  const eg_graph *whole);
/// Finds the longest run of equal blocks in which the constraints demand the same of all
/// blocks except the first and the last; a count of 0: there is none, and nothing can be
/// folded. Reads the whole step only. O(names * blocks). Fails with EGRAPH_E_MEMORY.
egraph_status eg_step_names_find_agreeing(const eg_plan_constraints *constraints,
                                          egraph_allocator alloc,
                                          const eg_unfold_steps *steps, eg_blocks *out);
/// Turns names of values in the whole step into names in the folded step, whose inner
/// blocks are constrained alike. Fails with EGRAPH_E_MEMORY, and with EGRAPH_E_ARGUMENT
/// for a value that the folded step lacks.
egraph_status eg_step_names_fold(eg_plan_constraints *constraints, egraph_allocator alloc,
                                 const eg_unfold_steps *steps);

#endif
