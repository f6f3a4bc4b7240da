// The mesh loop: every mesh gets its part of the time and the work that is left. Where
// memory has a limit all is done without it first.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "optimize/overlap.h"
#include "optimize/plan_job.h"
#include "optimize/single/optimizer.h"
#include "pcg/graph/graph_copy.h"
#include "pcg/parallel/mesh_parts.h"
#include "pcg/plan/plan.h"

// The default limit is work, so that the same plan is found on a busy machine too; the
// clock ends what takes six times as long. A time limit of the user's alone is work too,
// a billion steps a second.
static const double DEFAULT_STEPS = 60e9, DEFAULT_SECONDS = 360.0, LEAST_SECONDS = 0.01;
static const double STEPS_PER_SECOND = 1e9;
static const double NO_TIME_LIMIT = 1e9; // seconds: work decides
static const double DEFAULT_SATURATE_SECONDS = 15.0;
// What will do once a search has spent a few seconds' work.
static const double LATE_GAP = 1e-3;
static const uint64_t LATE_WORK = UINT64_C(3000000000);
static const double PROVEN_GAP = 1e-9;
static const double CERTIFICATE_SHARE = 0.25; // of the time, kept back
static const double ROUNDING = 3e-9;          // of a certificate's sums
static const double LATE_SHARE = 0.85; // of the time, when the clock ended a search

/// What will do, at any time.
static double enough_gap(const eg_plan_job *job) {
  double asked = job->input->search->relative_gap;
  return asked >= 0 ? fmax(asked, PROVEN_GAP) : LATE_GAP;
}

double eg_plan_job_elapsed(const eg_plan_job *job) {
  return eg_clock_seconds() - job->input->start;
}

uint32_t eg_plan_job_micro_batches(const eg_plan_job *job) {
  return job->input->training != NULL ? job->input->training->micro_batches : 1;
}

bool eg_plan_job_progress(void *user, double cost, double bound, double seconds) {
  (void)seconds;
  eg_plan_job *job = user;
  const eg_plan_search_input *input = job->input;
  const char *mesh = eg_text_of(&job->mesh_name);
  char line[320];
  if (input->progress == NULL || job->is_cancelled) return job->is_cancelled;
  int length = snprintf(line, sizeof line, "%s, %.1f s, ",
                        mesh[0] != '\0' ? mesh : "one device", eg_plan_job_elapsed(job));
  size_t used = length > 0 && (size_t)length < sizeof line ? (size_t)length : 0;
  if (isinf(cost))
    (void)snprintf(line + used, sizeof line - used, "no plan yet");
  else
    (void)snprintf(line + used, sizeof line - used, "cost %.4g s, bound %.4g s", cost,
                   bound);
  job->is_cancelled = input->progress(input->user, "plan", line);
  return job->is_cancelled;
}

static bool on_saturate(void *user, uint32_t iteration, uint32_t nodes,
                        uint32_t classes) {
  (void)iteration, (void)nodes, (void)classes;
  return eg_plan_job_progress(user, INFINITY, 0, 0);
}

void eg_plan_search_limits(const egraph_search *search, double *out_seconds,
                           double *out_steps) {
  bool has_time = search->time_limit >= 0, has_work = search->work_limit != 0;
  *out_steps = has_work   ? (double)search->work_limit * EG_STEPS_OF_WORK
               : has_time ? search->time_limit * STEPS_PER_SECOND
                          : DEFAULT_STEPS;
  *out_seconds = has_time   ? search->time_limit
                 : has_work ? NO_TIME_LIMIT
                            : DEFAULT_SECONDS;
}

// ---- what costs rest on ---------------------------------------------------------

