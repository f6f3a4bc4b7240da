// ONNX models: any bytes give an error, or a graph that passes its checker, prints, and
// can be exported; what was exported reads back and then stays the same.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "tests/fuzz/fuzz_models.h"

static void print(const eg_graph *graph, eg_text *out) {
  eg_text_init(out, eg_allocator_heap());
  FUZZ_CHECK(eg_graph_print(graph, out) == EGRAPH_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_graph *graph;
  const eg_onnx_import_options options = fuzz_import_options();
  egraph_status status = eg_onnx_parse(NULL, "f", data, size, NULL, &options, &graph);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return 0;
  }
  FUZZ_CHECK(eg_graph_check(graph) == EGRAPH_OK);
  eg_graph *second = fuzz_round_trip(graph, &options), *third = NULL;
  if (second != NULL) third = fuzz_round_trip(second, &options);
  if (third != NULL) {
    eg_text before, after;
    print(second, &before);
    print(third, &after);
    FUZZ_CHECK(strcmp(eg_text_of(&before), eg_text_of(&after)) == 0);
    eg_text_deinit(&after);
    eg_text_deinit(&before);
  }
  eg_graph_destroy(third);
  eg_graph_destroy(second);
  eg_graph_destroy(graph);
  return 0;
}
