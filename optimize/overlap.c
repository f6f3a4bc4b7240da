// SPDX-License-Identifier: Apache-2.0
#include "optimize/overlap.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "optimize/soap/soap_walk.h"
#include "pcg/plan/plan_words.h"
#include "sim/plan/plan_simulation.h"

enum { GAME_ROUNDS = 20000 };
static const double SAME_WEIGHT = 1e-6;

void eg_overlap_init(eg_overlap *o, const eg_machine_mesh *mesh, uint32_t micro_batches,
                     double memory_limit, double beside) {
  *o = (eg_overlap){.mesh = mesh,
                    .memory_limit = memory_limit,
                    .beside = beside,
                    .streams = 1,
                    .micro_batches = micro_batches,
                    .shortest = INFINITY};
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++) { // as eg_plan_tasks_make does
    uint32_t link = mesh->links[a].link;
    if (link != EG_LINK_AUTO && o->stream_of_link[link] == 0)
      o->stream_of_link[link] = o->streams++;
  }
  o->paths = 2 * o->streams - 1;
  for (uint32_t i = 0; i < o->paths; i++)
    o->weight[i] = 1.0 / o->paths;
}

// ---- paths --------------------------------------------------------------------------

/// Return the index of a path (a lower bound of a step's time): all exchanges of a
/// stream; or the first forward pass's computing, then the later exchanges of the stream.
static uint32_t exchange_path(uint32_t stream) { return 2 * stream - 1; }
static uint32_t late_path(uint32_t stream) { return 2 * stream; }

/// Adds the seconds of a plan step to the sum of every path that contains it.
static void add_to_paths(const eg_overlap *o, const eg_plan_step *step, eg_phase made,
                         double runs, double *paths) {
  double seconds = step->seconds * runs;
  if (eg_plan_step_is_exchange(step)) { // along an axis of several devices
    uint32_t stream = o->stream_of_link[o->mesh->links[step->transition.axis].link];
    paths[exchange_path(stream)] += seconds;
    if (made != EG_PHASE_FORWARD) paths[late_path(stream)] += seconds;
    return;
  }
  paths[0] += seconds;
  for (uint32_t i = 1; i < o->streams && step->phase == EG_PHASE_FORWARD; i++)
    paths[late_path(i)] += step->seconds;
}

static egraph_status sum_paths(const eg_overlap *o, const eg_plan *plan,
                               egraph_allocator alloc, double *out) {
  eg_phase *made; // [states]; FORWARD of an entry
  memset(out, 0, EG_OVERLAP_PATHS * sizeof *out);
  EG_TRY(eg_alloc(alloc, plan->states.len, sizeof *made, &made));
  for (uint32_t i = 0; i < plan->states.len; i++)
    if (plan->states.data[i].step == EG_PLAN_NONE) made[i] = EG_PHASE_FORWARD;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    eg_phase phase = step->is_move ? made[step->from] : step->phase;
    for (uint32_t r = 0; r < eg_plan_step_result_count(plan, step); r++)
      made[eg_plan_step_result(plan, step, r)] = phase;
    add_to_paths(o, step, phase, eg_phase_runs(plan, step->phase), out);
  }
  eg_free(alloc, made, plan->states.len, sizeof *made);
  return EGRAPH_OK;
}

egraph_status eg_overlap_add(eg_overlap *o, const eg_plan *plan, egraph_allocator alloc,
                             double *out_seconds) {
  EG_LOCAL(eg_plan_simulation, s, alloc);
  const eg_simulation_setup setup = {.links = o->mesh, .beside = o->beside};
  EG_TRY(eg_plan_simulate_shortest_as(plan, &setup, o->memory_limit, &s));
  *out_seconds = o->last = s.seconds;
  o->missing = fmax(s.wanted_bytes - o->memory_limit, 0);
  if (o->plans < EG_OVERLAP_PLANS)
    EG_TRY(sum_paths(o, plan, alloc, o->seconds[o->plans++]));
  o->shortest = fmin(o->shortest, *out_seconds);
  return EGRAPH_OK;
}

void eg_overlap_set_bound(eg_overlap *o, double weighted) {
  o->bound = fmax(o->bound, weighted);
}

