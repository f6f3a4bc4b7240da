// With one limit two choices give the next price, one that keeps the limit and one that
// exceeds it: the price at which both cost the same. With several limits a linear
// program over the prices and the level gives the next prices: the highest level that
// all cuts allow. Prices at most quadruple from one step to the next, so that they stay
// near known cuts.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_prices.h"

#include <float.h>

#include "base/owner.h"
#include "extract/ilp_glpk.h"

static const double GROWTH = 4;
static const double SAME = 1e-9;

// ---- costs at prices ----------------------------------------------------------------

/// Returns an upper bound of the memory of all solutions.
static double most_memory(const eg_layout_active *active) {
  const eg_layout_view *view = active->view;
  const eg_layout_rows *rows = &view->strategies;
  double sum = 0;
  for (uint32_t v = 0; v + 1 < rows->begin.len; v++) {
    double most = 0;
    EG_EACH_ITEM(item, *rows, v)
      if (active->strategy.data[item])
        most = fmax(most, view->strategy_weight[EG_LAYOUT_MEMORY].data[item]);
    sum += most;
  }
  for (uint32_t i = 0; i < view->arc_weight[EG_LAYOUT_MEMORY].len; i++)
    if (active->arc.data[i]) sum += view->arc_weight[EG_LAYOUT_MEMORY].data[i];
  return sum;
}

static void set_tie_price(eg_layout_weights *weights, const eg_layout_search *search,
                          const eg_layout_active *active) {
  if (search->task->objective != EG_LAYOUT_COST || !search->has_best) return;
  double most = most_memory(active);
  if (!(most > 0)) return;
  weights->tie_slack = 0.1 * EG_LAYOUT_TOLERANCE * eg_layout_search_value(search);
  weights->tie_price = weights->tie_slack / most;
}

eg_layout_weights eg_layout_weights_of(const eg_layout_search *search,
                                       const eg_layout_active *active) {
  const eg_layout_task *task = search->task;
  eg_layout_weights weights = {.objective = (int)task->objective, .objective_weight = 1};
  set_tie_price(&weights, search, active);
  for (int m = EG_LAYOUT_ROW; m < EG_LAYOUT_MEASURES; m++)
    if (m != weights.objective && isfinite(task->limit[m]))
      weights.limited[weights.limits++] = m;
  return weights;
}

double eg_layout_weights_constant(const eg_layout_weights *w,
                                  const eg_layout_task *task) {
  double constant = -w->objective_weight * w->tie_slack;
  for (uint32_t i = 0; i < w->limits; i++)
    if (w->price[i] > 0) constant -= w->price[i] * task->limit[w->limited[i]];
  return constant;
}

static double weigh_item(const eg_layout_weights *w, const eg_doubles *measures,
                         size_t at) {
  double cost = measures[w->objective].data[at] +
                w->tie_price * measures[EG_LAYOUT_MEMORY].data[at];
  cost *= w->objective_weight;
  for (uint32_t i = 0; i < w->limits; i++)
    cost += w->price[i] * measures[w->limited[i]].data[at];
  return cost;
}

egraph_status eg_layout_weights_fill(const eg_layout_weights *weights,
                                     const eg_layout_view *view,
                                     eg_doubles *strategy_cost, eg_doubles *arc_cost) {
  const eg_layout_problem *p = view->problem;
  EG_TRY(eg_doubles_resize(strategy_cost, eg_layout_strategy_count(p)));
  EG_TRY(eg_doubles_resize(arc_cost, eg_layout_arc_count(p)));
  for (size_t s = 0; s < strategy_cost->len; s++)
    strategy_cost->data[s] = weigh_item(weights, view->strategy_weight, s);
  for (size_t i = 0; i < arc_cost->len; i++)
    arc_cost->data[i] = weigh_item(weights, view->arc_weight, i);
  return EGRAPH_OK;
}

// ---- cutting planes -----------------------------------------------------------------

void eg_layout_prices_init(eg_layout_prices *p, const eg_layout_search *search,
                           const eg_layout_weights *weights) {
  *p = (eg_layout_prices){.search = search,
                          .count = weights->limits,
                          .level = INFINITY,
                          .over = {.cost = -INFINITY, .used = {INFINITY}},
                          .within = {.cost = INFINITY}};
  for (uint32_t i = 0; i < p->count; i++) {
    p->measure[i] = weights->limited[i];
    p->limit[i] = search->task->limit[weights->limited[i]];
    p->price[i] = weights->price[i];
  }
  eg_layout_trades_init(&p->trades, search->alloc);
}

void eg_layout_prices_deinit(eg_layout_prices *p) { eg_layout_trades_deinit(&p->trades); }

bool eg_layout_prices_exceeds(const eg_layout_prices *p, const double *sum) {
  for (uint32_t i = 0; i < p->count; i++)
    if (sum[p->measure[i]] > p->limit[i]) return true;
  return false;
}

static eg_layout_trade trade_of(const eg_layout_prices *p, const double *sum) {
  assert(p->count <= EG_LAYOUT_MEMORY_ROWS);
  eg_layout_trade trade = {.cost = sum[p->search->task->objective]};
  for (uint32_t i = 0; i < p->count; i++)
    trade.used[i] = sum[p->measure[i]];
  return trade;
}

// ---- one limit ----------------------------------------------------------------------

