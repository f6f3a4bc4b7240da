// The values that every plan of a model makes, and those that every plan makes before a
// given value: its operands, as far as all operators that may make it read them, and
// values written earlier. plan_emit.h writes the values of a phase by their numbers, each
// after its operands.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_STEP_ROW_H
#define EG_OPTIMIZE_SEARCH_PLAN_STEP_ROW_H

#include "optimize/model/plan_model.h"
#include "optimize/search/plan_peak.h"

typedef struct eg_plan_needs {
  const eg_plan_model *model;        // borrowed
  eg_u32s operator_begin, operators; // [values + 1]: that may make a value
  eg_u32s reader_begin, readers;     // [values + 1]: operators that read it, once each
  eg_u32s arc_begin, arcs;           // [values + 1]: of a value
  eg_u32s place_value;               // [places]
  eg_u32s first;  // [values] no plan makes it before all of its phase with lower numbers,
                  // of the space, than this one
  eg_bytes exits; // [space values] leave as entries of the next step
  eg_bytes everywhere; // [values] in every plan
  eg_bytes before;     // [values] made before the value asked for last
  eg_u32s queue;       // scratch
} eg_plan_needs;

void eg_plan_needs_init(eg_plan_needs *needs, egraph_allocator alloc);
void eg_plan_needs_deinit(eg_plan_needs *needs);
/// Fills it, at first and after strategies were forbidden. O(problem). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_plan_needs_find(eg_plan_needs *needs, const eg_plan_model *model);

// The least bytes that every plan holds at the step that makes a value, or moves it into
// a place, as a row of memory of its layout problem: a limit that no plan which fits
// exceeds, so that bounds within it are bounds of plans. Rows of plan_peak.h cut more
// off, for plans like the given one; this row proves.
//
//   inputs, weights            are there all the time
//   operands, result           in the layouts that the strategy of the value has
//   both ends of the move      a place is moved into once
//   kept for a later phase     in the phase that makes it, where it is made before the
//                              step; in the one that reads it, where it is read after it,
//                              whichever variants are chosen; between them
//   made before, read after    of the same phase, in the layout made, or the smallest
//                              it may be moved into before; so is what was kept for it
//   scratch                    of the strategy or the move
//
// Plans are those of plan_emit.h, which moves a state when something needs it, keeps it
// at once, and writes values in the order of plan_step_row.h. A state kept as it enters,
// though each phase may start from its entry, counts twice, as in the problem's own rows.

/// In the place of a place: all moves of the value, each as if it were the only one.
#define EG_STEP_EACH_MOVE (UINT32_MAX - 1)

/// The row of the step that makes a value of the problem, or moves it into this place of
/// it (EG_SPACE_NONE: makes it), or of its turn in plans without that step; replaces what
/// was in the row. `constant` and `value` are 0. `like`: strategies of a plan ([problem
/// values], EG_LAYOUT_NONE: not made), of whose operands that are read otherwise than
/// they enter the row says that they are there twice; NULL: of none. Fails with
/// EGRAPH_E_MEMORY. O(strategies + (operators + arcs of a value) * values).
egraph_status eg_step_row_make(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, eg_plan_needs *needs,
                               uint32_t value, uint32_t into, const uint32_t *like);

#endif
