// Plans of overlapped steps: of searches with weights, of baselines, of walks.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "optimize/overlap.h"
#include "optimize/plan_job.h"
#include "optimize/soap/soap_walk.h"
#include "pcg/plan/plan.h"

static const double OVERLAP_GAP = 1e-3, BASELINE_SHARE = 0.05;
static const double ROOM_SHARE = 0.5; // of a search with weights
enum { WALKS = 6, DATA_PARALLEL_WALK = 1 };

/// Counts a plan that a search has made, and takes it over if its step is the shortest.
/// Frees the planning.
static egraph_status add_overlapped(eg_plan_job *job, eg_overlap *overlap,
                                    eg_planning *planning) {
  double seconds = INFINITY;
  egraph_status status = EGRAPH_OK;
  if (planning->memory > job->input->memory_limit) eg_planning_deinit(planning);
  if (planning->has_plan)
    status =
        eg_overlap_add(overlap, &planning->emitted.plan, job->input->alloc, &seconds);
  if (status == EGRAPH_OK && seconds < job->best_worth)
    eg_plan_job_take(job, overlap->mesh, planning, seconds);
  job->out->report.overlap_plans += planning->has_plan || seconds < INFINITY;
  eg_planning_deinit(planning);
  return status;
}

/// Seconds of the steps of a plan that was searched with weights, without them.
static egraph_status price_unweighted(const eg_plan_job *job, const eg_machine_mesh *mesh,
                                      eg_planning *planning) {
  eg_machine_costs costs = {.mesh = mesh};
  eg_plan_summary summary;
  EG_TRY(eg_device_cost_init(&costs.device, job->input->machine, job->input->costs));
  costs.device.plain_only = job->input->search->formats == 0;
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  EG_TRY(eg_plan_price(&planning->emitted.plan, job->input->alloc, &asked));
  EG_TRY(eg_plan_summary_make(&planning->emitted.plan, job->input->alloc, &summary));
  planning->cost = summary.seconds;
  return EGRAPH_OK;
}

/// Searches a plan with weights, or one of a baseline, and counts it. `*out_bound` is of
/// what was searched.
static egraph_status search_overlapped(eg_plan_job *job, eg_overlap *overlap,
                                       const eg_planner_input *input, double *out_bound) {
  eg_planning next;
  EG_TRY(eg_joint_step_plan(&job->step, input, &next));
  *out_bound = next.bound;
  job->is_of_reached = job->is_of_reached || next.is_of_reached;
  job->out->report.search_work += (double)next.searched.work / EG_STEPS_OF_WORK;
  egraph_status status =
      next.has_plan ? price_unweighted(job, overlap->mesh, &next) : EGRAPH_OK;
  if (status != EGRAPH_OK) {
    eg_planning_deinit(&next);
    return status;
  }
  return add_overlapped(job, overlap, &next);
}

/// The plan of a baseline; INFINITY: it has none on this mesh.
static egraph_status overlap_baseline(eg_plan_job *job, eg_overlap *overlap,
                                      const char *name, double seconds, double steps,
                                      double *out) {
  eg_planner_input input = eg_plan_job_input(job, overlap->mesh, seconds, steps);
  double ignored;
  input.baseline = name;
  input.compares = false;
  overlap->last = INFINITY;
  egraph_status status = search_overlapped(job, overlap, &input, &ignored);
  *out = overlap->last;
  return status == EGRAPH_E_ARGUMENT ? EGRAPH_OK : status; // sizes do not divide
}

/// Baselines that are dear one thing after the other may overlap well. The one that does
/// best is searched again, with all the work.
static egraph_status overlap_baselines(eg_plan_job *job, eg_overlap *overlap,
                                       double seconds, double steps) {
#define BASELINE_NAME(id, name, last, outer) name,
  static const char *const names[] = {EG_BASELINE_LIST(BASELINE_NAME)};
#undef BASELINE_NAME
  double end = eg_plan_job_elapsed(job) + seconds, shortest = INFINITY, own;
  int best = EG_BASELINES;
  for (int b = 0;
       b < EG_BASELINES && !job->is_cancelled && eg_plan_job_elapsed(job) < end; b++) {
    EG_TRY(overlap_baseline(job, overlap, names[b], BASELINE_SHARE * seconds,
                            BASELINE_SHARE * steps, &own));
    if (!(own < shortest)) continue;
    shortest = own;
    best = b;
  }
  bool is_over =
      best == EG_BASELINES || job->is_cancelled || eg_plan_job_elapsed(job) >= end;
  return is_over ? EGRAPH_OK
                 : overlap_baseline(job, overlap, names[best],
                                    end - eg_plan_job_elapsed(job), steps, &own);
}

