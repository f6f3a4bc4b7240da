// A relaxation that the plain extractor solves: a class per place, a node per strategy
// and per arc. It forgets ties, limits and that a value has one producer only, so its
// bound holds; often its solution keeps all of that, and is optimal. Plain extraction has
// the better presolve for large e-graphs with many alternatives.
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "extract/layout/layout_search.h"
#include "extract/search/extract.h"

enum { MAX_PRICES = 12 };
// Work of a solve, in millions of steps, however little there is of all.
static const double LEAST_WORK = 100;

typedef struct expansion {
  eg_layout_search *search;
  const eg_layout_active *active;
  eg_extract_problem plain;
  eg_u32s node_strategy, node_arc;     // [node] one of them, or neither: serves a root
  double share[EG_LAYOUT_MEMORY_ROWS]; // limited memory rows count as one sum
  double limit;                        // of that sum
  double price;                        // likewise
  double most;                         // share of the time left, and of all work
  double cost, memory;                 // of the plain solution
} expansion;

/// Limited rows, each by its limit, in the unit of the first one.
static void share_out(expansion *x) {
  const eg_layout_task *task = x->search->task;
  double unit = 0;
  x->limit = INFINITY;
  for (uint32_t r = 0; r < x->search->view->problem->memory_rows; r++) {
    double limit = task->limit[EG_LAYOUT_ROW + r];
    x->share[r] = 0;
    if (!isfinite(limit)) continue;
    if (isinf(x->limit)) {
      x->limit = 0;
      unit = 1 + limit;
    }
    x->share[r] = unit / (1 + limit);
    x->limit += x->share[r] * limit;
  }
}

static double memory_of(const expansion *x, const eg_doubles *weights, uint32_t at) {
  double memory = 0;
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    if (x->share[r] > 0) memory += x->share[r] * weights[EG_LAYOUT_ROW + r].data[at];
  return memory;
}

