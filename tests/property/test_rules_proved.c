// The prover proves none of the planted wrong rules, and most rules of XLA's simplifier,
// which all pass the verifier. test_rules_planted.c asks it about mutants.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/prove/prove.h"
#include "rewrites/rule_files.h"
#include "rewrites/verify/verify.h"
#include "tests/testing.h"

enum { WRONG = 300, XLA = 157, XLA_PROVED = 153 };

static eg_rules *load(const char *path) {
  eg_rules *rules;
  assert_ok(eg_rules_create(NULL, &rules));
  (void)eg_rules_set_verified(rules, false);
  assert_ok(eg_rules_load(rules, path));
  return rules;
}

static bool is_proved(const eg_rule *rule) {
  eg_proof_verdict verdict;
  assert_ok(eg_rule_prove(rule, eg_allocator_heap(), &verdict));
  assert_true(verdict.is_proved == (verdict.reason[0] == '\0'));
  return verdict.is_proved;
}

static uint32_t count_proved(const eg_rules *rules) {
  uint32_t proved = 0;
  for (uint32_t i = 0; i < eg_rules_count(rules); i++)
    proved += is_proved(eg_rules_at(rules, i));
  return proved;
}

static void planted_wrong_rules_are_not_proved(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/wrong.rules");
  assert_int_equal(eg_rules_count(rules), WRONG);
  assert_int_equal(count_proved(rules), 0);
  eg_rules_destroy(rules);
}

static void rules_of_xla_are_proved_and_pass_the_verifier(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/xla.rules");
  uint32_t rejected = 0;
  const eg_verify_options options = {.seed = test_seed(1),
                                     .instances = EG_VERIFY_INSTANCES};
  assert_int_equal(eg_rules_count(rules), XLA);
  assert_ok(eg_rules_verify(rules, &options, NULL, NULL, &rejected));
  assert_int_equal(rejected, 0);
  assert_true(count_proved(rules) >= XLA_PROVED);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_wrong_rules_are_not_proved),
      cmocka_unit_test(rules_of_xla_are_proved_and_pass_the_verifier),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
