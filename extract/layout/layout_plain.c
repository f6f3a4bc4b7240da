// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_plain.h"

#include "base/clock.h"
#include "extract/dual_ascent.h"
#include "extract/presolve/landmarks.h"
#include "extract/search/extract.h"

// ---- landmarks ----------------------------------------------------------------------

typedef struct finder {
  eg_layout_landmarks *out;
  const eg_layout_active *active;
  const eg_layout_task *task;
  double deadline;
  uint64_t max_work;
  eg_extract_problem problem; // a class per value
  eg_u32s op;                 // [node]
  eg_u32s inputs;             // distinct inputs of an operator
  eg_doubles price;           // [node]
  eg_class_index index;
  eg_landmarks landmarks;
  eg_cuts cuts;
} finder;
#define FINDER                                                                           \
  (eg_u32s, op, inputs), (eg_doubles, price), (eg_class_index, index),                   \
      (eg_landmarks, landmarks)

static void finder_deinit(finder *f) {
  EG_DEINIT_MEMBERS(f, FINDER)
  eg_cuts_deinit(&f->cuts);
  eg_extract_problem_deinit(&f->problem);
}

/// Adds an operator as a node of the plain problem, at the cost of its cheapest active
/// strategy, if it has one. The node names each child once.
static egraph_status add_operator_node(finder *f, uint32_t op) {
  const eg_layout_problem *p = f->active->view->problem;
  const eg_doubles *weight = &f->active->view->strategy_weight[f->task->objective];
  uint32_t ignored, value = p->operator_value.data[op];
  double cost = INFINITY;
  for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
    if (f->active->strategy.data[s]) cost = fmin(cost, weight->data[s]);
  if (!f->active->used.data[value] || !(cost < INFINITY)) return EGRAPH_OK;
  f->inputs.len = 0;
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++) {
    bool is_new = true;
    for (size_t k = 0; k < f->inputs.len && is_new; k++)
      is_new = f->inputs.data[k] != p->inputs.data[i];
    if (is_new) EG_TRY(eg_u32s_push(&f->inputs, p->inputs.data[i]));
  }
  EG_TRY(eg_extract_problem_add_node(&f->problem, value, cost, f->inputs.data,
                                     (uint32_t)f->inputs.len, &ignored));
  EG_TRY(eg_u32s_push(&f->op, op));
  return eg_doubles_push(&f->price, cost);
}

/// Keeps a cut (operators) of 2 to EG_LAYOUT_CUT_VALUES values: one is required anyway.
static egraph_status keep_cut(finder *f, const uint32_t *nodes, uint32_t count) {
  assert(count != 0);
  eg_layout_landmarks *out = f->out;
  uint32_t values = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool is_new = true;
    for (uint32_t k = 0; k < i; k++)
      is_new = is_new && f->problem.node_class.data[nodes[k]] !=
                             f->problem.node_class.data[nodes[i]];
    values += is_new;
    if (values > EG_LAYOUT_CUT_VALUES) return EGRAPH_OK;
  }
  if (values < 2) return EGRAPH_OK;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_u32s_push(&out->cut_ops, f->op.data[nodes[i]]));
  return eg_u32s_push(&out->cut_begin, (uint32_t)out->cut_ops.len);
}

