// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_excess.h"

#include <math.h>

static const eg_layout_problem *problem_of(const eg_layout_factors *f) {
  return f->view->problem;
}

/// `least` of a link whose far end has just been solved, above that end's least of all.
static void note_link(const eg_layout_factors *f, uint32_t number, double least,
                      eg_doubles *excess) {
  const eg_link *link = &f->links.data[number];
  for (uint32_t i = 0; i < eg_link_labels(f, link); i++)
    excess->data[link->price + i] = f->least.data[link->price + i] - least;
}

static void note_rows(eg_layout_factors *f, const eg_layout_rows *links,
                      void (*solve)(eg_layout_factors *, uint32_t, double *),
                      eg_doubles *excess) {
  for (uint32_t i = 0; i + 1 < links->begin.len; i++) {
    double least;
    solve(f, i, &least);
    for (uint32_t k = links->begin.data[i]; k < links->begin.data[i + 1]; k++)
      note_link(f, links->items.data[k], least, excess);
  }
}

/// What a link's label costs at its far end at least.
static egraph_status solve_far_ends(eg_layout_factors *f, eg_doubles *excess) {
  EG_TRY(eg_doubles_resize(excess, f->price.len));
  for (uint32_t t = 0; t < f->trees.len; t++) {
    const eg_tree_factor *tree = &f->trees.data[t];
    double least;
    EG_TRY(eg_factor_tree(f, t, &least));
    note_link(f, tree->made, least, excess);
    for (uint32_t u = 0; u < tree->user_count; u++)
      note_link(f, tree->users[u], least, excess);
  }
  note_rows(f, &f->links_of_tie, eg_factor_tie, excess);
  note_rows(f, &f->links_of_cut, eg_factor_cut, excess);
  return EGRAPH_OK;
}

/// What the factors around a strategy lose by it: each once.
static double excess_around(const eg_layout_factors *f, const eg_doubles *excess,
                            uint32_t s) {
  const eg_layout_problem *p = problem_of(f);
  uint32_t op = f->view->op_of.data[s], value = p->operator_value.data[op];
  uint32_t output = p->output.data[s] - p->place_begin.data[value];
  uint32_t begin = p->input_begin.data[op], end = p->input_begin.data[op + 1];
  double sum = 0;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    const eg_link *link = &f->links.data[f->links_of.items.data[i]];
    if (link->kind == EG_LINK_MADE || link->kind == EG_LINK_TIE)
      sum += excess->data[link->price + output];
    if (link->kind == EG_LINK_CUT)
      sum += excess->data[link->price +
                          (eg_link_cuts(f, link, op) ? EG_CUT_CHOSEN : EG_CUT_NOT)];
  }
  for (uint32_t i = begin; i < end; i++) {
    const eg_link *link = &f->links.data[f->use.data[i]];
    bool is_counted = link->value == value; // among the trees of the value itself
    for (uint32_t k = begin; k < i; k++)
      is_counted = is_counted || f->links.data[f->use.data[k]].far == link->far;
    uint32_t label = p->needs.data[p->need_begin.data[s] + (i - begin)] -
                     p->place_begin.data[p->inputs.data[i]];
    if (!is_counted) sum += excess->data[link->price + label];
  }
  return sum;
}

static void fill_strategies(eg_layout_factors *f, const eg_doubles *excess,
                            eg_doubles *out) {
  const eg_layout_view *view = f->view;
  for (uint32_t value = 0; value < eg_layout_value_count(problem_of(f)); value++) {
    double least;
    if (!f->active->used.data[value]) continue;
    eg_factor_producers(f, value, &least);
    for (uint32_t k = view->strategies.begin.data[value];
         k < view->strategies.begin.data[value + 1]; k++) {
      uint32_t s = view->strategies.items.data[k];
      if (f->active->strategy.data[s])
        out->data[s] = eg_factor_strategy(f, s) - least + excess_around(f, excess, s);
    }
  }
}

static egraph_status fill_arcs(eg_layout_factors *f, eg_doubles *out) {
  for (uint32_t t = 0; t < f->trees.len; t++) {
    double least;
    EG_TRY(eg_factor_tree(f, t, &least));
    for (uint32_t i = 0; i < f->arc_number.len; i++) {
      double excess = eg_factor_arc(f, i) - least; // of several trees any may use it
      double *least_excess = &out->data[f->arc_number.data[i]];
      if (excess < *least_excess) *least_excess = excess;
    }
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_excess_fill(eg_layout_factors *f, egraph_allocator alloc,
                                    double bound, eg_layout_excess *out) {
  const eg_layout_problem *p = problem_of(f);
  EG_TRY(eg_doubles_resize(&out->strategy, eg_layout_strategy_count(p)));
  EG_TRY(eg_doubles_resize(&out->arc, eg_layout_arc_count(p)));
  for (size_t s = 0; s < out->strategy.len; s++)
    out->strategy.data[s] = INFINITY;
  for (size_t i = 0; i < out->arc.len; i++)
    out->arc.data[i] = INFINITY;
  out->bound = bound;
  eg_doubles excess;
  eg_doubles_init(&excess, alloc);
  egraph_status status = solve_far_ends(f, &excess);
  if (status == EGRAPH_OK) status = fill_arcs(f, &out->arc);
  if (status == EGRAPH_OK) fill_strategies(f, &excess, &out->strategy);
  eg_doubles_deinit(&excess);
  return status;
}
