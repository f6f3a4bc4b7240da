// SPDX-License-Identifier: Apache-2.0
#include "optimize/optimize.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/proof.h"
#include "optimize/model_weights.h"
#include "optimize/price/target_machine.h"
#include "pcg/graph/graph.h"
#include "pcg/plan/plan.h"
#include "pcg/plan/plan_cost.h"
#include "pcg/plan/plan_words.h"
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

/// Fails with EGRAPH_E_INTERNAL unless the plan's steps add up to the reported cost.
static egraph_status check_cost(const eg_request *request, const eg_optimized *out,
                                const char *what) {
  eg_plan_summary summary;
  EG_TRY(eg_plan_summary_make(&out->search.planned.plan, request->alloc, &summary));
  return eg_proof_check_equal(what, out->report.cost_after, summary.seconds);
}

// ---- one device -----------------------------------------------------------------------

/// Makes the plan that runs the optimized graph on one device; its steps have the costs
/// by which the graph was chosen.
static egraph_status plan_graph(const eg_request *request, eg_optimized *out) {
  static const eg_machine_mesh single = {.mesh = {.axis_count = 0}};
  eg_loaded_plan *planned = &out->search.planned;
  EG_OWNED(eg_machine, host);
  EG_TRY(eg_machine_load(&request->alloc, "host*1", &host));
  eg_machine_costs costs = {.device = {.machine = &host, .model = request->costs->model},
                            .mesh = &single};
  eg_plan_costs prices = eg_machine_plan_costs(&costs);
  eg_plan_init(&planned->plan, request->alloc);
  egraph_status status = eg_plan_of_graph(out->optimization->graph, &planned->plan);
  if (status == EGRAPH_OK)
    status = eg_plan_price(&planned->plan, request->alloc, &prices);
  if (status != EGRAPH_OK) {
    eg_plan_deinit(&planned->plan);
    return status;
  }
  planned->graph = out->optimization->graph;
  out->optimization->graph = NULL; // moved
  out->search.has_plan = true;
  return check_cost(request, out, "plan of the optimized graph");
}

egraph_status eg_optimize_device(const eg_request *request, eg_optimized *out) {
  const eg_host_costs *costs = request->costs;
  assert(request->rules != NULL && costs != NULL && request->search != NULL);
  const eg_optimizer_input input = {
      .graph = request->graph,
      .rules = request->rules,
      .costs = costs->model,
      .measurer = costs->may_measure ? &costs->meter.operators : NULL,
      .measure_progress = costs->progress,
      .measure_user = costs->progress_user,
      .formats = costs->formats,
      .search = request->search,
      .kernels = request->kernels,
      .progress = request->progress,
      .user = request->user};
  const eg_graph_searcher *other = request->graphs;
  EG_TRY(other == NULL
             ? eg_optimizer_run(request->alloc, &input, &out->optimization)
             : other->run(other->self, request->alloc, &input, &out->optimization));
  out->report = out->optimization->report;
  // A graph that no plan can run (open dimensions, unknown types) is still a result.
  if (eg_optimize_check_plannable(out->optimization->graph) != EGRAPH_OK)
    return eg_text_append(&out->no_plan, egraph_last_error());
  return plan_graph(request, out);
}

// ---- a plan ---------------------------------------------------------------------------

/// The state of a call of egraph_optimize, for its callbacks.
typedef struct planning_call {
  const eg_request *request;
  eg_budget budget;
  eg_target_machine target;
} planning_call;

static bool pass_progress(void *user, const char *phase, const char *line) {
  planning_call *p = user;
  eg_budget *budget = &p->budget;
  if (!budget->is_cancelled && p->request->progress != NULL)
    budget->is_cancelled = p->request->progress(p->request->user, phase, line);
  return budget->is_cancelled;
}

/// True when measuring must stop to leave time for planning.
static bool stops_measuring(void *user) {
  planning_call *p = user;
  double spent = eg_clock_seconds() - p->budget.start;
  return spent > MEASURING_SHARE * p->budget.seconds ||
         pass_progress(p, "profile", "an operator of this host");
}

/// Returns the rules of a search; NULL: none, or an algorithm that plans the given graph.
static const eg_rules *rules_of(const eg_request *request) {
  const eg_plan_searcher *other = request->plans;
  bool has_rules = request->rules != NULL && eg_rules_count(request->rules) != 0 &&
                   !(other != NULL && other->graphs == EG_PLAN_GIVEN_GRAPH);
  return has_rules ? request->rules : NULL;
}