// ---- weights ------------------------------------------------------------------------

static double weighted(const eg_overlap *o, uint32_t plan, const double *weight) {
  double sum = 0;
  for (uint32_t i = 0; i < o->paths; i++)
    sum += weight[i] * o->seconds[plan][i];
  return sum;
}

/// Returns the least weighted sum of path seconds of all plans so far, and its plan.
static double least_weighted(const eg_overlap *o, const double *weight,
                             uint32_t *out_plan) {
  double best = INFINITY;
  for (uint32_t p = 0; p < o->plans; p++) {
    double seconds = weighted(o, p, weight);
    if (seconds >= best) continue;
    best = seconds;
    *out_plan = p;
  }
  return best;
}

/// Finds weights of the paths whose least sum is about as large as for any weights
/// (Freund, Schapire, "Adaptive game playing using multiplicative weights", 1999): each
/// round favours the paths that are long in the plan with the least sum; the mean of all
/// rounds is the answer.
static void play(const eg_overlap *o, double *out) {
  double score[EG_OVERLAP_PATHS] = {0}, sum[EG_OVERLAP_PATHS] = {0};
  double weight[EG_OVERLAP_PATHS], most = 0;
  for (uint32_t p = 0; p < o->plans; p++)
    for (uint32_t i = 0; i < o->paths; i++)
      most = fmax(most, o->seconds[p][i]);
  double rate = most > 0 ? sqrt(8 * log(o->paths + 1.0) / GAME_ROUNDS) / most : 0;
  for (int round = 0; round < GAME_ROUNDS; round++) {
    double top = 0, total = 0;
    uint32_t plan = 0;
    for (uint32_t i = 0; i < o->paths; i++)
      top = fmax(top, score[i]);
    for (uint32_t i = 0; i < o->paths; i++)
      total += weight[i] = exp(score[i] - top);
    for (uint32_t i = 0; i < o->paths; i++)
      sum[i] += weight[i] /= total;
    (void)least_weighted(o, weight, &plan);
    for (uint32_t i = 0; i < o->paths; i++)
      score[i] += rate * o->seconds[plan][i];
  }
  for (uint32_t i = 0; i < o->paths; i++)
    out[i] = sum[i] / GAME_ROUNDS;
}

bool eg_overlap_next(eg_overlap *o, double gap) {
  assert(o->plans <= EG_OVERLAP_PLANS && o->paths <= EG_OVERLAP_PATHS);
  uint32_t plan = 0;
  double room = gap * o->shortest, before[EG_OVERLAP_PATHS], change = 0;
  if (o->plans == 0 || o->plans == EG_OVERLAP_PLANS || o->streams == 1 ||
      o->shortest - o->bound <= room)
    return false;
  memcpy(before, o->weight, sizeof before);
  play(o, o->weight);
  for (uint32_t i = 0; i < o->paths; i++)
    change = fmax(change, fabs(o->weight[i] - before[i]));
  // False when the weights hardly change, because the same plan would be found again, or
  // when no weights give a better bound: the least sum of the plans so far limits every
  // bound.
  return change > SAME_WEIGHT && least_weighted(o, o->weight, &plan) - o->bound > room;
}

eg_cost_weights eg_overlap_prices(const eg_overlap *o) {
  eg_cost_weights weights = {.forward = o->weight[0], .later = o->weight[0]};
  for (uint32_t i = 1; i < o->streams; i++)
    weights.forward += o->weight[late_path(i)] / o->micro_batches;
  for (uint32_t a = 0; a < o->mesh->mesh.axis_count; a++) {
    uint32_t link = o->mesh->links[a].link;
    if (link == EG_LINK_AUTO) continue; // exchanges take no time
    uint32_t stream = o->stream_of_link[link];
    weights.exchange[a] = o->weight[exchange_path(stream)];
    weights.late_exchange[a] = weights.exchange[a] + o->weight[late_path(stream)];
  }
  return weights;
}

// ---- searches -----------------------------------------------------------------------

