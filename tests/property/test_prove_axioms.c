// What the prover takes for true of numbers is true of special ones, too: each of its
// axioms is a rule in tests/data/axioms.rules, of the lowest class that it holds in. In
// whatever class the prover proves one, it holds there for every choice of special values
// in all element types.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/prove.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/property/special_values.h"

static eg_rules *load(const char *path) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  (void)eg_rules_set_verified(rules, false);
  assert_ok(eg_rules_load(rules, path));
  return rules;
}

static bool is_proved(const eg_rule *rule, egraph_math math) {
  eg_rule as = *rule;
  as.math = math;
  eg_proof_verdict verdict;
  assert_ok(eg_rule_prove(&as, eg_allocator_heap(), &verdict));
  return verdict.is_proved;
}

/// Of all types: counts those that the rule speaks of.
static uint32_t count_types(const eg_rule *rule, egraph_math math, bool *out_holds) {
  uint32_t typed = 0;
  *out_holds = true;
  for (int d = 0; d < EGRAPH_DTYPE_COUNT; d++) {
    char where[200] = "";
    special_verdict verdict = special_evaluate(rule, math, (egraph_dtype)d, where);
    assert_int_not_equal(verdict, SPECIAL_UNKNOWN);
    typed += verdict != SPECIAL_UNTYPED;
    if (verdict == SPECIAL_FAILS) printf("class %d: %s\n", (int)math, where);
    *out_holds = *out_holds && verdict != SPECIAL_FAILS;
  }
  return typed;
}

static void axioms_are_proved_and_hold_on_special_values(void **state) {
  (void)state;
  static const egraph_math classes[] = {EGRAPH_MATH_EXACT, EGRAPH_MATH_ASSOCIATIVE,
                                        EGRAPH_MATH_FAST};
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/axioms.rules");
  uint32_t failed = 0;
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    bool holds;
    if (!is_proved(rule, rule->math)) {
      printf("%s is not proved\n", rule->name);
      failed++;
    }
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
      if (!is_proved(rule, classes[c])) continue;
      assert_true(count_types(rule, classes[c], &holds) != 0);
      failed += !holds;
    }
  }
  assert_int_equal(failed, 0);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axioms_are_proved_and_hold_on_special_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
