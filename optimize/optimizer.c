// SPDX-License-Identifier: Apache-2.0
#include "optimize/optimizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "optimize/predict.h"

// ---- options --------------------------------------------------------------------

egraph_options egraph_options_default(void) {
#define EGRAPH_OPTION(type, name, initial, low, high, help) .name = (type)(initial),
  return (egraph_options){
#include "include/egraph_options.def"
      .extractor = "ilp", .scheduler = "backoff"};
}

static egraph_status check_range(const char *name, double value, double low,
                                 double high) {
  if (value >= low && value <= high) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "option %s is %g; it must lie between %g and %g",
                 name, value, low, high);
}

static bool find_extractor(const char *name, eg_extract_method *out) {
#define METHOD(id, spelling, text)                                                       \
  if (strcmp(name, spelling) == 0) {                                                     \
    *out = id;                                                                           \
    return true;                                                                         \
  }
  EG_EXTRACT_METHOD_LIST(METHOD)
#undef METHOD
  return false;
}

egraph_status eg_options_check(const egraph_options *options) {
#define EGRAPH_OPTION(type, name, initial, low, high, help)                              \
  EG_TRY(check_range(#name, (double)options->name, low, high));
#include "include/egraph_options.def"
  eg_extract_method method;
  if (options->extractor == NULL || !find_extractor(options->extractor, &method))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "unknown extractor '%s'; use ilp, dag or tree",
                   options->extractor == NULL ? "" : options->extractor);
  eg_scheduler scheduler;
  return eg_scheduler_find(options->scheduler, &scheduler);
}

// ---- phases ---------------------------------------------------------------------

typedef struct run {
  const eg_optimizer_input *input;
  const egraph_options *options;
  egraph_allocator alloc;
  egraph_result *result;
  eg_tensor_egraph *egraph;
  eg_expansion expansion;
  bool expanded;
  eg_extract_result extraction;
  bool cancelled;
} run;

static bool report_progress(run *r, const char *phase, const char *line) {
  if (!r->cancelled && r->options->progress != NULL)
    r->cancelled = r->options->progress(r->options->user, phase, line);
  return r->cancelled;
}

static bool on_saturate(void *user, uint32_t iteration, uint32_t nodes,
                        uint32_t classes) {
  char line[96];
  (void)snprintf(line, sizeof line,
                 "iteration %" PRIu32 ": %" PRIu32 " nodes, %" PRIu32 " classes",
                 iteration, nodes, classes);
  return report_progress(user, "saturate", line);
}

static egraph_status saturate(run *r) {
  const egraph_options *o = r->options;
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.node_limit = o->node_limit > UINT32_MAX ? UINT32_MAX : (uint32_t)o->node_limit;
  options.iteration_limit = (uint32_t)o->iteration_limit;
  options.time_limit_seconds = o->time_limit;
  options.byte_limit = (size_t)o->byte_limit;
  options.threads = (uint32_t)o->threads;
  options.progress = on_saturate;
  options.user = r;
  EG_TRY(eg_scheduler_find(o->scheduler, &options.scheduler));
  EG_TRY(eg_tensor_egraph_create(&r->alloc, r->input->graph, &r->egraph));
  EG_TRY(eg_saturate(r->egraph, r->input->rules, &options, &r->result->saturation));
  const eg_saturation_report *saturation = &r->result->saturation;
  egraph_report *report = &r->result->report;
  report->stop = eg_stop_name(saturation->stop);
  report->iterations = saturation->iterations;
  report->nodes = saturation->nodes;
  report->classes = saturation->classes;
  report->saturate_seconds = saturation->seconds;
  return EGRAPH_OK;
}

static bool on_measure(void *user, uint32_t done, uint32_t total) {
  run *r = user;
  if (r->input->measure_progress != NULL &&
      r->input->measure_progress(r->input->measure_user, done, total))
    return true;
  char line[64];
  (void)snprintf(line, sizeof line, "%" PRIu32 " of %" PRIu32 " operators measured", done,
                 total);
  return report_progress(r, "profile", line);
}

static egraph_status price(run *r) {
  double start = eg_clock_seconds();
  uint32_t formats = r->options->formats ? r->input->formats : 0;
  eg_cost_model *costs = r->input->costs;
  EG_TRY(eg_expansion_init(&r->expansion, r->alloc, r->egraph, costs, formats));
  r->expanded = true;
  EG_TRY(eg_graph_request_costs(r->input->graph, r->alloc, costs));
  uint32_t requested = eg_cost_requested(costs);
  char line[64];
  (void)snprintf(line, sizeof line, "%" PRIu32 " operators without a measured cost",
                 requested);
  if (!report_progress(r, "profile", line) && r->input->measurer != NULL) {
    EG_TRY(eg_cost_measure(costs, r->input->measurer, on_measure, r));
    r->result->report.measured = requested - eg_cost_requested(costs);
  }
  EG_TRY(eg_expansion_price(&r->expansion, r->egraph, costs));
  EG_TRY(
      eg_graph_predict(r->input->graph, r->alloc, costs, &r->result->report.cost_before));
  r->result->report.profile_seconds = eg_clock_seconds() - start;
  return EGRAPH_OK;
}

static bool on_extract(void *user, double cost, double bound, double seconds) {
  char line[96];
  (void)snprintf(line, sizeof line, "cost %.6g, bound %.6g after %.1f s", cost, bound,
                 seconds);
  return report_progress(user, "extract", line);
}

static egraph_status solve(run *r, const uint32_t *incumbent) {
  const egraph_options *o = r->options;
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  (void)find_extractor(o->extractor, &options.method);
  options.time_limit_seconds = o->extract_time_limit > 0 ? o->extract_time_limit : 1e-9;
  options.relative_gap = o->relative_gap;
  options.seed = o->seed;
  options.threads = (uint32_t)o->threads;
  options.incumbent = incumbent;
  options.progress = on_extract;
  options.user = r;
  EG_TRY(eg_extract_solve(r->alloc, &r->expansion.problem, &options, &r->extraction));
  if (r->extraction.status == EG_EXTRACT_INFEASIBLE)
    return EG_FAIL(EGRAPH_E_INTERNAL,
                   "the extractor found no graph, not even the original");
  return EGRAPH_OK;
}

static egraph_status extract(run *r) {
  uint32_t *incumbent;
  uint32_t count = r->expansion.problem.class_count;
  char line[64];
  (void)snprintf(line, sizeof line, "choosing among %zu variants",
                 r->expansion.variants.len);
  (void)report_progress(r, "extract", line);
  EG_TRY(eg_alloc(r->alloc, count, sizeof *incumbent, &incumbent));
  egraph_status status = eg_expansion_original(&r->expansion, r->egraph, incumbent);
  if (status == EGRAPH_OK) status = solve(r, incumbent);
  eg_free(r->alloc, incumbent, count, sizeof *incumbent);
  EG_TRY(status);
  egraph_report *report = &r->result->report;
  report->bound = r->extraction.bound;
  report->gap = r->extraction.gap;
  report->status = r->extraction.status == EG_EXTRACT_OPTIMAL ? "optimal" : "feasible";
  report->tree_cost = r->extraction.tree_cost;
  report->dag_cost = r->extraction.dag_cost;
  report->extract_seconds = r->extraction.seconds;
  return EGRAPH_OK;
}

static uint32_t count_running_nodes(const eg_graph *graph, const bool *weight_only) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++) {
    eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){i});
    count += info.result_count == 0 || !weight_only[info.results[0].id];
  }
  return count;
}

