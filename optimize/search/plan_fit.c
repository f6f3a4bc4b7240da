// Searches for plans that fit in memory, in several ways. It limits the memory at the
// steps where earlier plans had their peak. It gives a price to each byte that a plan
// stores from one phase to the next. It limits how many such bytes a plan may store, and
// lowers that limit until a plan fits. If the problem is small, it visits one by one all
// solutions that are cheaper than the cheapest plan that fits.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_fit.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/proof.h"
#include "optimize/search/plan_fit_internal.h"
#include "optimize/search/plan_step_row.h"

enum { MOST_PEAKS = 24, MOST_ROUNDS = 8, STEERING_ROWS = 2 };
static const double EARLY_SHARE = 0.15; // of the remaining work, before prices
static const double FIRST_SHARE = 0.9;  // of the time, when the limit may matter
static const double BLIND_SHARE = 0.5;  // of this time, while no solution is known
static const double COARSE_GAP = 1e-3;  // while no plan fits
static const double LEAST_SHARE = 0.05; // of all work, for the plan that keeps the least
static const double LATER_SHARE = 0.5;  // of the remaining work, for one more solution
static const double MOST_SHARE = 2;     // of the first solution's work
static const double TIES_SHARE = 0.5;   // likewise, for a plan of the same cost
static const double ANY_GAP = 0.01;     // with it, the cheapest plan is not needed
// Prices of memory: at the first price, the whole limit costs the share FIRST_WORTH of
// the plan; other shares are of the remaining time and work.
static const double FIRST_WORTH = 0.02, PRICE_GROWTH = 4, PRICE_SHARE = 0.1,
                    KNOWN_PRICE_SHARE = 0.06; // where a plan fits
// A bound above this many times the cost without a memory limit ends the search.
static const double MOST_WORTH = 4;
enum { MOST_STRATEGIES = 1000, MOST_PRICES = 10 };
static const double LEAST_KEPT = 0.4, MORE = 1.2; // of the limit
static const double FINE = 5e-3; // of the limit: the precision of the search
// Limits of walks through all solutions, in strategies; emitting and weighing a plan
// counts as VISIT_STEPS strategies.
enum { MOST_STEPS = 3000000, FEW_STEPS = 300000, VISIT_STEPS = 300, WALK_WORK = 60 };

// ---- prices --------------------------------------------------------------------------

// Bytes stored from phase to phase have a price instead of a limit: such a problem is as
// easy as one without limits. The price rises until a plan fits; the next price is then
// the one at which the dearest plan that was too large and the cheapest that fits cost
// the same (Held and Karp 1971). Each price gives a bound, too.

typedef struct price_search {
  double low, high;             // prices; INFINITY: none was high enough yet
  eg_fit_attempt large, within; // attempts at these prices
} price_search;

static egraph_status weigh_strategies(eg_fitter *f, const uint32_t *strategy,
                                      eg_fit_attempt *out) {
  EG_OWNED(eg_layout_solution, solution);
  EG_TRY(eg_plan_complete(f->model, f->alloc, strategy, &solution, &out->is_solved));
  if (!out->is_solved) return EGRAPH_OK;
  out->cost = solution.cost;
  return eg_fit_weigh(f, &solution, out);
}

/// Solves with a price of the bytes held at any time.
static egraph_status try_price(eg_fitter *f, double price, eg_fit_attempt *out) {
  double prices[EG_LAYOUT_MEMORY_ROWS], allowed = 0;
  eg_layout_options options = *f->options;
  EG_LOCAL(eg_layout_result, result, f->alloc);
  double share = f->found.len != 0 ? KNOWN_PRICE_SHARE : PRICE_SHARE;
  uint64_t left = eg_fit_work_left(f, share);
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    prices[r] = r < f->rows ? price : 0;
  for (uint32_t r = 0; r < f->rows && price > 0; r++)
    allowed += price * f->limit;
  options.time_limit_seconds = share * eg_fit_seconds_left(f);
  options.work_limit = left == EG_WORK_UNLIMITED ? 0 : left;
  options.relative_gap = fmax(COARSE_GAP, options.relative_gap);
  if (f->found.len != 0) options.incumbent = f->found.data;
  EG_TRY(eg_plan_model_price_memory(f->model, prices));
  egraph_status status = eg_layout_solve(f->alloc, &f->model->problem, &options, &result);
  eg_plan_model_drop_prices(f->model);
  EG_TRY(status);
  eg_work_add(&f->work, result.work);
  *out = (eg_fit_attempt){.status = result.status};
  f->floor = fmax(f->floor, result.bound - allowed);
  return result.solutions.len != 0
             ? weigh_strategies(f, result.solutions.data[0].strategy.data, out)
             : EGRAPH_OK;
}

