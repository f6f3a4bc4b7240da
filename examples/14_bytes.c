// Uses models and plans without files: writes a graph as ONNX to memory and reads it
// back, writes a plan as JSON to memory and reads it back, and walks the copies.
//
//   14_bytes
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

#include <inttypes.h>
#include <string.h>

static const char model[] = "(egraph-graph 1)\n"
                            "(input x \"float32[64,32]\")\n"
                            "(weight w \"float32[32,16]\")\n"
                            "(let h (matmul x w)) (let y (relu h))\n"
                            "(output y)\n";

/// Prints the operators on the path from an output back to the first input.
static void print_way_back(const egraph_graph *graph) {
  egraph_value value = egraph_graph_output_value(graph, 0);
  egraph_node node;
  uint32_t result;
  while (egraph_value_producer(graph, value, &node, &result)) {
    printf("%s is result %" PRIu32 " of %" PRIu32 " of %s '%s'\n",
           egraph_value_name(graph, value), result, egraph_node_result_count(graph, node),
           egraph_node_operator(graph, node), egraph_node_name(graph, node));
    value = egraph_node_operand(graph, node, 0);
  }
  bool is_first = value.id == egraph_graph_input_value(graph, 0).id;
  printf("%s is %s; the graph has %" PRIu32 " values\n", egraph_value_name(graph, value),
         egraph_value_kind_of(graph, value) == EGRAPH_VALUE_INPUT && is_first
             ? "the first input"
             : "no input",
         egraph_graph_value_count(graph));
}

static egraph_status copy_graph(const egraph_graph *graph, egraph_graph **out) {
  void *bytes = NULL;
  size_t size = 0;
  egraph_status status = egraph_graph_pack(NULL, graph, &bytes, &size);
  if (status == EGRAPH_OK)
    status = egraph_graph_parse(NULL, "copy.onnx", bytes, size, NULL, out);
  egraph_bytes_free(NULL, bytes, size);
  return status;
}

static void find_fullest_step(void *user, uint32_t step, double bytes) {
  double *most = user;
  if (bytes > most[0]) most[0] = bytes, most[1] = step;
}

static egraph_status print_fullest_step(const egraph_plan *plan) {
  double most[2] = {0, 0};
  egraph_node node;
  egraph_status status = egraph_plan_visit_memory(plan, find_fullest_step, most);
  uint32_t step = (uint32_t)most[1];
  if (status == EGRAPH_OK)
    printf("a device holds most, %.0f bytes, in a step that is %s; %" PRIu32
           " values enter the next step\n",
           most[0], egraph_plan_step_node(plan, step, &node) ? "a node" : "a move",
           egraph_plan_carried_count(plan));
  return status;
}

static egraph_status copy_plan(const egraph_plan *plan) {
  char *text = NULL;
  egraph_plan *copy = NULL;
  egraph_status status = egraph_plan_pack(NULL, plan, &text);
  if (status == EGRAPH_OK)
    status = egraph_plan_parse(NULL, "copy.json", text, strlen(text), &copy);
  if (status == EGRAPH_OK) status = print_fullest_step(copy);
  egraph_string_free(NULL, text);
  egraph_plan_destroy(copy);
  return status;
}

static egraph_status plan_training(const egraph_graph *graph) {
  egraph_target target = egraph_target_default();
  egraph_training training = egraph_training_default();
  egraph_options options = egraph_options_default();
  egraph_result *result = NULL;
  target.machine = "dgx-h100";
  training.loss = "mean-squared-error";
  options.target = &target;
  options.training = &training;
  egraph_status status = egraph_optimize(NULL, graph, NULL, NULL, &options, &result);
  if (status == EGRAPH_OK && egraph_result_plan(result) != NULL)
    status = copy_plan(egraph_result_plan(result));
  egraph_result_destroy(result);
  return status;
}

static egraph_status print_model(const egraph_graph *graph) {
  egraph_costs *costs = NULL;
  char *text = NULL;
  double seconds = 0;
  egraph_status status = egraph_graph_text(NULL, graph, &text);
  if (status == EGRAPH_OK) status = egraph_costs_create(NULL, NULL, &costs);
  if (status == EGRAPH_OK) status = egraph_costs_predict(costs, graph, &seconds);
  if (status == EGRAPH_OK)
    printf("%s, predicted to take %s\n",
           strstr(text, "matmul") != NULL ? "a product" : "no product",
           seconds > 0 ? "some time" : "no time");
  egraph_string_free(NULL, text);
  egraph_costs_destroy(costs);
  return status;
}

static egraph_status walk_copies(const egraph_graph *graph) {
  egraph_graph *copy = NULL;
  egraph_status status = copy_graph(graph, &copy);
  if (status == EGRAPH_OK) {
    print_way_back(copy);
    status = print_model(copy);
  }
  if (status == EGRAPH_OK) status = plan_training(copy);
  egraph_graph_destroy(copy);
  return status;
}

int main(void) {
  egraph_graph *graph = NULL;
  egraph_load_options options = egraph_load_options_default();
  options.draw_weights = true;
  egraph_status status =
      egraph_graph_parse(NULL, "model.egraph", model, strlen(model), &options, &graph);
  if (status == EGRAPH_OK) status = walk_copies(graph);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_graph_destroy(graph);
  return status == EGRAPH_OK ? 0 : 1;
}