static egraph_status search_model(planning_call *p, const eg_graph *forward,
                                  const eg_training_options *training, bool recognized,
                                  eg_plan_search *out) {
  const eg_request *request = p->request;
  const egraph_target *target = request->target;
  double limit = target != NULL ? target->memory_limit : 0;
  eg_mesh mesh;
  eg_plan_call call = {.request = request,
                       .context = {.machine = &p->target.machine,
                                   .costs = p->target.costs,
                                   .rules = rules_of(request),
                                   .plain_only = request->search->formats == 0,
                                   .has_groups = request->search->groups != 0,
                                   .makes_again = !request->search->no_recompute},
                       .forward = forward,
                       .training = training,
                       .recognized = recognized,
                       .budget = p->budget};
  call.budget.memory = limit != 0 ? limit : p->target.machine.memory_bytes;
  call.budget.progress = pass_progress;
  call.budget.user = p;
  if (target != NULL && target->mesh != NULL) {
    EG_TRY(eg_mesh_parse(target->mesh, &mesh));
    call.mesh = &mesh;
  }
  return request->stages != NULL ? request->stages->run(request->stages->self, &call)
                                 : eg_plan_search_run(&call, out);
}

/// Computes constants and finds the names of trained weights before the search.
static egraph_status prepare_and_search(planning_call *p, eg_plan_search *out) {
  const eg_request *request = p->request;
  eg_training_options training;
  EG_LOCAL(eg_strmap, trained, request->alloc);
  EG_HELD(eg_graph, forward);
  bool trains = request->training != NULL, recognized = false;
  if (trains) {
    EG_TRY(eg_training_options_check(request->graph, request->training));
    training = *request->training;
  }
  EG_TRY(eg_model_prepare(request->graph, trains ? &training.parameters : NULL,
                          rules_of(request), request->search->math, &trained, &forward,
                          &recognized));
  if (trains) training.parameters.chosen = &trained;
  return search_model(p, forward, trains ? &training : NULL, recognized, out);
}

static egraph_status explain_absence(const egraph_report *report, eg_text *text) {
  bool is_proven = strcmp(report->status, "infeasible") == 0;
  eg_text_append(text, is_proven ? "there is no plan: " : "no plan was found: ");
  if (report->least_memory <= 0)
    return eg_text_append(
        text, is_proven ? "no operators of this step can be split so; take another "
                          "baseline, or none"
                        : "the search ended without one, nor a proof; raise the limit of "
                          "work or of time, or take a mesh instead of all");
  eg_text_append(text, "a device may hold ");
  eg_text_bytes(text, report->memory_limit);
  eg_text_append(text, ", the least peak that is known is ");
  eg_text_bytes(text, report->least_memory);
  if (report->least_memory >= 1000) // whole bytes, to be given as the limit
    eg_text_printf(text, " (%.0f bytes)", report->least_memory);
  return eg_text_append(
      text, "; raise the limit, or take more devices or a smaller batch of the model");
}

egraph_status eg_optimize_plan(const eg_request *request, eg_optimized *out) {
  static const egraph_target one_device = {.machine = "host*1"};
  eg_plan_search *search = &out->search;
  planning_call p = {.request = request, .budget = eg_budget_begin(request->search)};
  p.target.stop = stops_measuring;
  p.target.user = &p;
  egraph_status status = eg_target_machine_open(
      &p.target, request->alloc, request->target != NULL ? request->target : &one_device,
      request->costs);
  if (status == EGRAPH_OK) status = prepare_and_search(&p, search);
  if (status == EGRAPH_OK && search->has_plan)
    status = eg_plan_find_peak(&search->planned.plan, request->alloc, &p.target.machine);
  search->report.measured = p.target.measured;
  eg_target_machine_close(&p.target);
  EG_TRY(status);
  out->report = search->report;
  if (request->stages != NULL)
    return eg_text_append(&out->no_plan,
                          "there is no plan: staged plans are simulated only, and cannot "
                          "be written or run; search without an algorithm for a plan");
  EG_TRY(search->has_plan ? check_cost(request, out, "steps of the plan")
                          : explain_absence(&search->report, &out->no_plan));
  if (eg_text_of(&search->uncertified)[0] != '\0')
    out->report.uncertified = eg_text_of(&search->uncertified);
  out->report.total_seconds = eg_clock_seconds() - p.budget.start;
  return EGRAPH_OK;
}