static egraph_status running_nodes(egraph_allocator alloc, const eg_graph *graph,
                                   uint32_t *out) {
  bool *weight_only;
  uint32_t values = eg_graph_value_count(graph);
  EG_TRY(eg_alloc(alloc, values, sizeof *weight_only, &weight_only));
  egraph_status status = eg_graph_weight_only(graph, weight_only);
  if (status == EGRAPH_OK) *out = count_running_nodes(graph, weight_only);
  eg_free(alloc, weight_only, values, sizeof *weight_only);
  return status;
}

/// Weights that can be computed now are; what only absent weights need
/// stays for the load.
static egraph_status finish_graph(run *r) {
  eg_graph *folded;
  EG_TRY(eg_graph_folded(r->result->emission.graph, (size_t)r->options->fold_bytes,
                         &folded));
  egraph_status status = eg_graph_pruned(folded, &r->result->graph);
  eg_graph_destroy(folded);
  EG_TRY(status);
  eg_graph_destroy(r->result->emission.graph);
  r->result->emission.graph = NULL;
  return EGRAPH_OK;
}

static egraph_status note_original(void *user, eg_graph_node node,
                                   const eg_node_spec *spec) {
  const run *r = user;
  eg_emission *emission = &r->result->emission;
  eg_origin origin = {.reason = EG_REASON_SEED};
  EG_TRY(eg_cost_seconds(r->input->costs, spec, &origin.seconds, &origin.source));
  eg_graph_node_info info = eg_graph_node_at(r->result->graph, node);
  if (info.result_count == 0) return EGRAPH_OK;
  EG_TRY(eg_strmap_put(&emission->origin_of,
                       eg_graph_value(r->result->graph, info.results[0])->name,
                       (uint32_t)emission->origins.len));
  return eg_origins_push(&emission->origins, origin);
}

