// E-graphs of plain terms as egraph-serialize JSON: any bytes are refused with a reason
// or give a sound e-graph; what it is written as is read again, with as many nodes,
// classes and roots.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/terms/symbolic_file.h"
#include "tests/fuzz/fuzz.h"

static egraph_status parse(const char *text, size_t size, eg_classes *roots,
                           eg_symbolic **out) {
  eg_classes_init(roots, eg_allocator_heap());
  egraph_status status = eg_symbolic_parse_json(NULL, "f", text, size, roots, out);
  if (status != EGRAPH_OK) eg_classes_deinit(roots);
  return status;
}

static void check_sound(const eg_symbolic *symbolic, const eg_classes *roots) {
  const eg_engine *engine = eg_symbolic_engine_of(symbolic);
  FUZZ_CHECK(eg_engine_is_clean(engine));
  FUZZ_CHECK(eg_engine_check(engine) == EGRAPH_OK);
  for (size_t i = 0; i < roots->len; i++) {
    FUZZ_CHECK(eg_engine_has_class(engine, roots->data[i]));
    FUZZ_CHECK(eg_engine_find(engine, roots->data[i]).id == roots->data[i].id);
  }
}

/// Reads what was written, and compares.
static void check_again(const eg_symbolic *symbolic, const eg_classes *roots) {
  const eg_engine *engine = eg_symbolic_engine_of(symbolic);
  eg_text text;
  eg_classes again;
  eg_symbolic *copy;
  eg_text_init(&text, eg_allocator_heap());
  FUZZ_CHECK(eg_symbolic_print_json(symbolic, roots->data, (uint32_t)roots->len, &text) ==
             EGRAPH_OK);
  FUZZ_CHECK(parse(eg_text_of(&text), text.chars.len, &again, &copy) == EGRAPH_OK);
  const eg_engine *other = eg_symbolic_engine_of(copy);
  check_sound(copy, &again);
  FUZZ_CHECK(eg_engine_node_count(other) == eg_engine_node_count(engine));
  FUZZ_CHECK(eg_engine_class_count(other) == eg_engine_class_count(engine));
  FUZZ_CHECK(again.len == roots->len);
  eg_text_deinit(&text);
  eg_symbolic_destroy(copy);
  eg_classes_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_classes roots;
  eg_symbolic *symbolic;
  egraph_status status = parse((const char *)data, size, &roots, &symbolic);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return 0;
  }
  check_sound(symbolic, &roots);
  check_again(symbolic, &roots);
  eg_symbolic_destroy(symbolic);
  eg_classes_deinit(&roots);
  return 0;
}
