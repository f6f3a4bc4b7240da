// ONNX models: any bytes give an error, or a graph that passes its checker, prints, and
// can be exported; what was exported reads back and then stays the same.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "pcg/onnx.h"
#include "tests/fuzz/fuzz.h"

static egraph_status import(const void *data, size_t size, eg_graph **out) {
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  options.batch = 2;
  options.draws_weights = true;
  return eg_onnx_parse(NULL, "f", data, size, NULL, &options, out);
}

static void print(const eg_graph *graph, eg_text *out) {
  eg_text_init(out, eg_allocator_heap());
  FUZZ_CHECK(eg_graph_print(graph, out) == EGRAPH_OK);
}

// Imports what export makes of a graph; NULL when it cannot be exported.
static eg_graph *round_trip(const eg_graph *graph) {
  unsigned char *bytes;
  size_t size;
  eg_graph *again;
  egraph_status status = eg_onnx_pack(graph, &bytes, &size);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return NULL;
  }
  status = import(bytes, size, &again);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  FUZZ_CHECK(status == EGRAPH_OK);
  FUZZ_CHECK(eg_graph_check(again) == EGRAPH_OK);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_graph *graph;
  egraph_status status = import(data, size, &graph);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return 0;
  }
  FUZZ_CHECK(eg_graph_check(graph) == EGRAPH_OK);
  eg_graph *second = round_trip(graph), *third = NULL;
  if (second != NULL) third = round_trip(second);
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