/// An input that already carries memory formats can be cheaper than everything
/// the search reached.
static egraph_status keep_original(run *r) {
  eg_emission *emission = &r->result->emission;
  eg_graph_destroy(r->result->graph);
  r->result->graph = NULL;
  r->result->report.cost_after = r->result->report.cost_before;
  EG_TRY(eg_graph_pruned(r->input->graph, &r->result->graph));
  eg_emission_deinit(emission);
  eg_strmap_init(&emission->origin_of, r->alloc);
  eg_origins_init(&emission->origins, r->alloc);
  return eg_graph_visit_specs(r->result->graph, r->alloc, note_original, r);
}

static egraph_status emit(run *r) {
  egraph_report *report = &r->result->report;
  EG_TRY(eg_emission_init(&r->result->emission, r->alloc, r->egraph, &r->expansion,
                          r->extraction.choice.data));
  EG_TRY(finish_graph(r));
  EG_TRY(
      eg_graph_predict(r->result->graph, r->alloc, r->input->costs, &report->cost_after));
  if (report->cost_after > report->cost_before) EG_TRY(keep_original(r));
  EG_TRY(running_nodes(r->alloc, r->input->graph, &report->nodes_before));
  return running_nodes(r->alloc, r->result->graph, &report->nodes_after);
}

static egraph_status copy_rule_names(run *r) {
  egraph_result *result = r->result;
  uint32_t count = result->saturation.rule_count;
  EG_TRY(eg_alloc(r->alloc, count, sizeof *result->rule_names, &result->rule_names));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_string_copy(r->alloc, eg_rule_name(r->input->rules, i),
                          &result->rule_names[i]));
  return EGRAPH_OK;
}

static egraph_status run_phases(run *r) {
  EG_TRY(saturate(r));
  EG_TRY(copy_rule_names(r));
  EG_TRY(price(r));
  EG_TRY(extract(r));
  return emit(r);
}

