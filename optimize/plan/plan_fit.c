// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/plan_fit.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "pcg/plan_summary.h"

enum { MOST_ROUNDS = 8, FEW_SOLUTIONS = 16, MOST_SOLUTIONS = 256 };
static const double FIRST_SHARE = 0.9; // of the time, when the limit may matter
static const double LEAST_SECONDS = 0.01;
static const double PROVEN_GAP = 1e-9;
static const double FINE = 5e-3; // of the limit: what the search leaves between
// Strategies up to which the solutions within the limit are gone through.
static const uint32_t MOST_STRATEGIES = 4000;

typedef struct rows {
  double at[EG_LAYOUT_MEMORY_ROWS];
} rows;

typedef struct fitter {
  egraph_allocator alloc;
  eg_plan_model *model;
  const eg_layout_options *options;
  double limit, deadline;
  double least_peak; // of the plans that were made
  eg_fitted_plan *out;
} fitter;

/// What came of a solution that keeps at most so much.
typedef struct attempt {
  eg_layout_status status;
  double bound;
  rows least; // status NO_MEMORY: what a solution keeps that exceeds by little
  bool is_solved;
  rows kept;         // is_solved
  double peak;       // is_solved
  uint32_t peak_row; // is_solved: the row that the peak is nearest to
} attempt;

static double seconds_left(const fitter *f) {
  return fmax(f->deadline - eg_clock_seconds(), LEAST_SECONDS);
}

static uint32_t row_count(const fitter *f) { return f->model->problem.memory_rows; }

static void limit_rows(fitter *f, const rows *most) {
  memcpy(f->model->problem.memory_limit, most->at, sizeof most->at);
}

static double most_of(const fitter *f, const rows *kept) {
  double most = 0;
  for (uint32_t r = 0; r < row_count(f); r++)
    most = fmax(most, kept->at[r]);
  return most;
}

static bool fits(const fitter *f, const attempt *a) {
  return a->is_solved && a->peak <= f->limit;
}

/// The row that must give way to a peak: of the end of the phase that it is in.
static uint32_t row_of_peak(const fitter *f, const eg_plan *plan,
                            const eg_plan_summary *summary, const rows *kept) {
  if (row_count(f) == 1 || summary->peak_step >= plan->steps.len) return 0;
  switch (plan->steps.data[summary->peak_step].phase) {
  case EG_PHASE_FORWARD: return 0;
  case EG_PHASE_UPDATE: return 1;
  case EG_PHASE_BACKWARD:
  case EG_PHASE_COUNT: break;
  }
  return kept->at[1] > kept->at[0] ? 1 : 0;
}

/// Takes the solution's plan over if it fits and is the cheapest.
static egraph_status weigh(fitter *f, const eg_layout_solution *solution, attempt *out) {
  eg_emitted_plan emitted;
  eg_plan_summary summary;
  EG_TRY(eg_plan_emit(f->model, f->alloc, solution, &emitted));
  egraph_status status = eg_plan_summary_make(&emitted.plan, f->alloc, &summary);
  if (status == EGRAPH_OK) {
    memcpy(out->kept.at, solution->memory, sizeof out->kept.at);
    out->peak = summary.peak;
    out->peak_row = row_of_peak(f, &emitted.plan, &summary, &out->kept);
    f->least_peak = fmin(f->least_peak, out->peak);
  }
  bool is_better = !f->out->has_plan || solution->cost < f->out->cost;
  if (status != EGRAPH_OK || !fits(f, out) || !is_better) {
    eg_emitted_plan_deinit(&emitted);
    return status;
  }
  eg_fitted_plan_deinit(f->out);
  f->out->emitted = emitted;
  f->out->has_plan = true;
  f->out->cost = solution->cost;
  f->out->kept = most_of(f, &out->kept);
  f->out->memory = out->peak;
  eg_plan_choices_init(&f->out->choices, f->alloc);
  return eg_plan_choices_note(&f->out->choices, f->model, &solution->strategy);
}

