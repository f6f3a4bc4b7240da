// Plans on the meshes of the machine, then on parts of the machine; each gets its share
// of the remaining time and work. If memory has a limit, all meshes are first planned
// without it. The cheapest plan wins, or the plan with the shortest overlapped step.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_search.h"

#include <assert.h>
#include <math.h>

#include "base/owner.h"
#include "optimize/overlap.h"
#include "optimize/plan_report.h"
#include "pcg/graph/graph_copy.h"
#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"

static const double FREE_SHARE = 0.5; // of the clock, for a search without the limit
// Within the limit, a search of a step of at most so many forward nodes begins with the
// plan that keeps all values, found with as much work, and this share of the time: then a
// plan that makes values again is never dearer. For larger steps that takes too long.
enum { KEPT_NODES = 200 };
static const double KEPT_TIME = 0.5;

// ---- one mesh -------------------------------------------------------------------------

static bool is_same_mesh(const eg_machine_mesh *a, const eg_machine_mesh *b) {
  return a->idle == b->idle && eg_mesh_same(&a->mesh, &b->mesh);
}

/// Returns the result that the search without the memory limit had on a mesh; NULL: it
/// did not try the mesh.
static const eg_mesh_found *find_free(const eg_plan_job *job,
                                      const eg_machine_mesh *mesh) {
  const eg_mesh_found *best = NULL;
  for (size_t i = 0; job->free != NULL && i < job->free->tried.len; i++) {
    const eg_mesh_found *found = &job->free->tried.data[i];
    if (is_same_mesh(&found->mesh, mesh) && !(best != NULL && best->cost <= found->cost))
      best = found;
  }
  return best;
}

/// Returns the input of a search on a mesh within the memory limit: it continues from the
/// result `free` of the search without the limit, unless that result fits.
static eg_planner_input input_within(eg_plan_job *job, const eg_machine_mesh *mesh,
                                     const eg_mesh_found *free, double seconds,
                                     double steps) {
  eg_planner_input input = eg_plan_job_input(job, mesh, seconds, steps);
  bool fits = free != NULL && free->memory <= job->budget.memory;
  input.binds = job->free != NULL && !fits;
  if (free == NULL || fits) return input;
  if (free->is_of_all && isfinite(free->bound)) input.floor = free->bound;
  if (isfinite(free->cost) && is_same_mesh(&free->mesh, &job->free->best.mesh))
    input.loose = &job->free->out->planned.plan;
  return input;
}

/// Keeps the plan of a search by another algorithm if it is the best: plans that fit come
/// first, then plans with a shorter overlapped step.
static egraph_status take_searched(eg_plan_job *job, const eg_machine_mesh *mesh,
                                   eg_planning *planning) {
  egraph_report *report = &job->out->report;
  const eg_best_plan *best = &job->best;
  double seconds, excess = fmax(planning->memory - job->budget.memory, 0);
  eg_overlap overlap;
  report->proposals += planning->searched.proposals;
  report->search_work += (double)planning->searched.work / EG_STEPS_OF_WORK;
  report->search_seconds += planning->searched.seconds;
  report->ended = eg_plan_stop_name(planning->searched.stop);
  if (!planning->has_plan) return EGRAPH_OK;
  eg_overlap_init(&overlap, mesh, eg_plan_job_micro_batches(job),
                  excess > 0 ? INFINITY : job->budget.memory,
                  job->context.machine->beside);
  report->overlap_plans++;
  EG_TRY(eg_overlap_add(&overlap, &planning->emitted.plan, job->call->request->alloc,
                        &seconds));
  bool is_best = !job->out->has_plan || excess < best->excess ||
                 (excess == best->excess && seconds < best->objective);
  if (!is_best) return EGRAPH_OK;
  eg_plan_job_take(job, mesh, planning, seconds);
  job->best.excess = excess;
  return EGRAPH_OK;
}

