// Public functions of the result of an optimization.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/arguments.h"
#include "api/objects.h"
#include "base/text.h"
#include "pcg/plan/plan_words.h"

void egraph_result_destroy(egraph_result *result) {
  if (result == NULL) return;
  egraph_plan_destroy(result->plan);
  eg_optimized_deinit(&result->made);
  eg_staged_deinit(&result->staged);
  eg_free(result->alloc, result, 1, sizeof *result);
}

const egraph_report *egraph_result_report(const egraph_result *result) {
  return result != NULL ? &result->made.report : NULL;
}

const egraph_graph *egraph_result_graph(const egraph_result *result) {
  if (result == NULL) return NULL;
  if (result->plan != NULL) return result->plan->planned.graph;
  return result->made.optimization != NULL ? result->made.optimization->graph : NULL;
}

static bool is_unpriced(const eg_graph *graph, uint32_t node) {
  return eg_graph_node_at(graph, (eg_graph_node){node}).attrs->op == EG_OP_OPAQUE &&
         eg_graph_opaque_estimate(graph, (eg_graph_node){node}).bytes > 0;
}

/// Counts the unpriced nodes before `end` that have the operator.
static uint32_t count_unpriced(const eg_graph *graph, const char *name, uint32_t end) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < end; n++)
    count += is_unpriced(graph, n) &&
             strcmp(eg_graph_opaque_type(graph, (eg_graph_node){n}), name) == 0;
  return count;
}

uint32_t egraph_result_unpriced(const egraph_result *result, uint32_t index,
                                const char **out_operator) {
  const eg_graph *graph = egraph_result_graph(result);
  uint32_t nodes = graph != NULL ? eg_graph_node_count(graph) : 0, kinds = 0;
  for (uint32_t n = 0; n < nodes; n++) {
    if (!is_unpriced(graph, n)) continue;
    const char *name = eg_graph_opaque_type(graph, (eg_graph_node){n});
    if (count_unpriced(graph, name, n) != 0 || kinds++ != index) continue;
    if (out_operator != NULL) *out_operator = name;
    return count_unpriced(graph, name, nodes);
  }
  return 0;
}

// ---- the plan -------------------------------------------------------------------

const egraph_plan *egraph_result_plan(const egraph_result *result) {
  return result != NULL ? result->plan : NULL;
}

static egraph_status fail_without_plan(const egraph_result *result) {
  const char *why = eg_text_of(&result->made.no_plan);
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%s",
                 why[0] != '\0' ? why : "the plan was taken from this result before");
}

egraph_status egraph_result_take_plan(egraph_result *result, egraph_plan **out) {
  EG_REQUIRE(result, out);
  if (result->plan == NULL) return fail_without_plan(result);
  *out = result->plan;
  result->plan = NULL;
  return EGRAPH_OK;
}

egraph_status egraph_result_certificate(const egraph_result *result, const char **out) {
  EG_REQUIRE(result, out);
  if (result->made.report.uncertified != NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s", result->made.report.uncertified);
  if (!result->made.search.is_certified)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no certificate: none was asked for (egraph_search.certify), "
                   "or there is no plan");
  *out = eg_text_of(&result->made.search.certificate);
  return EGRAPH_OK;
}

egraph_status egraph_result_explanation(const egraph_result *result, const char **out) {
  EG_REQUIRE(result, out);
  const eg_optimization *of = result->made.optimization;
  const char *text = of != NULL ? eg_text_of(&of->explanation) : "";
  if (*text == '\0')
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no explanation: none was asked for (egraph_search.explain)");
  *out = text;
  return EGRAPH_OK;
}

// ---- pipelines ------------------------------------------------------------------

egraph_status egraph_result_stages(const egraph_allocator *alloc,
                                   const egraph_result *result, egraph_stages_form form,
                                   char **out) {
  EG_REQUIRE(result, out);
  if (!result->is_staged)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the search was for no pipelines; name an algorithm that finds stages "
                   "(egraph_search.algorithm)");
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  EG_TRY(form == EGRAPH_STAGES_JSON
             ? eg_staged_write_json(&text, &result->staged)
             : eg_staged_print(&text, &result->staged, form == EGRAPH_STAGES_ALL));
  return eg_text_take(&text, out);
}

// ---- rules ----------------------------------------------------------------------

uint32_t egraph_result_rule_count(const egraph_result *result) {
  bool has_rules = result != NULL && result->made.optimization != NULL;
  return has_rules ? result->made.optimization->saturation.rule_count : 0;
}

egraph_rule_report egraph_result_rule(const egraph_result *result, uint32_t index) {
  if (index >= egraph_result_rule_count(result))
    return (egraph_rule_report){.name = NULL};
  const eg_rule_stats *stats = &result->made.optimization->saturation.rules[index];
  return (egraph_rule_report){.name = result->made.optimization->rule_names[index],
                              .matches = stats->matches,
                              .rejected = stats->rejected,
                              .nodes = stats->nodes,
                              .unions = stats->unions,
                              .bans = stats->bans,
                              .seconds = stats->seconds};
}

// ---- explanation ----------------------------------------------------------------

static const char *reason_name(const eg_optimization *result, uint32_t reason) {
  if (reason == EG_REASON_SEED) return "original";
  if (reason == EG_REORDER) return "change of memory format";
  return reason < result->saturation.rule_count ? result->rule_names[reason]
                                                : "congruence";
}

egraph_origin egraph_result_origin(const egraph_result *result, egraph_node node) {
  const eg_optimization *of = result != NULL ? result->made.optimization : NULL;
  const eg_graph *graph = egraph_result_graph(result);
  if (of == NULL || graph == NULL || node.id >= eg_graph_node_count(graph))
    return (egraph_origin){.made_by = NULL};
  eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){node.id});
  eg_origin origin = {.reason = EG_REASON_SEED};
  uint32_t index;
  if (info.result_count != 0 &&
      eg_strmap_find(&of->emission.origin_of,
                     eg_graph_value(graph, info.results[0])->name, &index))
    origin = of->emission.origins.data[index];
  return (egraph_origin){reason_name(of, origin.reason), origin.seconds};
}

static egraph_status explain_node(const egraph_result *result, const eg_graph *graph,
                                  eg_graph_node node, eg_text *text) {
  eg_graph_node_info info = eg_graph_node_at(graph, node);
  if (info.result_count == 0) return EGRAPH_OK;
  const eg_value_info *value = eg_graph_value(graph, info.results[0]);
  egraph_origin origin = egraph_result_origin(result, (egraph_node){node.id});
  EG_LOCAL(eg_text, seconds, text->chars.alloc);
  EG_TRY(eg_text_seconds(&seconds, origin.seconds));
  EG_TRY(eg_text_print_names(text, "%13s  %-20s  %-32s  %s  ", eg_text_of(&seconds),
                             egraph_node_operator(graph, (egraph_node){node.id}),
                             origin.made_by, value->name));
  if (value->typed) EG_TRY(eg_type_print(text, &value->type));
  return eg_text_append(text, "\n");
}

egraph_status egraph_result_explain(const egraph_allocator *alloc,
                                    const egraph_result *result, char **out) {
  EG_REQUIRE(result, out);
  const egraph_graph *graph = egraph_result_graph(result);
  if (graph == NULL) return fail_without_plan(result);
  if (result->made.optimization == NULL)
    return egraph_plan_print(alloc, result->plan, false, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  (void)eg_text_printf(&text, "%13s  %-20s  %-32s  %s\n", "cost", "operator", "made by",
                       "value");
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++)
    EG_TRY(explain_node(result, graph, (eg_graph_node){i}, &text));
  return eg_text_take(&text, out);
}
