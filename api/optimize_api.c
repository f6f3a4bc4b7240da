// The public function of optimization: checks and converts options, and runs the search.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "api/arguments.h"
#include "api/objects.h"
#include "base/owner.h"
#include "baselines/algorithm.h"
#include "onnx/sets/versions.h"

EG_HOLDER_DEFINE(egraph_result)

// ---- the request ----------------------------------------------------------------

/// The caller's structs of options with all members set, and values read from them; a
/// request points to the structs and the values.
typedef struct option_groups {
  egraph_options options;
  egraph_target target;
  egraph_training training;
  egraph_search search;
  egraph_constraints constraints;
  egraph_baselines compare;
  eg_training_options training_options;
  eg_plan_constraints rows;
  eg_host_costs costs;
} option_groups;

static void option_groups_deinit(option_groups *own) {
  eg_plan_constraints_deinit(&own->rows);
}

static egraph_status take_groups(const egraph_options *given, option_groups *own) {
  egraph_options *o = &own->options;
  EG_TRY(eg_options_take(EGRAPH_OPTIMIZE_OPTIONS, given, o));
  EG_TRY(eg_options_take(EGRAPH_TARGET, o->target, &own->target));
  EG_TRY(eg_options_take(EGRAPH_TRAINING, o->training, &own->training));
  EG_TRY(eg_options_take(EGRAPH_SEARCH, o->search, &own->search));
  EG_TRY(eg_options_take(EGRAPH_CONSTRAINTS, o->constraints, &own->constraints));
  EG_TRY(eg_options_take(EGRAPH_BASELINES, o->compare, &own->compare));
  return eg_search_check(&own->search);
}

static uint32_t parts_of(const option_groups *own) {
  const egraph_options *o = &own->options;
  const egraph_search *search = &own->search;
  uint32_t parts = 0;
  if (o->target != NULL) parts |= EG_PART_TARGET;
  if (o->target != NULL && own->target.mesh != NULL) parts |= EG_PART_MESH;
  if (o->training != NULL) parts |= EG_PART_TRAINING;
  if (o->constraints != NULL) parts |= EG_PART_CONSTRAINTS;
  if (o->compare != NULL) parts |= EG_PART_BASELINES;
  if (search->certify) parts |= EG_PART_CERTIFICATE;
  if (search->overlap) parts |= EG_PART_OVERLAP;
  if (search->algebra_first) parts |= EG_PART_ALGEBRA_FIRST;
  if (search->explain) parts |= EG_PART_EXPLANATION;
  return parts;
}

static egraph_status check_amount(const char *name, double value) {
  if (value >= 0 && !isinf(value)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%s is %g; it must be 0 or more, and finite", name,
                 value);
}

static egraph_status read_training(const egraph_training *o, eg_training_options *out) {
  *out = (eg_training_options)EG_TRAINING_OPTIONS_DEFAULT;
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
  if (o->precision != NULL && !eg_precision_find(o->precision, &out->precision))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no precision '%.64s'; choose model, bf16, bf16-weights or "
                   "bf16-sums",
                   o->precision);
  if (o->micro_batches != 0) out->micro_batches = o->micro_batches;
  out->clip_norm = o->clip_norm;
  out->weight_decay = o->weight_decay;
  out->parameters = (eg_parameter_wish){o->freeze, o->train_only, o->freeze_count,
                                        o->train_only_count, NULL};
  return EGRAPH_OK;
}

/// Reads into the request the structs of options that apply only to plans for several
/// devices or training: target, training, constraints, baselines.
static egraph_status read_plan_groups(option_groups *own, eg_request *request) {
  const egraph_options *o = &own->options;
  EG_TRY(eg_optimize_check_plannable(request->graph));
  if (own->search.overlap && own->search.certify)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a certificate is of seconds one thing after the other; ask for it "
                   "without overlap");
  if (o->target != NULL) {
    EG_TRY(check_amount("memory_limit", own->target.memory_limit));
    request->target = &own->target;
  }
  if (o->training != NULL) {
    EG_TRY(read_training(&own->training, &own->training_options));
    request->training = &own->training_options;
  }
  const char *file = own->constraints.file, *text = own->constraints.text;
  if (file != NULL) EG_TRY(eg_plan_constraints_read(&own->rows, file));
  if (text != NULL)
    EG_TRY(
        eg_plan_constraints_parse(&own->rows, "constraints", text, strlen(text), false));
  if (own->rows.rows.len != 0) request->constraints = &own->rows;
  if (o->compare != NULL) request->compare = &own->compare;
  return EGRAPH_OK;
}

// ---- calls ----------------------------------------------------------------------

