// Finds the differences of two plans of graphs whose values have the same names.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_DIFF_H
#define EG_PCG_PLAN_DIFF_H

#include "pcg/plan/plan_cost.h"

/// A value that is in different layouts in the two plans. Layouts are in the order in
/// which they are made ("S0,R R,R"); NULL: the plan has no such value.
typedef struct eg_layout_change {
  const char *value;
  const char *before, *after;
} eg_layout_change;
EG_VEC_DEFINE(eg_layout_changes, eg_layout_change);

/// A move that only one of the plans has. Moves of the same value, kind, axis and layouts
/// in the same phase are the same.
typedef struct eg_move_change {
  bool is_added; // only the second plan has it
  eg_phase phase;
  eg_transition_kind kind;
  const char *value, *axis, *from, *to;
  double bytes, seconds; // of one execution
} eg_move_change;
EG_VEC_DEFINE(eg_move_changes, eg_move_change);

typedef struct eg_plan_diff {
  eg_layout_changes layouts; // values of the first plan, then values of the second alone
  eg_layout_changes outputs; // the same for outputs, by their names
  eg_move_changes moves;     // removed moves, then added moves, in the order of the steps
  eg_plan_summary before, after;
  eg_arena arena; // of the texts
} eg_plan_diff;

/// Compares two plans that pass eg_plan_check. Linear in their sizes.
egraph_status eg_plan_diff_make(const eg_plan *before, const eg_plan *after,
                                egraph_allocator alloc, eg_plan_diff *out);
void eg_plan_diff_deinit(eg_plan_diff *diff);
/// Prints text for people: a line per change, and the totals that differ.
egraph_status eg_plan_diff_print(eg_text *text, const eg_plan_diff *diff);
/// Writes one JSON object:
///   {"layouts": [{"value", "before", "after"}], "outputs": [{"output", "before",
///    "after"}], "moves": [{"change": "added" or "removed", "phase", "kind", "value",
///    "axis", "from", "to", "bytes", "seconds"}], "before": SUMMARY, "after": SUMMARY}
/// Summaries are written by eg_plan_summary_write_json.
egraph_status eg_plan_diff_write_json(eg_text *text, const eg_plan_diff *diff);

#endif
