// ONNX models behind the parser: any bytes that are a model are optimized under tight
// limits, written and read back; what was read is sound, and computes what the model
// computed (reference back-end).
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "include/egraph.h"
#include "tests/fuzz/fuzz_models.h"

enum { MOST_NODES = 24, MOST_ELEMENTS = 4096 };

static egraph_rules *rules;
static egraph_costs *costs;

static void set_up(void) {
  const egraph_costs_options options = {.size = sizeof options, .backend = "reference"};
  if (rules != NULL) return;
  FUZZ_CHECK(egraph_rules_create(NULL, &rules) == EGRAPH_OK);
  FUZZ_CHECK(egraph_rules_add_builtin(rules) == EGRAPH_OK);
  FUZZ_CHECK(egraph_costs_create(NULL, &options, &costs) == EGRAPH_OK);
}

static bool is_small(const eg_graph *graph) {
  if (eg_graph_node_count(graph) > MOST_NODES || eg_graph_output_count(graph) == 0)
    return false;
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (!info->typed || eg_type_elements(&info->type) > MOST_ELEMENTS) return false;
  }
  return true;
}

/// Weights of ordinary size: sums of others may differ by all that they are.
static bool is_tame(const eg_graph *graph) {
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (info->type.dtype != EGRAPH_FLOAT32) return false;
    if (info->kind != EG_VALUE_WEIGHT || info->data == NULL) continue;
    const float *data = eg_buffer_data(info->data);
    for (int64_t i = 0; i < eg_type_elements(&info->type); i++)
      if (data[i] != 0 && !(fabsf(data[i]) > 1e-2F && fabsf(data[i]) < 10)) return false;
  }
  return true;
}

/// By one of the searches, NULL: the product's own.
static egraph_result *optimize(const eg_graph *graph, const char *algorithm) {
  egraph_search search = egraph_search_default();
  const egraph_options options = {.size = sizeof options, .search = &search};
  egraph_result *result;
  search.node_limit = 300;
  search.iteration_limit = 3;
  search.rounds = 2;
  search.work_limit = 20;
  search.time_limit = 4;
  search.algorithm = algorithm;
  search.graph_limit = 10;
  egraph_status status = egraph_optimize(NULL, graph, rules, costs, &options, &result);
  if (status == EGRAPH_OK) return result;
  fuzz_check_failure(status);
  return NULL;
}

static void check_equal(const eg_graph *before, const eg_graph *after) {
  const egraph_compare_options options = {.size = sizeof options,
                                          .backend = "reference",
                                          .threads = 1,
                                          .repeats = 1,
                                          .seed = 1};
  egraph_comparison found;
  egraph_status status = egraph_compare(NULL, before, after, &options, &found);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return;
  }
  if (!(found.max_error <= 1e-2)) fprintf(stderr, "error %g\n", found.max_error);
  FUZZ_CHECK(found.max_error <= 1e-2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const algorithms[] = {NULL, "backtracking", "greedy"};
  eg_graph *graph;
  set_up();
  const eg_onnx_import_options options = fuzz_import_options();
  egraph_status status = eg_onnx_parse(NULL, "f", data, size, NULL, &options, &graph);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return 0;
  }
  egraph_result *result = is_small(graph) ? optimize(graph, algorithms[size % 3]) : NULL;
  if (result != NULL) {
    eg_graph *again = fuzz_round_trip(egraph_result_graph(result), &options);
    if (again != NULL && is_tame(graph)) check_equal(graph, again);
    eg_graph_destroy(again);
    egraph_result_destroy(result);
  }
  eg_graph_destroy(graph);
  return 0;
}