/// Optimizes for one device, which needs rules and costs: NULL rules become an empty set,
/// NULL costs become estimates.
static egraph_status optimize_device(eg_request *request, eg_optimized *out) {
  egraph_rules *no_rules = NULL;
  egraph_costs *estimates = NULL;
  eg_host_costs of_estimates;
  egraph_status status = EGRAPH_OK;
  if (request->rules == NULL) status = egraph_rules_create(&request->alloc, &no_rules);
  if (request->rules == NULL) request->rules = no_rules;
  if (status == EGRAPH_OK && request->costs == NULL) {
    status = egraph_costs_create(&request->alloc, NULL, &estimates);
    if (status == EGRAPH_OK) of_estimates = eg_costs_of_host(estimates);
    request->costs = &of_estimates;
  }
  if (status == EGRAPH_OK) status = eg_optimize_device(request, out);
  egraph_costs_destroy(estimates);
  egraph_rules_destroy(no_rules);
  return status;
}

/// The callback data of a search for pipelines: its algorithm and its result.
typedef struct stage_call {
  const eg_algorithm *algorithm;
  eg_staged *out;
} stage_call;

static egraph_status search_stages(void *self, const eg_plan_call *call) {
  const stage_call *stages = self;
  return stages->algorithm->stages(call, stages->out);
}

/// Fills the report of a search for pipelines, which saturates nothing and
/// proves nothing.
static void report_stages(egraph_result *result, const char *algorithm) {
  const eg_staged *staged = &result->staged;
  bool has_any = staged->best != UINT32_MAX;
  const eg_staged_row *best = has_any ? &staged->rows.data[staged->best] : NULL;
  const char *ended = staged->is_cancelled ? "cancelled" : "exhausted";
  result->made.report = (egraph_report){.cost_after = has_any ? best->seconds : INFINITY,
                                        .overlapped = has_any ? best->seconds : 0,
                                        .excess_memory = has_any ? best->excess : 0,
                                        .peak_memory = has_any ? best->bytes : 0,
                                        .memory_limit = staged->memory_limit,
                                        .gap = has_any ? 1 : INFINITY,
                                        .status = has_any ? "feasible" : "unknown",
                                        .proven_over = "variants reached",
                                        .stop = ended,
                                        .stop_words = "took no part",
                                        .ended = ended,
                                        .algorithm = algorithm,
                                        .search_seconds = staged->search_seconds,
                                        .total_seconds = staged->search_seconds};
}

/// Moves the plan of the search to an object of its own.
static egraph_status take_plan(egraph_result *result) {
  eg_plan_search *search = &result->made.search;
  bool is_of_device = result->made.optimization != NULL;
  if (!search->has_plan) return EGRAPH_OK;
  search->has_plan = false; // moved
  return eg_planned_create(result->alloc, &search->planned,
                           is_of_device ? INFINITY : search->report.memory_limit,
                           &result->plan);
}

/// Runs the search that the request asks for and fills an empty result. If `algorithm`
/// is NULL, that is the product's own search.
static egraph_status run_request(option_groups *own, eg_request *request,
                                 const eg_algorithm *algorithm, egraph_result *result) {
  const eg_graph_searcher graphs = {.run = eg_algorithm_optimize, .self = algorithm};
  stage_call call = {algorithm, &result->staged};
  const eg_stage_searcher stages = {search_stages, &call};
  if (algorithm != NULL) {
    if (algorithm->graphs != NULL) request->graphs = &graphs;
    if (algorithm->stages != NULL) request->stages = &stages;
    request->plans = algorithm->plans;
    result->is_staged = algorithm->stages != NULL;
  }
  if (eg_parts_need_plan(parts_of(own))) {
    EG_TRY(read_plan_groups(own, request));
    EG_TRY(eg_optimize_plan(request, &result->made));
  } else {
    EG_TRY(optimize_device(request, &result->made));
  }
  if (algorithm != NULL) result->made.report.algorithm = algorithm->name;
  if (result->is_staged) report_stages(result, algorithm->name);
  return take_plan(result);
}

egraph_status egraph_optimize(const egraph_allocator *alloc, const egraph_graph *graph,
                              const egraph_rules *rules, egraph_costs *costs,
                              const egraph_options *options, egraph_result **out) {
  EG_REQUIRE(graph, out);
  const eg_algorithm *algorithm = NULL;
  EG_OWNED(option_groups, own);
  EG_HELD(egraph_result, result);
  EG_TRY(take_groups(options, &own));
  if (own.search.algorithm != NULL)
    EG_TRY(eg_algorithm_find(own.search.algorithm, &algorithm));
  EG_TRY(eg_algorithm_check(algorithm, parts_of(&own)));
  eg_request request = {.alloc = eg_allocator_or_heap(alloc),
                        .graph = graph,
                        .rules = rules,
                        .search = &own.search,
                        .kernels = eg_onnx_loaded_types,
                        .progress = own.options.progress,
                        .user = own.options.user};
  eg_plan_constraints_init(&own.rows, request.alloc);
  if (costs != NULL) {
    own.costs = eg_costs_of_host(costs);
    request.costs = &own.costs;
  }
  EG_TRY(eg_alloc(request.alloc, 1, sizeof *result, &result));
  *result = (egraph_result){.alloc = request.alloc};
  eg_optimized_init(&result->made, request.alloc);
  eg_staged_init(&result->staged, request.alloc);
  EG_HAND_OVER(run_request(&own, &request, algorithm, result), result, out);
}