static double sum_rows(const eg_fitter *f, const eg_fit_rows *kept) {
  double sum = 0;
  for (uint32_t r = 0; r < f->rows; r++)
    sum += kept->at[r];
  return sum;
}

/// Returns the next price of memory to try; negative: none.
static double next_price(const eg_fitter *f, const price_search *p) {
  if (isinf(p->high))
    return p->low > 0 ? PRICE_GROWTH * p->low : FIRST_WORTH * p->large.cost / f->limit;
  double saved = sum_rows(f, &p->large.kept) - sum_rows(f, &p->within.kept);
  double price = (p->within.cost - p->large.cost) / saved;
  if (!(saved > 0 && price > p->low && price < p->high)) return -1;
  return price;
}

/// Tries prices of memory, to find early a plan that fits. Each attempt
/// looks for the cheapest plan at its price, within a gap (try_price). `free` is the plan
/// found at price 0, which does not fit.
static egraph_status search_prices(eg_fitter *f, const eg_fit_attempt *free) {
  price_search p = {.low = 0, .high = INFINITY, .large = *free};
  double first_cost = free->cost;
  for (int round = 0; round < MOST_PRICES && p.large.is_solved; round++) {
    double price = next_price(f, &p);
    eg_fit_attempt now;
    if (price < 0) break;
    EG_TRY(try_price(f, price, &now));
    if (!now.is_solved || f->floor > MOST_WORTH * first_cost) break;
    bool is_in = eg_fit_is_within(f, &now);
    *(is_in ? &p.within : &p.large) = now;
    *(is_in ? &p.high : &p.low) = price;
  }
  return EGRAPH_OK;
}

// ---- rows at the peak ---------------------------------------------------------------

static uint32_t spare_rows(const eg_fitter *f) { return EG_LAYOUT_MEMORY_ROWS - f->rows; }

/// Returns the bytes of the last plan above the limit, as the sum in memory row `row`.
static double row_of_large(const eg_fitter *f, const eg_peak_row *row) {
  const eg_layout_problem *p = &f->model->problem;
  double sum = 0;
  for (uint32_t v = 0; v < f->model->values.len; v++) {
    uint32_t s = f->large.strategy.data[v];
    if (s != EG_LAYOUT_NONE) sum += row->strategy.data[s] * p->memory_times.data[v];
  }
  for (uint32_t a = 0; a < eg_layout_arc_count(p); a++) // all arcs of the moved value
    if (f->large.arc_used.data[a])
      sum += row->arc.data[a] * p->memory_times.data[f->large.made];
  return sum;
}

/// Adds a memory row for the bytes that every plan holds at the last plan's peak step, if
/// that plan exceeds it (*out_is_new: added). Leaves some of the few rows for steer().
static egraph_status prove_peak(eg_fitter *f, bool *out_is_new) {
  *out_is_new = false;
  if (f->large.made == EG_SPACE_NONE || spare_rows(f) <= STEERING_ROWS || f->only_fitting)
    return EGRAPH_OK;
  EG_LOCAL(eg_peak_row, row, f->alloc);
  EG_LOCAL(eg_plan_needs, needs, f->alloc);
  EG_TRY(eg_plan_needs_find(&needs, f->model));
  EG_TRY(eg_step_row_make(&row, f->model, f->alloc, &needs, f->large.made, f->large.into,
                          f->large.strategy.data));
  *out_is_new = row_of_large(f, &row) > f->limit &&
                eg_peak_row_set(&row, &f->model->problem, f->rows, f->limit);
  if (*out_is_new && f->rows == f->own_rows) {
    f->first_made = f->large.made;
    f->first_into = f->large.into;
    f->first_strategy.len = 0;
    EG_TRY(eg_u32s_append(&f->first_strategy, f->large.strategy.data,
                          f->large.strategy.len));
  }
  f->rows += *out_is_new;
  f->model->problem.memory_rows = f->rows;
  return EGRAPH_OK;
}

