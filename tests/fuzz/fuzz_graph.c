// Text graphs: any bytes give a graph that passes its checker and a round trip, or an
// error.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "pcg/graph.h"
#include "tests/fuzz/fuzz.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_graph *graph;
  egraph_status status = eg_graph_parse(NULL, "f", (const char *)data, size, &graph);
  if (status == EGRAPH_OK) {
    FUZZ_CHECK(eg_graph_check(graph) == EGRAPH_OK);
    check_round_trip(graph);
    eg_graph_destroy(graph);
  } else {
    fuzz_check_failure(status);
  }
  return 0;
}
