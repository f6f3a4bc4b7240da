// Families of operators: any bytes give an error, or families whose terms of one operator
// can be enumerated, with pairs that are equal at another point or accidents.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/candidates.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_APPLICATIONS = 3000 };

static void check_candidates(eg_term_space *space, const eg_term_pairs *pairs) {
  eg_candidates all;
  eg_candidate_counts counts = {0};
  eg_candidates_init(&all, eg_allocator_heap());
  FUZZ_CHECK(eg_candidates_sift(space, pairs, &all, &counts) == EGRAPH_OK);
  for (size_t i = 0; i < all.len; i++) {
    eg_draft draft;
    FUZZ_CHECK(eg_draft_of(space, all.data[i].left, all.data[i].right, &draft));
    FUZZ_CHECK(eg_draft_list_groups(&draft) == EGRAPH_OK);
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    FUZZ_CHECK(eg_draft_print(&draft, "name", "source", &text) == EGRAPH_OK);
    eg_text_deinit(&text);
  }
  eg_candidates_deinit(&all);
}

static egraph_status enumerate(void *user, const eg_family *family) {
  (void)user;
  const eg_enumeration how = {.threads = 1, .byte_limit = (size_t)1 << 28};
  eg_enumeration_counts counts;
  eg_term_space *space;
  eg_term_pairs pairs;
  if ((uint64_t)family->template_count * family->leaf_count * family->leaf_count >
      MOST_APPLICATIONS)
    return EGRAPH_OK;
  egraph_status status = eg_term_space_create(NULL, family, 1, &space);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return EGRAPH_OK;
  }
  eg_term_pairs_init(&pairs, eg_allocator_heap());
  status = eg_term_space_grow(space, 1, 1, &how, &pairs, &counts);
  if (status == EGRAPH_OK)
    check_candidates(space, &pairs);
  else
    fuzz_check_failure(status);
  eg_term_pairs_deinit(&pairs);
  eg_term_space_destroy(space);
  return EGRAPH_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_arena arena;
  eg_arena_init(&arena, eg_allocator_heap());
  egraph_status status =
      eg_families_read(&arena, "f", (const char *)data, size, enumerate, NULL);
  if (status != EGRAPH_OK) fuzz_check_failure(status);
  eg_arena_deinit(&arena);
  return 0;
}