/// Plans on a mesh. `known`: a plan on this mesh with which the search begins, or NULL.
static egraph_status plan_on_mesh(eg_plan_job *job, const eg_machine_mesh *mesh,
                                  const eg_plan *known, double seconds, double steps) {
  const eg_request *request = job->call->request;
  const eg_mesh_found *free = find_free(job, mesh);
  EG_OWNED(eg_planning, planning);
  if (free != NULL && job->out->has_plan && free->cost >= job->best.objective) {
    // Without a plan within the memory limit, the bound still counts: no plan is cheaper
    // than the cheapest plan without the limit.
    job->out->report.meshes++;
    job->bound = fmin(job->bound, free->bound);
    job->is_of_reached = job->is_of_reached || !free->is_of_all;
    return eg_mesh_founds_push(&job->tried, *free);
  }
  bool overlaps = request->plans == NULL && request->search->overlap;
  if (overlaps) seconds *= EG_OVERLAP_FIRST_SHARE;
  eg_planner_input input = input_within(job, mesh, free, seconds, steps);
  bool is_kept = job->begins_kept && job->out->has_plan && !mesh->idle &&
                 is_same_mesh(&job->best.mesh, mesh);
  input.known = is_kept ? &job->out->planned.plan : known;
  input.known_cost = job->best.objective;
  if (!overlaps && job->out->has_plan) input.at_hand = job->best.objective;
  if (mesh->idle != 0 && job->out->has_plan) input.ceiling = job->best.objective;
  eg_text_clear(&job->mesh_name);
  EG_TRY(eg_mesh_print(&job->mesh_name, &mesh->mesh));
  egraph_status status = eg_joint_step_plan(&job->step, &input, &planning);
  bool is_demanded = request->constraints != NULL || eg_plan_job_baseline(job) != NULL;
  if (status == EGRAPH_E_ARGUMENT && is_demanded) {
    // Other meshes may obey the constraints. If none does, this first message
    // is reported.
    job->out->report.meshes++;
    if (job->ruled_out_meshes++ != 0) return EGRAPH_OK;
    return eg_text_append(&job->ruled_out, egraph_last_error());
  }
  EG_TRY(status);
  if (planning.is_skipped) return EGRAPH_OK; // this mesh has no result
  EG_TRY(eg_plan_report_mesh(job, mesh, &planning));
  eg_plan_job_progress(job, planning.cost, planning.bound, 0);
  if (request->plans != NULL) return take_searched(job, mesh, &planning);
  if (overlaps) return eg_overlap_search(job, mesh, &planning, seconds, steps);
  if (planning.has_plan && planning.cost < job->best.objective)
    eg_plan_job_take(job, mesh, &planning, planning.cost);
  return EGRAPH_OK;
}

// ---- parts of the machine -------------------------------------------------------------

// Parts of the machine (meshes with an idle axis) are planned so that no plan of a
// smaller machine is cheaper than the plan of a larger one. All parts with the same
// number of devices share the work of one mesh of the machine.

enum { MOST_AXES = 3 }; // of a mesh that a part becomes when its idle axis is used

/// True when a part of the machine needs no search: a mesh that was tried includes all
/// plans of the part, and its bound shows that no plan is cheaper than the best by more
/// than the sufficient gap.
static bool is_settled(const eg_plan_job *job, const eg_machine_mesh *part) {
  double least = job->best.objective * (1 - eg_plan_job_enough_gap(job));
  for (size_t i = 0; i < job->tried.len; i++)
    if (eg_mesh_covers(&job->tried.data[i].mesh, part) &&
        job->tried.data[i].bound >= least)
      return true;
  return false;
}

static uint32_t count_alike(const eg_machine_meshes *parts, size_t part) {
  assert(part < parts->len);
  uint32_t count = 0;
  for (size_t i = 0; i < parts->len; i++)
    count +=
        eg_mesh_idle_places(&parts->data[i]) == eg_mesh_idle_places(&parts->data[part]);
  return count;
}

/// Plans again on the cheapest plan's mesh with its idle axis in use.
static egraph_status use_idle_axis(eg_plan_job *job, double end) {
  eg_machine_mesh mesh = job->best.mesh;
  double left = end - eg_plan_job_elapsed(job);
  if (!job->out->has_plan || mesh.idle == 0 || mesh.mesh.axis_count > MOST_AXES ||
      job->budget.is_cancelled || !(left > 0))
    return EGRAPH_OK;
  mesh.idle = 0;
  return plan_on_mesh(job, &mesh, &job->out->planned.plan, left, job->budget.steps);
}