static bool is_cheaper(const eg_layout_prices *p, const eg_layout_trade *a,
                       const eg_layout_trade *b) {
  return a->cost + p->price[0] * a->used[0] < b->cost + p->price[0] * b->used[0];
}

/// Finds the next price for one limit. Until some price gives a choice within the limit,
/// uses the best solution as this choice.
static bool next_of_one(eg_layout_prices *p, const eg_layout_trade *now) {
  assert(p->count == 1);
  bool has_over = isfinite(p->over.used[0]);
  if (now->used[0] <= p->limit[0]) {
    if (is_cheaper(p, now, &p->within)) p->within = *now;
  } else if (!has_over || is_cheaper(p, now, &p->over)) {
    p->over = *now;
    has_over = true;
  }
  if (!isfinite(p->within.cost) && p->search->has_best)
    p->within = trade_of(p, p->search->best.sum);
  if (!has_over || !isfinite(p->within.cost) || !(p->over.cost < p->within.cost))
    return false;
  double before = p->price[0];
  p->price[0] = (p->within.cost - p->over.cost) / (p->over.used[0] - p->within.used[0]);
  p->level = p->over.cost + p->price[0] * (p->over.used[0] - p->limit[0]);
  return p->price[0] != before;
}

// ---- several ------------------------------------------------------------------------

/// Sets `box` to the highest value allowed for each next price.
static void find_box(const eg_layout_prices *p, double *box) {
  double cost = fabs(p->trades.data[0].cost);
  for (uint32_t i = 0; i < p->count; i++) {
    double most = p->limit[i];
    for (size_t k = 0; k < p->trades.len; k++)
      most = fmax(most, p->trades.data[k].used[i]);
    box[i] = fmax(GROWTH * p->price[i], most > 0 ? cost / most : 0);
  }
}

/// Finds the least and the highest bound that the cuts allow for prices in the box.
static void find_range(const eg_layout_prices *p, const double *box, double *low,
                       double *high) {
  *low = *high = INFINITY;
  for (size_t k = 0; k < p->trades.len; k++) {
    double most = p->trades.data[k].cost;
    *low = fmin(*low, most); // the level at prices 0
    for (uint32_t i = 0; i < p->count; i++)
      most += box[i] * fmax(p->trades.data[k].used[i] - p->limit[i], 0);
    *high = fmin(*high, most);
  }
}

/// Solves the linear program for the next prices. Column 0 is `high` less the bound that
/// the cuts allow; the other columns are fractions of the box.
static egraph_status solve_price_program(eg_layout_prices *p, eg_lp *lp, eg_lp_rows *rows,
                                         const double *box, double low, double high) {
  double range = high - low;
  for (size_t k = 0; k < p->trades.len; k++) {
    const eg_layout_trade *trade = &p->trades.data[k];
    EG_TRY(eg_lp_rows_item(rows, 0, 1));
    for (uint32_t i = 0; i < p->count; i++) {
      double rise = box[i] * (trade->used[i] - p->limit[i]) / range;
      if (rise != 0) EG_TRY(eg_lp_rows_item(rows, 1 + i, rise));
    }
    EG_TRY(eg_lp_rows_end(rows, (high - trade->cost) / range));
  }
  eg_lp_state state;
  EG_TRY(eg_lp_add_rows(lp, rows));
  EG_TRY(eg_lp_solve(lp, 1, DBL_MAX, &state));
  const double *x = eg_lp_values(lp);
  p->level = high - range * x[0];
  for (uint32_t i = 0; i < p->count; i++)
    p->price[i] = box[i] * fmin(fmax(x[1 + i], 0), 1);
  return EGRAPH_OK;
}

static egraph_status next_of_several(eg_layout_prices *p, bool *out_moved) {
  assert(p->count > 1);
  double box[EG_LAYOUT_MEMORY_ROWS], before[EG_LAYOUT_MEMORY_ROWS], low, high;
  double cost[1 + EG_LAYOUT_MEMORY_ROWS] = {100};
  memcpy(before, p->price, sizeof before);
  find_box(p, box);
  find_range(p, box, &low, &high);
  *out_moved = false;
  if (!(high > low)) return EGRAPH_OK; // the least choice is within the limits
  eg_lp *lp;
  EG_OWNED(eg_lp_rows, rows);
  EG_TRY(eg_lp_rows_init(&rows, p->search->alloc));
  EG_TRY(eg_lp_create(p->search->alloc, 1 + p->count, cost, &lp));
  egraph_status status = solve_price_program(p, lp, &rows, box, low, high);
  eg_lp_destroy(lp);
  for (uint32_t i = 0; i < p->count; i++)
    if (fabs(p->price[i] - before[i]) > SAME * fmax(before[i], p->price[i]))
      *out_moved = true;
  return status;
}

egraph_status eg_layout_prices_next(eg_layout_prices *p, const double *sum,
                                    bool *out_moved) {
  eg_layout_trade now = trade_of(p, sum);
  if (p->count == 1) {
    *out_moved = next_of_one(p, &now);
    return EGRAPH_OK;
  }
  if (p->trades.len == 0 && p->search->has_best)
    EG_TRY(eg_layout_trades_push(&p->trades, trade_of(p, p->search->best.sum)));
  EG_TRY(eg_layout_trades_push(&p->trades, now));
  return next_of_several(p, out_moved);
}
