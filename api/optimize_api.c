// Public functions of costs, and the one of optimization. egraph_costs joins the cost
// model with the profiler that feeds it: the only place where planning and execution
// meet.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "api/machine_profile.h"
#include "api/optimize_plan.h"
#include "api/option_structs.h"
#include "api/require.h"
#include "base/proof.h"
#include "optimize/price/machine_costs.h"
#include "optimize/price/plan_price.h"
#include "optimize/price/predict.h"
#include "pcg/plan/plan_single.h"

// ---- costs ----------------------------------------------------------------------

bool eg_costs_override(void *user, const eg_node_spec *spec, double *out) {
  egraph_costs *costs = user;
  eg_text text;
  eg_text_init(&text, costs->alloc);
  bool overridden = false;
  if (eg_node_spec_print(&text, spec) == EGRAPH_OK) {
    egraph_cost_query query = {.op = eg_op_info_of((eg_op)spec->attrs->op)->name,
                               .text = eg_text_of(&text),
                               .flops = eg_node_spec_flops(spec),
                               .bytes = eg_node_spec_bytes(spec)};
    overridden = costs->options.override_cost(costs->options.user, &query, out);
  }
  eg_text_deinit(&text);
  return overridden;
}

// The strings of the options are the caller's: they are copied.
static egraph_status open_costs(egraph_costs *costs, const egraph_costs_options *o) {
  eg_profiler_options profiler = EG_PROFILER_OPTIONS_DEFAULT;
  EG_TRY(eg_text_append(&costs->backend,
                        o->backend != NULL ? o->backend : profiler.backend));
  costs->options = *o;
  if (o->database != NULL) {
    EG_TRY(eg_text_append(&costs->database, o->database));
    costs->options.database = eg_text_of(&costs->database);
  }
  costs->options.backend = profiler.backend = eg_text_of(&costs->backend);
  if (o->threads != 0) profiler.threads = o->threads;
  EG_TRY(eg_profiler_create(&costs->alloc, &profiler, &costs->profiler));
  EG_TRY(eg_profiler_machine(costs->profiler, &costs->machine));
  eg_cost_options options = {.database = o->database,
                             .machine = eg_text_of(&costs->machine),
                             .read_only = o->read_only,
                             .again = o->again,
                             .override_cost =
                                 o->override_cost != NULL ? eg_costs_override : NULL,
                             .user = costs,
                             .formats = eg_profiler_formats(costs->profiler)};
  return eg_cost_model_create(&costs->alloc, &options, &costs->model);
}

egraph_status egraph_costs_create(const egraph_allocator *alloc,
                                  const egraph_costs_options *options,
                                  egraph_costs **out) {
  EG_REQUIRE(out);
  egraph_costs_options own;
  EG_TRY(eg_options_take(EGRAPH_COSTS_OPTIONS, options, &own));
  egraph_costs *costs;
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_TRY(eg_alloc(heap, 1, sizeof *costs, &costs));
  *costs = (egraph_costs){.alloc = heap};
  eg_text_init(&costs->backend, heap);
  eg_text_init(&costs->machine, heap);
  eg_text_init(&costs->database, heap);
  egraph_status status = open_costs(costs, &own);
  if (status != EGRAPH_OK)
    egraph_costs_destroy(costs);
  else
    *out = costs;
  return status;
}

void egraph_costs_destroy(egraph_costs *costs) {
  if (costs == NULL) return;
  eg_cost_model_destroy(costs->model);
  eg_profiler_destroy(costs->profiler);
  eg_text_deinit(&costs->backend);
  eg_text_deinit(&costs->machine);
  eg_text_deinit(&costs->database);
  eg_free(costs->alloc, costs, 1, sizeof *costs);
}

const char *egraph_costs_machine(const egraph_costs *costs) {
  return costs != NULL ? eg_text_of(&costs->machine) : NULL;
}

egraph_status egraph_costs_entries(egraph_costs *costs, uint32_t *out) {
  EG_REQUIRE(costs, out);
  uint32_t unsupported;
  return eg_cost_counts(costs->model, out, &unsupported);
}