static egraph_status try_to_keep(fitter *f, const rows *most, double seconds,
                                 attempt *out) {
  eg_layout_options options = *f->options;
  eg_layout_result result;
  options.time_limit_seconds = seconds;
  limit_rows(f, most);
  eg_layout_result_init(&result, f->alloc);
  egraph_status status = eg_layout_solve(f->alloc, &f->model->problem, &options, &result);
  *out = (attempt){.status = result.status,
                   .bound = result.bound,
                   .is_solved = result.solutions.len != 0};
  memcpy(out->least.at, result.least_memory, sizeof out->least.at);
  if (status == EGRAPH_OK && out->is_solved)
    status = weigh(f, &result.solutions.data[0], out);
  eg_layout_result_deinit(&result);
  return status;
}

/// The plan that keeps least, whatever it costs: its peak is known to do.
static egraph_status try_least(fitter *f, attempt *inout, rows *out_most) {
  const rows nothing = {{0}};
  if (inout->is_solved) EG_TRY(try_to_keep(f, &nothing, seconds_left(f) / 2, inout));
  if (inout->is_solved || inout->status != EG_LAYOUT_NO_MEMORY) return EGRAPH_OK;
  *out_most = inout->least;
  return try_to_keep(f, out_most, seconds_left(f) / 2, inout);
}

/// Keeps as much less as the peak is too high, until it is not or nothing is so small;
/// `inout_most` is what the last attempt might keep.
static egraph_status tighten(fitter *f, attempt *inout, rows *inout_most,
                             rows *out_too_much) {
  for (int round = 0; round < MOST_ROUNDS && inout->is_solved && !fits(f, inout);
       round++) {
    uint32_t r = inout->peak_row;
    double excess = fmax(inout->peak - f->limit, FINE * f->limit);
    *out_too_much = *inout_most;
    out_too_much->at[r] = fmin(inout_most->at[r], inout->kept.at[r]);
    inout_most->at[r] = fmax(0, out_too_much->at[r] - excess);
    EG_TRY(try_to_keep(f, inout_most, seconds_left(f) / 2, inout));
  }
  return fits(f, inout) ? EGRAPH_OK : try_least(f, inout, inout_most);
}

/// Between what may be kept and what was too much there may be cheaper plans.
static egraph_status loosen(fitter *f, rows most, rows too_much) {
  for (int round = 0; round < MOST_ROUNDS; round++) {
    attempt next;
    rows middle;
    double apart = 0;
    for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++) {
      double step = isfinite(most.at[r]) ? too_much.at[r] - most.at[r] : 0;
      middle.at[r] = most.at[r] + step / 2;
      apart = fmax(apart, step);
    }
    if (!(apart > FINE * f->limit)) break;
    EG_TRY(try_to_keep(f, &middle, seconds_left(f) / 2, &next));
    if (!next.is_solved) break;
    *(fits(f, &next) ? &most : &too_much) = middle;
  }
  return EGRAPH_OK;
}

// ---- solutions one after the other ---------------------------------------------------

/// What is known when so many solutions, the cheapest, have been looked at.
typedef struct walk {
  double reached;   // cost below which there is no other
  bool is_complete; // there are no more
} walk;

static egraph_status go_through(fitter *f, uint32_t count, walk *out) {
  eg_layout_options options = *f->options;
  eg_layout_result result;
  options.time_limit_seconds = seconds_left(f) / 2;
  options.relative_gap = 0;
  options.solutions = count;
  eg_layout_result_init(&result, f->alloc);
  egraph_status status = eg_layout_solve(f->alloc, &f->model->problem, &options, &result);
  *out = (walk){.reached = 0, .is_complete = result.is_complete};
  for (size_t i = 0; status == EGRAPH_OK && i < result.solutions.len; i++) {
    const eg_layout_solution *solution = &result.solutions.data[i];
    attempt ignored = {.is_solved = true};
    if (!solution->is_proven) break;
    out->reached = solution->cost;
    if (f->out->has_plan && solution->cost >= f->out->cost) break;
    status = weigh(f, solution, &ignored);
  }
  eg_layout_result_deinit(&result);
  return status;
}

