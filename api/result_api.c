// Public functions of the result of an optimization.
// SPDX-License-Identifier: Apache-2.0
#include "api/require.h"
#include "optimize/optimizer.h"

const egraph_report *egraph_result_report(const egraph_result *result) {
  return result != NULL ? &result->report : NULL;
}

const egraph_graph *egraph_result_graph(const egraph_result *result) {
  return result != NULL ? result->graph : NULL;
}

uint32_t egraph_result_rule_count(const egraph_result *result) {
  return result != NULL ? result->saturation.rule_count : 0;
}

egraph_rule_report egraph_result_rule(const egraph_result *result, uint32_t index) {
  if (index >= egraph_result_rule_count(result))
    return (egraph_rule_report){.name = NULL};
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
                        egraph_node_operator(result->graph, (egraph_node){node.id}),
                        reason_name(result, origin.reason), value->name));
  if (value->typed) EG_TRY(eg_type_print(text, &value->type));
  return eg_text_append(text, "\n");
}

egraph_status egraph_result_explain(const egraph_allocator *alloc,
                                    const egraph_result *result, char **out) {
  EG_REQUIRE(result, out);
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