static eg_measurer measurer_of(const egraph_costs *costs) {
  return (eg_measurer){.measure = eg_profiler_measure, .self = costs->profiler};
}

egraph_status egraph_costs_predict(egraph_costs *costs, const egraph_graph *graph,
                                   double *out_seconds) {
  EG_REQUIRE(costs, graph, out_seconds);
  if (costs->options.measure) {
    eg_measurer measurer = measurer_of(costs);
    EG_TRY(eg_graph_request_costs(graph, costs->alloc, costs->model));
    EG_TRY(eg_cost_measure(costs->model, &measurer, costs->options.progress,
                           costs->options.user));
  }
  return eg_graph_predict(graph, costs->alloc, costs->model, out_seconds);
}

typedef struct cost_visit {
  egraph_costs *costs;
  const egraph_graph *graph;
  egraph_status (*each)(void *user, const egraph_cost_entry *entry);
  void *user;
  eg_text text;
} cost_visit;

static egraph_status visit_cost(void *user, eg_graph_node node,
                                const eg_node_spec *spec) {
  static const char *const sources[] = {[EG_COST_USER] = "given",
                                        [EG_COST_MEASURED] = "measured",
                                        [EG_COST_ESTIMATED] = "estimated",
                                        [EG_COST_FREE] = "free"};
  cost_visit *v = user;
  eg_cost_source source;
  eg_evidence evidence;
  egraph_cost_entry entry = {.node = ""};
  eg_graph_node_info info = eg_graph_node_at(v->graph, node);
  if (info.result_count != 0)
    entry.node = eg_graph_value(v->graph, info.results[0])->name;
  eg_text_clear(&v->text);
  EG_TRY(eg_node_spec_print(&v->text, spec));
  EG_TRY(eg_cost_seconds(v->costs->model, spec, &entry.seconds, &source));
  EG_TRY(eg_cost_evidence(v->costs->model, spec, &evidence));
  entry.text = eg_text_of(&v->text);
  entry.source = sources[source];
  entry.samples = evidence.samples;
  entry.spread = evidence.spread;
  entry.load = evidence.load;
  entry.date = evidence.date;
  return v->each(v->user, &entry);
}

egraph_status egraph_costs_visit(egraph_costs *costs, const egraph_graph *graph,
                                 egraph_status (*each)(void *user,
                                                       const egraph_cost_entry *entry),
                                 void *user) {
  EG_REQUIRE(costs, graph);
  EG_REQUIRE_CALL(each);
  cost_visit v = {.costs = costs, .graph = graph, .each = each, .user = user};
  eg_text_init(&v.text, costs->alloc);
  egraph_status status = eg_graph_visit_specs(graph, costs->alloc, visit_cost, &v);
  eg_text_deinit(&v.text);
  return status;
}

// ---- one device -----------------------------------------------------------------

/// The plan that runs the optimized graph on one device: the costs of its steps are those
/// that the graph was chosen by.
static egraph_status plan_single(const eg_optimize_call *call, egraph_result *result) {
  static const eg_machine_mesh single = {.mesh = {.axis_count = 0}};
  eg_loaded_plan made = {.graph = result->optimization->graph};
  eg_machine host;
  EG_TRY(eg_machine_load(&call->alloc, "host*1", &host));
  eg_machine_costs costs = {.device = {.machine = &host, .model = call->costs->model},
                            .mesh = &single};
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  eg_plan_init(&made.plan, call->alloc);
  egraph_status status = eg_plan_of_graph(made.graph, &made.plan);
  if (status == EGRAPH_OK) status = eg_plan_price(&made.plan, call->alloc, &asked);
  eg_machine_deinit(&host);
  if (status != EGRAPH_OK) {
    eg_plan_deinit(&made.plan);
    return status;
  }
  result->optimization->graph = NULL; // moved
  return eg_planned_create(call->alloc, &made, INFINITY, &result->plan);
}

