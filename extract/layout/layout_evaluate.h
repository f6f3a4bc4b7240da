// From chosen strategies to a solution: what is needed, the cheapest arcs, the sums.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_EVALUATE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_EVALUATE_H

#include "extract/layout/layout_view.h"

typedef struct eg_layout_choice {
  eg_u32s strategy;  // [value] numbered through, or EG_LAYOUT_NONE: not needed
  eg_bytes arc_used; // [arc]
  double sum[EG_LAYOUT_MEASURES];
} eg_layout_choice;

void eg_layout_choice_init(eg_layout_choice *choice, egraph_allocator alloc);
void eg_layout_choice_deinit(eg_layout_choice *choice);
/// Makes room for the view's values and arcs; nothing is chosen.
egraph_status eg_layout_choice_clear(eg_layout_choice *choice,
                                     const eg_layout_view *view);
egraph_status eg_layout_choice_copy(eg_layout_choice *to, const eg_layout_choice *from);

typedef struct eg_layout_evaluator {
  const eg_layout_view *view;
  eg_u32s required;             // values of roots
  eg_bytes state;               // [value]
  eg_u32s stack, cursor;        // of the walk
  eg_u32s order;                // needed values, inputs first
  eg_u32s need_first;           // [value] 1 + entry in need_next, 0: none
  eg_u32s need_next, need_item; // lists of places, or ROOT_BIT | root
  eg_u32s terminals;            // of one value, items as above
  eg_doubles table;             // [set of terminals][place of the value]
  eg_u32s back;                 // the same: how the table was reached
  eg_bytes reached;             // [places of the value]
} eg_layout_evaluator;

egraph_status eg_layout_evaluator_init(eg_layout_evaluator *evaluator,
                                       egraph_allocator alloc,
                                       const eg_layout_view *view);
void eg_layout_evaluator_deinit(eg_layout_evaluator *evaluator);

/// Keeps of choice->strategy what the roots need, picks arcs of least `arc_weight` (arcs
/// of infinite weight are not used; exact for up to six layouts needed of a value, the
/// nearest one next beyond), and fills the sums. *out_valid: closed, acyclic, every need
/// reached, ties hold. Limits and forbidden strategies are the
/// caller's business. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_evaluate(eg_layout_evaluator *evaluator, const double *arc_weight,
                                 eg_layout_choice *choice, bool *out_valid);

#endif
