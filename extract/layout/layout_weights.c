// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_weights.h"

/// All memory that any solution could take.
static double most_memory(const eg_layout_active *active) {
  const eg_layout_view *view = active->view;
  const eg_layout_rows *rows = &view->strategies;
  double sum = 0;
  for (uint32_t v = 0; v + 1 < rows->begin.len; v++) {
    double most = 0;
    for (uint32_t i = rows->begin.data[v]; i < rows->begin.data[v + 1]; i++)
      if (active->strategy.data[rows->items.data[i]])
        most =
            fmax(most, view->strategy_weight[EG_LAYOUT_MEMORY].data[rows->items.data[i]]);
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

static double weigh(const eg_layout_weights *w, const eg_doubles *measures, size_t at) {
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
    strategy_cost->data[s] = weigh(weights, view->strategy_weight, s);
  for (size_t i = 0; i < arc_cost->len; i++)
    arc_cost->data[i] = weigh(weights, view->arc_weight, i);
  return EGRAPH_OK;
}