/// Limits the bytes at the peaks of the last plans, as far as the problem has free memory
/// rows, until a plan fits; then lowers the cost as far as these limits allow.
static egraph_status steer(eg_fitter *f, const eg_fit_attempt *first) {
  eg_layout_problem *problem = &f->model->problem;
  uint32_t spare = spare_rows(f), used = 0;
  double gap = COARSE_GAP;
  uint64_t until = f->work.done + eg_fit_work_of(f, MOST_ROUNDS);
  double deadline =
      eg_clock_seconds() + eg_fit_clock_of(f, eg_fit_work_of(f, MOST_ROUNDS));
  eg_fit_attempt last = *first;
  for (int round = 0; round < MOST_PEAKS && last.is_solved; round++) {
    if (eg_fit_is_within(f, &last)) {
      if (!(gap > f->options->relative_gap)) break;
      gap = 0;
    } else {
      if (!eg_peak_row_set(&f->last_peak, problem, f->rows + used % spare, f->limit))
        break;
      used++;
      problem->memory_rows = f->rows + (used < spare ? used : spare);
    }
    if (f->work.done > until || eg_clock_seconds() > deadline) break;
    EG_TRY(
        eg_fit_solve_within(f, LATER_SHARE, eg_fit_work_of(f, MOST_SHARE), gap, &last));
  }
  problem->memory_rows = f->rows;
  return EGRAPH_OK;
}

/// Looks among solutions as cheap as the best for a plan with a lower peak of memory,
/// with a share of the work that the first solution took.
static egraph_status lower_peak(eg_fitter *f) {
  eg_layout_problem *problem = &f->model->problem;
  uint64_t until = f->work.done + eg_fit_work_of(f, TIES_SHARE);
  const eg_fit_rows most = eg_fit_limits(f);
  eg_fit_limit_rows(f, &most);
  for (uint32_t used = 0; used < spare_rows(f);) {
    eg_fit_attempt next;
    double peak = f->out->memory;
    const eg_peak_row *row = used == 0 ? &f->best_peak : &f->last_peak;
    if (f->work.done >= until) break;
    if (!eg_peak_row_set(row, problem, f->rows + used, peak * (1 - FINE))) break;
    problem->memory_rows = f->rows + ++used;
    EG_TRY(eg_fit_solve_within(f, LATER_SHARE, until - f->work.done, 0, &next));
    if (!next.is_solved || next.cost > f->least_cost * (1 + EG_PROVEN_GAP / 2)) break;
    if (f->out->memory < peak) used = 0; // begin again with the row of the new best plan
  }
  problem->memory_rows = f->rows;
  return EGRAPH_OK;
}

// ---- keeping less --------------------------------------------------------------------

/// Tries to find the plan that stores the fewest bytes from phase to phase, at any cost.
static egraph_status try_least(eg_fitter *f, eg_fit_attempt *inout,
                               eg_fit_rows *out_most) {
  const eg_fit_rows nothing = {{0}};
  EG_TRY(eg_fit_keep(f, &nothing, LATER_SHARE, EG_WORK_UNLIMITED, inout));
  if (inout->is_solved || inout->status != EG_LAYOUT_NO_MEMORY) return EGRAPH_OK;
  *out_most = inout->least;
  eg_fit_limit_rows(f, out_most);
  return eg_fit_solve_within(f, LATER_SHARE, EG_WORK_UNLIMITED, 1, inout);
}

/// Lowers the limits of stored bytes by the excess of the peak, until a plan fits or no
/// solution stores so little. Returns the last limits, and the limits before (too much).
static egraph_status tighten(eg_fitter *f, eg_fit_attempt *inout, eg_fit_rows *inout_most,
                             eg_fit_rows *out_too_much) {
  for (int round = 0;
       round < MOST_ROUNDS && inout->is_solved && !eg_fit_is_within(f, inout); round++) {
    uint32_t r = inout->peak_row;
    double excess = fmax(inout->peak - f->limit, FINE * f->limit);
    *out_too_much = *inout_most;
    out_too_much->at[r] = fmin(inout_most->at[r], inout->kept.at[r]);
    inout_most->at[r] = fmax(0, out_too_much->at[r] - excess);
    EG_TRY(eg_fit_keep(f, inout_most, LATER_SHARE, eg_fit_work_of(f, MOST_SHARE), inout));
  }
  if (eg_fit_is_within(f, inout) || f->only_fitting) return EGRAPH_OK;
  return try_least(f, inout, inout_most);
}

