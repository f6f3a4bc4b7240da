// SPDX-License-Identifier: Apache-2.0
#include "api/optimize_plan.h"

#include <math.h>
#include <string.h>

#include "api/machine_profile.h"
#include "api/trained.h"
#include "base/clock.h"
#include "base/proof.h"
#include "pcg/graph/open_sizes.h"
#include "pcg/plan/plan_worth.h"
#include "pcg/training/training_options.h"

static const double MEASURING_SHARE = 0.5; // of the time

typedef struct plan_call {
  const eg_optimize_call *call;
  egraph_result *result;
  double start, seconds; // that the search may take
  eg_training_options training;
  eg_plan_constraints constraints;
  eg_target_machine target;
  bool is_cancelled;
} plan_call;

// ---- options --------------------------------------------------------------------

static egraph_status check_amount(const char *name, double value) {
  if (value >= 0 && !isinf(value)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%s is %g; it must be 0 or more, and finite", name,
                 value);
}

static egraph_status read_training(const egraph_training *o, eg_training_options *out) {
  *out = (eg_training_options)EG_TRAINING_OPTIONS_DEFAULT;
  if (o == NULL) return EGRAPH_OK;
  EG_TRY(check_amount("clip_norm", o->clip_norm));
  EG_TRY(check_amount("weight_decay", o->weight_decay));
  EG_TRY(eg_training_patterns_check(o));
  const char *optimizer =
      o->optimizer != NULL ? o->optimizer : egraph_training_default().optimizer;
  if (!eg_optimizer_find(optimizer, &out->optimizer))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no optimizer '%.64s'; choose sgd, momentum, adam or adamw",
                   optimizer);
  if (o->loss != NULL && !eg_loss_find(o->loss, &out->loss))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no loss '%.64s'; choose softmax-cross-entropy, "
                   "softmax-cross-entropy-of-probabilities or mean-squared-error",
                   o->loss);
  if (o->micro_batches != 0) out->micro_batches = o->micro_batches;
  out->clip_norm = o->clip_norm;
  out->mixed_precision = o->mixed_precision;
  out->weight_decay = o->weight_decay;
  out->parameters = (eg_parameter_wish){o->freeze, o->train_only, o->freeze_count,
                                        o->train_only_count, NULL};
  return EGRAPH_OK;
}

static egraph_status read_constraints(const egraph_constraints *o,
                                      eg_plan_constraints *out) {
  if (o == NULL) return EGRAPH_OK;
  if (o->file != NULL) EG_TRY(eg_plan_constraints_read(out, o->file));
  if (o->text == NULL) return EGRAPH_OK;
  return eg_plan_constraints_parse(out, "constraints", o->text, strlen(o->text), false);
}

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

// ---- the search -----------------------------------------------------------------

static egraph_status search_mesh(plan_call *p, const eg_graph *forward,
                                 const eg_mesh *mesh) {
  const eg_optimize_call *call = p->call;
  const egraph_target *target = call->target;
  const egraph_baselines *compare = call->compare;
  bool has_rules = call->rules != NULL && eg_rules_count(call->rules) != 0;
  double limit = target != NULL ? target->memory_limit : 0;
  const eg_plan_search_input input = {
      .alloc = call->alloc,
      .forward = forward,
      .training = call->training != NULL ? &p->training : NULL,
      .machine = &p->target.machine,
      .mesh = mesh,
      .memory_limit = limit != 0 ? limit : p->target.machine.memory_bytes,
      .costs = p->target.costs,
      .rules = has_rules ? call->rules : NULL,
      .search = call->search,
      .constraints = p->constraints.rows.len != 0 ? &p->constraints : NULL,
      .compares = compare != NULL && compare->all,
      .baseline = compare != NULL ? compare->only : NULL,
      .start = p->start,
      .progress = on_progress,
      .user = p};
  return eg_plan_search_run(&input, &p->result->search);
}

static egraph_status search_model(plan_call *p, const eg_graph *forward) {
  const egraph_target *target = p->call->target;
  eg_mesh mesh;
  if (target == NULL || target->mesh == NULL) return search_mesh(p, forward, NULL);
  EG_TRY(eg_mesh_parse(target->mesh, &mesh));
  return search_mesh(p, forward, &mesh);
}

