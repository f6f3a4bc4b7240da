// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_walk.h"

#define NONE EG_LAYOUT_NONE

static const eg_layout_problem *problem_of(const eg_layout_walk *w) {
  return w->search->view->problem;
}

egraph_status eg_layout_walk_init(eg_layout_walk *w, eg_layout_search *search,
                                  const eg_layout_factors *factors,
                                  const eg_u32s *order) {
  const eg_layout_problem *p = search->view->problem;
  *w = (eg_layout_walk){.search = search, .factors = factors, .order = order};
  eg_doubles_init(&w->far, search->alloc);
  eg_u32s_init(&w->made_in, search->alloc);
  eg_u32s_init(&w->label, search->alloc);
  EG_TRY(eg_doubles_resize(&w->far, eg_layout_place_count(p)));
  EG_TRY(eg_u32s_resize(&w->made_in, eg_layout_value_count(p)));
  return eg_u32s_resize(&w->label, eg_layout_tie_count(p));
}

void eg_layout_walk_deinit(eg_layout_walk *w) {
  eg_doubles_deinit(&w->far);
  eg_u32s_deinit(&w->made_in);
  eg_u32s_deinit(&w->label);
}

/// Ways from the layout in which a value is made to its others.
static void find_ways(eg_layout_walk *w, uint32_t value) {
  const eg_layout_problem *p = problem_of(w);
  const eg_layout_rows *arcs = &w->search->view->value_arcs;
  double *far = w->far.data;
  for (uint32_t i = p->place_begin.data[value]; i < p->place_begin.data[value + 1]; i++)
    far[i] = INFINITY;
  far[p->place_begin.data[value] + w->made_in.data[value]] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = arcs->begin.data[value]; i < arcs->begin.data[value + 1]; i++) {
      uint32_t arc = arcs->items.data[i];
      if (!w->factors->active->arc.data[arc]) continue;
      double way = far[p->arc_from.data[arc]] + w->factors->arc_cost.data[arc];
      if (!(way < far[p->arc_to.data[arc]])) continue;
      far[p->arc_to.data[arc]] = way;
      changed = true;
    }
  }
}

/// What making a value in this layout costs, as far as prices tell: INFINITY when a tie
/// has another layout.
static double price_of_layout(const eg_layout_walk *w, uint32_t value, uint32_t layout) {
  const eg_layout_factors *f = w->factors;
  double price = 0;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    const eg_link *link = &f->links.data[f->links_of.items.data[i]];
    if (link->kind == EG_LINK_USE || link->kind == EG_LINK_CUT) continue;
    bool is_tied = link->kind == EG_LINK_TIE && w->label.data[link->far] != NONE;
    if (f->dead.data[link->price + layout] ||
        (is_tied && w->label.data[link->far] != layout))
      return INFINITY;
    price += f->price.data[link->price + layout];
  }
  return price;
}

static double strategy_score(const eg_layout_walk *w, uint32_t s) {
  const eg_layout_problem *p = problem_of(w);
  uint32_t op = w->search->view->op_of.data[s], value = p->operator_value.data[op];
  double score =
      w->factors->strategy_cost.data[s] +
      price_of_layout(w, value, p->output.data[s] - p->place_begin.data[value]);
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++) {
    if (w->made_in.data[p->inputs.data[i]] == NONE) return INFINITY;
    score += w->far.data[p->needs.data[n]];
  }
  return score;
}

/// The best strategy of a value, given how its inputs are made.
static uint32_t choose(const eg_layout_walk *w, uint32_t value) {
  const eg_layout_view *view = w->search->view;
  uint32_t chosen = NONE;
  double best = INFINITY;
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1]; i++) {
    uint32_t s = view->strategies.items.data[i];
    if (!w->factors->active->strategy.data[s]) continue;
    double score = strategy_score(w, s);
    if (!(score < best)) continue;
    best = score;
    chosen = s;
  }
  return chosen;
}

static void take_labels(eg_layout_walk *w, uint32_t value, uint32_t layout) {
  const eg_layout_factors *f = w->factors;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    const eg_link *link = &f->links.data[f->links_of.items.data[i]];
    if (link->kind == EG_LINK_TIE) w->label.data[link->far] = layout;
  }
}

egraph_status eg_layout_walk_offer(eg_layout_walk *w) {
  eg_layout_search *search = w->search;
  const eg_layout_problem *p = problem_of(w);
  EG_TRY(eg_layout_choice_clear(&search->trial, search->view));
  for (size_t t = 0; t < w->label.len; t++)
    w->label.data[t] = NONE;
  for (size_t v = 0; v < w->made_in.len; v++)
    w->made_in.data[v] = NONE;
  for (uint32_t i = 0; i < w->order->len; i++) {
    uint32_t value = w->order->data[i], s = choose(w, value);
    if (s == NONE) continue;
    search->trial.strategy.data[value] = s;
    w->made_in.data[value] = p->output.data[s] - p->place_begin.data[value];
    take_labels(w, value, w->made_in.data[value]);
    find_ways(w, value);
  }
  bool ignored;
  return eg_layout_search_offer(search, &ignored);
}
