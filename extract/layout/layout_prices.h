// Prices of limits by cutting planes. Whatever the prices are, the least cost plus priced
// use, less limits times prices, bounds the cost of solutions that keep the limits. Every
// choice of strategies, within the limits or not, is a cut: at prices x the bound is at
// most its cost plus x times its excess over the limits. The next prices are those at
// which the cuts known so far allow the most (Held and Karp 1971; Kelley 1960).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_PRICES_H
#define EG_EXTRACT_LAYOUT_LAYOUT_PRICES_H

#include "extract/layout/layout_search.h"

/// Costs of strategies and arcs in an ascent: the objective, and each limited measure at
/// a price. Among equal costs the least memory, that of all rows together: it has a price
/// too, so low that all memory together costs less than the tolerance of a proof.
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
/// Prices times limits, to be added to a bound: negative.
double eg_layout_weights_constant(const eg_layout_weights *weights,
                                  const eg_layout_task *task);
/// Costs of all strategies and arcs. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_weights_fill(const eg_layout_weights *weights,
                                     const eg_layout_view *view,
                                     eg_doubles *strategy_cost, eg_doubles *arc_cost);

/// A choice of strategies: its cost, and its use of each limited measure.
typedef struct eg_layout_trade {
  double cost, used[EG_LAYOUT_MEMORY_ROWS];
} eg_layout_trade;
EG_VEC_DEFINE(eg_layout_trades, eg_layout_trade);

typedef struct eg_layout_prices {
  const eg_layout_search *search; // borrowed
  uint32_t count;                 // of limited measures
  int measure[EG_LAYOUT_MEMORY_ROWS];
  double limit[EG_LAYOUT_MEMORY_ROWS];
  double price[EG_LAYOUT_MEMORY_ROWS]; // the next to try
  double level; // the cuts allow no better bound; INFINITY: not known
  eg_layout_trades trades;
  eg_layout_trade over, within; // one limit: see next
} eg_layout_prices;

/// Prices are those of the weights at first. Borrows the search.
void eg_layout_prices_init(eg_layout_prices *prices, const eg_layout_search *search,
                           const eg_layout_weights *weights);
void eg_layout_prices_deinit(eg_layout_prices *prices);
/// Whether `sum` ([measures]) exceeds a limit.
bool eg_layout_prices_exceeds(const eg_layout_prices *prices, const double *sum);
/// Takes into account a choice with these sums, the least at the present prices as far as
/// is known, and moves the prices. *out_moved: false when there are no other prices to
/// try. Fails with EGRAPH_E_MEMORY or EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_layout_prices_next(eg_layout_prices *prices, const double *sum,
                                    bool *out_moved);

#endif