static void count_basis(egraph_cost_basis *basis, uint32_t of, uint32_t count) {
  switch ((eg_price_basis)of) {
  case EG_PRICE_GIVEN: basis->given += count; break;
  case EG_PRICE_MEASURED: basis->measured += count; break;
  case EG_PRICE_ESTIMATED: basis->estimated += count; break;
  case EG_PRICE_GUESSED: basis->guessed += count; break;
  case EG_PRICE_FREE:
  case EG_PRICE_BASES: break;
  }
}

// ---- meshes ---------------------------------------------------------------------

/// Joins the bounds of a mesh, and what its search did.
static egraph_status join_bounds(eg_plan_job *job, const eg_machine_mesh *mesh,
                                 const eg_planning *planning) {
  eg_plan_search *out = job->out;
  bool is_impossible =
      planning->status == EG_LAYOUT_NO_MEMORY || planning->status == EG_LAYOUT_INFEASIBLE;
  out->report.meshes++;
  out->report.space_seconds += planning->saturate_seconds + planning->space_seconds;
  out->report.solve_seconds += planning->solve_seconds;
  out->report.nodes = planning->nodes; // the same on every mesh
  out->report.classes = planning->classes;
  out->report.iterations = planning->iterations;
  out->report.stop = eg_stop_name(planning->stop);
  out->report.stop_words = eg_stop_words(planning->stop);
  out->report.untried += planning->untried;
  for (uint32_t b = 0; b < EG_PRICE_BASES; b++)
    count_basis(&out->report.compared, b, planning->compared[b]);
  job->is_of_reached = job->is_of_reached || planning->is_of_reached;
  if (!is_impossible) job->bound = fmin(job->bound, planning->bound);
  if (!is_impossible) job->is_infeasible = false;
  if (planning->least_memory > 0)
    job->least_memory = fmin(job->least_memory, planning->least_memory);
  bool is_of_all = planning->stop == EG_STOP_SATURATED && !planning->is_of_reached;
  const eg_mesh_found found = {.mesh = *mesh,
                               .bound = is_impossible ? INFINITY : planning->bound,
                               .cost = planning->has_plan ? planning->cost : INFINITY,
                               .memory = planning->has_plan ? planning->memory : INFINITY,
                               .is_of_all = is_of_all};
  return eg_mesh_founds_push(&job->tried, found);
}

void eg_plan_job_take(eg_plan_job *job, const eg_machine_mesh *mesh,
                      eg_planning *planning, double worth) {
  eg_plan_search *out = job->out;
  if (out->has_plan) eg_loaded_plan_deinit(&out->planned);
  out->planned = (eg_loaded_plan){planning->emitted.graph, planning->emitted.plan};
  eg_u32s_deinit(&planning->emitted.value_of);
  out->has_plan = true;
  job->best_mesh = *mesh;
  job->best_bound = planning->bound;
  job->best_memory = planning->memory;
  job->best_worth = worth;
  out->report.cost_after = planning->cost;
  memcpy(out->seed, planning->seed, sizeof out->seed);
  out->report.seed = out->seed[0] != '\0' ? out->seed : NULL;
  planning->has_plan = false;
}

eg_planner_input eg_plan_job_input(eg_plan_job *job, const eg_machine_mesh *mesh,
                                   double seconds, double steps) {
  const eg_plan_search_input *from = job->input;
  const egraph_search *search = from->search;
  eg_planner_input input = {.machine = from->machine,
                            .mesh = mesh,
                            .layout = EG_LAYOUT_OPTIONS_DEFAULT,
                            .compares = from->compares,
                            .baseline = from->baseline,
                            .costs = from->costs,
                            .rules = from->rules,
                            .plain_only = search->formats == 0,
                            .saturation = &job->saturation,
                            .algebra_first = search->algebra_first,
                            .searcher = from->searcher,
                            .seed = search->seed};
  if (from->searcher != NULL)
    input.algebra_first = from->searcher->graphs == EG_PLAN_CHEAPEST_GRAPH;
  if (isfinite(job->answer_limit)) input.answer_limit = job->answer_limit;
  input.layout.time_limit_seconds = fmax(seconds, LEAST_SECONDS);
  input.layout.work_limit = (uint64_t)fmin(fmax(steps, 1), 1e18);
  input.layout.relative_gap = fmax(search->relative_gap, 0);
  if (search->relative_gap < 0) {
    input.layout.late_gap = LATE_GAP;
    input.layout.late_work = LATE_WORK;
  }
  input.layout.progress = eg_plan_job_progress;
  input.layout.user = job;
  input.layout.done = &job->done;
  input.layout.by_work = search->work_limit != 0 && search->time_limit < 0;
  return input;
}