/// Bisects between limits of stored bytes at which a plan fits (`most`) and at which none
/// did (`too_much`), to find cheaper plans.
static egraph_status loosen(eg_fitter *f, eg_fit_rows most, eg_fit_rows too_much) {
  for (int round = 0; round < MOST_ROUNDS; round++) {
    eg_fit_attempt next;
    eg_fit_rows middle;
    double apart = 0;
    for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++) {
      double step = isfinite(most.at[r]) ? too_much.at[r] - most.at[r] : 0;
      middle.at[r] = most.at[r] + step / 2;
      apart = fmax(apart, step);
    }
    if (!(apart > FINE * f->limit)) break;
    EG_TRY(eg_fit_keep(f, &middle, LATER_SHARE, eg_fit_work_of(f, MOST_SHARE), &next));
    if (!next.is_solved) break;
    *(eg_fit_is_within(f, &next) ? &most : &too_much) = middle;
  }
  return EGRAPH_OK;
}

// ---- solutions one after the other ---------------------------------------------------

static egraph_status weigh_next(void *user, const eg_layout_solution *solution) {
  eg_fitter *f = user;
  eg_fit_attempt ignored = {.is_solved = true};
  EG_TRY(eg_fit_weigh(f, solution, &ignored));
  f->walk.most_cost = f->least_cost * f->walk_share;
  return EGRAPH_OK;
}

/// Walks through the solutions that store at most `kept` bytes between phases.
static egraph_status walk_kept(eg_fitter *f, double kept, double share, uint64_t steps) {
  for (uint32_t r = 0; r < f->rows; r++)
    f->model->problem.memory_limit[r] = kept;
  uint64_t left = eg_fit_work_left(f, 1) / WALK_WORK;
  f->walk_share = share;
  f->walk = (eg_plan_walk){.most_cost = f->least_cost * share,
                           .most_steps = steps < left ? steps : left,
                           .deadline = f->deadline,
                           .visit_steps = VISIT_STEPS,
                           .visit = weigh_next,
                           .user = f};
  egraph_status status = eg_plan_walk_run(&f->walk, f->alloc, &f->model->problem);
  eg_work_add(&f->work, f->walk.steps * WALK_WORK);
  if (f->options->done != NULL) *f->options->done += f->walk.steps * WALK_WORK;
  f->walk.visit = NULL;
  return status;
}

/// True when the search needs the cheapest plan, not only a plan within the limit.
static bool wants_best(const eg_fitter *f) {
  return !f->only_fitting && f->options->relative_gap < ANY_GAP;
}

/// True when the problem has few enough strategies to walk through all solutions.
static bool is_walkable(const eg_fitter *f) {
  return eg_layout_strategy_count(&f->model->problem) <= MOST_STRATEGIES;
}

/// Visits every solution cheaper than the cheapest plan that fits, if there are few;
/// afterwards that plan is proven cheapest.
static egraph_status go_through(eg_fitter *f, uint64_t steps, eg_fit_attempt *first) {
  if (!wants_best(f) || !is_walkable(f)) return EGRAPH_OK;
  EG_TRY(walk_kept(f, f->limit, 1 - EG_PROVEN_GAP, steps));
  if (!f->walk.is_complete) return EGRAPH_OK;
  if (!f->out->has_plan) first->status = EG_LAYOUT_NO_MEMORY;
  if (f->out->has_plan) first->bound = f->out->cost;
  return EGRAPH_OK;
}

/// Walks through solutions that store few bytes between phases, if no plan has fitted and
/// there were too many solutions. Their plans leave more memory for other values.
static egraph_status go_through_less(eg_fitter *f) {
  uint64_t left = MOST_STEPS;
  if (!wants_best(f) || !is_walkable(f)) return EGRAPH_OK;
  for (double kept = LEAST_KEPT; kept < 1 && !f->out->has_plan; kept *= MORE) {
    EG_TRY(walk_kept(f, kept * f->limit, 1 - EG_PROVEN_GAP, left));
    if (!f->walk.is_complete || f->walk.steps >= left) break;
    left -= f->walk.steps;
  }
  f->walk.is_complete = false; // of all
  return EGRAPH_OK;
}