/// Of a plan that would be shorter with more memory: the same again, with so much less
/// for what is not gathered ahead.
static egraph_status leave_room(eg_plan_job *job, eg_overlap *overlap,
                                const eg_planner_input *input, double bytes) {
  double limit = job->input->memory_limit, ignored;
  if (!(bytes > 0 && bytes < limit)) return EGRAPH_OK;
  eg_joint_step_limit_memory(&job->step, limit - bytes);
  egraph_status status = search_overlapped(job, overlap, input, &ignored);
  eg_joint_step_limit_memory(&job->step, limit);
  return status;
}

/// Searches with weights, as long as another one like the last ends in time.
static egraph_status overlap_prices(eg_plan_job *job, eg_overlap *overlap, double seconds,
                                    double steps) {
  double end = eg_plan_job_elapsed(job) + seconds, last = 0,
         gap = job->input->search->relative_gap;
  while (!job->is_cancelled && eg_plan_job_elapsed(job) + last <= end &&
         eg_overlap_next(overlap, gap >= 0 ? gap : OVERLAP_GAP)) {
    const eg_cost_weights weights = eg_overlap_prices(overlap);
    double start = eg_plan_job_elapsed(job), bound;
    seconds *= EG_OVERLAP_SHARE;
    steps *= EG_OVERLAP_SHARE;
    eg_planner_input input = eg_plan_job_input(job, overlap->mesh, seconds, steps);
    input.weights = &weights;
    input.compares = false;
    EG_TRY(search_overlapped(job, overlap, &input, &bound));
    eg_overlap_set_bound(overlap, bound);
    input =
        eg_plan_job_input(job, overlap->mesh, ROOM_SHARE * seconds, ROOM_SHARE * steps);
    input.weights = &weights;
    input.compares = false;
    EG_TRY(leave_room(job, overlap, &input, overlap->missing));
    eg_plan_job_progress(job, overlap->shortest, overlap->bound, 0);
    last = eg_plan_job_elapsed(job) - start;
  }
  return EGRAPH_OK;
}

/// Walks from the best plan up to now, and one from data parallelism in the graph as it
/// is. Together they have as much work as a search, or as all before them really did.
static egraph_status overlap_walks(eg_plan_job *job, eg_overlap *overlap, double seconds,
                                   double steps) {
  double end = eg_plan_job_elapsed(job) + seconds, ignored;
  bool is_of_mesh = job->out->has_plan && job->best_worth == overlap->shortest;
  for (int i = 0; is_of_mesh && i < WALKS && !job->is_cancelled; i++) {
    bool is_parallel = i == DATA_PARALLEL_WALK;
    const eg_plan_refinement refinement = {is_parallel ? NULL : &job->out->planned.plan};
    const eg_plan_searcher searcher = eg_plan_refinement_searcher(&refinement);
    eg_planner_input input =
        eg_plan_job_input(job, overlap->mesh,
                          (end - eg_plan_job_elapsed(job)) / (WALKS - i), steps / WALKS);
    if (is_parallel) input.rules = NULL;
    input.compares = false;
    input.searcher = &searcher;
    input.seed += (uint64_t)i;
    EG_TRY(search_overlapped(job, overlap, &input, &ignored));
    eg_plan_job_progress(job, overlap->shortest, overlap->bound, 0);
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_job_overlap(eg_plan_job *job, const eg_machine_mesh *mesh,
                                  eg_planning *planning, double seconds, double steps) {
  eg_overlap overlap;
  bool is_impossible =
      planning->status == EG_LAYOUT_NO_MEMORY || planning->status == EG_LAYOUT_INFEASIBLE;
  eg_overlap_init(&overlap, mesh, eg_plan_job_micro_batches(job),
                  job->input->memory_limit, job->input->machine->beside);
  eg_overlap_set_bound(&overlap, planning->bound / overlap.streams);
  EG_TRY(add_overlapped(job, &overlap, planning));
  if (is_impossible || overlap.streams == 1) {
    if (!is_impossible) job->overlap_bound = fmin(job->overlap_bound, overlap.bound);
    return EGRAPH_OK;
  }
  uint64_t begin = job->done;
  if (job->input->baseline == NULL)
    EG_TRY(overlap_baselines(job, &overlap, seconds, steps));
  EG_TRY(overlap_prices(job, &overlap, seconds, steps));
  double most = fmax(steps, (double)(job->done - begin));
  EG_TRY(overlap_walks(job, &overlap, seconds, most));
  job->overlap_bound = fmin(job->overlap_bound, overlap.bound);
  return EGRAPH_OK;
}
