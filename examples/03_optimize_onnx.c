// Optimizes an ONNX file, writes the result, runs both graphs and compares their outputs.
//   03_optimize_onnx model.onnx optimized.onnx
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

typedef struct objects {
  egraph_graph *graph;
  egraph_rules *rules;
  egraph_costs *costs;
  egraph_result *result;
} objects;

static egraph_status optimize(objects *o, const char *path) {
  // With a database on disk, operators are measured once per machine.
  egraph_costs_options costs = {
      .size = sizeof costs, .database = "profile.db", .measure = true};
  // The size of the model's symbolic dimension; in a model without a symbolic dimension,
  // the size of the first dimension of every input.
  egraph_load_options load = {.size = sizeof load, .batch = 1};
  egraph_status status = egraph_graph_load(NULL, path, &load, &o->graph);
  if (status == EGRAPH_OK) status = egraph_rules_create(NULL, &o->rules);
  if (status == EGRAPH_OK) status = egraph_rules_add_builtin(o->rules);
  if (status == EGRAPH_OK) status = egraph_costs_create(NULL, &costs, &o->costs);
  if (status == EGRAPH_OK)
    status = egraph_optimize(NULL, o->graph, o->rules, o->costs, NULL, &o->result);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL.onnx OUT.onnx\n", argv[0]);
    return 2;
  }
  objects o = {0};
  egraph_compare_options options = {.size = sizeof options, .repeats = 3, .seed = 1};
  egraph_comparison comparison;
  egraph_status status = optimize(&o, argv[1]);
  if (status == EGRAPH_OK)
    status = egraph_graph_save(egraph_result_graph(o.result), argv[2]);
  if (status == EGRAPH_OK)
    status = egraph_compare(NULL, o.graph, egraph_result_graph(o.result), &options,
                            &comparison);
  if (status == EGRAPH_OK)
    printf("outputs %s\n", comparison.max_error <= 1e-3 ? "agree" : "differ");
  else
    fprintf(stderr, "%s\n", egraph_last_error());
  egraph_result_destroy(o.result);
  egraph_costs_destroy(o.costs);
  egraph_rules_destroy(o.rules);
  egraph_graph_destroy(o.graph);
  return status == EGRAPH_OK ? 0 : 1;
}