// Finds the values that required values need; these become roots. Then finds cuts of
// the roots.
egraph_status eg_layout_landmarks_find(eg_layout_landmarks *landmarks,
                                       const eg_layout_active *active,
                                       const eg_layout_task *task, double deadline,
                                       uint64_t max_work) {
  egraph_allocator alloc = landmarks->values.alloc;
  EG_OWNED(finder, f);
  EG_INIT_MEMBERS(&f, alloc, FINDER)
  f.out = landmarks;
  f.active = active;
  f.task = task;
  f.deadline = deadline;
  f.max_work = max_work;
  EG_TRY(eg_extract_problem_init(&f.problem, alloc));
  EG_TRY(eg_cuts_init(&f.cuts, alloc));
  const eg_layout_problem *p = f.active->view->problem;
  const eg_patience patience = {.deadline = f.deadline};
  const eg_ascent_limits limits = {.deadline = f.deadline, .max_work = f.max_work};
  eg_u32s *values = &f.out->values;
  double ignored;
  bool done;
  f.problem.class_count = eg_layout_value_count(p);
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++)
    EG_TRY(add_operator_node(&f, op));
  EG_TRY(eg_class_index_build(&f.index, &f.problem));
  EG_TRY(eg_landmarks_find(&f.landmarks, &f.problem, &f.index, patience, &done));
  for (uint32_t v = 0; done && v < f.active->required.len; v++)
    if (f.active->required.data[v]) EG_TRY(eg_landmarks_list(&f.landmarks, v, values));
  if (values->len == 0) return EGRAPH_OK;
  for (size_t i = 0; i < values->len; i++)
    EG_TRY(eg_extract_problem_add_root(&f.problem, values->data[i]));
  EG_TRY(eg_class_index_build(&f.index, &f.problem));
  EG_TRY(eg_dual_ascent_run(&f.problem, &f.index, values, limits, f.price.data, &ignored,
                            &f.cuts));
  for (uint32_t c = 0; c < eg_cuts_count(&f.cuts); c++) {
    uint32_t begin = f.cuts.begin.data[c];
    EG_TRY(keep_cut(&f, f.cuts.nodes.data + begin, f.cuts.begin.data[c + 1] - begin));
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_landmarks_init(eg_layout_landmarks *landmarks,
                                       egraph_allocator alloc) {
  eg_layout_landmarks_init_members(landmarks, alloc);
  return eg_u32s_push(&landmarks->cut_begin, 0);
}

// ---- relaxation ---------------------------------------------------------------------

enum { MAX_PRICES = 12 };
// Limits of a solve, in million steps and as a share: it may take LEAST_WORK even if its
// share of the work is smaller, but at most MOST_SHARE of the remaining work.
static const double LEAST_WORK = 100, MOST_SHARE = 0.25;

typedef struct expansion {
  eg_layout_search *search;
  const eg_layout_active *active;
  double share[EG_LAYOUT_MEMORY_ROWS]; // limited memory rows count as one sum
  double limit;                        // limit of that sum
  double most;                         // share of the remaining time, and of all work
  // State of the current solve:
  double price; // price of the sum
  eg_extract_problem *plain;
  eg_u32s item; // [node] strategy, or strategies + arc; EG_LAYOUT_NONE: serves a root
} expansion;
EG_OWNER_DEFINE_STATIC(expansion, (eg_u32s, item))

/// Cost and memory of a plain solution.
typedef struct point {
  double cost, memory;
} point;

/// Sets the weight of each limited memory row in their sum: the inverse of its limit, in
/// the unit of the first row.
static void find_shares(expansion *x) {
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

static egraph_status add_plain_node(expansion *x, uint32_t class, double cost,
                                    const uint32_t *children, uint32_t count,
                                    uint32_t item) {
  assert(class < x->plain->class_count);
  EG_TRY(eg_extract_problem_add_node(x->plain, class, cost, children, count, NULL));
  return eg_u32s_push(&x->item, item);
}

/// Adds a root that any of `count` places (layouts of a value) serves: the places in
/// `places` or, if this is NULL, the places from `first` on.
static egraph_status add_root(expansion *x, const uint32_t *places, uint32_t first,
                              uint32_t count) {
  assert(count != 0);
  uint32_t class;
  EG_TRY(eg_extract_problem_add_class(x->plain, &class));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t place = places == NULL ? first + i : places[i];
    if (x->active->derivable.data[place])
      EG_TRY(add_plain_node(x, class, 0, &place, 1, EG_LAYOUT_NONE));
  }
  return eg_extract_problem_add_root(x->plain, class);
}

static egraph_status build_expansion(expansion *x) {
  const eg_layout_view *view = x->search->view;
  const eg_layout_problem *p = view->problem;
  const eg_layout_active *active = x->active;
  uint32_t strategies = eg_layout_strategy_count(p);
  x->plain->class_count = eg_layout_place_count(p);
  for (uint32_t s = 0; s < strategies; s++) {
    uint32_t begin = p->need_begin.data[s];
    if (active->strategy.data[s])
      EG_TRY(add_plain_node(x, p->output.data[s], priced(x, view->strategy_weight, s),
                            p->needs.data + begin, p->need_begin.data[s + 1] - begin, s));
  }
  for (uint32_t a = 0; a < active->arc.len; a++)
    if (active->arc.data[a])
      EG_TRY(add_plain_node(x, p->arc_to.data[a], priced(x, view->arc_weight, a),
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

/// True when the search must stop; the plain solver calls this as its progress. With
/// by_work the plain solver ends by its own steps.
static bool on_plain_progress(void *user, double cost, double bound, double seconds) {
  eg_layout_search *search = user;
  (void)cost;
  (void)bound;
  (void)seconds;
  return !search->clock->by_work && eg_layout_search_stop(search);
}

/// Sums the cost and memory of the plain solution, and offers its strategies as
/// a solution.
static egraph_status offer_plain(expansion *x, const eg_u32s *choice, point *out) {
  assert(choice->len == x->plain->class_count);
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

/// Solves the relaxation. *out_exact: the optimum was found.
static egraph_status solve_expansion(expansion *x, point *out, bool *out_exact) {
  eg_layout_clock *clock = x->search->clock;
  double left = clock->deadline - eg_clock_seconds();
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.time_limit_seconds = left > 0 ? x->most * left : 1e-3;
  if (clock->work.limit != 0) {
    double share = x->most * (double)clock->work.limit / 1e6;
    double least =
        fmin(LEAST_WORK, MOST_SHARE * (double)eg_work_left(&clock->work) / 1e6);
    options.work_limit = (uint64_t)fmax(1, fmax(share, least));
  }
  options.progress = on_plain_progress;
  options.user = x->search;
  EG_LOCAL(eg_extract_result, result, x->search->alloc);
  EG_TRY(eg_extract_solve(x->search->alloc, x->plain, &options, &result));
  *out_exact = result.status == EG_EXTRACT_OPTIMAL;
  eg_layout_search_work(x->search, result.work);
  if (result.status == EG_EXTRACT_INFEASIBLE) return EGRAPH_OK;
  EG_TRY(offer_plain(x, &result.choice, out));
  double slack = x->price > 0 ? x->price * x->limit : 0;
  // The slack may be far larger than the remaining bound: subtract its rounding error.
  double bound = result.bound - slack - 1e-13 * (fabs(result.bound) + slack);
  return eg_layout_search_raise(x->search, slack > 0 ? bound : result.bound);
}

static egraph_status solve_at(expansion *x, double price, point *out, bool *out_exact) {
  *out = (point){0};
  x->price = price;
  EG_OWNED(eg_extract_problem, plain);
  EG_TRY(eg_extract_problem_init(&plain, x->search->alloc));
  x->plain = &plain;
  x->item.len = 0;
  EG_TRY(build_expansion(x));
  return solve_expansion(x, out, out_exact);
}

/// Solves the relaxation at several prices of memory. `over` is a plain solution above
/// the limit, `under` one within it.
static egraph_status climb_prices(expansion *x, point over, point under) {
  assert(over.memory > x->limit);
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
  EG_LOCAL_WITH(expansion, x, search->alloc, .search = search, .active = active,
                .most = share);
  point over, under = {0};
  bool exact;
  find_shares(&x);
  EG_TRY(solve_at(&x, 0, &over, &exact));
  *out_done = exact && (climbs || !(over.memory > x.limit));
  if (!exact || !climbs || !(over.memory > x.limit)) return EGRAPH_OK;
  if (search->has_best) {
    under.cost = eg_layout_search_value(search);
    for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
      under.memory += x.share[r] * search->best.sum[EG_LAYOUT_ROW + r];
    return climb_prices(&x, over, under);
  }
  // At this price a unit of memory outweighs any cost.
  double price = 1e3 * (1 + over.cost) / (1 + over.memory);
  EG_TRY(solve_at(&x, price, &under, &exact));
  return exact && under.memory <= x.limit ? climb_prices(&x, over, under) : EGRAPH_OK;
}