/// If no solution within the limits is known, finds the solution that stores the fewest
/// bytes. Unless this solution is proven too large, finds cheaper solutions from it.
static egraph_status begin_with_least(eg_fitter *f, eg_fit_attempt *inout) {
  eg_fit_attempt least, again;
  eg_fit_rows least_most;
  EG_TRY(try_least(f, &least, &least_most));
  if (inout->status != EG_LAYOUT_UNKNOWN || !least.is_solved ||
      eg_fit_most_kept(f, &least.kept) > f->limit)
    return EGRAPH_OK;
  const eg_fit_rows most = eg_fit_limits(f);
  EG_TRY(eg_fit_keep(f, &most, FIRST_SHARE, EG_WORK_UNLIMITED, &again));
  again.bound = fmax(again.bound, inout->bound);
  *inout = again;
  return EGRAPH_OK;
}

// ---- the whole -----------------------------------------------------------------------

static egraph_status conclude_fit(eg_fitter *f, const eg_fit_attempt *first) {
  eg_fitted_plan *out = f->out;
  out->status = first->status;
  out->bound = fmax(first->bound, f->floor);
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++) // rows of steps: as the first
    out->prices.at[r < f->own_rows ? r : f->own_rows] += first->price.at[r];
  if (!out->has_plan) {
    out->cost = INFINITY;
    out->gap = INFINITY;
    out->least_memory = isfinite(f->least_peak) ? f->least_peak : 0;
    if (first->is_solved && first->status != EG_LAYOUT_NO_MEMORY)
      out->status = EG_LAYOUT_UNKNOWN;
    return EGRAPH_OK;
  }
  if (first->status == EG_LAYOUT_NO_MEMORY || first->status == EG_LAYOUT_INFEASIBLE)
    return EG_FAIL(EGRAPH_E_INTERNAL,
                   "a plan of %.17g bytes was found within a limit of %.17g, which was "
                   "proven to allow none; please report this with the input",
                   out->memory, f->limit);
  EG_TRY(eg_proof_check_bound("plan", out->bound, out->cost));
  double missing = fmax(out->cost - out->bound, 0);
  out->gap = out->cost > 0 ? missing / out->cost : 0;
  out->status =
      missing <= EG_PROVEN_GAP * out->cost ? EG_LAYOUT_OPTIMAL : EG_LAYOUT_FEASIBLE;
  return EGRAPH_OK;
}

/// If there is no plan, finds the plan that stores the fewest bytes, with a share of the
/// work that does not depend on the limit: a search with this plan's peak as the limit
/// finds it again.
static egraph_status find_least_kept(eg_fitter *f) {
  eg_layout_options options = *f->options;
  eg_fit_rows most = {{0}};
  eg_fit_attempt least;
  double before = f->least_peak;
  if (f->out->has_plan || f->only_fitting) return EGRAPH_OK;
  eg_plan_forbid_undo(f->model, &f->forbidden);
  f->model->problem.memory_rows = f->rows = f->own_rows;
  f->least.len = 0;
  f->least_peak = INFINITY;
  options.incumbent = NULL;
  options.relative_gap = 1;
  options.work_limit = eg_work_share(options.work_limit, LEAST_SHARE);
  options.time_limit_seconds =
      fmax(LEAST_SHARE * options.time_limit_seconds, EG_LEAST_SECONDS);
  eg_fit_limit_rows(f, &most);
  EG_TRY(eg_fit_solve(f, &options, &least));
  if (!least.is_solved && least.status == EG_LAYOUT_NO_MEMORY) {
    eg_fit_limit_rows(f, &least.least);
    if (f->least.len != 0) options.incumbent = f->least.data;
    EG_TRY(eg_fit_solve(f, &options, &least));
  }
  if (isinf(f->least_peak)) f->least_peak = before;
  return EGRAPH_OK;
}

