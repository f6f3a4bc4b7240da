// What fuzz targets share. Each fuzz_<name>.c defines LLVMFuzzerTestOneInput; with clang
// and EGRAPH_FUZZ it becomes a libFuzzer program, otherwise replay.c runs the corpus
// through it as a normal test.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_FUZZ_H
#define EG_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Ends the program with a message, also in builds without assertions.
#define FUZZ_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                    \
      abort();                                                                           \
    }                                                                                    \
  } while (0)

/// A failure must name its reason, and none may be an internal error.
static inline void fuzz_check_failure(egraph_status status) {
  FUZZ_CHECK(status != EGRAPH_OK && status != EGRAPH_E_INTERNAL);
  FUZZ_CHECK(egraph_last_error()[0] != '\0');
}

#endif
