// Plain terms: any bytes are rules and terms (a line of three hyphens between them) or
// are refused with a place. Saturation keeps the e-graph sound under limits, and the
// smallest term of a class is a term of that class.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/terms/symbolic.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_TERMS = 8 };
static const char BORDER[] = "\n---\n";

static size_t find_border(const char *text, size_t size) {
  size_t length = sizeof BORDER - 1;
  for (size_t i = 0; i + length <= size; i++)
    if (memcmp(text + i, BORDER, length) == 0) return i;
  return size;
}

static uint32_t add_terms(eg_symbolic *symbolic, const char *text, size_t size,
                          eg_class *classes) {
  uint32_t count = 0;
  while (size != 0 && count < MOST_TERMS) {
    const char *end = memchr(text, '\n', size);
    size_t length = end != NULL ? (size_t)(end - text) : size;
    egraph_status status =
        eg_symbolic_add_term(symbolic, "f", text, length, &classes[count]);
    if (status == EGRAPH_OK)
      count++;
    else
      fuzz_check_failure(status);
    length += end != NULL;
    text += length;
    size -= length;
  }
  return count;
}

static void saturate(eg_symbolic *symbolic) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report;
  options.node_limit = 300;
  options.iteration_limit = 4;
  options.time_limit_seconds = 1;
  options.match_limit = 100;
  egraph_status status = eg_symbolic_saturate(symbolic, &options, &report);
  eg_saturation_report_deinit(&report);
  if (status != EGRAPH_OK) fuzz_check_failure(status);
}

// Its smallest term, added again, is in the class.
static void check_smallest(eg_symbolic *symbolic, eg_class class) {
  eg_engine *engine = eg_symbolic_engine(symbolic);
  eg_text text;
  uint64_t nodes;
  eg_class again;
  eg_text_init(&text, eg_allocator_heap());
  egraph_status status = eg_symbolic_smallest(symbolic, class, &text, &nodes);
  if (status == EGRAPH_OK) {
    FUZZ_CHECK(nodes > 0);
    FUZZ_CHECK(eg_symbolic_add_term(symbolic, "f", eg_text_of(&text), text.chars.len,
                                    &again) == EGRAPH_OK);
    FUZZ_CHECK(eg_engine_find(engine, again).id == eg_engine_find(engine, class).id);
  } else {
    fuzz_check_failure(status);
  }
  eg_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  size_t border = find_border(text, size), after = border + sizeof BORDER - 1;
  eg_symbolic *symbolic;
  eg_class classes[MOST_TERMS];
  if (after > size) after = border = size;
  FUZZ_CHECK(eg_symbolic_create(NULL, &symbolic) == EGRAPH_OK);
  egraph_status status = eg_symbolic_add_rules(symbolic, "f", text, border);
  if (status != EGRAPH_OK) fuzz_check_failure(status);
  uint32_t count = add_terms(symbolic, text + after, size - after, classes);
  saturate(symbolic);
  FUZZ_CHECK(eg_engine_check(eg_symbolic_engine(symbolic)) == EGRAPH_OK);
  for (uint32_t i = 0; i < count; i++)
    check_smallest(symbolic, classes[i]);
  eg_symbolic_destroy(symbolic);
  return 0;
}