/// Plans on parts of the machine, unless the call names a mesh, a baseline or another
/// algorithm, or has constraints, overlap or algebra first.
static egraph_status plan_on_parts(eg_plan_job *job, double end) {
  const eg_plan_call *call = job->call;
  const eg_request *request = call->request;
  EG_LOCAL(eg_machine_meshes, parts, request->alloc);
  if (call->mesh != NULL || request->constraints != NULL ||
      eg_plan_job_baseline(job) != NULL || request->plans != NULL ||
      request->search->overlap || request->search->algebra_first)
    return EGRAPH_OK;
  EG_TRY(eg_mesh_parts_add(call->context.machine, &parts));
  for (size_t i = 0; i < parts.len && !job->budget.is_cancelled; i++) {
    double left = end - eg_plan_job_elapsed(job);
    if (left <= 0) break;
    if (!is_settled(job, &parts.data[i]))
      EG_TRY(plan_on_mesh(job, &parts.data[i], NULL, left / (double)(parts.len - i),
                          job->budget.steps / count_alike(&parts, i)));
  }
  return use_idle_axis(job, end);
}

// ---- all meshes -----------------------------------------------------------------------

// The share of the remaining time for a mesh while no plan within the limit of memory is
// known: the first plan takes longest, and meshes with few axes, which come first, have
// the smallest searches.
static const double FIRST_PLAN_SHARE = 0.6;

/// Returns the share of the remaining time for the next of `count` meshes.
static double share_of_mesh(const eg_plan_job *job, uint32_t count) {
  bool is_first = job->free != NULL && !job->out->has_plan && count > 1;
  return is_first ? fmax(FIRST_PLAN_SHARE, 1.0 / count) : 1.0 / count;
}

