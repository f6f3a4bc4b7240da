// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_search.h"

#include "base/clock.h"
#include "base/owner.h"
#include "base/proof.h"

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static bool add_to_unit(const eg_doubles *weights, double *sum, uint64_t *unit) {
  for (size_t i = 0; i < weights->len; i++) {
    double weight = weights->data[i];
    *sum += weight;
    if (floor(weight) < weight || *sum > 0x1p50) return false;
    *unit = common_divisor(*unit, (uint64_t)weight);
  }
  return true;
}

static double unit_of(const eg_layout_view *view, int measure) {
  double sum = 0;
  uint64_t unit = 0;
  if (!add_to_unit(&view->strategy_weight[measure], &sum, &unit) ||
      !add_to_unit(&view->arc_weight[measure], &sum, &unit))
    return 0;
  return (double)unit;
}

/// Estimates the largest cost of a solution: bounds are sums of terms of that size.
static double largest_cost(const eg_layout_search *search) {
  const eg_layout_view *view = search->view;
  const eg_doubles *strategy = &view->strategy_weight[search->task->objective];
  const eg_doubles *arc = &view->arc_weight[search->task->objective];
  double sum = 0;
  for (uint32_t v = 0; v < eg_layout_value_count(view->problem); v++) {
    double most = 0, way = 0;
    EG_EACH_ITEM(s, view->strategies, v)
      if (search->legal.strategy.data[s]) most = fmax(most, strategy->data[s]);
    EG_EACH_ITEM(a, view->value_arcs, v)
      if (search->legal.arc.data[a]) way = fmax(way, arc->data[a]);
    sum += most + way;
  }
  return sum;
}

static egraph_status prepare_search(eg_layout_search *search) {
  const eg_layout_view *view = search->view;
  EG_TRY(eg_layout_active_init(&search->legal, search->alloc, view));
  EG_TRY(eg_layout_evaluator_init(&search->evaluator, search->alloc, view));
  search->rounding = 1e-12 * largest_cost(search);
  size_t arcs = eg_layout_arc_count(view->problem);
  EG_TRY(eg_doubles_resize(&search->arc_weight, arcs));
  EG_TRY(eg_doubles_resize(&search->arc_priced, arcs));
  for (size_t a = 0; a < arcs; a++)
    search->arc_weight.data[a] = search->legal.arc.data[a]
                                     ? view->arc_weight[search->task->objective].data[a]
                                     : INFINITY;
  EG_TRY(eg_layout_choice_clear(&search->best, view));
  return eg_layout_choice_clear(&search->trial, view);
}

#define OWNED (eg_doubles, arc_weight, arc_priced), (eg_layout_choice, best, trial)

egraph_status eg_layout_search_init(eg_layout_search *search, egraph_allocator alloc,
                                    const eg_layout_view *view,
                                    const eg_layout_task *task, eg_layout_clock *clock) {
  *search = (eg_layout_search){.alloc = alloc,
                               .view = view,
                               .task = task,
                               .clock = clock,
                               .whole = INFINITY,
                               .cut = INFINITY,
                               .unit = unit_of(view, (int)task->objective)};
  EG_INIT_MEMBERS(search, alloc, OWNED)
  EG_RETURN_FILLED(prepare_search(search), eg_layout_search, search);
}

void eg_layout_search_deinit(eg_layout_search *search) {
  EG_DEINIT_MEMBERS(search, OWNED)
  eg_layout_evaluator_deinit(&search->evaluator);
  eg_layout_active_deinit(&search->legal);
}

static bool keeps_all_limits(const eg_layout_search *search) {
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    if (search->trial.sum[m] > search->task->limit[m] * (1 + 1e-12)) return false;
  return true;
}

static bool is_excluded(const eg_layout_search *search) {
  const eg_layout_solutions *excluded = search->task->excluded;
  size_t bytes = search->trial.strategy.len * sizeof(uint32_t);
  for (size_t i = 0; excluded != NULL && i < excluded->len; i++)
    if (bytes == 0 ||
        memcmp(excluded->data[i].strategy.data, search->trial.strategy.data, bytes) == 0)
      return true;
  return false;
}

/// True when the trial is cheaper than the best solution, or, up to rounding, as cheap as
/// the cheapest solution and takes less memory.
static bool is_better_trial(const eg_layout_search *search) {
  int objective = (int)search->task->objective;
  const double *now = search->trial.sum, *best = search->best.sum;
  if (!search->has_best || now[objective] < best[objective]) return true;
  return objective == EG_LAYOUT_COST &&
         now[objective] <= search->least * (1 + EG_LAYOUT_TOLERANCE / 4) &&
         now[EG_LAYOUT_MEMORY] < best[EG_LAYOUT_MEMORY];
}

/// Fails when a cost contradicts the bound. A later solution may be cheaper than a proven
/// optimum by the tolerance of the proof.
static egraph_status check_bound(const eg_layout_search *search, double bound,
                                 double cost) {
  if (isfinite(bound)) bound -= EG_LAYOUT_TOLERANCE * fabs(bound) + search->rounding;
  return eg_proof_check_bound("layout problem", bound, cost);
}

static egraph_status keep_better(eg_layout_search *search, bool *out_ok) {
  assert(search->trial.strategy.len == search->best.strategy.len);
  *out_ok = keeps_all_limits(search) && !is_excluded(search);
  if (!*out_ok || !is_better_trial(search)) return EGRAPH_OK;
  int objective = (int)search->task->objective;
  double cost = search->trial.sum[objective];
  if (!search->has_best || cost < search->least) search->least = cost;
  EG_TRY(eg_layout_choice_copy(&search->best, &search->trial));
  search->has_best = true;
  return check_bound(search, fmin(search->bound, search->whole), cost);
}

