// The checker of certificates: any bytes are verified or refused with a reason. The input
// is the text of a problem, a line of three hyphens, and a certificate.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/check_certificate/certificate.h"

static const char BORDER[] = "\n---\n";

static size_t find_border(const uint8_t *data, size_t size) {
  size_t length = sizeof BORDER - 1;
  for (size_t i = 0; i + length <= size; i++)
    if (memcmp(data + i, BORDER, length) == 0) return i;
  return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t border = find_border(data, size), after = border + sizeof BORDER - 1;
  refusal why = {.text = ""};
  input problem, in;
  verdict found;
  if (after > size) after = border = size;
  FUZZ_CHECK(input_open_bytes(&problem, "p", (const char *)data, border, &why));
  FUZZ_CHECK(input_open_bytes(&in, "c", (const char *)data + after, size - after, &why));
  bool accepted = certificate_run_on(&in, &problem, &found);
  FUZZ_CHECK(accepted == (why.text[0] == '\0'));
  input_close(&in);
  input_close(&problem);
  return 0;
}
