// What every plan holds at least at the step that makes a value, or moves it into a
// place, as a row of memory of its layout problem: a limit that no plan which fits
// exceeds, so that bounds within it are bounds of plans. Rows of plan_peak.h tell more,
// of plans like one; this one proves.
//
//   inputs, weights            are there all the time
//   operands, result           in the layouts that the strategy of the value has
//   both ends of the move      a place is moved into once, or made
//   kept for a later phase     what FORWARD keeps, where all that reads it comes after
//   the
//                              step, whichever variants are chosen
//
// Plans are those of plan_emit.h, which moves a state when something needs it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_STEP_ROW_H
#define EG_OPTIMIZE_SEARCH_PLAN_STEP_ROW_H

#include "optimize/search/plan_peak.h"

/// The row of the step that makes a value of the problem, or moves it into this place of
/// it (EG_SPACE_NONE: makes it); replaces what was in the row. `constant` and `value` are
/// 0. Fails with EGRAPH_E_MEMORY. O(strategies + operators *
/// depth).
egraph_status eg_step_row_make(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, uint32_t value, uint32_t into);

#endif
