// What the solver derives once from a layout problem: rows the other way round, ties as
// labels of strategies, and the measures that are minimized or limited.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_VIEW_H
#define EG_EXTRACT_LAYOUT_LAYOUT_VIEW_H

#include "extract/layout/layout_seams.h"

/// Sums over chosen strategies and arcs, all weights >= 0. The first four in the order in
/// which they are minimized, each with the ones before held at their best; memory rows
/// are limited, and minimized when no solution keeps the limits.
typedef enum eg_layout_measure {
  EG_LAYOUT_COST,
  EG_LAYOUT_MEMORY,      // of all rows together
  EG_LAYOUT_TRANSITIONS, // arcs in use
  EG_LAYOUT_NUMBERS,     // position of each strategy among those of its value
  EG_LAYOUT_ROW,         // + r: memory row r
  EG_LAYOUT_MEASURES = EG_LAYOUT_ROW + EG_LAYOUT_MEMORY_ROWS
} eg_layout_measure;

typedef struct eg_layout_rows {
  eg_u32s begin, items;
} eg_layout_rows;

/// Strategy s carries labels: in tie labels.items[i], label_values.data[i] for the items
/// i of row s.
typedef struct eg_layout_view {
  const eg_layout_problem *problem;
  const uint32_t *fixed; // [value] its only strategy, or NONE: any; NULL: all any
  const eg_layout_seam_list *seams; // of an open problem, for its bound; NULL: none
  eg_u32s place_value;              // [places]
  eg_u32s arc_value;                // [arcs]
  eg_u32s op_of, value_of;          // [strategies]
  eg_layout_rows strategies;        // of a value
  eg_layout_rows out, in;           // arcs of a place
  eg_layout_rows value_arcs;        // arcs of a value
  eg_layout_rows users;  // strategies that need a place, as often as they name it
  eg_layout_rows labels; // ties of a strategy
  eg_u32s label_values;  // [items of labels]
  eg_layout_rows tied;   // strategies of a tie
  // Of the measures in use; empty for the others.
  eg_doubles strategy_weight[EG_LAYOUT_MEASURES], arc_weight[EG_LAYOUT_MEASURES];
} eg_layout_view;

/// Measures below this are in use.
static inline int eg_layout_measure_count(const eg_layout_view *view) {
  return EG_LAYOUT_ROW + (int)view->problem->memory_rows;
}
/// Measures that the user gave: no counts.
static inline bool eg_layout_is_amount(int measure) {
  return measure != EG_LAYOUT_TRANSITIONS && measure != EG_LAYOUT_NUMBERS;
}

/// Borrows the problem. O(size). Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_view_init(eg_layout_view *view, egraph_allocator alloc,
                                  const eg_layout_problem *problem);
void eg_layout_view_deinit(eg_layout_view *view);

/// The label of strategy s in tie t, or EG_LAYOUT_NONE when the tie does not bind it.
static inline uint32_t eg_layout_label(const eg_layout_view *view, uint32_t s,
                                       uint32_t tie) {
  for (uint32_t i = view->labels.begin.data[s]; i < view->labels.begin.data[s + 1]; i++)
    if (view->labels.items.data[i] == tie) return view->label_values.data[i];
  return EG_LAYOUT_NONE;
}

#endif
