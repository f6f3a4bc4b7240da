// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_report.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/proof.h"
#include "optimize/search/budget.h"
#include "pcg/graph/graph_copy.h"
#include "pcg/plan/plan.h"

static const double ROUNDING = 3e-9;         // of a certificate's sums
static const double CERTIFICATE_WORK = 0.25; // share of all work
static const double LATE_SHARE = 0.85; // of the time: after it, the clock ended a search

// ---- one mesh -----------------------------------------------------------------------

static void count_basis(egraph_cost_basis *basis, uint32_t of, uint32_t count) {
  switch ((eg_price_basis)of) {
  case EG_PRICE_GIVEN: basis->given += count; break;
  case EG_PRICE_MEASURED: basis->measured += count; break;
  case EG_PRICE_ESTIMATED: basis->estimated += count; break;
  case EG_PRICE_REACHED: basis->reached += count; break;
  case EG_PRICE_GUESSED: basis->guessed += count; break;
  case EG_PRICE_FREE:
  case EG_PRICE_BASES: break;
  }
}

egraph_status eg_plan_report_mesh(eg_plan_job *job, const eg_machine_mesh *mesh,
                                  const eg_planning *planning) {
  egraph_report *report = &job->out->report;
  bool is_impossible =
      planning->status == EG_LAYOUT_NO_MEMORY || planning->status == EG_LAYOUT_INFEASIBLE;
  if (mesh->idle == 0) eg_rivals_join(&job->rivals, planning, &mesh->mesh);
  report->meshes++;
  report->space_seconds += planning->saturate_seconds + planning->space_seconds;
  report->solve_seconds += planning->solve_seconds;
  report->nodes = planning->nodes; // the same on every mesh
  report->classes = planning->classes;
  report->iterations = planning->iterations;
  report->stop = eg_stop_name(planning->stop);
  report->stop_words = eg_stop_words(planning->stop);
  report->untried += planning->untried;
  for (uint32_t b = 0; b < EG_PRICE_BASES; b++)
    count_basis(&report->compared, b, planning->compared[b]);
  job->is_of_reached = job->is_of_reached || planning->is_of_reached;
  if (!is_impossible) {
    job->bound = fmin(job->bound, planning->bound);
    job->is_infeasible = false;
  }
  if (planning->least_memory > 0)
    job->least_memory = fmin(job->least_memory, planning->least_memory);
  const eg_mesh_found found = {.mesh = *mesh,
                               .bound = is_impossible ? INFINITY : planning->bound,
                               .cost = planning->has_plan ? planning->cost : INFINITY,
                               .memory = planning->has_plan ? planning->memory : INFINITY,
                               .is_of_all = planning->stop == EG_STOP_SATURATED &&
                                            !planning->is_of_reached &&
                                            !job->call->recognized};
  return eg_mesh_founds_push(&job->tried, found);
}

// ---- all meshes ---------------------------------------------------------------------

static egraph_status judge_gap(const eg_plan_job *job) {
  egraph_report *report = &job->out->report;
  double cost = report->cost_after;
  EG_TRY(eg_proof_check_bound("plan", report->bound, cost));
  report->bound = fmin(report->bound, cost); // but for rounding
  report->gap = cost > 0 ? (cost - report->bound) / cost : 0;
  bool is_all =
      !job->is_of_reached && strcmp(report->stop, eg_stop_name(EG_STOP_SATURATED)) == 0;
  report->proven_over = is_all ? "all variants" : "variants reached";
  report->status = report->gap > EG_PROVEN_GAP ? "feasible"
                   : is_all                    ? "optimal"
                                               : "optimal of the variants reached";
  return EGRAPH_OK;
}

/// Returns why the search ended. If it ended late, the clock ended it, because parts of
/// the time are reserved for baselines and the certificate.
static const char *why_ended(const eg_plan_job *job) {
  const egraph_report *report = &job->out->report;
  const egraph_search *search = job->call->request->search;
  if (job->budget.is_cancelled) return "cancelled";
  if (strcmp(report->status, "infeasible") == 0 || report->gap <= EG_PROVEN_GAP)
    return "proven";
  if (report->gap <= eg_plan_job_enough_gap(job)) return "gap";
  bool is_timed = search->time_limit >= 0 && search->work_limit == 0;
  double late = LATE_SHARE * (job->budget.seconds - eg_plan_job_kept_seconds(job));
  return is_timed || eg_plan_job_elapsed(job) >= late ? "time-limit" : "work-limit";
}

static egraph_status judge_overlap(const eg_plan_job *job, bool is_whole) {
  egraph_report *report = &job->out->report;
  double bound = is_whole && isfinite(job->overlap_bound) ? job->overlap_bound : 0;
  EG_TRY(eg_proof_check_bound("overlapped step", bound, job->best.objective));
  report->overlapped = job->best.objective;
  report->overlap_bound = fmin(bound, job->best.objective); // but for rounding
  return EGRAPH_OK;
}