static egraph_status plan_on_meshes(eg_plan_job *job) {
  const eg_plan_call *call = job->call;
  eg_machine_mesh named;
  const eg_machine_mesh *meshes = call->context.machine->meshes;
  uint32_t count = call->context.machine->mesh_count;
  if (call->mesh != NULL) {
    EG_TRY(eg_machine_find_mesh(call->context.machine, call->mesh, &named));
    meshes = &named;
    count = 1;
  }
  egraph_report *report = &job->out->report;
  EG_TRY(eg_plan_report_nodes(job, eg_whole_step_graph(job->step.step),
                              &report->nodes_before));
  report->blocks = eg_whole_step_blocks(job->step.step);
  report->prepare_seconds = eg_plan_job_elapsed(job) - job->began;
  double end = job->budget.seconds - eg_plan_job_kept_seconds(job);
  for (uint32_t i = 0; i < count && !job->budget.is_cancelled; i++)
    EG_TRY(plan_on_mesh(job, &meshes[i], NULL,
                        share_of_mesh(job, count - i) * (end - eg_plan_job_elapsed(job)),
                        job->budget.steps / count));
  if (job->ruled_out_meshes == count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s", eg_text_of(&job->ruled_out));
  EG_TRY(plan_on_parts(job, end));
  EG_TRY(eg_plan_report_conclude(job, count));
  bool is_answer = job->out->has_plan && job->best.memory <= job->answer_limit;
  bool certifies = call->request->search->certify && is_answer;
  return certifies ? eg_plan_report_certify(job) : EGRAPH_OK;
}

static egraph_status run_job(eg_plan_job *job) {
  const eg_plan_call *call = job->call;
  const eg_request *request = call->request;
  const eg_whole_input input = {.forward = call->forward,
                                .training = call->training,
                                .folds =
                                    !request->search->no_fold &&
                                    !(request->plans != NULL && request->plans->is_whole),
                                .constraints = request->constraints,
                                .memory_limit = job->budget.memory};
  job->out->report.math = request->search->math;
  job->out->report.memory_limit = job->budget.memory;
  if (!job->out->has_plan) job->out->report.cost_after = INFINITY;
  EG_TRY(eg_joint_step_init(&job->step, request->alloc, &input,
                            call->context.rules != NULL, call->context.has_groups));
  egraph_status status = plan_on_meshes(job);
  eg_joint_step_deinit(&job->step);
  EG_TRY(status);
  return eg_plan_report_plan(job);
}

// ---- the limit of memory ------------------------------------------------------------

/// True when all meshes are first planned without the limit of memory. With baselines or
/// overlapped steps, each mesh does this separately.
static bool begins_free(const eg_plan_job *job) {
  const eg_request *request = job->call->request;
  return isfinite(job->budget.memory) && request->plans == NULL &&
         !eg_plan_job_compares(job) && !request->search->overlap;
}

/// Continues within the limit of memory from the results of the search without it.
static egraph_status run_within(eg_plan_job *job, const eg_plan_job *free) {
  if (job->budget.done < free->budget.done) job->budget.done = free->budget.done;
  job->budget.is_cancelled = job->budget.is_cancelled || free->budget.is_cancelled;
  for (size_t i = 0; i < free->tried.len; i++)
    job->least_memory = fmin(job->least_memory, free->tried.data[i].memory);
  job->free = free;
  job->began = eg_plan_job_elapsed(job);
  const egraph_report *before = &free->out->report;
  egraph_report *report = &job->out->report;
  report->space_seconds = fmax(report->space_seconds, before->space_seconds);
  report->solve_seconds = fmax(report->solve_seconds, before->solve_seconds);
  return run_job(job);
}

/// Begins with the cheapest plan within the limit that keeps all values.
static egraph_status find_kept(eg_plan_job *job, const eg_plan_job *free) {
  eg_plan_job kept;
  eg_plan_search found;
  eg_plan_search_init(&found, job->call->request->alloc);
  eg_plan_job_init(&kept, job->call, &found);
  double now = eg_plan_job_elapsed(job);
  kept.context.makes_again = false;
  kept.answer_limit = 0; // no certificate
  kept.budget.seconds = now + KEPT_TIME * (job->budget.seconds - now);
  egraph_status status = run_within(&kept, free);
  job->budget.done = kept.budget.done;
  job->budget.is_cancelled = kept.budget.is_cancelled;
  job->least_memory = kept.least_memory;
  egraph_report *report = &job->out->report;
  const egraph_report *before = &found.report;
  report->space_seconds = before->space_seconds;
  report->solve_seconds = before->solve_seconds;
  report->nodes = before->nodes; // also if no mesh needs another search
  report->classes = before->classes;
  report->iterations = before->iterations;
  report->stop = before->stop;
  report->stop_words = before->stop_words;
  if (status == EGRAPH_OK && found.has_plan) {
    job->out->planned = found.planned;
    job->out->has_plan = job->begins_kept = true;
    report->cost_after = before->cost_after;
    job->best = kept.best;
    found.has_plan = false; // moved
  }
  eg_plan_job_deinit(&kept);
  eg_plan_search_deinit(&found);
  return status;
}

/// Searches without the limit of memory; a plan that fits is the answer, otherwise
/// searches within the limit.
static egraph_status run_free_first(eg_plan_job *job) {
  eg_plan_search found, *out = job->out;
  eg_plan_job free;
  eg_plan_search_init(&found, job->call->request->alloc);
  eg_plan_job_init(&free, job->call, &found);
  free.budget.memory = INFINITY;
  free.budget.seconds *= FREE_SHARE;
  free.answer_limit = job->budget.memory;
  egraph_status status = run_job(&free);
  if (status == EGRAPH_OK && found.has_plan && free.best.memory <= job->budget.memory) {
    const eg_plan_search before = *out;
    *out = found;
    found = before;
    out->report.seed = out->seed[0] != '\0' ? out->seed : NULL;
    out->report.memory_limit = job->budget.memory;
    out->planned.plan.memory_limit = job->budget.memory;
  } else if (status == EGRAPH_OK) {
    bool is_small = eg_graph_node_count(job->call->forward) <= KEPT_NODES;
    if (is_small && job->context.makes_again) status = find_kept(job, &free);
    if (status == EGRAPH_OK) status = run_within(job, &free);
  }
  eg_plan_search_deinit(&found);
  eg_plan_job_deinit(&free);
  return status;
}

egraph_status eg_plan_search_run(const eg_plan_call *call, eg_plan_search *out) {
  assert(!out->has_plan && call->request->search != NULL);
  eg_plan_job job;
  eg_plan_job_init(&job, call, out);
  egraph_status status = begins_free(&job) ? run_free_first(&job) : run_job(&job);
  eg_plan_job_deinit(&job);
  return status;
}

void eg_plan_search_init(eg_plan_search *search, egraph_allocator alloc) {
  *search = (eg_plan_search){.has_plan = false};
  eg_text_init(&search->uncertified, alloc);
  eg_text_init(&search->certificate, alloc);
}

void eg_plan_search_deinit(eg_plan_search *search) {
  if (search->has_plan) eg_loaded_plan_deinit(&search->planned);
  eg_text_deinit(&search->uncertified);
  eg_text_deinit(&search->certificate);
}