static const double OVERLAP_GAP = 1e-3;
// The first search has the work of a search without overlap, so that its step is no
// longer than that search's. Shares of this time and work: each search with weights
// has half of the search before; one that leaves memory for prefetched weights has
// half of that; each baseline a twentieth, and the best baseline all. All searches
// share the time.
static const double WEIGHTS_SHARE = 0.5, ROOM_SHARE = 0.5, BASELINE_SHARE = 0.05;
enum { WALKS = 6, DATA_PARALLEL_WALK = 1 };

/// Simulates the plan of a search, and keeps it if its step is the shortest.
static egraph_status add_overlapped(eg_plan_job *job, eg_overlap *overlap,
                                    eg_planning *planning) {
  double seconds;
  if (!planning->has_plan || planning->memory > job->budget.memory) return EGRAPH_OK;
  EG_TRY(eg_overlap_add(overlap, &planning->emitted.plan, job->call->request->alloc,
                        &seconds));
  job->out->report.overlap_plans++;
  if (seconds < job->best.objective)
    eg_plan_job_take(job, overlap->mesh, planning, seconds);
  return EGRAPH_OK;
}

/// Replaces the seconds of a plan, multiplied by path weights, by the true seconds.
static egraph_status price_unweighted(const eg_plan_job *job, const eg_machine_mesh *mesh,
                                      eg_planning *planning) {
  const eg_planner_input input = {.context = &job->context};
  egraph_allocator alloc = job->call->request->alloc;
  eg_machine_costs costs;
  eg_plan_summary summary;
  EG_TRY(eg_planner_costs(&input, mesh, &costs));
  eg_plan_costs prices = eg_machine_plan_costs(&costs);
  EG_TRY(eg_plan_price(&planning->emitted.plan, alloc, &prices));
  EG_TRY(eg_plan_summary_make(&planning->emitted.plan, alloc, &summary));
  planning->cost = summary.seconds;
  return EGRAPH_OK;
}

/// Searches a plan and simulates it. *out_bound bounds the weighted seconds.
static egraph_status search_overlapped(eg_plan_job *job, eg_overlap *overlap,
                                       const eg_planner_input *input, double *out_bound) {
  EG_OWNED(eg_planning, next);
  EG_TRY(eg_joint_step_plan(&job->step, input, &next));
  *out_bound = next.bound;
  job->is_of_reached = job->is_of_reached || next.is_of_reached;
  job->out->report.search_work += (double)next.searched.work / EG_STEPS_OF_WORK;
  if (next.has_plan) EG_TRY(price_unweighted(job, overlap->mesh, &next));
  return add_overlapped(job, overlap, &next);
}

/// Plans a baseline. *out: seconds of its step; INFINITY: it has no plan on this mesh.
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

/// Plans all baselines: a plan that is slow without overlap may be fast with it. The best
/// baseline is planned again, with all the work.
static egraph_status overlap_baselines(eg_plan_job *job, eg_overlap *overlap,
                                       double seconds, double steps) {
#define BASELINE_NAME(id, name, last, outer) name,
  static const char *const names[] = {EG_BASELINE_LIST(BASELINE_NAME)};
#undef BASELINE_NAME
  double end = eg_plan_job_elapsed(job) + seconds, shortest = INFINITY, own;
  const char *best = NULL;
  for (int b = 0;
       b < EG_BASELINES && !job->budget.is_cancelled && eg_plan_job_elapsed(job) < end;
       b++) {
    EG_TRY(overlap_baseline(job, overlap, names[b], BASELINE_SHARE * seconds,
                            BASELINE_SHARE * steps, &own));
    if (!(own < shortest)) continue;
    shortest = own;
    best = names[b];
  }
  double left = end - eg_plan_job_elapsed(job);
  if (best == NULL || job->budget.is_cancelled || left <= 0) return EGRAPH_OK;
  return overlap_baseline(job, overlap, best, left, steps, &own);
}

/// If the step would be shorter with more memory, searches again with that many bytes
/// reserved for prefetched weights.
static egraph_status leave_room(eg_plan_job *job, eg_overlap *overlap,
                                const eg_planner_input *input) {
  double limit = job->budget.memory, bytes = overlap->missing, ignored;
  if (!(bytes > 0 && bytes < limit)) return EGRAPH_OK;
  eg_joint_step_limit_memory(&job->step, limit - bytes);
  egraph_status status = search_overlapped(job, overlap, input, &ignored);
  eg_joint_step_limit_memory(&job->step, limit);
  return status;
}

