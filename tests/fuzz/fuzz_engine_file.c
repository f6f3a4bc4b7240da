// Binary files of engines and of e-graphs of plain terms: any bytes are refused with a
// reason or give a sound e-graph, which can be saved again and goes on working. The
// checksum is set right first: it would end every other attempt at once.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "egraph/engine_file.h"
#include "rewrites/terms/symbolic_file.h"
#include "tests/fuzz/fuzz.h"

static void use(eg_engine *engine) {
  eg_class class, limit = {eg_engine_class_limit(engine)};
  bool changed;
  FUZZ_CHECK(eg_engine_is_clean(engine));
  FUZZ_CHECK(eg_engine_check(engine) == EGRAPH_OK);
  eg_term leaf = {.op = 1};
  FUZZ_CHECK(eg_engine_add(engine, &leaf, 0, &class) == EGRAPH_OK);
  for (eg_class c = eg_engine_first(engine); c.id < limit.id && c.id < 64;
       c = eg_engine_next(engine, c)) {
    eg_term term = {.op = 0, .arity = 1, .children = &c};
    eg_class added;
    FUZZ_CHECK(eg_engine_add(engine, &term, 0, &added) == EGRAPH_OK);
    if (c.id % 3 == 0)
      FUZZ_CHECK(eg_engine_unite(engine, class, c, 0, &changed) == EGRAPH_OK);
  }
  FUZZ_CHECK(eg_engine_rebuild(engine) == EGRAPH_OK);
  FUZZ_CHECK(eg_engine_check(engine) == EGRAPH_OK);
}

static void try_engine(const char *bytes, size_t size) {
  eg_chunk_reader reader;
  eg_engine *engine;
  egraph_status status =
      eg_chunks_open_bytes(&reader, "f", bytes, size, EG_ENGINE_FILE_KIND);
  if (status == EGRAPH_OK)
    status = eg_engine_get(&reader, eg_allocator_heap(), NULL, &engine);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return;
  }
  use(engine);
  eg_engine_destroy(engine);
}

static void try_terms(const char *bytes, size_t size) {
  eg_chunk_reader reader;
  eg_symbolic *symbolic;
  eg_text rules;
  eg_text_init(&rules, eg_allocator_heap());
  egraph_status status =
      eg_chunks_open_bytes(&reader, "f", bytes, size, EG_SYMBOLIC_FILE_KIND);
  if (status == EGRAPH_OK)
    status = eg_symbolic_get(&reader, eg_allocator_heap(), &rules, &symbolic);
  if (status == EGRAPH_OK) {
    status = eg_symbolic_add_rules(symbolic, "f", eg_text_of(&rules), rules.chars.len);
    if (status != EGRAPH_OK) fuzz_check_failure(status);
    use(eg_symbolic_engine(symbolic));
    eg_symbolic_destroy(symbolic);
  } else {
    fuzz_check_failure(status);
  }
  eg_text_deinit(&rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 8) {
    try_engine((const char *)data, size);
    return 0;
  }
  char *bytes = malloc(size);
  FUZZ_CHECK(bytes != NULL);
  memcpy(bytes, data, size);
  uint64_t sum = eg_chunks_checksum(bytes, size);
  memcpy(bytes + size - sizeof sum, &sum, sizeof sum);
  try_engine(bytes, size);
  try_terms(bytes, size);
  free(bytes);
  return 0;
}
