// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_fit_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "pcg/plan/plan_cost.h"

static const double LEAST_WORK = 1e8;  // steps
static const double MOST_CLOCK = 5e-8; // seconds for each step: the second limit

double eg_fit_seconds_left(const eg_fitter *f) {
  return fmax(f->deadline - eg_clock_seconds(), EG_LEAST_SECONDS);
}

uint64_t eg_fit_work_left(const eg_fitter *f, double share) {
  if (f->work.limit == EG_WORK_UNLIMITED) return EG_WORK_UNLIMITED;
  return (uint64_t)fmax(share * (double)eg_work_left(&f->work), 1);
}

uint64_t eg_fit_work_of(const eg_fitter *f, double times) {
  return (uint64_t)(times * fmax((double)f->first_work, LEAST_WORK));
}

void eg_fit_limit_rows(eg_fitter *f, const eg_fit_rows *most) {
  assert(f->rows <= EG_LAYOUT_MEMORY_ROWS);
  memcpy(f->model->problem.memory_limit, most->at, f->rows * sizeof *most->at);
}

double eg_fit_most_kept(const eg_fitter *f, const eg_fit_rows *kept) {
  double most = 0;
  for (uint32_t r = 0; r < f->rows; r++)
    most = fmax(most, kept->at[r]);
  return most;
}

bool eg_fit_is_within(const eg_fitter *f, const eg_fit_attempt *a) {
  return a->is_solved && a->peak <= f->limit;
}

/// Returns the memory row whose limit to lower for a peak: the end of the peak's phase.
static uint32_t row_of_peak(const eg_fitter *f, const eg_plan *plan,
                            const eg_plan_summary *summary, const eg_fit_rows *kept) {
  if (f->rows == 1 || summary->peak_step >= plan->steps.len) return 0;
  switch (plan->steps.data[summary->peak_step].phase) {
  case EG_PHASE_FORWARD: return 0;
  case EG_PHASE_UPDATE: return 1;
  case EG_PHASE_BACKWARD:
  case EG_PHASE_COUNT: break;
  }
  return kept->at[1] > kept->at[0] ? 1 : 0;
}

/// True when a solution is cheaper than the best so far, or as cheap, up to rounding,
/// with a lower peak of memory.
static bool is_better_solution(eg_fitter *f, const eg_layout_solution *solution,
                               const eg_fit_attempt *a) {
  bool is_cheaper = solution->cost < f->least_cost * (1 - EG_PROVEN_GAP);
  bool is_equal = solution->cost <= f->least_cost * (1 + EG_PROVEN_GAP / 2);
  if (f->out->has_plan && !is_cheaper && !(is_equal && a->peak < f->out->memory))
    return false;
  f->least_cost = fmin(f->least_cost, solution->cost);
  return true;
}

static egraph_status note_large(eg_fitter *f, const eg_layout_solution *solution) {
  eg_large_plan *large = &f->large;
  large->made = f->last_peak.made;
  large->into = f->last_peak.into;
  large->strategy.len = large->arc_used.len = 0;
  EG_TRY(
      eg_u32s_append(&large->strategy, solution->strategy.data, solution->strategy.len));
  return eg_bytes_append(&large->arc_used, solution->arc_used.data,
                         solution->arc_used.len);
}

static void drop_plan(eg_fitted_plan *fitted) {
  if (fitted->has_plan) eg_emitted_plan_deinit(&fitted->emitted);
  fitted->has_plan = false;
  eg_plan_choices_deinit(&fitted->choices);
}