/// The bound of plans that fit rises to the cost of the first that does.
static egraph_status enumerate(fitter *f, attempt *first) {
  rows most;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    most.at[r] = r < row_count(f) ? f->limit : INFINITY;
  limit_rows(f, &most);
  for (uint32_t count = FEW_SOLUTIONS; count <= MOST_SOLUTIONS; count *= 4) {
    walk w;
    if (f->deadline - eg_clock_seconds() < LEAST_SECONDS) break;
    EG_TRY(go_through(f, count, &w));
    first->bound = fmax(first->bound, w.reached);
    if (w.is_complete && !f->out->has_plan) first->status = EG_LAYOUT_NO_MEMORY;
    if (f->out->has_plan && (w.is_complete || w.reached >= f->out->cost))
      first->bound = f->out->cost;
    if (w.is_complete || (f->out->has_plan && w.reached >= f->out->cost)) break;
  }
  return EGRAPH_OK;
}

// ---- the whole -----------------------------------------------------------------------

static egraph_status conclude(fitter *f, const attempt *first) {
  eg_fitted_plan *out = f->out;
  out->status = first->status;
  out->bound = first->bound;
  if (!out->has_plan) {
    out->cost = INFINITY;
    out->gap = INFINITY;
    bool is_known = first->status == EG_LAYOUT_NO_MEMORY && isinf(f->least_peak);
    out->least_memory = isfinite(f->least_peak) ? f->least_peak : 0;
    if (is_known) out->least_memory = most_of(f, &first->least);
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
      missing <= PROVEN_GAP * out->cost ? EG_LAYOUT_OPTIMAL : EG_LAYOUT_FEASIBLE;
  return EGRAPH_OK;
}

/// Whether a device may not hold everything twice, whole: moves have two ends.
static bool may_matter(const fitter *f) {
  const eg_plan_space *space = f->model->space;
  double bytes = 0;
  for (uint32_t v = 0; v < space->values.len; v++) // layout 0: R on every axis
    bytes += 2.0 * space->values.data[v].times * eg_plan_space_bytes(space, v, 0);
  return bytes > f->limit;
}

static egraph_status fit(fitter *f) {
  attempt first, last;
  rows most, too_much;
  double share = may_matter(f) ? FIRST_SHARE : 1;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    most.at[r] = r < row_count(f) ? f->limit : INFINITY;
  too_much = most;
  EG_TRY(try_to_keep(f, &most, share * f->options->time_limit_seconds, &first));
  last = first;
  if (first.is_solved && !fits(f, &first)) {
    EG_TRY(tighten(f, &last, &most, &too_much));
    if (f->out->has_plan) EG_TRY(loosen(f, most, too_much));
    if (eg_layout_strategy_count(&f->model->problem) <= MOST_STRATEGIES)
      EG_TRY(enumerate(f, &first));
  }
  return conclude(f, &first);
}

egraph_status eg_plan_fit(eg_plan_model *model, egraph_allocator alloc,
                          const eg_layout_options *options, eg_fitted_plan *out) {
  *out = (eg_fitted_plan){.status = EG_LAYOUT_UNKNOWN,
                          .places = eg_layout_place_count(&model->problem),
                          .arcs = eg_layout_arc_count(&model->problem)};
  fitter f = {.alloc = alloc,
              .model = model,
              .options = options,
              .limit = model->problem.memory_limit[0],
              .deadline = eg_clock_seconds() + options->time_limit_seconds,
              .least_peak = INFINITY,
              .out = out};
  egraph_status status = fit(&f);
  for (uint32_t r = 0; r < row_count(&f); r++)
    model->problem.memory_limit[r] = f.limit;
  if (status != EGRAPH_OK) eg_fitted_plan_deinit(out);
  return status;
}

void eg_fitted_plan_deinit(eg_fitted_plan *fitted) {
  if (fitted->has_plan) eg_emitted_plan_deinit(&fitted->emitted);
  fitted->has_plan = false;
  eg_plan_choices_deinit(&fitted->choices);
}
