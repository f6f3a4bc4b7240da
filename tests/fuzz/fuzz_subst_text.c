// Files of substitutions: Tensat's texts.
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz_substitutions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_substitutions(eg_subst_read_text, data, size);
}