egraph_status eg_fit_weigh(eg_fitter *f, const eg_layout_solution *solution,
                           eg_fit_attempt *out) {
  assert(solution->strategy.len == f->model->values.len);
  EG_OWNED(eg_emitted_plan, emitted);
  eg_plan_summary summary;
  eg_fit_rows kept;
  EG_TRY(eg_plan_emit(f->model, f->alloc, solution, &emitted));
  EG_TRY(eg_plan_summary_make(&emitted.plan, f->alloc, &summary));
  EG_TRY(eg_plan_sum_kept(f->model, f->alloc, solution, kept.at));
  memcpy(out->kept.at, solution->memory, sizeof out->kept.at);
  out->peak = summary.peak;
  out->peak_row = row_of_peak(f, &emitted.plan, &summary, &out->kept);
  f->least_peak = fmin(f->least_peak, out->peak);
  f->large.made = EG_SPACE_NONE;
  EG_TRY(eg_proof_check_bound("memory that a plan keeps, and its peak",
                              eg_fit_most_kept(f, &kept), out->peak));
  bool is_taken = eg_fit_is_within(f, out) && is_better_solution(f, solution, out);
  if (f->walk.visit == NULL)
    EG_TRY(eg_peak_row_make(is_taken ? &f->best_peak : &f->last_peak, f->model, f->alloc,
                            solution, &emitted, summary.peak_step));
  if (out->peak > f->limit) EG_TRY(note_large(f, solution));
  if (!is_taken) return EGRAPH_OK;
  drop_plan(f->out);
  eg_emitted_plan_leave_problem(&emitted);
  f->out->emitted = emitted;
  emitted = (eg_emitted_plan){.graph = NULL}; // moved
  f->out->has_plan = true;
  f->out->cost = solution->cost;
  f->out->kept = eg_fit_most_kept(f, &kept);
  f->out->memory = out->peak;
  eg_plan_choices_init(&f->out->choices, f->alloc);
  f->found.len = 0;
  EG_TRY(eg_u32s_append(&f->found, solution->strategy.data, solution->strategy.len));
  return eg_plan_choices_note(&f->out->choices, f->model, &solution->strategy);
}

double eg_fit_clock_of(const eg_fitter *f, uint64_t work) {
  return f->options->by_work ? eg_fit_seconds_left(f) : MOST_CLOCK * (double)work;
}

egraph_status eg_fit_solve(eg_fitter *f, const eg_layout_options *options,
                           eg_fit_attempt *out) {
  EG_LOCAL(eg_layout_result, result, f->alloc);
  EG_TRY(eg_layout_solve(f->alloc, &f->model->problem, options, &result));
  eg_work_add(&f->work, result.work);
  *out = (eg_fit_attempt){.status = result.status,
                          .cost = result.cost,
                          .bound = result.bound,
                          .is_solved = result.solutions.len != 0};
  memcpy(out->least.at, result.least_memory, sizeof out->least.at);
  memcpy(out->price.at, result.price, sizeof out->price.at);
  if (result.least.len != 0) {
    f->least.len = 0;
    EG_TRY(eg_u32s_append(&f->least, result.least.data, result.least.len));
  }
  return out->is_solved ? eg_fit_weigh(f, &result.solutions.data[0], out) : EGRAPH_OK;
}

egraph_status eg_fit_solve_within(eg_fitter *f, double share, uint64_t work, double gap,
                                  eg_fit_attempt *out) {
  eg_layout_options options = *f->options;
  uint64_t left = eg_fit_work_left(f, share);
  options.time_limit_seconds =
      fmin(share * eg_fit_seconds_left(f), eg_fit_clock_of(f, work));
  options.work_limit = work < left ? work : left;
  if (options.work_limit == EG_WORK_UNLIMITED) options.work_limit = 0;
  options.relative_gap = fmax(gap, options.relative_gap);
  options.work_before += f->work.done; // of all attempts together
  if (f->least.len != 0) options.incumbent = f->least.data;
  if (f->found.len != 0) options.incumbent = f->found.data;
  return eg_fit_solve(f, &options, out);
}

eg_fit_rows eg_fit_limits(const eg_fitter *f) {
  eg_fit_rows most;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    most.at[r] = r < f->rows ? f->limit : INFINITY;
  return most;
}

egraph_status eg_fit_keep(eg_fitter *f, const eg_fit_rows *most, double share,
                          uint64_t work, eg_fit_attempt *out) {
  eg_fit_limit_rows(f, most);
  return eg_fit_solve_within(f, share, work, 0, out);
}

void eg_fitted_plan_init(eg_fitted_plan *fitted, egraph_allocator alloc) {
  *fitted = (eg_fitted_plan){.status = EG_LAYOUT_UNKNOWN};
  eg_plan_choices_init(&fitted->choices, alloc);
  eg_memory_prices_init(&fitted->prices, alloc);
}

void eg_fitted_plan_deinit(eg_fitted_plan *fitted) {
  drop_plan(fitted);
  eg_memory_prices_deinit(&fitted->prices);
}