egraph_status eg_optimizer_run(egraph_allocator alloc, const eg_optimizer_input *input,
                               egraph_result **out) {
  EG_TRY(eg_options_check(input->options));
  double start = eg_clock_seconds();
  run r = {.input = input, .options = input->options, .alloc = alloc};
  EG_TRY(eg_alloc(alloc, 1, sizeof *r.result, &r.result));
  r.result->alloc = alloc;
  eg_extract_result_init(&r.extraction, alloc);
  egraph_status status = run_phases(&r);
  eg_extract_result_deinit(&r.extraction);
  if (r.expanded) eg_expansion_deinit(&r.expansion);
  eg_tensor_egraph_destroy(r.egraph);
  if (status != EGRAPH_OK) {
    egraph_result_destroy(r.result);
    return status;
  }
  if (r.cancelled) r.result->report.stop = eg_stop_name(EG_STOP_CANCELLED);
  r.result->report.total_seconds = eg_clock_seconds() - start;
  *out = r.result;
  return EGRAPH_OK;
}

// ---- the result -----------------------------------------------------------------

void egraph_result_destroy(egraph_result *result) {
  if (result == NULL) return;
  uint32_t count = result->saturation.rule_count;
  for (uint32_t i = 0; result->rule_names != NULL && i < count; i++)
    eg_string_free(result->alloc, result->rule_names[i]);
  eg_free(result->alloc, result->rule_names, count, sizeof *result->rule_names);
  eg_saturation_report_deinit(&result->saturation);
  eg_emission_deinit(&result->emission);
  eg_graph_destroy(result->graph);
  eg_free(result->alloc, result, 1, sizeof *result);
}

const egraph_report *egraph_result_report(const egraph_result *result) {
  return &result->report;
}

const egraph_graph *egraph_result_graph(const egraph_result *result) {
  return result->graph;
}

uint32_t egraph_result_rule_count(const egraph_result *result) {
  return result->saturation.rule_count;
}

egraph_rule_report egraph_result_rule(const egraph_result *result, uint32_t index) {
  const eg_rule_stats *stats = &result->saturation.rules[index];
  return (egraph_rule_report){.name = result->rule_names[index],
                              .matches = stats->matches,
                              .rejected = stats->rejected,
                              .nodes = stats->nodes,
                              .unions = stats->unions,
                              .bans = stats->bans,
                              .seconds = stats->seconds};
}

static const char *reason_name(const egraph_result *result, uint32_t reason) {
  if (reason == EG_REASON_SEED) return "original";
  if (reason == EG_REORDER) return "change of memory format";
  return reason < result->saturation.rule_count ? result->rule_names[reason]
                                                : "congruence";
}

static egraph_status explain_node(const egraph_result *result, eg_graph_node node,
                                  eg_text *text) {
  eg_graph_node_info info = eg_graph_node_at(result->graph, node);
  if (info.result_count == 0) return EGRAPH_OK;
  const eg_value_info *value = eg_graph_value(result->graph, info.results[0]);
  uint32_t index;
  eg_origin origin = {.reason = EG_REASON_SEED};
  if (eg_strmap_find(&result->emission.origin_of, value->name, &index))
    origin = result->emission.origins.data[index];
  EG_TRY(eg_text_printf(text, "%10.3f us  %-20s  %-32s  %s  ", 1e6 * origin.seconds,
                        eg_op_info_of((eg_op)info.attrs->op)->name,
                        reason_name(result, origin.reason), value->name));
  if (value->typed) EG_TRY(eg_type_print(text, &value->type));
  return eg_text_append(text, "\n");
}

egraph_status egraph_result_explain(const egraph_allocator *alloc,
                                    const egraph_result *result, char **out) {
  eg_text text;
  eg_text_init(&text, eg_allocator_or_heap(alloc));
  egraph_status status = eg_text_printf(&text, "%13s  %-20s  %-32s  %s\n", "cost",
                                        "operator", "made by", "value");
  for (uint32_t i = 0; status == EGRAPH_OK && i < eg_graph_node_count(result->graph); i++)
    status = explain_node(result, (eg_graph_node){i}, &text);
  if (status == EGRAPH_OK) status = eg_text_take(&text, out);
  eg_text_deinit(&text);
  return status;
}
