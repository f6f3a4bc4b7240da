// Text graphs: any bytes give an error, or a graph that passes its checker, survives a
// round trip as text and as ONNX, and can be pruned and folded.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "pcg/graph/graph_copy.h"
#include "tests/fuzz/fuzz_models.h"

static void check_round_trip(const eg_graph *graph) {
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  eg_graph *again;
  FUZZ_CHECK(eg_graph_print(graph, &first) == EGRAPH_OK);
  FUZZ_CHECK(eg_graph_parse(NULL, "f", eg_text_of(&first), first.chars.len, &again) ==
             EGRAPH_OK);
  FUZZ_CHECK(eg_graph_print(again, &second) == EGRAPH_OK);
  FUZZ_CHECK(strcmp(eg_text_of(&first), eg_text_of(&second)) == 0);
  eg_graph_destroy(again);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
}

// Copies stay sound. Folding runs the kernels of whatever attributes the file has.
static void check_copies(const eg_graph *graph) {
  enum { MAX_FOLDED_BYTES = 4096 };
  eg_graph *copy;
  FUZZ_CHECK(eg_graph_pruned(graph, &copy) == EGRAPH_OK);
  FUZZ_CHECK(eg_graph_check(copy) == EGRAPH_OK);
  eg_graph_destroy(copy);
  egraph_status status =
      eg_graph_folded(graph, &(eg_fold_options){.max_bytes = MAX_FOLDED_BYTES}, &copy);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return;
  }
  FUZZ_CHECK(eg_graph_check(copy) == EGRAPH_OK);
  eg_graph_destroy(copy);
}

// Whatever was typed as text can be written as ONNX and read back.
static void check_onnx(const eg_graph *graph) {
  eg_graph_destroy(fuzz_round_trip(graph, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_graph *graph;
  egraph_status status = eg_graph_parse(NULL, "f", (const char *)data, size, &graph);
  if (status == EGRAPH_OK) {
    FUZZ_CHECK(eg_graph_check(graph) == EGRAPH_OK);
    check_round_trip(graph);
    check_copies(graph);
    check_onnx(graph);
    eg_graph_destroy(graph);
  } else {
    fuzz_check_failure(status);
  }
  return 0;
}
