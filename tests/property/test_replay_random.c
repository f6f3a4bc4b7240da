// Explanations of random graphs, optimized under random costs: each is replayed over the
// rules alone, and what it says of another result is refused.
// SPDX-License-Identifier: Apache-2.0
#include "tests/property/replay_kit.h"

typedef struct tally {
  uint64_t steps, rules, constants;
  uint32_t changed;
} tally;

static void fail_with(const egraph_graph *graph, const egraph_graph *result,
                      const char *text, uint64_t seed) {
  char *before, *after;
  print_error("seed %llu: %s\n", (unsigned long long)seed, egraph_last_error());
  assert_ok(egraph_graph_text(NULL, graph, &before));
  assert_ok(egraph_graph_text(NULL, result, &after));
  print_error("%s\nbecame\n%s\nby\n%s\n", before, after, text);
  fail();
}

static void check_seed(const egraph_rules *rules, uint64_t seed, tally *all) {
  egraph_graph *graph = replay_graph(seed, false);
  egraph_result *result = replay_optimize(graph, rules, seed);
  const char *text;
  egraph_replay_report report;
  assert_ok(egraph_result_explanation(result, &text));
  if (egraph_replay(NULL, graph, egraph_result_graph(result), rules, "explanation", text,
                    &report) != EGRAPH_OK)
    fail_with(graph, egraph_result_graph(result), text, seed);
  all->steps += report.steps;
  all->rules += report.rules;
  all->constants += report.constants;
  all->changed += report.steps != 0;
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
}

static void check(bool explores, size_t usual, uint64_t first) {
  uint64_t seed = test_seed(first);
  tally all = {.steps = 0};
  egraph_rules *rules = replay_rules(explores);
  size_t rounds = test_rounds(usual);
  for (size_t round = 0; round < rounds; round++)
    check_seed(rules, seed + round, &all);
  print_message(
      "%llu steps, %llu times a rule, %llu constants, %u of %zu graphs changed\n",
      (unsigned long long)all.steps, (unsigned long long)all.rules,
      (unsigned long long)all.constants, all.changed, rounds);
  assert_true(all.changed * 2 > rounds && all.constants > rounds / 4);
  egraph_rules_destroy(rules);
}

static void optimized_graphs_are_explained(void **state) {
  (void)state;
  check(false, 200, 1);
}

static void all_rules_are_explained(void **state) {
  (void)state;
  check(true, 60, 10001);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(optimized_graphs_are_explained),
                                     cmocka_unit_test(all_rules_are_explained)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
