// Rule files: any bytes load or fail with a place; what loads prints, and the print loads
// as the same rules.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/rules.h"
#include "tests/fuzz/fuzz.h"

static eg_rules *create(void) {
  eg_rules *rules;
  FUZZ_CHECK(eg_rules_create(NULL, &rules) == EGRAPH_OK);
  return rules;
}

static void check_round_trip(const eg_rules *rules) {
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  FUZZ_CHECK(eg_rules_print(rules, &first) == EGRAPH_OK);
  eg_rules *again = create();
  FUZZ_CHECK(eg_rules_parse(again, "f", eg_text_of(&first), first.chars.len) ==
             EGRAPH_OK);
  FUZZ_CHECK(eg_rules_count(again) == eg_rules_count(rules));
  FUZZ_CHECK(eg_rules_print(again, &second) == EGRAPH_OK);
  FUZZ_CHECK(strcmp(eg_text_of(&first), eg_text_of(&second)) == 0);
  eg_rules_destroy(again);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_rules *rules = create();
  egraph_status status = eg_rules_parse(rules, "f", (const char *)data, size);
  if (status == EGRAPH_OK) {
    check_round_trip(rules);
  } else {
    fuzz_check_failure(status);
    FUZZ_CHECK(eg_rules_count(rules) == 0); // all or nothing
  }
  eg_rules_destroy(rules);
  return 0;
}