/// If the problem has no solution, finds out whether the limit of memory is the cause.
static egraph_status judge_none(eg_fitter *f, eg_fit_attempt *out) {
  eg_fit_attempt any;
  eg_fit_rows most;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    most.at[r] = INFINITY;
  eg_plan_forbid_undo(f->model, &f->forbidden);
  f->forbidden.count = 0;
  eg_fit_limit_rows(f, &most);
  EG_TRY(eg_fit_solve_within(f, LATER_SHARE, EG_WORK_UNLIMITED, 1, &any));
  bool is_none = any.status == EG_LAYOUT_INFEASIBLE;
  *out = (eg_fit_attempt){.status = is_none ? EG_LAYOUT_INFEASIBLE : EG_LAYOUT_NO_MEMORY,
                          .bound = INFINITY};
  return EGRAPH_OK;
}

/// Solves with a new memory row for the peak step, while the plan exceeds the limit.
static egraph_status prove_peaks(eg_fitter *f, double share, eg_fit_attempt *inout) {
  while (inout->is_solved && !eg_fit_is_within(f, inout)) {
    bool is_new;
    eg_fit_attempt next;
    EG_TRY(prove_peak(f, &is_new));
    if (!is_new) break;
    const eg_fit_rows most = eg_fit_limits(f);
    EG_TRY(eg_fit_keep(f, &most, share, EG_WORK_UNLIMITED, &next));
    next.bound = fmax(next.bound, inout->bound);
    inout->bound = next.bound;
    if (next.is_solved || next.status == EG_LAYOUT_NO_MEMORY) *inout = next;
    if (!next.is_solved) break; // the row for the plan before is still set
  }
  return EGRAPH_OK;
}

/// True when the best plan is proven cheapest, or it is proven that no plan exists.
static bool is_closed(const eg_fitter *f, const eg_fit_attempt *a) {
  if (a->status == EG_LAYOUT_NO_MEMORY || a->status == EG_LAYOUT_INFEASIBLE) return true;
  double gap = fmax(eg_layout_gap_after(f->options, f->work.done), EG_PROVEN_GAP);
  return f->out->has_plan && a->bound >= f->least_cost * (1 - gap);
}

/// If the memory limit may bind, searches with a share of the work within limits of the
/// bytes at peak steps, beginning with the peak of the cheapest plan; then tries prices
/// of memory, to find early a plan that fits.
static egraph_status begin_rows(eg_fitter *f, eg_fit_attempt *out) {
  eg_fit_attempt free = {.is_solved = false};
  bool ignored;
  if (!f->only_fitting) {
    EG_TRY(try_price(f, 0, &free));
    EG_TRY(prove_peak(f, &ignored));
  }
  const eg_fit_rows most = eg_fit_limits(f);
  EG_TRY(eg_fit_keep(f, &most, EARLY_SHARE, EG_WORK_UNLIMITED, out));
  EG_TRY(prove_peaks(f, EARLY_SHARE, out));
  if (is_closed(f, out) || !free.is_solved || eg_fit_is_within(f, &free))
    return EGRAPH_OK;
  return search_prices(f, &free);
}

/// Continues without a plan that fits, or with one that may not be the cheapest.
static egraph_status go_on(eg_fitter *f, eg_fit_attempt *inout) {
  const eg_fit_rows limits = eg_fit_limits(f);
  eg_fit_attempt last = *inout;
  eg_fit_rows most = limits, too_much = limits;
  if (!last.is_solved || eg_fit_is_within(f, &last)) return EGRAPH_OK;
  EG_TRY(go_through(f, FEW_STEPS, inout));
  if (f->walk.is_complete) return EGRAPH_OK;
  EG_TRY(steer(f, inout));
  EG_TRY(go_through(f, MOST_STEPS, inout));
  if (f->out->has_plan || f->walk.is_complete) return EGRAPH_OK;
  EG_TRY(tighten(f, &last, &most, &too_much));
  if (!f->out->has_plan) EG_TRY(go_through_less(f));
  return f->out->has_plan ? loosen(f, most, too_much) : EGRAPH_OK;
}