// ---- one mesh -------------------------------------------------------------------------

/// The plan of another search: one that fits before one that does not, then the one whose
/// overlapped step is shortest. Frees the planning.
static egraph_status add_searched(eg_plan_job *job, const eg_machine_mesh *mesh,
                                  eg_planning *planning) {
  egraph_report *report = &job->out->report;
  double limit = job->input->memory_limit, worth = INFINITY;
  double excess = fmax(planning->memory - limit, 0);
  eg_overlap overlap;
  report->proposals += planning->searched.proposals;
  report->search_work += (double)planning->searched.work / EG_STEPS_OF_WORK;
  report->search_seconds += planning->searched.seconds;
  report->ended = eg_plan_stop_name(planning->searched.stop);
  eg_overlap_init(&overlap, mesh, eg_plan_job_micro_batches(job),
                  excess > 0 ? INFINITY : limit, job->input->machine->beside);
  egraph_status status = EGRAPH_OK;
  if (planning->has_plan) {
    report->overlap_plans++;
    status = eg_overlap_add(&overlap, &planning->emitted.plan, job->input->alloc, &worth);
    if (status == EGRAPH_OK &&
        (!job->out->has_plan || excess < job->best_excess ||
         (excess == job->best_excess && worth < job->best_worth))) {
      eg_plan_job_take(job, mesh, planning, worth);
      job->best_excess = excess;
    }
  }
  eg_planning_deinit(planning);
  return status;
}

// ---- without the limit of memory -----------------------------------------------------

static bool is_same_mesh(const eg_machine_mesh *a, const eg_machine_mesh *b) {
  return a->idle == b->idle && eg_mesh_same(&a->mesh, &b->mesh);
}

/// The cheapest that was found on a mesh without the limit; NULL: it was not tried.
static const eg_mesh_found *free_on(const eg_plan_job *job, const eg_machine_mesh *mesh) {
  const eg_mesh_found *best = NULL;
  for (size_t i = 0; job->free != NULL && i < job->free->len; i++) {
    const eg_mesh_found *found = &job->free->data[i];
    if (is_same_mesh(&found->mesh, mesh) && !(best != NULL && best->cost <= found->cost))
      best = found;
  }
  return best;
}

/// Whether no plan on a mesh is of use beside the one at hand, as far as the search
/// without the limit could tell; its bound counts.
static bool is_useless(const eg_plan_job *job, const eg_machine_mesh *mesh,
                       const eg_mesh_found **out) {
  *out = free_on(job, mesh);
  return *out != NULL && job->out->has_plan && (*out)->cost >= job->best_worth;
}

/// Goes on from what was found without the limit, unless that fits.
static void begin_within(const eg_plan_job *job, const eg_mesh_found *found,
                         eg_planner_input *inout) {
  bool fits = found != NULL && found->memory <= job->input->memory_limit;
  inout->binds = job->free != NULL && !fits;
  if (found == NULL || fits) return;
  if (found->is_of_all && isfinite(found->bound)) inout->floor = found->bound;
  if (isfinite(found->cost) && is_same_mesh(&found->mesh, &job->free_mesh))
    inout->loose = &job->free_plan.plan;
}