static egraph_status add_node(expansion *x, uint32_t class, double cost,
                              const uint32_t *children, uint32_t count, uint32_t strategy,
                              uint32_t arc) {
  EG_TRY(eg_extract_problem_add_node(&x->plain, class, cost, children, count, NULL));
  EG_TRY(eg_u32s_push(&x->node_arc, arc));
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
      EG_TRY(add_node(x, class, 0, &place, 1, EG_LAYOUT_NONE, EG_LAYOUT_NONE));
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

static double priced(const expansion *x, const eg_doubles *weights, uint32_t at) {
  return weights[x->search->task->objective].data[at] +
         x->price * memory_of(x, weights, at);
}

static egraph_status expand(expansion *x) {
  const eg_layout_view *view = x->search->view;
  const eg_layout_problem *p = view->problem;
  x->plain.class_count = eg_layout_place_count(p);
  for (uint32_t s = 0; s < x->active->strategy.len; s++) {
    uint32_t begin = p->need_begin.data[s];
    if (x->active->strategy.data[s])
      EG_TRY(add_node(x, p->output.data[s], priced(x, view->strategy_weight, s),
                      p->needs.data + begin, p->need_begin.data[s + 1] - begin, s,
                      EG_LAYOUT_NONE));
  }
  for (uint32_t a = 0; a < x->active->arc.len; a++)
    if (x->active->arc.data[a])
      EG_TRY(add_node(x, p->arc_to.data[a], priced(x, view->arc_weight, a),
                      &p->arc_from.data[a], 1, EG_LAYOUT_NONE, a));
  return add_roots(x);
}

static bool report(void *user, double cost, double bound, double seconds) {
  (void)cost;
  (void)bound;
  (void)seconds;
  return eg_layout_search_stop(user);
}

// Cost and memory of the plain solution as it stands.
static void measure(expansion *x, const eg_u32s *choice) {
  const eg_layout_view *view = x->search->view;
  x->cost = x->memory = 0;
  for (uint32_t class = 0; class < choice->len; class ++) {
    uint32_t node = choice->data[class];
    if (node == EG_EXTRACT_NONE) continue;
    uint32_t s = x->node_strategy.data[node], a = x->node_arc.data[node];
    const eg_doubles *weights =
        s != EG_LAYOUT_NONE ? view->strategy_weight : view->arc_weight;
    uint32_t at = s != EG_LAYOUT_NONE ? s : a;
    if (at == EG_LAYOUT_NONE) continue;
    x->cost += weights[x->search->task->objective].data[at];
    x->memory += memory_of(x, weights, at);
  }
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

// Solves at x->price; *out_exact: to the optimum.
static egraph_status solve_expanded(expansion *x, bool *out_exact) {
  EG_TRY(expand(x));
  eg_layout_clock *clock = x->search->clock;
  double left = clock->deadline - eg_clock_seconds();
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.time_limit_seconds = left > 0 ? x->most * left : 1e-3;
  if (clock->work.limit != 0)
    options.work_limit =
        (uint64_t)fmax(x->most * (double)clock->work.limit / 1e6, LEAST_WORK);
  options.progress = report;
  options.user = x->search;
  eg_extract_result result;
  eg_extract_result_init(&result, x->search->alloc);
  egraph_status status = eg_extract_solve(x->search->alloc, &x->plain, &options, &result);
  *out_exact = status == EGRAPH_OK && result.status == EG_EXTRACT_OPTIMAL;
  eg_layout_search_work(x->search, result.work);
  if (status == EGRAPH_OK && result.status != EG_EXTRACT_INFEASIBLE) {
    status = offer(x, &result.choice);
    measure(x, &result.choice);
    double slack = x->price > 0 ? x->price * x->limit : 0;
    // What is subtracted may be far larger than what is left: mind the rounding.
    double bound = result.bound - slack - 1e-13 * (fabs(result.bound) + slack);
    if (status == EGRAPH_OK)
      status = eg_layout_search_raise(x->search, slack > 0 ? bound : result.bound);
  }
  eg_extract_result_deinit(&result);
  return status;
}

static egraph_status solve_at(eg_layout_search *search, const eg_layout_active *active,
                              double price, expansion *out, bool *out_exact) {
  expansion x = {.search = search, .active = active, .price = price, .most = out->most};
  share_out(&x);
  EG_TRY(eg_extract_problem_init(&x.plain, search->alloc));
  eg_u32s_init(&x.node_strategy, search->alloc);
  eg_u32s_init(&x.node_arc, search->alloc);
  egraph_status status = solve_expanded(&x, out_exact);
  eg_u32s_deinit(&x.node_arc);
  eg_u32s_deinit(&x.node_strategy);
  eg_extract_problem_deinit(&x.plain);
  out->cost = x.cost;
  out->memory = x.memory;
  return status;
}

// From a plain solution above the limit and one below.
static egraph_status climb(eg_layout_search *search, const eg_layout_active *active,
                           expansion over, expansion under) {
  bool exact = true;
  for (int round = 0; round < MAX_PRICES && exact; round++) {
    expansion next = over;
    double price = (under.cost - over.cost) / (over.memory - under.memory);
    if (!(price > 0) || eg_layout_search_stop(search)) break;
    double line = over.cost + price * over.memory;
    EG_TRY(solve_at(search, active, price, &next, &exact));
    if (next.cost + price * next.memory >= line * (1 - EG_LAYOUT_TOLERANCE)) break;
    *(next.memory > over.limit ? &over : &under) = next;
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_expand(eg_layout_search *search, const eg_layout_active *active,
                               double share, bool climbs, bool *out_done) {
  expansion over = {.search = search, .most = share}, under = over;
  bool exact;
  share_out(&over);
  share_out(&under);
  EG_TRY(solve_at(search, active, 0, &over, &exact));
  *out_done = exact && (climbs || !(over.memory > over.limit));
  if (!exact || !climbs || !(over.memory > over.limit)) return EGRAPH_OK;
  if (search->has_best) {
    under.cost = eg_layout_search_value(search);
    under.memory = 0;
    for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
      under.memory += under.share[r] * search->best.sum[EG_LAYOUT_ROW + r];
    return climb(search, active, over, under);
  }
  // A price at which a unit of memory outweighs any cost.
  double price = 1e3 * (1 + over.cost) / (1 + over.memory);
  EG_TRY(solve_at(search, active, price, &under, &exact));
  return exact && under.memory <= under.limit ? climb(search, active, over, under)
                                              : EGRAPH_OK;
}
