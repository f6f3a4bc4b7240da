// Finds the values that every plan of a model makes, and the values that every plan makes
// before a certain value: operands that all its operators read, and values written
// earlier. plan_emit.h writes a phase's values by their numbers, each after its operands.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_STEP_ROW_H
#define EG_OPTIMIZE_SEARCH_PLAN_STEP_ROW_H

#include "base/owner.h"
#include "optimize/model/plan_model.h"
#include "optimize/search/plan_peak.h"

typedef struct eg_plan_needs {
  const eg_plan_model *model;        // borrowed
  eg_u32s operator_begin, operators; // [values + 1]: operators that may make a value
  eg_u32s reader_begin, readers; // [values + 1]: operators that read a value, once each
  eg_u32s arc_begin, arcs;       // [values + 1]: of a value
  eg_u32s place_value;           // [places]
  // [values] the value's turn: every plan makes it after all values of its phase with
  // lower numbers (of the plan space)
  eg_u32s first;
  eg_bytes exits;      // [space values] the value leaves as an entry of the next step
  eg_bytes everywhere; // [values] every plan makes the value
  eg_bytes before;     // [values] every plan makes it before the value asked for last
  eg_u32s queue;       // scratch
} eg_plan_needs;
EG_OWNER_DEFINE_STATIC(eg_plan_needs,
                       (eg_u32s, operator_begin, operators, reader_begin, readers,
                        arc_begin, arcs, place_value, first, queue),
                       (eg_bytes, everywhere, before, exits))

/// Fills `needs` with the values that every plan makes; call it again after strategies
/// were forbidden. O(problem). Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_needs_find(eg_plan_needs *needs, const eg_plan_model *model);

// Expresses the least bytes that every plan holds at the step that makes a value, or
// moves it into a place, as a memory row of the layout problem. No plan that fits exceeds
// the row, therefore bounds that use it are valid for all plans. Rows of plan_peak.h
// exclude more, but prove nothing.
//
//   inputs, weights            always
//   operands, result           in the layouts of the value's strategy
//   both ends of the move      one move leads into a place
//   kept for a later phase     in the phase that makes it, if every plan makes it before
//                              the step; in the phase that reads it, if it is read after
//                              the step in all variants; and in phases between
//   made before, read after    of the same phase, in the layout produced, or the smallest
//                              that it may be moved into before; likewise its kept value
//   scratch                    of the strategy or the move
//
// Plans are emitted by plan_emit.h, which moves a state when something needs it, keeps it
// at once, and writes values in the order described above. A state that is kept as it
// entered counts twice, as in the problem's own rows, although each phase may start from
// its entry.

/// Value of parameter `into`: all moves of the value, each as if it were the only one.
#define EG_STEP_EACH_MOVE (UINT32_MAX - 1)

/// Fills the memory row for the step that makes a problem value, or moves it into place
/// `into` (a layout; EG_SPACE_NONE: makes it); in plans without that step, for the time
/// when the value is due. `constant` and `value` are 0. `like`: strategies of a plan
/// ([problem values], EG_LAYOUT_NONE: not made), or NULL; inputs that this plan reads in
/// another layout than they entered are counted twice. Fails with EGRAPH_E_MEMORY.
/// O(strategies + (operators + arcs of a value) * values).
egraph_status eg_step_row_make(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, eg_plan_needs *needs,
                               uint32_t value, uint32_t into, const uint32_t *like);
/// Likewise, and finds what every plan makes; notes the step in the row, too.
egraph_status eg_step_row_note(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, uint32_t value, uint32_t into,
                               const uint32_t *like);

#endif
