// A relaxation that the plain extractor solves: a class per place, a node per strategy
// and per arc. It forgets ties, limits and that a value has one producer only, so its
// bound holds; often its solution keeps all of that, and is optimal. Plain extraction has
// the better presolve for large e-graphs with many alternatives.
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "extract/extract.h"
#include "extract/layout/layout_search.h"

typedef struct expansion {
  eg_layout_search *search;
  const eg_layout_active *active;
  eg_extract_problem plain;
  eg_u32s node_strategy; // [node] EG_LAYOUT_NONE: an arc, or what serves a root
} expansion;

static egraph_status add_node(expansion *x, uint32_t class, double cost,
                              const uint32_t *children, uint32_t count,
                              uint32_t strategy) {
  EG_TRY(eg_extract_problem_add_node(&x->plain, class, cost, children, count, NULL));
  return eg_u32s_push(&x->node_strategy, strategy);
}

// A root that any of the places serves.
static egraph_status add_any(expansion *x, const uint32_t *places, uint32_t first,
                             uint32_t count) {
  uint32_t class;
  EG_TRY(eg_extract_problem_add_class(&x->plain, &class));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t place = places == NULL ? first + i : places[i];
    if (x->active->derivable.data[place])
      EG_TRY(add_node(x, class, 0, &place, 1, EG_LAYOUT_NONE));
  }
  return eg_extract_problem_add_root(&x->plain, class);
}

static egraph_status add_roots(expansion *x) {
  const eg_layout_problem *p = x->search->view->problem;
  for (uint32_t v = 0; v < x->active->required.len; v++)
    if (x->active->required.data[v])
      EG_TRY(add_any(x, NULL, p->place_begin.data[v], eg_layout_layout_count(p, v)));
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t begin = p->root_begin.data[r], count = p->root_begin.data[r + 1] - begin;
    if (count != 0) EG_TRY(add_any(x, p->root_places.data + begin, 0, count));
  }
  return EGRAPH_OK;
}

static egraph_status expand(expansion *x) {
  const eg_layout_view *view = x->search->view;
  const eg_layout_problem *p = view->problem;
  int objective = (int)x->search->task->objective;
  x->plain.class_count = eg_layout_place_count(p);
  for (uint32_t s = 0; s < x->active->strategy.len; s++) {
    uint32_t begin = p->need_begin.data[s];
    if (x->active->strategy.data[s])
      EG_TRY(add_node(x, p->output.data[s], view->strategy_weight[objective].data[s],
                      p->needs.data + begin, p->need_begin.data[s + 1] - begin, s));
  }
  for (uint32_t a = 0; a < x->active->arc.len; a++)
    if (x->active->arc.data[a])
      EG_TRY(add_node(x, p->arc_to.data[a], view->arc_weight[objective].data[a],
                      &p->arc_from.data[a], 1, EG_LAYOUT_NONE));
  return add_roots(x);
}

static bool report(void *user, double cost, double bound, double seconds) {
  eg_layout_search *search = user;
  (void)cost;
  (void)seconds;
  eg_layout_search_raise(search, bound);
  return eg_layout_search_stop(search);
}

static egraph_status offer(expansion *x, const eg_u32s *choice) {
  eg_layout_search *search = x->search;
  EG_TRY(eg_layout_choice_clear(&search->trial, search->view));
  for (uint32_t place = 0; place < search->view->place_value.len; place++) {
    uint32_t node = choice->data[place];
    if (node == EG_EXTRACT_NONE || x->node_strategy.data[node] == EG_LAYOUT_NONE)
      continue;
    search->trial.strategy.data[search->view->place_value.data[place]] =
        x->node_strategy.data[node];
  }
  bool ignored;
  return eg_layout_search_offer(search, &ignored);
}

static egraph_status solve(expansion *x) {
  EG_TRY(expand(x));
  double left = x->search->clock->deadline - eg_clock_seconds();
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.time_limit_seconds = left > 0 ? left / 2 : 1e-3;
  options.progress = report;
  options.user = x->search;
  eg_extract_result result;
  eg_extract_result_init(&result, x->search->alloc);
  egraph_status status = eg_extract_solve(x->search->alloc, &x->plain, &options, &result);
  if (status == EGRAPH_OK && result.status != EG_EXTRACT_INFEASIBLE) {
    status = offer(x, &result.choice);
    if (status == EGRAPH_OK) eg_layout_search_raise(x->search, result.bound);
  }
  eg_extract_result_deinit(&result);
  return status;
}

egraph_status eg_layout_expand(eg_layout_search *search, const eg_layout_active *active) {
  expansion x = {.search = search, .active = active};
  EG_TRY(eg_extract_problem_init(&x.plain, search->alloc));
  eg_u32s_init(&x.node_strategy, search->alloc);
  egraph_status status = solve(&x);
  eg_u32s_deinit(&x.node_strategy);
  eg_extract_problem_deinit(&x.plain);
  return status;
}
