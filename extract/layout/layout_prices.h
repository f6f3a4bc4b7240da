// Prices of limits by cutting planes. Whatever the prices are, the least value of (cost +
// prices * use) - prices * limits bounds the cost of all solutions that keep the limits.
// Every choice of strategies, within the limits or not, is a cut: at prices x the bound
// is at most its cost + x * (its use - limits). The next prices maximize the bound that
// the known cuts allow (Held and Karp 1971; Kelley 1960).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_PRICES_H
#define EG_EXTRACT_LAYOUT_LAYOUT_PRICES_H

#include "extract/layout/layout_search.h"

/// Costs of strategies and arcs in an ascent: the objective, and each limited measure at
/// its price. The memory of all rows together has a price, too, so that the least memory
/// wins among equal costs. This price is low: all memory costs less than the tolerance of
/// a proof.
typedef struct eg_layout_weights {
  int objective;   // measure
  uint32_t limits; // limited measures, each with a price
  int limited[EG_LAYOUT_MEMORY_ROWS];
  double price[EG_LAYOUT_MEMORY_ROWS];
  double objective_weight; // 0: limited measures alone
  double tie_price;        // price of all memory
  double tie_slack;        // all memory at tie_price: bounds are too high by this
} eg_layout_weights;

/// Returns weights with the task's objective, and its limited measures at price 0.
eg_layout_weights eg_layout_weights_of(const eg_layout_search *search,
                                       const eg_layout_active *active);
/// Returns -(prices * limits), which is to be added to a bound.
double eg_layout_weights_constant(const eg_layout_weights *weights,
                                  const eg_layout_task *task);
/// Fills costs of strategies and arcs, memory priced. Fails with EGRAPH_E_MEMORY.
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
  uint32_t count;                 // limited measures
  int measure[EG_LAYOUT_MEMORY_ROWS];
  double limit[EG_LAYOUT_MEMORY_ROWS];
  double price[EG_LAYOUT_MEMORY_ROWS]; // the next to try
  double level; // the best bound that the cuts allow; INFINITY: unknown
  eg_layout_trades trades;
  eg_layout_trade over, within; // one limit: the best choices beyond and within it
} eg_layout_prices;

/// Initializes with the prices of the weights and without cuts. Borrows the search.
void eg_layout_prices_init(eg_layout_prices *prices, const eg_layout_search *search,
                           const eg_layout_weights *weights);
void eg_layout_prices_deinit(eg_layout_prices *prices);
/// True when `sum` ([measures]) exceeds a limit.
bool eg_layout_prices_exceeds(const eg_layout_prices *prices, const double *sum);
/// Adds a choice of strategies with these sums ([measures]), the cheapest known at the
/// current prices, and computes the next prices. *out_moved: false when there are no
/// other prices to try. Fails with EGRAPH_E_MEMORY or EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_layout_prices_next(eg_layout_prices *prices, const double *sum,
                                    bool *out_moved);

#endif
