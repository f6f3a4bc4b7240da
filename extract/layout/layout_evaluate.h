// Tables of a layout problem for the solver: the strategies of a value, the conversions
// (arcs) and readers of each of its layouts, and the weights of each measure that is
// minimized or limited (cost, memory). Functions turn chosen strategies into a solution:
// they find the needed values, the cheapest arcs, and the sums.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_EVALUATE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_EVALUATE_H

#include "base/owner.h"
#include "extract/layout/layout_problem.h"

/// Measures of a solution: sums of weights >= 0 of its strategies and arcs. The cost is
/// minimized, or a memory row when no solution keeps the limits; memory rows are limited.
typedef enum eg_layout_measure {
  EG_LAYOUT_COST,
  EG_LAYOUT_MEMORY, // all rows together
  EG_LAYOUT_ROW,    // + r: memory row r
  EG_LAYOUT_MEASURES = EG_LAYOUT_ROW + EG_LAYOUT_MEMORY_ROWS
} eg_layout_measure;

/// Lists of numbers, one after another: list i is items begin[i] .. begin[i + 1).
typedef struct eg_layout_rows {
  eg_u32s begin, items;
} eg_layout_rows;
EG_OWNER_DEFINE_STATIC(eg_layout_rows, (eg_u32s, begin, items))
/// Groups items 0, 1, ... by key[item], which is below `row_count`, or EG_LAYOUT_NONE:
/// the item is in no row (base/groups.h). Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_rows_fill(eg_layout_rows *rows, size_t row_count,
                                  const eg_u32s *key);

/// Visits the items of list `row`.
#define EG_EACH_ITEM(item, rows, row)                                                    \
  for (uint32_t item##_at = (rows).begin.data[row], item;                                \
       item##_at < (rows).begin.data[(row) + 1] &&                                       \
       (item = (rows).items.data[item##_at], true);                                      \
       item##_at++)

typedef struct eg_layout_view {
  const eg_layout_problem *problem;
  const eg_layout_seam_list *seams; // seams of an open problem, for its bound; NULL: none
  eg_u32s place_value;              // [places]
  eg_u32s arc_value;                // [arcs]
  eg_u32s op_of, value_of;          // [strategies]
  eg_layout_rows strategies;        // [value]
  eg_layout_rows out, in;           // arcs of a place
  eg_layout_rows value_arcs;        // arcs of a value
  eg_layout_rows users;             // strategies that need a place, once per mention
  eg_layout_rows ties;              // [value], once per mention
  // Weights of strategies and arcs in each measure in use; empty for the other measures.
  eg_doubles strategy_weight[EG_LAYOUT_MEASURES], arc_weight[EG_LAYOUT_MEASURES];
} eg_layout_view;

/// Returns the number of measures in use: the first ones of the enumeration.
static inline int eg_layout_measure_count(const eg_layout_view *view) {
  return EG_LAYOUT_ROW + (int)view->problem->memory_rows;
}

/// Builds the tables of a problem, which it borrows. O(size). Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_view_init(eg_layout_view *view, egraph_allocator alloc,
                                  const eg_layout_problem *problem);
void eg_layout_view_deinit(eg_layout_view *view);

/// Returns the layout that a strategy produces, numbered within its value.
static inline uint32_t eg_layout_output(const eg_layout_view *view, uint32_t strategy) {
  return view->problem->output.data[strategy] -
         view->problem->place_begin.data[view->value_of.data[strategy]];
}

// ---- solutions ----------------------------------------------------------------------

typedef struct eg_layout_choice {
  eg_u32s strategy;  // [value] numbered through, or EG_LAYOUT_NONE: not needed
  eg_bytes arc_used; // [arc]
  double sum[EG_LAYOUT_MEASURES];
} eg_layout_choice;
EG_OWNER_DEFINE_MEMBERS(eg_layout_choice, (eg_u32s, strategy), (eg_bytes, arc_used))

void eg_layout_choice_init(eg_layout_choice *choice, egraph_allocator alloc);
/// Sizes the choice for the view's values and arcs, and empties it.
egraph_status eg_layout_choice_clear(eg_layout_choice *choice,
                                     const eg_layout_view *view);
egraph_status eg_layout_choice_copy(eg_layout_choice *to, const eg_layout_choice *from);

/// An entry in the list of layouts that a value is needed in: place, or ROOT_BIT | root.
typedef struct eg_layout_need {
  uint32_t item, next; // next: 1 + entry, 0: none
} eg_layout_need;
EG_VEC_DEFINE(eg_layout_needs, eg_layout_need);

typedef struct eg_layout_evaluator {
  const eg_layout_view *view;
  eg_bytes state;        // [value]
  eg_u32s stack, cursor; // stack and positions of the walk
  eg_u32s order;         // needed values, inputs first
  eg_u32s need_first;    // [value] 1 + entry in needs, 0: none
  eg_layout_needs needs;
  eg_u32s terminals; // needed places of one value, items as above
  eg_doubles table;  // [set of terminals][place of the value]
  eg_u32s back;      // same shape: the choice that led to each entry
  eg_bytes reached;  // [places of the value]
} eg_layout_evaluator;
EG_OWNER_DEFINE_MEMBERS(eg_layout_evaluator,
                        (eg_u32s, stack, cursor, order, need_first, terminals, back),
                        (eg_layout_needs, needs), (eg_bytes, state, reached),
                        (eg_doubles, table))

egraph_status eg_layout_evaluator_init(eg_layout_evaluator *evaluator,
                                       egraph_allocator alloc,
                                       const eg_layout_view *view);

/// Keeps the strategies of choice->strategy that the roots need, chooses arcs of least
/// `arc_weight`, and fills the sums. Arcs of infinite weight are not used. The choice of
/// arcs is exact for up to six needed layouts of a value; with more, the nearest layout
/// is connected next. *out_valid: every needed value has a strategy, no value needs
/// itself, conversions reach every needed layout, and ties hold. The caller checks limits
/// and forbidden strategies. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_evaluate(eg_layout_evaluator *evaluator, const double *arc_weight,
                                 eg_layout_choice *choice, bool *out_valid);

#endif
