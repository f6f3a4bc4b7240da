// Sets the costs of operators: every operator costs a microsecond, and a separate GELU
// more. A fused GELU is part of an operator that still costs a microsecond.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "egraph.h"

static bool one_microsecond_each(void *user, const egraph_cost_query *query,
                                 double *out_seconds) {
  double gelu_seconds = *(const double *)user;
  *out_seconds = strcmp(query->op, "gelu") == 0 ? gelu_seconds : 1e-6;
  return true;
}

static egraph_status build(egraph_graph *graph) {
  egraph_value x, w, y;
  egraph_status status =
      egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){8, 16}, &x);
  if (status == EGRAPH_OK)
    status = egraph_graph_add_weight(graph, "w", EGRAPH_FLOAT32, 2, (int64_t[]){16, 32},
                                     NULL, &w);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, NULL, "matmul", NULL, (egraph_value[]){x, w}, 2, &y);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, NULL, "gelu", NULL, &y, 1, &y);
  return status == EGRAPH_OK ? egraph_graph_add_output(graph, "y", y) : status;
}

static egraph_status show(const egraph_graph *graph, const egraph_rules *rules,
                          double gelu_seconds) {
  egraph_costs_options options = {.size = sizeof options,
                                  .override_cost = one_microsecond_each,
                                  .user = &gelu_seconds};
  egraph_costs *costs = NULL;
  egraph_result *result = NULL;
  egraph_status status = egraph_costs_create(NULL, &options, &costs);
  if (status == EGRAPH_OK)
    status = egraph_optimize(NULL, graph, rules, costs, NULL, &result);
  if (status == EGRAPH_OK) {
    const egraph_report *report = egraph_result_report(result);
    printf("gelu at %.0f us: %.0f us -> %.0f us\n", 1e6 * gelu_seconds,
           1e6 * report->cost_before, 1e6 * report->cost_after);
  }
  egraph_result_destroy(result);
  egraph_costs_destroy(costs);
  return status;
}

int main(void) {
  egraph_graph *graph = NULL;
  egraph_rules *rules = NULL;
  egraph_status status = egraph_graph_create(NULL, &graph);
  if (status == EGRAPH_OK) status = build(graph);
  if (status == EGRAPH_OK) status = egraph_rules_create(NULL, &rules);
  if (status == EGRAPH_OK) status = egraph_rules_add_builtin(rules);
  if (status == EGRAPH_OK) status = show(graph, rules, 1e-6);
  if (status == EGRAPH_OK) status = show(graph, rules, 10e-6);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_rules_destroy(rules);
  egraph_graph_destroy(graph);
  return status == EGRAPH_OK ? 0 : 1;
}
