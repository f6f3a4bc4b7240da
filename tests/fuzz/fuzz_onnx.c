// ONNX models: any bytes give a graph that passes its checker and prints, or an error.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/onnx.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_graph *graph;
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  options.batch = 2;
  egraph_status status = eg_onnx_parse(NULL, "f", data, size, NULL, &options, &graph);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return 0;
  }
  FUZZ_CHECK(eg_graph_check(graph) == EGRAPH_OK);
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  FUZZ_CHECK(eg_graph_print(graph, &text) == EGRAPH_OK);
  eg_text_deinit(&text);
  eg_graph_destroy(graph);
  return 0;
}
