// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/plan_fit.h"

#include <math.h>

#include "base/clock.h"
#include "pcg/plan_summary.h"

enum { MOST_ROUNDS = 8 };
static const double FIRST_SHARE = 0.9; // of the time, when the limit may matter
static const double LEAST_SECONDS = 0.01;
static const double PROVEN_GAP = 1e-9;
static const double FINE = 5e-3; // of the limit: what the search leaves between

typedef struct fitter {
  egraph_allocator alloc;
  eg_plan_model *model;
  const eg_layout_options *options;
  double limit, deadline;
  eg_fitted_plan *out;
} fitter;

/// What came of a solution that keeps at most so much.
typedef struct attempt {
  eg_layout_status status;
  double bound, least_memory;
  bool is_solved;
  double kept, peak; // is_solved
} attempt;

static double seconds_left(const fitter *f) {
  return fmax(f->deadline - eg_clock_seconds(), LEAST_SECONDS);
}

static bool fits(const fitter *f, const attempt *a) {
  return a->is_solved && a->peak <= f->limit;
}

/// Takes the solution's plan over if it fits and is the cheapest.
static egraph_status weigh(fitter *f, const eg_layout_solution *solution, attempt *out) {
  eg_emitted_plan emitted;
  eg_plan_summary summary;
  EG_TRY(eg_plan_emit(f->model, f->alloc, solution, &emitted));
  egraph_status status = eg_plan_summary_make(&emitted.plan, f->alloc, &summary);
  if (status == EGRAPH_OK) {
    out->kept = solution->memory[0];
    out->peak = summary.peak;
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
  f->out->kept = out->kept;
  f->out->memory = out->peak;
  eg_plan_choices_init(&f->out->choices, f->alloc);
  return eg_plan_choices_note(&f->out->choices, f->model, &solution->strategy);
}

static egraph_status try_to_keep(fitter *f, double most, double seconds, attempt *out) {
  eg_layout_options options = *f->options;
  eg_layout_result result;
  options.time_limit_seconds = seconds;
  f->model->problem.memory_limit[0] = most;
  eg_layout_result_init(&result, f->alloc);
  egraph_status status = eg_layout_solve(f->alloc, &f->model->problem, &options, &result);
  *out = (attempt){.status = result.status,
                   .bound = result.bound,
                   .least_memory = result.least_memory[0],
                   .is_solved = result.solutions.len != 0};
  if (status == EGRAPH_OK && out->is_solved)
    status = weigh(f, &result.solutions.data[0], out);
  eg_layout_result_deinit(&result);
  return status;
}

/// The plan that keeps least, whatever it costs: its peak is known to do.
static egraph_status try_least(fitter *f, attempt *inout, double *out_most) {
  if (inout->is_solved) EG_TRY(try_to_keep(f, 0, seconds_left(f) / 2, inout));
  if (inout->is_solved || inout->status != EG_LAYOUT_NO_MEMORY) return EGRAPH_OK;
  *out_most = inout->least_memory;
  EG_TRY(try_to_keep(f, *out_most, seconds_left(f) / 2, inout));
  if (inout->is_solved && !fits(f, inout)) f->out->least_memory = inout->peak;
  return EGRAPH_OK;
}

/// Keeps as much less as the peak is too high, until it is not or nothing is so small;
/// `inout_most` is what the last attempt might keep.
static egraph_status tighten(fitter *f, attempt *inout, double *inout_most,
                             double *out_too_much) {
  for (int round = 0; round < MOST_ROUNDS && inout->is_solved && !fits(f, inout);
       round++) {
    *out_too_much = fmin(*inout_most, inout->kept);
    double excess = fmax(inout->peak - f->limit, FINE * f->limit);
    *inout_most = fmax(0, *out_too_much - excess);
    EG_TRY(try_to_keep(f, *inout_most, seconds_left(f) / 2, inout));
  }
  return fits(f, inout) ? EGRAPH_OK : try_least(f, inout, inout_most);
}

/// Between what may be kept and what was too much there may be cheaper plans.
static egraph_status loosen(fitter *f, double most, double too_much) {
  for (int round = 0; round < MOST_ROUNDS && too_much - most > FINE * f->limit; round++) {
    attempt next;
    double middle = most + (too_much - most) / 2;
    EG_TRY(try_to_keep(f, middle, seconds_left(f) / 2, &next));
    if (!next.is_solved) break;
    if (fits(f, &next))
      most = middle;
    else
      too_much = next.kept;
  }
  return EGRAPH_OK;
}

static void conclude(fitter *f, const attempt *first) {
  eg_fitted_plan *out = f->out;
  out->status = first->status;
  out->bound = first->bound;
  if (!out->has_plan) {
    out->cost = INFINITY;
    out->gap = INFINITY;
    bool is_known = first->status == EG_LAYOUT_NO_MEMORY && isfinite(first->least_memory);
    if (out->least_memory == 0 && is_known) out->least_memory = first->least_memory;
    if (first->is_solved) out->status = EG_LAYOUT_UNKNOWN;
    return;
  }
  if (!first->is_solved) out->bound = 0; // it keeps more than the limit at no time
  double missing = out->cost - out->bound;
  out->gap = missing > 0 ? missing / out->cost : 0;
  out->status =
      missing <= PROVEN_GAP * out->cost ? EG_LAYOUT_OPTIMAL : EG_LAYOUT_FEASIBLE;
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
  double most = f->limit, too_much = 0;
  double share = may_matter(f) ? FIRST_SHARE : 1;
  EG_TRY(try_to_keep(f, f->limit, share * f->options->time_limit_seconds, &first));
  last = first;
  EG_TRY(tighten(f, &last, &most, &too_much));
  if (f->out->has_plan) EG_TRY(loosen(f, most, too_much));
  conclude(f, &first);
  return EGRAPH_OK;
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
              .out = out};
  egraph_status status = fit(&f);
  model->problem.memory_limit[0] = f.limit;
  if (status != EGRAPH_OK) eg_fitted_plan_deinit(out);
  return status;
}

void eg_fitted_plan_deinit(eg_fitted_plan *fitted) {
  if (fitted->has_plan) eg_emitted_plan_deinit(&fitted->emitted);
  fitted->has_plan = false;
  eg_plan_choices_deinit(&fitted->choices);
}