void eg_layout_search_take(eg_layout_search *search, const uint32_t *strategy) {
  assert(strategy != NULL);
  const eg_layout_view *view = search->view;
  for (uint32_t v = 0; v < search->trial.strategy.len; v++) {
    uint32_t s = strategy[v];
    bool fits = s < view->op_of.len && view->value_of.data[s] == v &&
                search->legal.strategy.data[s];
    search->trial.strategy.data[v] = fits ? s : EG_LAYOUT_NONE;
  }
}

/// Offers the strategies of search->trial with arcs of least weight. *out_ends: the
/// strategies are no solution with any arcs. *out_ok: with these arcs they are a solution
/// within the limits.
static egraph_status offer_with(eg_layout_search *search, const double *weight,
                                bool *out_ends, bool *out_ok) {
  // Counts the work: an offer visits the needed values and their arcs a few times.
  eg_layout_search_work(search,
                        4 * (search->trial.strategy.len + search->trial.arc_used.len));
  EG_TRY(eg_layout_evaluate(&search->evaluator, weight, &search->trial, out_ok));
  *out_ends = !*out_ok;
  return *out_ok ? keep_better(search, out_ok) : EGRAPH_OK;
}

egraph_status eg_layout_search_offer_arcs(eg_layout_search *search, const double *weight,
                                          bool *out_ok) {
  bool ignored;
  return offer_with(search, weight, &ignored, out_ok);
}

egraph_status eg_layout_search_offer(eg_layout_search *search, bool *out_ok) {
  bool ends, ignored;
  EG_TRY(offer_with(search, search->arc_weight.data, &ends, out_ok));
  // Arcs of least objective may exceed a limit that other arcs keep. Tries again with a
  // price on this measure that outweighs the objective.
  for (int m = 0; m < EG_LAYOUT_MEASURES && !ends && !*out_ok; m++) {
    if (!(search->trial.sum[m] > search->task->limit[m])) continue;
    for (size_t a = 0; a < search->arc_weight.len; a++) // infinite where forbidden
      search->arc_priced.data[a] =
          search->view->arc_weight[m].data[a] + 1e-6 * search->arc_weight.data[a];
    EG_TRY(offer_with(search, search->arc_priced.data, &ignored, out_ok));
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_search_adopt(eg_layout_search *search,
                                     const eg_layout_choice *choice) {
  assert(choice->strategy.len == search->trial.strategy.len);
  bool ignored;
  EG_TRY(eg_layout_choice_copy(&search->trial, choice));
  return keep_better(search, &ignored);
}

double eg_layout_search_value(const eg_layout_search *search) {
  return search->has_best ? search->best.sum[search->task->objective] : INFINITY;
}

/// Returns the cost from which solutions are no better than the cheapest.
static double no_better(const eg_layout_search *search) {
  if (!search->has_best) return INFINITY;
  if (search->unit > 0) return search->least - search->unit * (1 - 1e-6);
  return search->least - EG_LAYOUT_TOLERANCE * search->least;
}

static double below_ceiling(const eg_layout_search *search, double bound) {
  return search->ceiling > 0 ? fmin(bound, search->ceiling) : bound;
}

double eg_layout_search_cutoff(const eg_layout_search *search) {
  return below_ceiling(search, no_better(search));
}

double eg_layout_search_cut(eg_layout_search *search) {
  double cutoff = eg_layout_search_cutoff(search);
  if (cutoff < search->cut) search->cut = cutoff;
  return cutoff;
}

egraph_status eg_layout_search_raise(eg_layout_search *search, double bound) {
  assert(!isnan(bound));
  double value = eg_layout_search_value(search);
  if (search->unit > 0 && isfinite(bound))
    bound = ceil(bound / search->unit - 1e-6) * search->unit;
  if (bound > search->cut) bound = search->cut;
  // Checks the bound unless only a part is searched: the best solution may be outside.
  if (isinf(search->whole)) EG_TRY(check_bound(search, bound, value));
  if (bound >= no_better(search)) bound = value; // up to the tolerance
  bound = below_ceiling(search, bound);
  if (bound > search->bound) search->bound = bound;
  return EGRAPH_OK;
}

void eg_layout_search_close(eg_layout_search *search) {
  search->bound = below_ceiling(search, eg_layout_search_value(search));
}

void eg_layout_search_work(eg_layout_search *search, uint64_t steps) {
  eg_work_add(&search->clock->work, steps);
}

uint64_t eg_layout_search_share(const eg_layout_search *search, uint64_t part) {
  const eg_work *work = &search->clock->work;
  return work->limit == 0 ? 0 : 1 + eg_work_left(work) / part;
}

// The caller may stop because of a result, so with by_work it is asked after the same
// number of steps in every run.
enum { ASK_STEPS = 10000000 };

bool eg_layout_search_stop(eg_layout_search *search) {
  eg_layout_clock *clock = search->clock;
  double now = eg_clock_seconds(), value = eg_layout_search_value(search);
  double bound = fmin(search->bound, search->whole);
  bool is_spent = clock->work.limit != 0 && eg_work_is_spent(&clock->work);
  if (now >= clock->deadline || is_spent) clock->stopped = true;
  bool is_due = clock->by_work ? clock->work.done - clock->asked_work >= ASK_STEPS
                               : now - clock->asked_seconds >= 0.1;
  if (clock->progress != NULL && is_due && !clock->stopped) {
    clock->asked_seconds = now;
    clock->asked_work = clock->work.done;
    clock->stopped =
        clock->progress(clock->user, value, bound, now - clock->start_seconds);
  }
  double gap =
      search->gaps != NULL ? eg_layout_gap_after(search->gaps, clock->work.done) : 0;
  bool close = gap > 0 && isfinite(value) && value - bound <= gap * value;
  return clock->stopped || close;
}
