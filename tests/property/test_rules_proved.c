// The prover proves none of the planted wrong rules, which the verifier refutes, all of
// their true neighbours, and most rules of XLA's simplifier, which pass the verifier.
// test_rules_planted.c asks it about mutants, test_prove_axioms.c about its axioms.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/prove.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "tests/testing.h"

enum { WRONG = 300, WRONG_PROOFS = 352, TRUE_PROOFS = 90, XLA = 157, XLA_PROVED = 153 };

static eg_rules *load(const char *path) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
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
  static const struct {
    const char *path;
    uint32_t count;
  } files[] = {{EG_SOURCE_DIR "/tests/data/wrong.rules", WRONG},
               {EG_SOURCE_DIR "/tests/data/wrong_constants.rules", 200},
               {EG_SOURCE_DIR "/tests/data/wrong_hidden.rules", 330},
               {EG_SOURCE_DIR "/tests/data/wrong_values.rules", 123},
               {EG_SOURCE_DIR "/tests/data/wrong_edges.rules", 96},
               {EG_SOURCE_DIR "/tests/data/wrong_seldom.rules", 17},
               {EG_SOURCE_DIR "/tests/data/wrong_proofs.rules", WRONG_PROOFS}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    eg_rules *rules = load(files[i].path);
    assert_int_equal(eg_rules_count(rules), files[i].count);
    assert_int_equal(count_proved(rules), 0);
    eg_rules_destroy(rules);
  }
}

static uint32_t count_rejected(const eg_rules *rules) {
  uint32_t rejected = 0;
  const eg_verify_options options = {.seed = test_seed(1),
                                     .instances = EG_VERIFY_INSTANCES};
  assert_ok(eg_rules_verify(rules, &options, NULL, NULL, &rejected));
  return rejected;
}

/// Of constants, masks, types, infinities, zeros, rounding and nothing.
static void rules_that_are_not_to_be_proved_are_wrong(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/wrong_proofs.rules");
  assert_int_equal(count_rejected(rules), WRONG_PROOFS);
  eg_rules_destroy(rules);
}

static void their_true_neighbours_are_proved(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/true_proofs.rules");
  assert_int_equal(eg_rules_count(rules), TRUE_PROOFS);
  assert_int_equal(count_proved(rules), TRUE_PROOFS);
  assert_int_equal(count_rejected(rules), 0);
  eg_rules_destroy(rules);
}

static void rules_of_xla_are_proved_and_pass_the_verifier(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/xla.rules");
  assert_int_equal(eg_rules_count(rules), XLA);
  assert_int_equal(count_rejected(rules), 0);
  assert_true(count_proved(rules) >= XLA_PROVED);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_wrong_rules_are_not_proved),
      cmocka_unit_test(rules_that_are_not_to_be_proved_are_wrong),
      cmocka_unit_test(their_true_neighbours_are_proved),
      cmocka_unit_test(rules_of_xla_are_proved_and_pass_the_verifier),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
