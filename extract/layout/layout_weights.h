// What strategies and arcs cost in an ascent: the objective, and each limited measure at
// a price. Among equal costs the least memory, that of all rows together: it has a price
// too, so low that all of it costs less than what is taken for rounding.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_WEIGHTS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_WEIGHTS_H

#include "extract/layout/layout_search.h"


typedef struct eg_layout_weights {
  int objective;   // measure
  uint32_t limits; // limited measures, each with a price
  int limited[EG_LAYOUT_MEMORY_ROWS];
  double price[EG_LAYOUT_MEMORY_ROWS];
  double objective_weight; // 0: limited measures alone
  double tie_price;        // of memory
  double tie_slack; // all memory together at that price: bounds are as much too high
} eg_layout_weights;

/// The task's objective; its limited measures at price 0.
eg_layout_weights eg_layout_weights_of(const eg_layout_search *search,
                                       const eg_layout_active *active);
/// What prices and limits take off the bound.
double eg_layout_weights_constant(const eg_layout_weights *weights,
                                  const eg_layout_task *task);
/// Costs of all strategies and arcs. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_weights_fill(const eg_layout_weights *weights,
                                     const eg_layout_view *view,
                                     eg_doubles *strategy_cost, eg_doubles *arc_cost);

#endif