/// `known`: a plan on this mesh that the search goes on from, or NULL.
static egraph_status plan_on_mesh(eg_plan_job *job, const eg_machine_mesh *mesh,
                                  const eg_plan *known, double seconds, double steps) {
  bool is_own = job->input->searcher == NULL;
  const eg_mesh_found *free;
  if (is_useless(job, mesh, &free)) {
    job->out->report.meshes++;
    job->bound = fmin(job->bound, free->bound);
    job->is_of_reached = job->is_of_reached || !free->is_of_all;
    return eg_mesh_founds_push(&job->tried, *free);
  }
  if (is_own && job->input->search->overlap) seconds *= EG_OVERLAP_SHARE;
  eg_planner_input input = eg_plan_job_input(job, mesh, seconds, steps);
  begin_within(job, free, &input);
  input.known = known;
  input.known_cost = job->best_worth;
  if (mesh->idle != 0 && job->out->has_plan) input.ceiling = job->best_worth;
  eg_text_clear(&job->mesh_name);
  EG_TRY(eg_mesh_print(&job->mesh_name, &mesh->mesh));
  eg_planning planning;
  egraph_status status = eg_joint_step_plan(&job->step, &input, &planning);
  bool is_demanded = job->input->constraints != NULL || job->input->baseline != NULL;
  if (status == EGRAPH_E_ARGUMENT && is_demanded) {
    // One mesh without a plan leaves the others; the first says why, should there be
    // none.
    job->out->report.meshes++;
    if (job->ruled_out_meshes++ != 0) return EGRAPH_OK;
    return eg_text_append(&job->ruled_out, egraph_last_error());
  }
  EG_TRY(status);
  if (planning.is_skipped) { // nothing is said of it
    eg_planning_deinit(&planning);
    return EGRAPH_OK;
  }
  if (mesh->idle == 0) eg_rivals_join(&job->rivals, &planning, &mesh->mesh);
  status = join_bounds(job, mesh, &planning);
  if (status != EGRAPH_OK) {
    eg_planning_deinit(&planning);
    return status;
  }
  eg_plan_job_progress(job, planning.cost, planning.bound, 0);
  if (!is_own) return add_searched(job, mesh, &planning);
  if (job->input->search->overlap)
    return eg_plan_job_overlap(job, mesh, &planning, seconds, steps);
  if (planning.has_plan && planning.cost < job->best_worth)
    eg_plan_job_take(job, mesh, &planning, planning.cost);
  eg_planning_deinit(&planning);
  return EGRAPH_OK;
}

// ---- parts of the machine -------------------------------------------------------------

// Plans of fewer devices, so that none of a smaller machine is cheaper than that of a
// larger one. Parts of as many devices share the work of the machine's own meshes.

enum { MOST_AXES = 3 }; // of a mesh that a part becomes when its idle axis is used

/// Whether a mesh that was tried has all plans of a part, and none is cheaper than that
/// which is known by more than the gap that will do.
static bool is_settled(const eg_plan_job *job, const eg_machine_mesh *part) {
  double least = job->best_worth * (1 - enough_gap(job));
  for (size_t i = 0; i < job->tried.len; i++)
    if (eg_mesh_covers(&job->tried.data[i].mesh, part) &&
        job->tried.data[i].bound >= least)
      return true;
  return false;
}

static uint32_t count_alike(const eg_machine_meshes *parts, size_t part) {
  uint32_t count = 0;
  for (size_t i = 0; i < parts->len; i++)
    count +=
        eg_mesh_idle_places(&parts->data[i]) == eg_mesh_idle_places(&parts->data[part]);
  return count;
}

static egraph_status plan_on_each(eg_plan_job *job, const eg_machine_meshes *parts,
                                  double end) {
  for (size_t i = 0;
       i < parts->len && !job->is_cancelled && eg_plan_job_elapsed(job) < end; i++)
    if (!is_settled(job, &parts->data[i]))
      EG_TRY(plan_on_mesh(job, &parts->data[i], NULL,
                          (end - eg_plan_job_elapsed(job)) / (double)(parts->len - i),
                          job->work / count_alike(parts, i)));
  return EGRAPH_OK;
}

