// The public function of optimization: options, checked and converted, and the result.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "api/costs.h"
#include "api/option_structs.h"
#include "api/require.h"
#include "api/result.h"
#include "api/trained.h"
#include "baselines/algorithm.h"
#include "onnx/sets/versions.h"

// ---- options --------------------------------------------------------------------

/// The groups of the options, complete.
typedef struct option_groups {
  egraph_options options;
  egraph_target target;
  egraph_training training;
  egraph_search search;
  egraph_constraints constraints;
  egraph_baselines compare;
} option_groups;

/// True when the call needs a plan: ties, memory, phases or moves are to be chosen.
static bool wants_plan(const egraph_options *o, const egraph_search *search) {
  return o->target != NULL || o->training != NULL || o->constraints != NULL ||
         o->compare != NULL || search->certify || search->overlap;
}

static egraph_status check_plan_algorithm(const option_groups *own,
                                          const eg_algorithm *algorithm) {
  if (!wants_plan(&own->options, &own->search))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "search algorithm '%s' finds a plan, no graph for one device; name a "
                   "target, or leave the algorithm out",
                   algorithm->name);
  if (!own->search.certify && own->options.compare == NULL && !own->search.algebra_first)
    return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "search algorithm '%s' has no certificate, plans no baselines, and says "
                 "itself what becomes of algebra; leave these out, or the algorithm",
                 algorithm->name);
}

/// Searches for pipelines take a training step and a machine as they are.
static egraph_status check_stage_algorithm(const option_groups *own, const char *name) {
  if (own->options.training == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "search algorithm '%s' finds stages of a training step; give training "
                   "options with several micro-batches, and a target",
                   name);
  bool is_plain = own->options.constraints == NULL && own->options.compare == NULL &&
                  !own->search.certify && !own->search.overlap &&
                  !own->search.algebra_first &&
                  (own->options.target == NULL || own->target.mesh == NULL);
  if (is_plain) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "search algorithm '%s' places stages itself: it takes no mesh, "
                 "constraints, baselines, certificate, overlap or algebra-first; leave "
                 "these out, or the algorithm",
                 name);
}

/// The algorithm that the search names.
static egraph_status find_algorithm(const option_groups *own, const eg_algorithm **out) {
  *out = NULL;
  bool is_plain =
      own->search.algorithm == NULL && !wants_plan(&own->options, &own->search);
  if (own->search.explain && own->search.algorithm != NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "an explanation goes with the e-graph search only; leave it out, or "
                   "the search algorithm '%s'",
                   own->search.algorithm);
  if (own->search.explain && !is_plain)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "only the graph that the search for one device finds is explained; "
                   "leave out explain, or target, training, constraints, baselines, "
                   "certificate and overlap");
  if (own->search.algorithm == NULL) return EGRAPH_OK;
  EG_TRY(eg_algorithm_find(own->search.algorithm, out));
  if ((*out)->stages != NULL) return check_stage_algorithm(own, (*out)->name);
  if ((*out)->plans != NULL) return check_plan_algorithm(own, *out);
  if (!wants_plan(&own->options, &own->search)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "search algorithm '%s' finds a graph for one device, no plan; leave out "
                 "target, training, constraints, baselines and certificate, or the "
                 "algorithm",
                 (*out)->name);
}

static egraph_status take_groups(const egraph_options *given, option_groups *own,
                                 eg_optimize_call *call) {
  egraph_options *o = &own->options;
  EG_TRY(eg_options_take(EGRAPH_OPTIMIZE_OPTIONS, given, o));
  EG_TRY(eg_options_take(EGRAPH_TARGET, o->target, &own->target));
  EG_TRY(eg_options_take(EGRAPH_TRAINING, o->training, &own->training));
  EG_TRY(eg_options_take(EGRAPH_SEARCH, o->search, &own->search));
  EG_TRY(eg_options_take(EGRAPH_CONSTRAINTS, o->constraints, &own->constraints));
  EG_TRY(eg_options_take(EGRAPH_BASELINES, o->compare, &own->compare));
  call->target = o->target != NULL ? &own->target : NULL;
  call->search = &own->search;
  call->compare = o->compare != NULL ? &own->compare : NULL;
  call->progress = o->progress;
  call->user = o->user;
  return eg_search_check(&own->search);
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
  if (o->file != NULL) EG_TRY(eg_plan_constraints_read(out, o->file));
  if (o->text == NULL) return EGRAPH_OK;
  return eg_plan_constraints_parse(out, "constraints", o->text, strlen(o->text), false);
}

// ---- calls ----------------------------------------------------------------------