/// Searches with new path weights while a search as long as the last one ends in time.
static egraph_status overlap_weights(eg_plan_job *job, eg_overlap *overlap,
                                     double seconds, double steps) {
  double end = eg_plan_job_elapsed(job) + seconds, last = 0,
         gap = job->call->request->search->relative_gap;
  while (!job->budget.is_cancelled && eg_plan_job_elapsed(job) + last <= end &&
         eg_overlap_next(overlap, gap >= 0 ? gap : OVERLAP_GAP)) {
    const eg_cost_weights weights = eg_overlap_prices(overlap);
    double start = eg_plan_job_elapsed(job), bound;
    seconds *= WEIGHTS_SHARE;
    steps *= WEIGHTS_SHARE;
    eg_planner_input input = eg_plan_job_input(job, overlap->mesh, seconds, steps);
    input.weights = &weights;
    input.compares = false;
    EG_TRY(search_overlapped(job, overlap, &input, &bound));
    eg_overlap_set_bound(overlap, bound);
    const eg_planner_input half =
        eg_plan_job_input(job, overlap->mesh, ROOM_SHARE * seconds, ROOM_SHARE * steps);
    input.budget = half.budget;
    EG_TRY(leave_room(job, overlap, &input));
    eg_plan_job_progress(job, overlap->shortest, overlap->bound, 0);
    last = eg_plan_job_elapsed(job) - start;
  }
  return EGRAPH_OK;
}

/// Improves the best plan so far by random walks, and walks once from data parallelism in
/// the given graph. All walks together have as much work as one search, or as all
/// searches before them took.
static egraph_status overlap_walks(eg_plan_job *job, eg_overlap *overlap, double seconds,
                                   double steps) {
  double end = eg_plan_job_elapsed(job) + seconds, ignored;
  bool is_of_mesh = job->out->has_plan && job->best.objective == overlap->shortest;
  for (int i = 0; is_of_mesh && i < WALKS && !job->budget.is_cancelled; i++) {
    bool is_parallel = i == DATA_PARALLEL_WALK;
    const eg_plan_refinement refinement = {is_parallel ? NULL : &job->out->planned.plan};
    const eg_plan_searcher searcher = eg_plan_refinement_searcher(&refinement);
    eg_planner_input input =
        eg_plan_job_input(job, overlap->mesh,
                          (end - eg_plan_job_elapsed(job)) / (WALKS - i), steps / WALKS);
    input.as_given = is_parallel;
    input.compares = false;
    input.searcher = &searcher;
    input.seed += (uint64_t)i;
    EG_TRY(search_overlapped(job, overlap, &input, &ignored));
    eg_plan_job_progress(job, overlap->shortest, overlap->bound, 0);
  }
  return EGRAPH_OK;
}

egraph_status eg_overlap_search(eg_plan_job *job, const eg_machine_mesh *mesh,
                                eg_planning *planning, double seconds, double steps) {
  eg_overlap overlap;
  bool is_impossible =
      planning->status == EG_LAYOUT_NO_MEMORY || planning->status == EG_LAYOUT_INFEASIBLE;
  eg_overlap_init(&overlap, mesh, eg_plan_job_micro_batches(job), job->budget.memory,
                  job->context.machine->beside);
  eg_overlap_set_bound(&overlap, planning->bound / overlap.streams);
  EG_TRY(add_overlapped(job, &overlap, planning));
  if (is_impossible) return EGRAPH_OK;
  if (overlap.streams > 1) {
    uint64_t begin = job->budget.done;
    if (eg_plan_job_baseline(job) == NULL)
      EG_TRY(overlap_baselines(job, &overlap, seconds, steps));
    EG_TRY(overlap_weights(job, &overlap, seconds, steps));
    double most = fmax(steps, (double)(job->budget.done - begin));
    EG_TRY(overlap_walks(job, &overlap, seconds, most));
  }
  job->overlap_bound = fmin(job->overlap_bound, overlap.bound);
  return EGRAPH_OK;
}
