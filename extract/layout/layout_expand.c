// A relaxation that the plain extractor solves: a class per place, a node per strategy
// and per arc. It forgets ties, limits and that a value has one producer only, so its
// bound holds; often its solution keeps all of that, and is optimal. Plain extraction has
// the better presolve for large e-graphs with many alternatives.
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/owner.h"
#include "extract/extract.h"
#include "extract/layout/layout_search.h"

enum { MAX_PRICES = 12 };
// Work of a solve, in millions of steps, however little there is of all.
static const double LEAST_WORK = 100;

typedef struct expansion {
  eg_layout_search *search;
  const eg_layout_active *active;
  double share[EG_LAYOUT_MEMORY_ROWS]; // limited memory rows count as one sum
  double limit;                        // of that sum
  double most;                         // share of the time left, and of all work
  // Of one solve.
  double price; // of the sum
  eg_extract_problem plain;
  eg_u32s item; // [node] strategy, or strategies + arc; EG_LAYOUT_NONE: serves a root
} expansion;

/// Cost and memory of a plain solution.
typedef struct point {
  double cost, memory;
} point;

/// Limited rows, each by its limit, in the unit of the first one.
static void share_out(expansion *x) {
  const eg_layout_task *task = x->search->task;
  double unit = 0;
  x->limit = INFINITY;
  for (uint32_t r = 0; r < x->search->view->problem->memory_rows; r++) {
    double limit = task->limit[EG_LAYOUT_ROW + r];
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

static double priced(const expansion *x, const eg_doubles *weights, uint32_t at) {
  return weights[x->search->task->objective].data[at] +
         x->price * memory_of(x, weights, at);
}

static egraph_status add_node(expansion *x, uint32_t class, double cost,
                              const uint32_t *children, uint32_t count, uint32_t item) {
  EG_TRY(eg_extract_problem_add_node(&x->plain, class, cost, children, count, NULL));
  return eg_u32s_push(&x->item, item);
}

/// A root that any of the places serves; `places` NULL: those from `first` on.
static egraph_status add_root(expansion *x, const uint32_t *places, uint32_t first,
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

static egraph_status expand(expansion *x) {
  const eg_layout_view *view = x->search->view;
  const eg_layout_problem *p = view->problem;
  const eg_layout_active *active = x->active;
  uint32_t strategies = eg_layout_strategy_count(p);
  x->plain.class_count = eg_layout_place_count(p);
  for (uint32_t s = 0; s < strategies; s++) {
    uint32_t begin = p->need_begin.data[s];
    if (active->strategy.data[s])
      EG_TRY(add_node(x, p->output.data[s], priced(x, view->strategy_weight, s),
                      p->needs.data + begin, p->need_begin.data[s + 1] - begin, s));
  }
  for (uint32_t a = 0; a < active->arc.len; a++)
    if (active->arc.data[a])
      EG_TRY(add_node(x, p->arc_to.data[a], priced(x, view->arc_weight, a),
                      &p->arc_from.data[a], 1, strategies + a));
  for (uint32_t v = 0; v < active->required.len; v++)
    if (active->required.data[v])
      EG_TRY(add_root(x, NULL, p->place_begin.data[v], eg_layout_layout_count(p, v)));
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t begin = p->root_begin.data[r], count = p->root_begin.data[r + 1] - begin;
    if (count != 0) EG_TRY(add_root(x, p->root_places.data + begin, 0, count));
  }
  return EGRAPH_OK;
}

static bool report(void *user, double cost, double bound, double seconds) {
  (void)cost;
  (void)bound;
  (void)seconds;
  return eg_layout_search_stop(user);
}

/// Cost and memory of the plain solution as it stands, and its strategies as a solution.
static egraph_status offer(expansion *x, const eg_u32s *choice, point *out) {
  eg_layout_search *search = x->search;
  const eg_layout_view *view = search->view;
  uint32_t strategies = eg_layout_strategy_count(view->problem);
  bool ignored;
  EG_TRY(eg_layout_choice_clear(&search->trial, view));
  for (uint32_t class = 0; class < choice->len; class ++) {
    uint32_t node = choice->data[class];
    uint32_t item = node == EG_EXTRACT_NONE ? EG_LAYOUT_NONE : x->item.data[node];
    if (item == EG_LAYOUT_NONE) continue;
    bool is_strategy = item < strategies;
    const eg_doubles *weights = is_strategy ? view->strategy_weight : view->arc_weight;
    uint32_t at = is_strategy ? item : item - strategies;
    out->cost += weights[search->task->objective].data[at];
    out->memory += memory_of(x, weights, at);
    if (is_strategy) search->trial.strategy.data[view->value_of.data[at]] = at;
  }
  return eg_layout_search_offer(search, &ignored);
}

/// *out_exact: the optimum of the relaxation was found.
static egraph_status solve(expansion *x, point *out, bool *out_exact) {
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
    status = offer(x, &result.choice, out);
    double slack = x->price > 0 ? x->price * x->limit : 0;
    // The slack may be far larger than the bound that is left: mind the rounding.
    double bound = result.bound - slack - 1e-13 * (fabs(result.bound) + slack);
    if (status == EGRAPH_OK)
      status = eg_layout_search_raise(x->search, slack > 0 ? bound : result.bound);
  }
  eg_extract_result_deinit(&result);
  return status;
}

static egraph_status solve_at(expansion *x, double price, point *out, bool *out_exact) {
  *out = (point){0};
  x->price = price;
  EG_TRY(eg_extract_problem_init(&x->plain, x->search->alloc));
  eg_u32s_init(&x->item, x->search->alloc);
  egraph_status status = expand(x);
  if (status == EGRAPH_OK) status = solve(x, out, out_exact);
  eg_u32s_deinit(&x->item);
  eg_extract_problem_deinit(&x->plain);
  return status;
}

/// From a plain solution above the limit and one below.
static egraph_status climb(expansion *x, point over, point under) {
  bool exact = true;
  for (int round = 0; round < MAX_PRICES && exact; round++) {
    point next;
    double price = (under.cost - over.cost) / (over.memory - under.memory);
    if (!(price > 0) || eg_layout_search_stop(x->search)) break;
    double line = over.cost + price * over.memory;
    EG_TRY(solve_at(x, price, &next, &exact));
    if (next.cost + price * next.memory >= line * (1 - EG_LAYOUT_TOLERANCE)) break;
    *(next.memory > x->limit ? &over : &under) = next;
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_expand(eg_layout_search *search, const eg_layout_active *active,
                               double share, bool climbs, bool *out_done) {
  expansion x = {.search = search, .active = active, .most = share};
  point over, under = {0};
  bool exact;
  share_out(&x);
  EG_TRY(solve_at(&x, 0, &over, &exact));
  *out_done = exact && (climbs || !(over.memory > x.limit));
  if (!exact || !climbs || !(over.memory > x.limit)) return EGRAPH_OK;
  if (search->has_best) {
    under.cost = eg_layout_search_value(search);
    for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
      under.memory += x.share[r] * search->best.sum[EG_LAYOUT_ROW + r];
    return climb(&x, over, under);
  }
  // A price at which a unit of memory outweighs any cost.
  double price = 1e3 * (1 + over.cost) / (1 + over.memory);
  EG_TRY(solve_at(&x, price, &under, &exact));
  return exact && under.memory <= x.limit ? climb(&x, over, under) : EGRAPH_OK;
}