/// What is idle in the cheapest plan may do something else than the rest.
static egraph_status wake(eg_plan_job *job, double end) {
  eg_machine_mesh mesh = job->best_mesh;
  double left = end - eg_plan_job_elapsed(job);
  if (!job->out->has_plan || mesh.idle == 0 || mesh.mesh.axis_count > MOST_AXES ||
      job->is_cancelled || !(left > 0))
    return EGRAPH_OK;
  mesh.idle = 0;
  return plan_on_mesh(job, &mesh, &job->out->planned.plan, left, job->work);
}

/// Only where all meshes are wanted, by the search that compares plans by their seconds.
static egraph_status plan_on_parts(eg_plan_job *job, double end) {
  const eg_plan_search_input *input = job->input;
  eg_machine_meshes parts;
  if (input->mesh != NULL || input->constraints != NULL || input->baseline != NULL ||
      input->searcher != NULL || input->search->overlap || input->search->algebra_first)
    return EGRAPH_OK;
  eg_machine_meshes_init(&parts, input->alloc);
  egraph_status status = eg_mesh_parts_add(input->machine, &parts);
  if (status == EGRAPH_OK) status = plan_on_each(job, &parts, end);
  if (status == EGRAPH_OK) status = wake(job, end);
  eg_machine_meshes_deinit(&parts);
  return status;
}

/// Time that the search leaves for a certificate.
static double kept_seconds(const eg_plan_job *job) {
  return job->input->search->certify ? CERTIFICATE_SHARE * job->time_limit : 0;
}

static egraph_status judge(const eg_plan_job *job) {
  egraph_report *report = &job->out->report;
  EG_TRY(eg_proof_check_bound("plan", report->bound, report->cost_after));
  report->bound = fmin(report->bound, report->cost_after); // but for rounding
  bool is_all =
      !job->is_of_reached && strcmp(report->stop, eg_stop_name(EG_STOP_SATURATED)) == 0;
  report->gap = report->cost_after > 0
                    ? (report->cost_after - report->bound) / report->cost_after
                    : 0;
  report->proven_over = is_all ? "all variants" : "variants reached";
  if (report->gap > PROVEN_GAP)
    report->status = "feasible";
  else
    report->status = is_all ? "optimal" : "optimal of the variants reached";
  return EGRAPH_OK;
}

/// Why the search ended: parts of the time are kept for baselines and the certificate, so
/// the clock was it where nearly all is over.
static const char *why_ended(const eg_plan_job *job) {
  const egraph_report *report = &job->out->report;
  const egraph_search *search = job->input->search;
  if (job->is_cancelled) return "cancelled";
  if (strcmp(report->status, "infeasible") == 0 || report->gap <= PROVEN_GAP)
    return "proven";
  if (report->gap <= enough_gap(job)) return "gap";
  bool is_timed = search->time_limit >= 0 && search->work_limit == 0;
  bool is_late =
      eg_plan_job_elapsed(job) >= LATE_SHARE * (job->time_limit - kept_seconds(job));
  return is_timed || is_late ? "time-limit" : "work-limit";
}

static egraph_status judge_overlap(const eg_plan_job *job, bool is_whole) {
  egraph_report *report = &job->out->report;
  double bound = is_whole && isfinite(job->overlap_bound) ? job->overlap_bound : 0;
  EG_TRY(eg_proof_check_bound("overlapped step", bound, job->best_worth));
  report->overlapped = job->best_worth;
  report->overlap_bound = fmin(bound, job->best_worth); // but for rounding
  return EGRAPH_OK;
}

