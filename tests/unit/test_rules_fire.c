// Every rule fires: on an instance of its left side, saturation with that rule alone adds
// nodes or unites classes.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_draw.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/saturation/saturate.h"
#include "tests/testing.h"

static bool only_rule(void *user, uint32_t rule) {
  return rule == *(const uint32_t *)user;
}

// One iteration of the rule on the e-graph that holds the instance.
static bool fires_on(const eg_rules *rules, uint32_t rule, eg_tensor_egraph *egraph) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.iteration_limit = 1;
  options.math = EGRAPH_MATH_FAST;
  options.scheduler = EG_SCHEDULER_SIMPLE;
  options.use_rule = only_rule;
  options.use_rule_user = &rule;
  eg_saturation_report report;
  assert_ok(eg_saturate(egraph, rules, &options, &report));
  bool fired = report.rules[rule].nodes > 0 || report.rules[rule].unions > 0;
  assert_ok(eg_engine_check(eg_tensor_egraph_engine(egraph)));
  eg_saturation_report_deinit(&report);
  return fired;
}

static bool fires(const eg_rules *rules, uint32_t rule, uint64_t seed) {
  eg_verify_draws *draws;
  assert_ok(eg_verify_draws_create(NULL, eg_rules_at(rules, rule), seed, &draws));
  bool found, typed, fired = false;
  eg_verify_instance instance;
  for (uint32_t i = 0; i < 20000 && !fired; i++) {
    assert_ok(eg_verify_draw(draws, &found, &typed, &instance));
    // A result without elements or the like may be there already: go on then.
    if (found && typed) fired = fires_on(rules, rule, instance.egraph);
  }
  eg_verify_draws_destroy(draws);
  return fired;
}

static void every_rule_fires(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  uint64_t seed = test_seed(11);
  uint32_t silent = 0;
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    bool enabled = eg_rules_at(rules, i)->enabled;
    assert_ok(eg_rules_enable(rules, eg_rule_name(rules, i), true));
    if (!fires(rules, i, seed)) {
      printf("rule %s never fires\n", eg_rule_name(rules, i));
      silent++;
    }
    assert_ok(eg_rules_enable(rules, eg_rule_name(rules, i), enabled));
  }
  printf("%u rules fire\n", eg_rules_count(rules) - silent);
  assert_int_equal(silent, 0);
  eg_rules_destroy(rules);
}

static void there_are_at_least_120_rules(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  uint32_t forms = 0, used = 0;
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    assert_true(strlen(rule->source) > 0);
    forms += !rule->reversed;
    used += !rule->reversed && rule->enabled;
  }
  printf("%u rules, %u of them on by default\n", forms, used);
  assert_true(used >= 120);
  eg_rules_destroy(rules);
}

static void exploring_rules_are_off_until_switched_on(void **state) {
  (void)state;
  eg_rules *rules;
  uint32_t rule;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  assert_true(eg_rules_find(rules, "add-assoc", &rule));
  assert_false(eg_rules_at(rules, rule)->enabled);
  assert_ok(eg_rules_enable(rules, "explore-algebra", true));
  assert_true(eg_rules_at(rules, rule)->enabled);
  assert_true(eg_rules_find(rules, "add-commute", &rule));
  assert_true(eg_rules_at(rules, rule)->enabled);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_are_at_least_120_rules),
      cmocka_unit_test(exploring_rules_are_off_until_switched_on),
      cmocka_unit_test(every_rule_fires),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
