// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_job.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "optimize/search/budget.h"

// By default work limits a search, so that a busy machine finds the same plan; the clock
// ends a search that takes six times as long. A time limit alone also limits work.
static const double DEFAULT_STEPS = 60e9, DEFAULT_SECONDS = 360.0;
static const double NO_TIME_LIMIT = 1e9; // seconds: work decides
static const double DEFAULT_SATURATE_SECONDS = 15.0;
// The relative gap between cost and bound that suffices after a few seconds' work.
static const double LATE_GAP = 1e-3;
static const uint64_t LATE_WORK = UINT64_C(3000000000);
static const double CERTIFICATE_TIME = 0.25; // share of time for the certificate
// The default limit of e-nodes is at least twice the step's nodes, and tight below
// four times.
enum { NODE_LIMIT_GROWTH = 2, SHRINK_FIRST_BELOW = 4 };

eg_budget eg_budget_begin(const egraph_search *search) {
  bool has_time = search->time_limit >= 0, has_work = search->work_limit != 0;
  return (eg_budget){.start = eg_clock_seconds(),
                     .seconds = has_time   ? search->time_limit
                                : has_work ? NO_TIME_LIMIT
                                           : DEFAULT_SECONDS,
                     .steps = has_work   ? (double)search->work_limit * EG_STEPS_OF_WORK
                              : has_time ? search->time_limit * EG_STEPS_PER_SECOND
                                         : DEFAULT_STEPS,
                     .memory = INFINITY};
}

static bool on_saturate(void *user, uint32_t iteration, uint32_t nodes,
                        uint32_t classes) {
  (void)iteration, (void)nodes, (void)classes;
  return eg_plan_job_progress(user, INFINITY, 0, 0);
}

void eg_plan_job_init(eg_plan_job *job, const eg_plan_call *call, eg_plan_search *out) {
  const egraph_search *search = call->request->search;
  assert(call->context.machine != NULL && call->forward != NULL);
  *job = (eg_plan_job){.call = call,
                       .context = call->context,
                       .budget = call->budget,
                       .out = out,
                       .bound = INFINITY,
                       .overlap_bound = INFINITY,
                       .best.objective = INFINITY,
                       .least_memory = INFINITY,
                       .answer_limit = INFINITY,
                       .is_of_reached = call->recognized,
                       .is_infeasible = true};
  job->saturation = eg_search_saturation(search, NODE_LIMIT_GROWTH);
  job->saturation.shrink_first_below = SHRINK_FIRST_BELOW;
  job->saturation.time_limit_seconds = search->saturate_time_limit >= 0
                                           ? search->saturate_time_limit
                                           : DEFAULT_SATURATE_SECONDS;
  job->saturation.progress = on_saturate;
  job->saturation.user = job;
  job->context.saturation = &job->saturation;
  eg_text_init(&job->mesh_name, call->request->alloc);
  eg_text_init(&job->ruled_out, call->request->alloc);
  eg_mesh_founds_init(&job->tried, call->request->alloc);
}

void eg_plan_job_deinit(eg_plan_job *job) {
  eg_text_deinit(&job->mesh_name);
  eg_text_deinit(&job->ruled_out);
  eg_mesh_founds_deinit(&job->tried);
}

double eg_plan_job_elapsed(const eg_plan_job *job) {
  return eg_clock_seconds() - job->budget.start;
}

bool eg_plan_job_progress(void *user, double cost, double bound, double seconds) {
  (void)seconds;
  eg_plan_job *job = user;
  eg_budget *budget = &job->budget;
  const char *mesh = eg_text_of(&job->mesh_name);
  char line[320], found[80] = "no plan yet";
  if (budget->progress == NULL || budget->is_cancelled) return budget->is_cancelled;
  if (!isinf(cost))
    (void)snprintf(found, sizeof found, "cost %.4g s, bound %.4g s", cost, bound);
  (void)snprintf(line, sizeof line, "%s, %.1f s, %s",
                 mesh[0] != '\0' ? mesh : "one device", eg_plan_job_elapsed(job), found);
  budget->is_cancelled = budget->progress(budget->user, "plan", line);
  return budget->is_cancelled;
}

uint32_t eg_plan_job_micro_batches(const eg_plan_job *job) {
  return job->call->training != NULL ? job->call->training->micro_batches : 1;
}

bool eg_plan_job_compares(const eg_plan_job *job) {
  const egraph_baselines *compare = job->call->request->compare;
  return compare != NULL && compare->all;
}

const char *eg_plan_job_baseline(const eg_plan_job *job) {
  const egraph_baselines *compare = job->call->request->compare;
  return compare != NULL ? compare->only : NULL;
}

double eg_plan_job_enough_gap(const eg_plan_job *job) {
  double asked = job->call->request->search->relative_gap;
  const eg_layout_options late = {.late_gap = LATE_GAP, .late_work = LATE_WORK};
  if (asked >= 0) return fmax(asked, EG_PROVEN_GAP);
  return fmax(eg_layout_gap_after(&late, job->budget.done), LATE_GAP);
}

double eg_plan_job_kept_seconds(const eg_plan_job *job) {
  bool certifies = job->call->request->search->certify;
  return certifies ? CERTIFICATE_TIME * job->budget.seconds : 0;
}

eg_planner_input eg_plan_job_input(eg_plan_job *job, const eg_machine_mesh *mesh,
                                   double seconds, double steps) {
  const eg_request *request = job->call->request;
  const egraph_search *search = request->search;
  const eg_plan_searcher *searcher = request->plans;
  eg_planner_input input = {
      .context = &job->context,
      .mesh = mesh,
      .algebra_first = searcher != NULL ? searcher->graphs == EG_PLAN_CHEAPEST_GRAPH
                                        : search->algebra_first,
      .compares = eg_plan_job_compares(job),
      .baseline = eg_plan_job_baseline(job),
      .searcher = searcher,
      .seed = search->seed,
      .budget = EG_LAYOUT_OPTIONS_DEFAULT,
      .answer_limit = isfinite(job->answer_limit) ? job->answer_limit : 0};
  input.budget.time_limit_seconds = fmax(seconds, EG_LEAST_SECONDS);
  input.budget.work_limit = (uint64_t)fmin(fmax(steps, 1), 1e18);
  input.budget.relative_gap = fmax(search->relative_gap, 0);
  if (search->relative_gap < 0) {
    input.budget.late_gap = LATE_GAP;
    input.budget.late_work = LATE_WORK;
  }
  input.budget.progress = eg_plan_job_progress;
  input.budget.user = job;
  input.budget.done = &job->budget.done;
  input.budget.by_work = search->work_limit != 0 && search->time_limit < 0;
  return input;
}

void eg_plan_job_take(eg_plan_job *job, const eg_machine_mesh *mesh,
                      eg_planning *planning, double objective_seconds) {
  eg_plan_search *out = job->out;
  assert(planning->has_plan);
  if (out->has_plan) eg_loaded_plan_deinit(&out->planned);
  out->planned = (eg_loaded_plan){planning->emitted.graph, planning->emitted.plan};
  eg_u32s_deinit(&planning->emitted.value_of);
  eg_u32s_deinit(&planning->emitted.again_of);
  out->has_plan = true;
  job->best = (eg_best_plan){.mesh = *mesh,
                             .objective = objective_seconds,
                             .bound = planning->bound,
                             .memory = planning->memory,
                             .makes_again = planning->makes_again};
  out->report.cost_after = planning->cost;
  memcpy(out->seed, planning->seed, sizeof out->seed);
  out->report.seed = out->seed[0] != '\0' ? out->seed : NULL;
  planning->has_plan = false;
}