/// A graph that no plan can be of, with open dimensions or operators of unknown type, is
/// a result all the same.
static egraph_status plan_if_possible(const eg_optimize_call *call,
                                      egraph_result *result) {
  if (eg_optimize_check_plannable(result->optimization->graph) != EGRAPH_OK)
    return eg_text_append(&result->no_plan, egraph_last_error());
  EG_TRY(plan_single(call, result));
  return eg_proof_check_equal("plan of the optimized graph", result->report.cost_after,
                              result->plan->info.cost);
}

static egraph_status optimize_graph(const eg_optimize_call *call, egraph_result *result) {
  egraph_costs *costs = call->costs;
  eg_measurer measurer = measurer_of(costs);
  const eg_optimizer_input input = {.graph = call->graph,
                                    .rules = call->rules,
                                    .costs = costs->model,
                                    .measurer = costs->options.measure ? &measurer : NULL,
                                    .measure_progress = costs->options.progress,
                                    .measure_user = costs->options.user,
                                    .formats = eg_profiler_formats(costs->profiler),
                                    .search = call->search,
                                    .progress = call->progress,
                                    .user = call->user};
  EG_TRY(eg_optimizer_run(call->alloc, &input, &result->optimization));
  result->report = result->optimization->report;
  return plan_if_possible(call, result);
}

/// Without rules and costs there are none, and guesses.
static egraph_status optimize_device(eg_optimize_call *call, egraph_result *result) {
  egraph_rules *no_rules = NULL;
  egraph_costs *guesses = NULL;
  egraph_status status = EGRAPH_OK;
  if (call->rules == NULL) status = egraph_rules_create(&call->alloc, &no_rules);
  if (call->rules == NULL) call->rules = no_rules;
  if (status == EGRAPH_OK && call->costs == NULL)
    status = egraph_costs_create(&call->alloc, NULL, &guesses);
  if (call->costs == NULL) call->costs = guesses;
  if (status == EGRAPH_OK) status = optimize_graph(call, result);
  egraph_costs_destroy(guesses);
  egraph_rules_destroy(no_rules);
  return status;
}

// ---- the door -------------------------------------------------------------------

/// The groups of the options, complete.
typedef struct option_groups {
  egraph_options options;
  egraph_target target;
  egraph_training training;
  egraph_search search;
  egraph_constraints constraints;
  egraph_baselines compare;
} option_groups;

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
  call->training = o->training != NULL ? &own->training : NULL;
  call->search = &own->search;
  call->constraints = o->constraints != NULL ? &own->constraints : NULL;
  call->compare = o->compare != NULL ? &own->compare : NULL;
  call->progress = o->progress;
  call->user = o->user;
  return eg_search_check(&own->search);
}

/// Whether there is more to choose than a graph: what ties, memory, phases and moves say.
static bool wants_plan(const eg_optimize_call *call) {
  return call->target != NULL || call->training != NULL || call->constraints != NULL ||
         call->compare != NULL || call->search->certify;
}

egraph_status egraph_optimize(const egraph_allocator *alloc, const egraph_graph *graph,
                              const egraph_rules *rules, egraph_costs *costs,
                              const egraph_options *options, egraph_result **out) {
  EG_REQUIRE(graph, out);
  egraph_result *result;
  option_groups own;
  eg_optimize_call call = {.alloc = eg_allocator_or_heap(alloc),
                           .graph = graph,
                           .rules = rules,
                           .costs = costs};
  EG_TRY(take_groups(options, &own, &call));
  EG_TRY(eg_alloc(call.alloc, 1, sizeof *result, &result));
  *result = (egraph_result){.alloc = call.alloc};
  eg_plan_search_init(&result->search, call.alloc);
  eg_text_init(&result->no_plan, call.alloc);
  egraph_status status = wants_plan(&call) ? eg_optimize_plan(&call, result)
                                           : optimize_device(&call, result);
  if (status == EGRAPH_OK)
    *out = result;
  else
    egraph_result_destroy(result);
  return status;
}
