// What strategies and arcs cost in an ascent: the objective, and a limited measure at a
// price. Among equal costs the least memory: it has a price too, so low that all of it
// costs less than what is taken for rounding.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_WEIGHTS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_WEIGHTS_H

#include "extract/layout/layout_search.h"

typedef struct eg_layout_weights {
  int objective, limited;  // measures; limited: that has a price, or -1
  double objective_weight; // 0: the limited measure alone
  double price, tie_price; // of what is limited, of memory
} eg_layout_weights;

/// The task's objective; its limited measure at price 0.
eg_layout_weights eg_layout_weights_of(const eg_layout_search *search,
                                       const eg_layout_active *active);
/// Costs of all strategies and arcs. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_weights_fill(const eg_layout_weights *weights,
                                     const eg_layout_view *view,
                                     eg_doubles *strategy_cost, eg_doubles *arc_cost);

#endif
