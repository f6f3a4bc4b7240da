// S-expressions: any bytes parse or fail with a place, and what parses survives a round
// trip.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/sexpr.h"
#include "tests/fuzz/fuzz.h"

static void print(const eg_sexpr *file, eg_text *text) {
  for (uint32_t i = 0; i < file->count; i++) {
    FUZZ_CHECK(eg_sexpr_print(text, &file->children[i]) == EGRAPH_OK);
    FUZZ_CHECK(eg_text_append(text, "\n") == EGRAPH_OK);
  }
}

static void check_round_trip(eg_arena *arena, const eg_sexpr *file) {
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  print(file, &first);
  eg_sexpr again;
  FUZZ_CHECK(eg_sexpr_parse(arena, "f", eg_text_of(&first), first.chars.len, &again) ==
             EGRAPH_OK);
  print(&again, &second);
  FUZZ_CHECK(strcmp(eg_text_of(&first), eg_text_of(&second)) == 0);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_arena arena;
  eg_arena_init(&arena, eg_allocator_heap());
  eg_sexpr file;
  egraph_status status = eg_sexpr_parse(&arena, "f", (const char *)data, size, &file);
  if (status == EGRAPH_OK)
    check_round_trip(&arena, &file);
  else
    fuzz_check_failure(status);
  eg_arena_deinit(&arena);
  return 0;
}