/// Another search proves nothing.
static void conclude_searched(eg_plan_job *job) {
  egraph_report *report = &job->out->report;
  bool has_plan = job->out->has_plan;
  report->bound = 0;
  report->gap = has_plan ? report->cost_after > 0 : INFINITY;
  report->proven_over = "variants reached";
  report->status = has_plan ? "feasible" : "unknown";
  report->overlapped = has_plan ? job->best_worth : 0;
  report->excess_memory = has_plan ? job->best_excess : 0;
  if (job->is_cancelled) report->ended = eg_plan_stop_name(EG_PLAN_STOP_CANCELLED);
}

static egraph_status conclude(eg_plan_job *job, uint32_t meshes) {
  egraph_report *report = &job->out->report;
  if (job->input->searcher != NULL) {
    conclude_searched(job);
    return EGRAPH_OK;
  }
  bool is_whole = report->meshes >= meshes;
  report->bound = is_whole && isfinite(job->bound) ? job->bound : 0;
  if (job->out->has_plan) {
    EG_TRY(judge(job));
    if (job->input->search->overlap) EG_TRY(judge_overlap(job, is_whole));
  } else {
    report->gap = INFINITY;
    report->proven_over = "all variants";
    report->status = is_whole && job->is_infeasible ? "infeasible" : "unknown";
    if (is_whole && !isinf(job->least_memory)) report->least_memory = job->least_memory;
  }
  report->ended = why_ended(job);
  report->search_work += (double)job->done / EG_STEPS_OF_WORK;
  return EGRAPH_OK;
}

static egraph_status explain_uncertified(eg_plan_job *job, eg_plan_certified outcome) {
  static const char *const lost =
      "no certificate: the plan has operators that rules made in the search and not "
      "again for the whole step, because a limit cut them off; raise the limits of "
      "nodes, iterations and time of saturation, or leave rules out";
  static const char *const folded =
      "no certificate: the plan's choices for folded blocks are no solution of the whole "
      "step at the same cost; plan without folding";
  static const char *const whole =
      "no certificate: the plan's choices, read back, are no solution of the step's "
      "problem at the same cost; report this with the model and the command";
  const char *different = job->out->report.blocks != 0 ? folded : whole;
  return eg_text_append(&job->out->uncertified,
                        outcome == EG_PLAN_LOST ? lost : different);
}

static egraph_status take_certificate(eg_plan_job *job, const eg_plan_certificate *made) {
  egraph_report *report = &job->out->report;
  if (made->outcome != EG_PLAN_CERTIFIED) return explain_uncertified(job, made->outcome);
  EG_TRY(eg_text_append(&job->out->certificate, eg_text_of(&made->text)));
  job->out->is_certified = true;
  if (report->meshes == 1 && made->is_all) { // it may prove more than the search did
    report->bound = fmax(report->bound, made->checked);
    EG_TRY(judge(job));
    if (report->gap <= PROVEN_GAP) report->ended = "proven";
  }
  report->checked = fmin(made->checked, report->bound);
  bool is_rounding = report->checked >= report->bound - ROUNDING * fabs(report->bound);
  if (is_rounding) report->checked = report->bound;
  return EGRAPH_OK;
}

static egraph_status certify(eg_plan_job *job) {
  double left = job->time_limit - eg_plan_job_elapsed(job);
  if (isfinite(job->answer_limit))
    eg_joint_step_limit_memory(&job->step, job->answer_limit);
  const eg_planner_input input =
      eg_plan_job_input(job, &job->best_mesh,
                        job->is_cancelled ? LEAST_SECONDS : fmax(left, kept_seconds(job)),
                        CERTIFICATE_SHARE * job->work);
  const eg_plan_claim claim = {.plan = &job->out->planned.plan,
                               .cost = job->out->report.cost_after,
                               .bound = job->best_bound};
  eg_plan_certificate certificate;
  double start = eg_plan_job_elapsed(job);
  eg_plan_certificate_init(&certificate, job->input->alloc);
  egraph_status status =
      eg_whole_step_certify(job->step.step, &input, &claim, &certificate);
  if (status == EGRAPH_OK) status = take_certificate(job, &certificate);
  eg_plan_certificate_deinit(&certificate);
  job->out->report.certify_seconds = eg_plan_job_elapsed(job) - start;
  return status;
}