/// Constants are computed before anything is planned; what is trained is known by name
/// from here on.
static egraph_status prepare_and_search(plan_call *p) {
  const eg_graph *graph = p->call->graph;
  bool trains = p->call->training != NULL;
  eg_strmap trained;
  eg_graph *forward = NULL;
  if (trains) EG_TRY(eg_training_options_check(graph, &p->training));
  eg_strmap_init(&trained, p->call->alloc);
  egraph_status status = eg_trained_prepare(
      graph, trains ? &p->training.parameters : NULL, &trained, &forward);
  p->training.parameters.chosen = &trained;
  if (status == EGRAPH_OK) status = search_model(p, forward);
  eg_graph_destroy(forward);
  eg_strmap_deinit(&trained);
  return status;
}

static egraph_status search_target(plan_call *p) {
  const egraph_target one_device = {.machine = "host*1"};
  const eg_optimize_call *call = p->call;
  p->target.host.stop = stops_measuring;
  p->target.host.user = p;
  egraph_status status = eg_target_machine_open(
      &p->target, call->alloc, call->target != NULL ? call->target : &one_device,
      call->costs);
  if (status == EGRAPH_OK) status = prepare_and_search(p);
  if (status == EGRAPH_OK && p->result->search.has_plan)
    status = eg_plan_find_peak(&p->result->search.planned.plan, call->alloc,
                               &p->target.machine);
  p->result->search.report.measured = p->target.host.measured;
  eg_target_machine_close(&p->target);
  return status;
}

// ---- the result -----------------------------------------------------------------

static egraph_status explain_absence(const egraph_report *report, eg_text *text) {
  bool is_proven = strcmp(report->status, "infeasible") == 0;
  EG_TRY(eg_text_append(text, is_proven ? "there is no plan: " : "no plan was found: "));
  if (report->least_memory <= 0 && is_proven)
    return eg_text_append(text, "no operators of this step can be split so; take another "
                                "baseline, or none");
  if (report->least_memory <= 0)
    return eg_text_append(
        text,
        "the search ended without one, nor a proof; raise the limit of time, or take a "
        "mesh instead of all");
  EG_TRY(eg_text_append(text, "a device may hold "));
  EG_TRY(eg_text_bytes(text, report->memory_limit));
  EG_TRY(eg_text_append(text, ", the least peak that is known is "));
  EG_TRY(eg_text_bytes(text, report->least_memory));
  return eg_text_printf(text,
                        " (%.0f bytes); raise the limit, or take more devices or smaller "
                        "micro-batches",
                        report->least_memory);
}

static egraph_status take_plan(egraph_result *result) {
  eg_plan_search *search = &result->search;
  if (!search->has_plan) return explain_absence(&search->report, &result->no_plan);
  search->has_plan = false; // moved
  EG_TRY(eg_planned_create(result->alloc, &search->planned, search->report.memory_limit,
                           &result->plan));
  return eg_proof_check_equal("steps of the plan", search->report.cost_after,
                              result->plan->info.cost);
}

egraph_status eg_optimize_check_plannable(const egraph_graph *graph) {
  EG_TRY(eg_graph_check_fixed(graph, "a plan"));
  return eg_graph_check_known(graph, "planned");
}

egraph_status eg_optimize_plan(const eg_optimize_call *call, egraph_result *result) {
  double steps;
  plan_call p = {.call = call, .result = result, .start = eg_clock_seconds()};
  eg_plan_search_limits(call->search, &p.seconds, &steps);
  EG_TRY(eg_optimize_check_plannable(call->graph));
  if (call->target != NULL)
    EG_TRY(check_amount("memory_limit", call->target->memory_limit));
  EG_TRY(read_training(call->training, &p.training));
  eg_plan_constraints_init(&p.constraints, call->alloc);
  egraph_status status = read_constraints(call->constraints, &p.constraints);
  if (status == EGRAPH_OK) status = search_target(&p);
  eg_plan_constraints_deinit(&p.constraints);
  if (status == EGRAPH_OK) status = take_plan(result);
  EG_TRY(status);
  const char *uncertified = eg_text_of(&result->search.uncertified);
  result->report = result->search.report;
  if (uncertified[0] != '\0') result->report.uncertified = uncertified;
  result->report.total_seconds = eg_clock_seconds() - p.start;
  return EGRAPH_OK;
}
