// SPDX-License-Identifier: Apache-2.0
#include "optimize/optimize.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "optimize/model_weights.h"
#include "optimize/price/plan_price.h"
#include "pcg/graph/graph.h"
#include "pcg/plan/plan_single.h"
#include "pcg/plan/plan_summary.h"
#include "pcg/plan/plan_worth.h"
#include "pcg/training/training.h"

static const double MEASURING_SHARE = 0.5; // of the time

void eg_optimized_init(eg_optimized *optimized, egraph_allocator alloc) {
  *optimized = (eg_optimized){.optimization = NULL};
  eg_plan_search_init(&optimized->search, alloc);
  eg_text_init(&optimized->no_plan, alloc);
}

void eg_optimized_deinit(eg_optimized *optimized) {
  eg_optimization_destroy(optimized->optimization);
  eg_plan_search_deinit(&optimized->search);
  eg_text_deinit(&optimized->no_plan);
}

egraph_status eg_optimize_check_plannable(const eg_graph *graph) {
  EG_TRY(eg_graph_check_fixed(graph, "a plan"));
  return eg_graph_check_known(graph, "planned");
}

/// The steps of the plan cost what the report says.
static egraph_status check_cost(const eg_optimize_call *call, const eg_optimized *out,
                                const char *what) {
  eg_plan_summary summary;
  EG_TRY(eg_plan_summary_make(&out->search.planned.plan, call->alloc, &summary));
  return eg_proof_check_equal(what, out->report.cost_after, summary.seconds);
}

// ---- one device -----------------------------------------------------------------------

/// The plan that runs the optimized graph on one device: the costs of its steps are those
/// that the graph was chosen by.
static egraph_status plan_graph(const eg_optimize_call *call, eg_optimized *out) {
  static const eg_machine_mesh single = {.mesh = {.axis_count = 0}};
  eg_loaded_plan *made = &out->search.planned;
  eg_machine host;
  EG_TRY(eg_machine_load(&call->alloc, "host*1", &host));
  eg_machine_costs costs = {.device = {.machine = &host, .model = call->costs->model},
                            .mesh = &single};
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  eg_plan_init(&made->plan, call->alloc);
  egraph_status status = eg_plan_of_graph(out->optimization->graph, &made->plan);
  if (status == EGRAPH_OK) status = eg_plan_price(&made->plan, call->alloc, &asked);
  eg_machine_deinit(&host);
  if (status != EGRAPH_OK) {
    eg_plan_deinit(&made->plan);
    return status;
  }
  made->graph = out->optimization->graph;
  out->optimization->graph = NULL; // moved
  out->search.has_plan = true;
  return check_cost(call, out, "plan of the optimized graph");
}

egraph_status eg_optimize_device(const eg_optimize_call *call, eg_optimized *out) {
  const eg_host_costs *costs = call->costs;
  const eg_optimizer_input input = {
      .graph = call->graph,
      .rules = call->rules,
      .costs = costs->model,
      .measurer = costs->may_measure ? &costs->meter.operators : NULL,
      .measure_progress = costs->progress,
      .measure_user = costs->progress_user,
      .formats = costs->formats,
      .search = call->search,
      .kernels = call->kernels,
      .progress = call->progress,
      .user = call->user};
  const eg_graph_searcher *searcher = call->searcher;
  EG_TRY(searcher == NULL
             ? eg_optimizer_run(call->alloc, &input, &out->optimization)
             : searcher->run(searcher->self, call->alloc, &input, &out->optimization));
  out->report = out->optimization->report;
  // A graph that no plan can be of, with open dimensions or operators of unknown type, is
  // a result all the same.
  if (eg_optimize_check_plannable(out->optimization->graph) != EGRAPH_OK)
    return eg_text_append(&out->no_plan, egraph_last_error());
  return plan_graph(call, out);
}

// ---- a plan ---------------------------------------------------------------------------

typedef struct plan_call {
  const eg_optimize_call *call;
  eg_optimized *out;
  double start, seconds; // that the search may take
  eg_target_machine target;
  bool is_cancelled;
} plan_call;

static bool on_progress(void *user, const char *phase, const char *line) {
  plan_call *p = user;
  if (!p->is_cancelled && p->call->progress != NULL)
    p->is_cancelled = p->call->progress(p->call->user, phase, line);
  return p->is_cancelled;
}

/// Measuring leaves time for planning.
static bool stops_measuring(void *user) {
  plan_call *p = user;
  return eg_clock_seconds() - p->start > MEASURING_SHARE * p->seconds ||
         on_progress(p, "profile", "an operator of this host");
}