/// In training, what weights alone make belongs to the step, too.
static egraph_status count_nodes(const eg_plan_job *job, const eg_graph *graph,
                                 uint32_t *out) {
  *out = eg_graph_node_count(graph);
  return job->input->training != NULL ? EGRAPH_OK : eg_graph_running_nodes(graph, out);
}

static egraph_status plan_on_meshes(eg_plan_job *job) {
  eg_machine_mesh named;
  const eg_machine_mesh *meshes = job->input->machine->meshes;
  uint32_t count = job->input->machine->mesh_count;
  if (job->input->mesh != NULL) {
    EG_TRY(eg_machine_find_mesh(job->input->machine, job->input->mesh, &named));
    meshes = &named;
    count = 1;
  }
  egraph_report *report = &job->out->report;
  EG_TRY(count_nodes(job, eg_whole_step_graph(job->step.step), &report->nodes_before));
  report->blocks = eg_whole_step_blocks(job->step.step);
  report->prepare_seconds = eg_plan_job_elapsed(job) - job->began;
  double end = job->time_limit - kept_seconds(job);
  for (uint32_t i = 0; i < count && !job->is_cancelled; i++)
    EG_TRY(plan_on_mesh(job, &meshes[i], NULL,
                        (end - eg_plan_job_elapsed(job)) / (count - i),
                        job->work / count));
  if (job->ruled_out_meshes == count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s", eg_text_of(&job->ruled_out));
  EG_TRY(plan_on_parts(job, end));
  EG_TRY(conclude(job, count));
  bool is_answer = job->out->has_plan && job->best_memory <= job->answer_limit;
  bool is_certified = job->input->search->certify && is_answer;
  return is_certified ? certify(job) : EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------

static egraph_status search_step(eg_plan_job *job) {
  const eg_plan_search_input *from = job->input;
  eg_whole_input input = {.forward = from->forward,
                          .training = from->training,
                          .folds = !from->search->no_fold &&
                                   !(from->searcher != NULL && from->searcher->is_whole),
                          .constraints = from->constraints,
                          .memory_limit = from->memory_limit};
  EG_TRY(eg_joint_step_init(&job->step, from->alloc, &input, from->rules != NULL));
  egraph_status status = plan_on_meshes(job);
  eg_joint_step_deinit(&job->step);
  return status;
}

/// What the report says of the plan, and the plan of others.
static egraph_status describe(eg_plan_job *job) {
  eg_plan_search *out = job->out;
  eg_plan *plan = &out->planned.plan;
  out->report.cost_before = job->rivals.single_seconds;
  if (!out->has_plan) return EGRAPH_OK;
  double limit = job->input->memory_limit;
  plan->memory_limit = isfinite(limit) ? limit : 0;
  EG_TRY(count_nodes(job, plan->graph, &out->report.nodes_after));
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    count_basis(&out->report.basis, step->basis, 1 + step->more_blocks);
  }
  return eg_rivals_list(&job->rivals, job->input->memory_limit, plan, job->input->alloc);
}

// Of the clock, where memory has a limit, for the search without it.
static const double FREE_SHARE = 0.5;
// The default limit is at least twice the step's nodes, and tight below four times them.
enum { NODE_LIMIT_GROWTH = 2, SHRINK_FIRST_BELOW = 4 };

static eg_plan_job begin_job(const eg_plan_search_input *input, eg_plan_search *out) {
  eg_plan_job job = {.input = input,
                     .out = out,
                     .rivals = {.is_wanted = input->compares,
                                .is_constrained = input->constraints != NULL},
                     .bound = INFINITY,
                     .overlap_bound = INFINITY,
                     .best_worth = INFINITY,
                     .least_memory = INFINITY,
                     .answer_limit = INFINITY,
                     .is_infeasible = true};
  const egraph_search *search = input->search;
  eg_plan_search_limits(search, &job.time_limit, &job.work);
  job.saturation = eg_search_saturation(search, NODE_LIMIT_GROWTH);
  job.saturation.shrink_first_below = SHRINK_FIRST_BELOW;
  job.saturation.time_limit_seconds = search->saturate_time_limit >= 0
                                          ? search->saturate_time_limit
                                          : DEFAULT_SATURATE_SECONDS;
  job.saturation.progress = on_saturate;
  eg_text_init(&job.mesh_name, input->alloc);
  eg_text_init(&job.ruled_out, input->alloc);
  eg_mesh_founds_init(&job.tried, input->alloc);
  return job;
}

static void end_job(eg_plan_job *job) {
  eg_text_deinit(&job->mesh_name);
  eg_text_deinit(&job->ruled_out);
  eg_mesh_founds_deinit(&job->tried);
}

static egraph_status run_job(eg_plan_job *job) {
  eg_plan_search *out = job->out;
  job->saturation.user = job;
  out->report.math = job->input->search->math;
  out->report.memory_limit = job->input->memory_limit;
  out->report.cost_after = INFINITY;
  EG_TRY(search_step(job));
  return describe(job);
}

/// Whether all is done without the limit of memory first. Where baselines are wanted, or
/// overlapped steps, each mesh does so for itself.
static bool begins_free(const eg_plan_search_input *input) {
  return isfinite(input->memory_limit) && input->searcher == NULL && !input->compares &&
         !input->search->overlap;
}

static double least_of(const eg_plan_job *job) {
  double least = INFINITY;
  for (size_t i = 0; i < job->tried.len; i++)
    least = fmin(least, job->tried.data[i].memory);
  return least;
}

/// Goes on within the limit from what was found without it.
static egraph_status run_within(eg_plan_job *job, const eg_plan_job *free) {
  job->done = free->done;
  job->is_cancelled = free->is_cancelled;
  job->least_memory = least_of(free);
  job->free = &free->tried;
  job->free_mesh = free->best_mesh;
  job->free_plan = free->out->planned;
  job->began = eg_plan_job_elapsed(job);
  job->out->report.space_seconds = free->out->report.space_seconds;
  job->out->report.solve_seconds = free->out->report.solve_seconds;
  return run_job(job);
}

/// Where the plan that is found without the limit fits it is the answer.
static egraph_status run_free_first(eg_plan_job *job) {
  eg_plan_search_input input = *job->input;
  eg_plan_search found;
  input.memory_limit = INFINITY;
  eg_plan_search_init(&found, input.alloc);
  eg_plan_job free = begin_job(&input, &found);
  free.time_limit *= FREE_SHARE;
  free.answer_limit = job->input->memory_limit;
  egraph_status status = run_job(&free);
  bool fits = status == EGRAPH_OK && found.has_plan &&
              free.best_memory <= job->input->memory_limit;
  if (fits) {
    eg_plan_search_deinit(job->out);
    *job->out = found;
    job->out->report.seed = found.seed[0] != '\0' ? job->out->seed : NULL;
    job->out->report.memory_limit = job->input->memory_limit;
    job->out->planned.plan.memory_limit = job->input->memory_limit;
  } else {
    if (status == EGRAPH_OK) status = run_within(job, &free);
    eg_plan_search_deinit(&found);
  }
  end_job(&free);
  return status;
}

egraph_status eg_plan_search_run(const eg_plan_search_input *input, eg_plan_search *out) {
  eg_plan_job job = begin_job(input, out);
  egraph_status status = begins_free(input) ? run_free_first(&job) : run_job(&job);
  end_job(&job);
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
