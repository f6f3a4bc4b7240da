// Unity's substitutions: any bytes are refused with a reason, or give rules; those that
// have a meaning are written as rules that parse.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rules.h"
#include "rewrites/rule_files.h"
#include "rewrites/import/unity_text.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_RULES = 64 };

static void check_text(const eg_unity_rule *rule, uint32_t number, eg_unity_axes axes) {
  eg_text text;
  eg_rules *rules;
  bool fits;
  eg_text_init(&text, eg_allocator_heap());
  FUZZ_CHECK(eg_unity_write(rule, number, EGRAPH_MATH_FAST, axes, number, &text, &fits) ==
             EGRAPH_OK);
  FUZZ_CHECK(eg_rules_create(NULL, &rules) == EGRAPH_OK);
  if (fits) {
    egraph_status status = eg_rules_parse(rules, "f", eg_text_of(&text), text.chars.len);
    if (status != EGRAPH_OK) fuzz_check_failure(status); // no rule of this language
  }
  eg_rules_destroy(rules);
  eg_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_unity_file file = {.at = data, .end = data + size, .name = "f"};
  for (uint32_t number = 0; number < MOST_RULES; number++) {
    eg_unity_rule rule;
    bool any;
    egraph_status status = eg_unity_file_next(&file, &any, &rule);
    if (status != EGRAPH_OK) {
      fuzz_check_failure(status);
      return 0;
    }
    FUZZ_CHECK(file.at <= file.end);
    if (!any) return 0;
    if (eg_unity_fault(&rule) != NULL) continue;
    check_text(&rule, number, EG_UNITY_ONE_AXIS);
    check_text(&rule, number, EG_UNITY_BY_DIMENSION);
    if (eg_unity_parallel_count(&rule) <= 8) check_text(&rule, number, EG_UNITY_TWO_AXES);
  }
  return 0;
}