static egraph_status search_model(plan_call *p, const eg_graph *forward) {
  const eg_optimize_call *call = p->call;
  const egraph_target *target = call->target;
  const eg_plan_searcher *searcher = call->plan_searcher;
  bool has_rules = call->rules != NULL && eg_rules_count(call->rules) != 0 &&
                   !(searcher != NULL && searcher->graphs == EG_PLAN_GIVEN_GRAPH);
  double limit = target != NULL ? target->memory_limit : 0;
  eg_plan_search_input input = {
      .alloc = call->alloc,
      .forward = forward,
      .training = call->training,
      .machine = &p->target.machine,
      .memory_limit = limit != 0 ? limit : p->target.machine.memory_bytes,
      .costs = p->target.costs,
      .rules = has_rules ? call->rules : NULL,
      .search = call->search,
      .constraints = call->constraints,
      .compares = call->compare != NULL && call->compare->all,
      .baseline = call->compare != NULL ? call->compare->only : NULL,
      .searcher = searcher,
      .start = p->start,
      .progress = on_progress,
      .user = p};
  eg_mesh mesh;
  if (target != NULL && target->mesh != NULL) {
    EG_TRY(eg_mesh_parse(target->mesh, &mesh));
    input.mesh = &mesh;
  }
  return call->stage_searcher != NULL
             ? call->stage_searcher->run(call->stage_searcher->self, &input)
             : eg_plan_search_run(&input, &p->out->search);
}

/// Constants are computed before anything is planned; what is trained is known by name
/// from here on.
static egraph_status prepare_and_search(plan_call *p) {
  const eg_graph *graph = p->call->graph;
  eg_training_options *training = p->call->training;
  eg_strmap trained;
  eg_graph *forward = NULL;
  if (training != NULL) EG_TRY(eg_training_options_check(graph, training));
  eg_strmap_init(&trained, p->call->alloc);
  egraph_status status = eg_model_prepare(
      graph, training != NULL ? &training->parameters : NULL, &trained, &forward);
  if (training != NULL) training->parameters.chosen = &trained;
  if (status == EGRAPH_OK) status = search_model(p, forward);
  eg_graph_destroy(forward);
  eg_strmap_deinit(&trained);
  return status;
}

static egraph_status explain_absence(const egraph_report *report, eg_text *text) {
  bool is_proven = strcmp(report->status, "infeasible") == 0;
  EG_TRY(eg_text_append(text, is_proven ? "there is no plan: " : "no plan was found: "));
  if (report->least_memory <= 0)
    return eg_text_append(
        text, is_proven ? "no operators of this step can be split so; take another "
                          "baseline, or none"
                        : "the search ended without one, nor a proof; raise the limit of "
                          "work or of time, or take a mesh instead of all");
  EG_TRY(eg_text_append(text, "a device may hold "));
  EG_TRY(eg_text_bytes(text, report->memory_limit));
  EG_TRY(eg_text_append(text, ", the least peak that is known is "));
  EG_TRY(eg_text_bytes(text, report->least_memory));
  // Whole bytes, to be given as the limit.
  if (report->least_memory >= 1000)
    EG_TRY(eg_text_printf(text, " (%.0f bytes)", report->least_memory));
  return eg_text_append(
      text, "; raise the limit, or take more devices or smaller micro-batches");
}

/// Pipelines are no plan.
static egraph_status explain_staged(eg_optimized *out) {
  return eg_text_append(
      &out->no_plan, "there is no plan: staged plans are simulated only, and cannot be "
                     "written or run; search without an algorithm for a plan");
}

egraph_status eg_optimize_plan(const eg_optimize_call *call, eg_optimized *out) {
  static const egraph_target one_device = {.machine = "host*1"};
  eg_plan_search *search = &out->search;
  double steps;
  plan_call p = {.call = call, .out = out, .start = eg_clock_seconds()};
  p.target.stop = stops_measuring;
  p.target.user = &p;
  eg_plan_search_limits(call->search, &p.seconds, &steps);
  egraph_status status = eg_target_machine_open(
      &p.target, call->alloc, call->target != NULL ? call->target : &one_device,
      call->costs);
  if (status == EGRAPH_OK) status = prepare_and_search(&p);
  if (status == EGRAPH_OK && search->has_plan)
    status = eg_plan_find_peak(&search->planned.plan, call->alloc, &p.target.machine);
  search->report.measured = p.target.measured;
  eg_target_machine_close(&p.target);
  EG_TRY(status);
  out->report = search->report;
  if (call->stage_searcher != NULL) return explain_staged(out);
  EG_TRY(search->has_plan ? check_cost(call, out, "steps of the plan")
                          : explain_absence(&search->report, &out->no_plan));
  if (eg_text_of(&search->uncertified)[0] != '\0')
    out->report.uncertified = eg_text_of(&search->uncertified);
  out->report.total_seconds = eg_clock_seconds() - p.start;
  return EGRAPH_OK;
}