static egraph_status plan(const option_groups *own, eg_optimize_call *call,
                          eg_optimized *out) {
  eg_training_options training;
  eg_plan_constraints constraints;
  EG_TRY(eg_optimize_check_plannable(call->graph));
  if (own->search.overlap && own->search.certify)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a certificate is of seconds one thing after the other; ask for it "
                   "without overlap");
  if (call->target != NULL)
    EG_TRY(check_amount("memory_limit", call->target->memory_limit));
  if (own->options.training != NULL) {
    EG_TRY(read_training(&own->training, &training));
    call->training = &training;
  }
  eg_plan_constraints_init(&constraints, call->alloc);
  egraph_status status = own->options.constraints != NULL
                             ? read_constraints(&own->constraints, &constraints)
                             : EGRAPH_OK;
  if (constraints.rows.len != 0) call->constraints = &constraints;
  if (status == EGRAPH_OK) status = eg_optimize_plan(call, out);
  eg_plan_constraints_deinit(&constraints);
  return status;
}

/// Without rules and costs there are none, and guesses.
static egraph_status optimize_device(eg_optimize_call *call, eg_optimized *out) {
  egraph_rules *no_rules = NULL;
  egraph_costs *guesses = NULL;
  eg_host_costs of_guesses;
  egraph_status status = EGRAPH_OK;
  if (call->rules == NULL) status = egraph_rules_create(&call->alloc, &no_rules);
  if (call->rules == NULL) call->rules = no_rules;
  if (status == EGRAPH_OK && call->costs == NULL) {
    status = egraph_costs_create(&call->alloc, NULL, &guesses);
    if (status == EGRAPH_OK) of_guesses = eg_costs_of_host(guesses);
    call->costs = &of_guesses;
  }
  if (status == EGRAPH_OK) status = eg_optimize_device(call, out);
  egraph_costs_destroy(guesses);
  egraph_rules_destroy(no_rules);
  return status;
}

/// A search for pipelines, and where its result goes.
typedef struct stage_call {
  const eg_algorithm *algorithm;
  eg_staged *out;
} stage_call;

static egraph_status search_stages(void *self, const eg_plan_search_input *input) {
  const stage_call *call = self;
  return call->algorithm->stages(input, call->out);
}

/// The report of a search for pipelines: nothing is saturated, and nothing proven.
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

/// The plan of what was made, as an object of its own.
static egraph_status take_plan(egraph_result *result) {
  eg_plan_search *search = &result->made.search;
  bool is_of_device = result->made.optimization != NULL;
  if (!search->has_plan) return EGRAPH_OK;
  search->has_plan = false; // moved
  return eg_planned_create(result->alloc, &search->planned,
                           is_of_device ? INFINITY : search->report.memory_limit,
                           &result->plan);
}

egraph_status egraph_optimize(const egraph_allocator *alloc, const egraph_graph *graph,
                              const egraph_rules *rules, egraph_costs *costs,
                              const egraph_options *options, egraph_result **out) {
  EG_REQUIRE(graph, out);
  egraph_result *result;
  option_groups own;
  eg_host_costs of_host;
  eg_optimize_call call = {.alloc = eg_allocator_or_heap(alloc),
                           .graph = graph,
                           .rules = rules,
                           .kernels = eg_onnx_loaded_types};
  const eg_algorithm *algorithm;
  EG_TRY(take_groups(options, &own, &call));
  EG_TRY(find_algorithm(&own, &algorithm));
  const eg_graph_searcher searcher = {.run = eg_algorithm_optimize, .self = algorithm};
  eg_plan_searcher plan_searcher;
  if (algorithm != NULL && algorithm->graphs != NULL) call.searcher = &searcher;
  if (algorithm != NULL && algorithm->plans != NULL) {
    plan_searcher = eg_algorithm_plan_searcher(algorithm);
    call.plan_searcher = &plan_searcher;
  }
  if (costs != NULL) of_host = eg_costs_of_host(costs);
  if (costs != NULL) call.costs = &of_host;
  EG_TRY(eg_alloc(call.alloc, 1, sizeof *result, &result));
  *result = (egraph_result){.alloc = call.alloc};
  eg_optimized_init(&result->made, call.alloc);
  eg_staged_init(&result->staged, call.alloc);
  stage_call stages = {algorithm, &result->staged};
  const eg_stage_searcher stage_searcher = {search_stages, &stages};
  result->is_staged = algorithm != NULL && algorithm->stages != NULL;
  if (result->is_staged) call.stage_searcher = &stage_searcher;
  egraph_status status = wants_plan(&own.options, &own.search)
                             ? plan(&own, &call, &result->made)
                             : optimize_device(&call, &result->made);
  if (algorithm != NULL) result->made.report.algorithm = algorithm->name;
  if (status == EGRAPH_OK && result->is_staged) report_stages(result, algorithm->name);
  if (status == EGRAPH_OK) status = take_plan(result);
  if (status == EGRAPH_OK)
    *out = result;
  else
    egraph_result_destroy(result);
  return status;
}