/// Searches, among equally cheap plans, for the plan with the lowest peak of memory.
static egraph_status settle_ties(eg_fitter *f) {
  if (!f->out->has_plan || !wants_best(f)) return EGRAPH_OK;
  f->walk.is_complete = false;
  if (is_walkable(f)) EG_TRY(walk_kept(f, f->limit, 1 + EG_PROVEN_GAP / 4, FEW_STEPS));
  return f->walk.is_complete ? EGRAPH_OK : lower_peak(f);
}

static egraph_status search_fit(eg_fitter *f, eg_fit_attempt *out) {
  bool may_bind = 2 * eg_plan_space_whole_bytes(f->model->space) > f->limit; // two ends
  double share = may_bind ? FIRST_SHARE : 1, before = 0;
  if (may_bind) {
    EG_TRY(eg_plan_forbid_large(f->model, f->alloc, f->limit, &f->forbidden));
    if (f->forbidden.is_all) return judge_none(f, out);
    eg_fit_attempt known;
    if (f->options->incumbent != NULL)
      EG_TRY(weigh_strategies(f, f->options->incumbent, &known));
    EG_TRY(begin_rows(f, out));
    before = out->bound;
  }
  if (!may_bind || !is_closed(f, out)) {
    const eg_fit_rows most = eg_fit_limits(f);
    bool is_known = !may_bind || f->found.len != 0 || f->options->incumbent != NULL;
    uint64_t done = f->work.done;
    EG_TRY(eg_fit_keep(f, &most, is_known ? share : BLIND_SHARE * share,
                       EG_WORK_UNLIMITED, out));
    f->first_work = f->work.done - done;
    out->bound = fmax(out->bound, before);
  }
  if (out->status == EG_LAYOUT_INFEASIBLE && f->forbidden.count != 0)
    return judge_none(f, out);
  if (!out->is_solved && out->status != EG_LAYOUT_INFEASIBLE && !f->only_fitting)
    EG_TRY(begin_with_least(f, out));
  if (!is_closed(f, out)) {
    EG_TRY(prove_peaks(f, LATER_SHARE, out));
    EG_TRY(go_on(f, out));
  }
  return settle_ties(f);
}

static egraph_status fit(eg_fitter *f) {
  eg_fit_attempt first;
  EG_TRY(search_fit(f, &first));
  EG_TRY(find_least_kept(f));
  return conclude_fit(f, &first);
}

/// Makes the memory row of the step at which a plan first exceeded the limit, for plans
/// above the limit, too: with all choices that were forbidden.
static egraph_status note_step(eg_fitter *f) {
  if (f->first_strategy.len == 0) return EGRAPH_OK;
  return eg_step_row_note(&f->out->prices.step, f->model, f->alloc, f->first_made,
                          f->first_into, f->first_strategy.data);
}

egraph_status eg_plan_fit(eg_plan_model *model, egraph_allocator alloc,
                          const eg_layout_options *options, bool only_fitting,
                          eg_fitted_plan *out) {
  assert(options->time_limit_seconds > 0);
  assert(model->problem.memory_rows <= EG_LAYOUT_MEMORY_ROWS);
  eg_fitted_plan_deinit(out);
  *out = (eg_fitted_plan){.status = EG_LAYOUT_UNKNOWN,
                          .places = eg_layout_place_count(&model->problem),
                          .arcs = eg_layout_arc_count(&model->problem)};
  eg_memory_prices_init(&out->prices, alloc);
  EG_LOCAL_WITH(eg_fitter, f, alloc, .alloc = alloc, .model = model, .options = options,
                .only_fitting = only_fitting, .limit = model->problem.memory_limit[0],
                .deadline = eg_clock_seconds() + options->time_limit_seconds,
                .work.limit =
                    options->work_limit != 0 ? options->work_limit : EG_WORK_UNLIMITED,
                .own_rows = model->problem.memory_rows,
                .rows = model->problem.memory_rows, .large.made = EG_SPACE_NONE,
                .least_peak = INFINITY, .least_cost = INFINITY, .out = out);
  egraph_status status = fit(&f);
  eg_plan_forbid_undo(model, &f.forbidden);
  for (uint32_t r = 0; r < f.own_rows; r++)
    model->problem.memory_limit[r] = f.limit;
  model->problem.memory_rows = f.own_rows;
  if (status == EGRAPH_OK) status = note_step(&f);
  out->work = f.work.done;
  EG_RETURN_FILLED(status, eg_fitted_plan, out);
}