/// Fills the report of a search by another algorithm, which proves no bound.
static void conclude_searched(eg_plan_job *job) {
  egraph_report *report = &job->out->report;
  bool has_plan = job->out->has_plan;
  report->bound = 0;
  report->gap = has_plan ? report->cost_after > 0 : INFINITY;
  report->proven_over = "variants reached";
  report->status = has_plan ? "feasible" : "unknown";
  report->overlapped = has_plan ? job->best.objective : 0;
  report->excess_memory = has_plan ? job->best.excess : 0;
  if (job->budget.is_cancelled) report->ended = eg_plan_stop_name(EG_PLAN_STOP_CANCELLED);
}

egraph_status eg_plan_report_conclude(eg_plan_job *job, uint32_t meshes) {
  assert(meshes != 0);
  egraph_report *report = &job->out->report;
  if (job->call->request->plans != NULL) {
    conclude_searched(job);
    return EGRAPH_OK;
  }
  bool is_whole = report->meshes >= meshes;
  report->bound = is_whole && isfinite(job->bound) ? job->bound : 0;
  if (job->out->has_plan) {
    EG_TRY(judge_gap(job));
    if (job->call->request->search->overlap) EG_TRY(judge_overlap(job, is_whole));
  } else {
    report->gap = INFINITY;
    report->proven_over = job->call->recognized ? "variants reached" : "all variants";
    report->status = is_whole && job->is_infeasible ? "infeasible" : "unknown";
    if (is_whole && !isinf(job->least_memory)) report->least_memory = job->least_memory;
  }
  report->ended = why_ended(job);
  report->search_work += (double)job->budget.done / EG_STEPS_OF_WORK;
  return EGRAPH_OK;
}

// ---- the certificate ----------------------------------------------------------------

static const char *why_uncertified(const eg_plan_job *job, eg_plan_certified outcome) {
  if (outcome == EG_PLAN_LOST)
    return "no certificate: the plan has operators that rules made in the search and not "
           "again for the whole step, because a limit cut them off; raise the limits of "
           "nodes, iterations and time of saturation, or leave rules out";
  if (job->out->report.blocks != 0)
    return "no certificate: the plan's choices for folded blocks are no solution of the "
           "whole step at the same cost; plan without folding";
  return "no certificate: the plan's choices, read back, are no solution of the step's "
         "problem at the same cost; report this with the model and the command";
}

static egraph_status take_certificate(eg_plan_job *job, const eg_plan_certificate *made) {
  egraph_report *report = &job->out->report;
  if (made->outcome != EG_PLAN_CERTIFIED)
    return eg_text_append(&job->out->uncertified, why_uncertified(job, made->outcome));
  EG_TRY(eg_text_append(&job->out->certificate, eg_text_of(&made->text)));
  job->out->is_certified = true;
  if (report->meshes == 1 && made->is_all) { // it may prove more than the search
    report->bound = fmax(report->bound, made->checked);
    EG_TRY(judge_gap(job));
    if (report->gap <= EG_PROVEN_GAP) report->ended = "proven";
  }
  report->checked = fmin(made->checked, report->bound);
  bool is_rounding = report->checked >= report->bound - ROUNDING * fabs(report->bound);
  if (is_rounding) report->checked = report->bound;
  return EGRAPH_OK;
}

egraph_status eg_plan_report_certify(eg_plan_job *job) {
  EG_LOCAL(eg_plan_certificate, certificate, job->call->request->alloc);
  double start = eg_plan_job_elapsed(job), left = job->budget.seconds - start;
  assert(job->out->has_plan);
  if (isfinite(job->answer_limit))
    eg_joint_step_limit_memory(&job->step, job->answer_limit);
  eg_planner_input input = eg_plan_job_input(
      job, &job->best.mesh,
      job->budget.is_cancelled ? EG_LEAST_SECONDS
                               : fmax(left, eg_plan_job_kept_seconds(job)),
      CERTIFICATE_WORK * job->budget.steps);
  input.binds = job->best.makes_again;
  const eg_plan_claim claim = {.plan = &job->out->planned.plan,
                               .cost = job->out->report.cost_after,
                               .bound = job->best.bound};
  EG_TRY(eg_whole_step_certify(job->step.step, &input, &claim, &certificate));
  EG_TRY(take_certificate(job, &certificate));
  job->out->report.certify_seconds = eg_plan_job_elapsed(job) - start;
  return EGRAPH_OK;
}

// ---- the plan -----------------------------------------------------------------------

egraph_status eg_plan_report_nodes(const eg_plan_job *job, const eg_graph *graph,
                                   uint32_t *out) {
  *out = eg_graph_node_count(graph);
  // In training, nodes on weights alone also belong to the step.
  return job->call->training != NULL ? EGRAPH_OK : eg_graph_running_nodes(graph, out);
}

egraph_status eg_plan_report_plan(eg_plan_job *job) {
  eg_plan_search *out = job->out;
  eg_plan *plan = &out->planned.plan;
  out->report.cost_before = job->rivals.single_seconds;
  if (!out->has_plan) return EGRAPH_OK;
  plan->memory_limit = isfinite(job->budget.memory) ? job->budget.memory : 0;
  EG_TRY(eg_plan_report_nodes(job, plan->graph, &out->report.nodes_after));
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    count_basis(&out->report.basis, step->basis, 1 + step->more_blocks);
  }
  return eg_rivals_list(job, plan);
}
