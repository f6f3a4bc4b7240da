// What fuzz targets of ONNX models share: import, and the way through a file.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_FUZZ_MODELS_H
#define EG_TESTS_FUZZ_MODELS_H

#include "onnx/onnx.h"
#include "tests/fuzz/fuzz.h"

/// Options of models from outside.
static inline eg_onnx_import_options fuzz_import_options(void) {
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  options.batch = 2;
  options.draws_weights = true;
  return options;
}

/// Imports what export makes of a graph, which must be sound; NULL when it cannot be
/// exported.
static inline eg_graph *fuzz_round_trip(const eg_graph *graph,
                                        const eg_onnx_import_options *options) {
  unsigned char *bytes;
  size_t size;
  eg_graph *again;
  egraph_status status = eg_onnx_pack(graph, &bytes, &size);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return NULL;
  }
  status = eg_onnx_parse(NULL, "f", bytes, size, NULL, options, &again);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  FUZZ_CHECK(status == EGRAPH_OK);
  FUZZ_CHECK(eg_graph_check(again) == EGRAPH_OK);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  return again;
}

#endif
