// Plans in which rules have changed the block that stands for many: unfolded, they pass
// the check, cost about what the folded ones do, and give what one device gives.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_checks.h"
#include "tests/unit/unfold_kit.h"

static eg_rules *shipped_rules(void) {
  static const char *const variants[] = {"explore-algebra", "explore-matmul",
                                         "explore-parallel"};
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    assert_ok(eg_rules_enable(rules, variants[i], true));
  return rules;
}

static void plans_of_blocks_that_rules_have_changed_are_unfolded(void **state) {
  (void)state;
  eg_rng rng = {test_seed(7)};
  eg_rules *rules = shipped_rules();
  uint32_t rewritten = 0;
  for (size_t round = 0; round < 12; round++)
    rewritten += run_round(&rng, unfold_meshes[round % 3], rules);
  print_message("%u nodes made by rules\n", rewritten);
  assert_true(rewritten > 12);
  eg_rules_destroy(rules);
}

/// Weights that are joined are computed ahead, in every block.
static void forward_graphs_that_rules_have_changed_are_unfolded(void **state) {
  (void)state;
  eg_rng rng = {test_seed(8)};
  eg_rules *rules = shipped_rules();
  uint32_t ahead = 0;
  for (size_t round = 0; round < 12; round++)
    ahead += run_forward_round(&rng, unfold_meshes[round % 3], rules);
  print_message("%u nodes computed ahead\n", ahead);
  assert_true(ahead >= 12);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_of_blocks_that_rules_have_changed_are_unfolded),
      cmocka_unit_test(forward_graphs_that_rules_have_changed_are_unfolded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
