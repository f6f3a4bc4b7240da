// Builds convolution -> batch normalization -> relu through the C API and optimizes it.
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

/// Weights without data are drawn from a seed when a graph runs; optimizing does not need
/// their values.
static egraph_status weight(egraph_graph *graph, const char *name, uint32_t rank,
                            const int64_t *dims, egraph_value *out) {
  return egraph_graph_add_weight(graph, name, EGRAPH_FLOAT32, rank, dims, NULL, out);
}

static egraph_status build(egraph_graph *graph) {
  const int64_t channels = 32;
  const char *statistics[] = {"scale", "shift", "mean", "variance"};
  egraph_value x, w, y, norm[5];
  egraph_status status = egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 4,
                                                (int64_t[]){1, 16, 28, 28}, &x);
  if (status == EGRAPH_OK) status = weight(graph, "w", 4, (int64_t[]){32, 16, 3, 3}, &w);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, "conv", "conv",
                              ":strides [1 1] :pads [1 1 1 1] :dilations [1 1]",
                              (egraph_value[]){x, w}, 2, &norm[0]);
  for (int i = 0; status == EGRAPH_OK && i < 4; i++)
    status = weight(graph, statistics[i], 1, &channels, &norm[i + 1]);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, "bn", "batch-normalization", NULL, norm, 5, &y);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, "relu", "relu", NULL, &y, 1, &y);
  return status == EGRAPH_OK ? egraph_graph_add_output(graph, "y", y) : status;
}

/// Costs are estimated here, not measured: quick, and the same on every machine.
static egraph_status optimize(const egraph_graph *graph, egraph_result **out) {
  egraph_rules *rules = NULL;
  egraph_costs *costs = NULL;
  egraph_costs_options options = {.size = sizeof options, .measure = false};
  egraph_status status = egraph_rules_create(NULL, &rules);
  if (status == EGRAPH_OK) status = egraph_rules_add_builtin(rules);
  if (status == EGRAPH_OK) status = egraph_costs_create(NULL, &options, &costs);
  if (status == EGRAPH_OK) status = egraph_optimize(NULL, graph, rules, costs, NULL, out);
  egraph_costs_destroy(costs);
  egraph_rules_destroy(rules);
  return status;
}

int main(void) {
  egraph_graph *graph = NULL;
  egraph_result *result = NULL;
  egraph_status status = egraph_graph_create(NULL, &graph);
  if (status == EGRAPH_OK) status = build(graph);
  if (status == EGRAPH_OK) status = optimize(graph, &result);
  if (status == EGRAPH_OK) {
    const egraph_report *report = egraph_result_report(result);
    printf("%u operators became %u, %s, extraction %s\n", report->nodes_before,
           report->nodes_after,
           report->cost_after < report->cost_before ? "cheaper" : "as cheap",
           report->status);
  } else {
    fprintf(stderr, "%s\n", egraph_last_error());
  }
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
  return status == EGRAPH_OK ? 0 : 1;
}
