// Plans of graphs that rules may change, through the public functions: what is reported,
// algebra first, costs from a profile database, wrong options, failing allocations.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <unistd.h>

#include "tests/unit/api_kit.h"

static egraph_rules *rules_of(const egraph_allocator *alloc, const char *text) {
  egraph_rules *rules;
  assert_ok(egraph_rules_create(alloc, &rules));
  egraph_rules_trust(rules, true); // one is unsound
  assert_ok(egraph_rules_add_text(rules, "test.rules", text));
  return rules;
}

static api_problem forward(const egraph_rules *rules) {
  api_problem problem = api_target("host*2", "cpu=2");
  problem.rules = rules;
  return problem;
}

static void rules_change_what_is_planned(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules = rules_of(&kit->alloc, api_fusion_rules);
  api_problem with = forward(rules), without = forward(NULL);
  egraph_result *fused = api_optimize_layer(kit, &with);
  egraph_result *plain = api_optimize_layer(kit, &without);
  egraph_rules_destroy(rules); // results stand alone
  const egraph_report *r = egraph_result_report(fused);
  const egraph_report *s = egraph_result_report(plain);
  assert_string_equal(r->status, "optimal");
  assert_string_equal(r->stop, "saturated");
  assert_int_equal(s->nodes, 4); // x, w, product, relu
  assert_int_equal(s->classes, 4);
  assert_int_equal(r->nodes, 5);
  assert_int_equal(r->classes, 4);
  assert_true(r->iterations >= 1 && s->iterations == 0);
  assert_int_equal(s->nodes_after, 2);
  assert_int_equal(r->nodes_before, 2);
  assert_int_equal(r->nodes_after, 1);
  assert_true(r->cost_after < s->cost_after && r->bound <= r->cost_after);
  egraph_result_destroy(fused);
  egraph_result_destroy(plain);
}

static void limits_of_saturation_are_reported(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules = rules_of(&kit->alloc, api_fusion_rules);
  api_problem problem = forward(rules);
  problem.search.node_limit = 4;
  egraph_result *result = api_optimize_layer(kit, &problem);
  assert_string_equal(egraph_result_report(result)->stop, "node-limit");
  assert_string_equal(egraph_result_report(result)->stop_words,
                      "stopped at its node limit");
  assert_int_equal(egraph_result_report(result)->nodes_after, 2);
  egraph_result_destroy(result);
  egraph_rules_destroy(rules);
}

static void algebra_first_is_no_cheaper(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules;
  assert_ok(egraph_rules_create(&kit->alloc, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  api_problem problem = forward(rules);
  problem.trains = true;
  problem.training.optimizer = "momentum";
  problem.training.loss = "mean-squared-error";
  egraph_result *joint = api_optimize_layer(kit, &problem);
  problem.search.algebra_first = true;
  egraph_result *first = api_optimize_layer(kit, &problem);
  const egraph_report *j = egraph_result_report(joint), *f = egraph_result_report(first);
  assert_string_equal(j->status, "optimal");
  assert_string_equal(f->status, "optimal");
  assert_true(j->cost_after <= f->cost_after * (1 + 1e-9));
  egraph_result_destroy(first);
  egraph_result_destroy(joint);
  egraph_rules_destroy(rules);
}

// ---- profiles -------------------------------------------------------------------

/// More operators than it takes to be believed.
static void profile_operators(api_kit *kit) {
  egraph_costs_options options = {
      .size = sizeof options, .database = kit->path, .measure = true};
  egraph_costs *costs;
  egraph_graph *graph;
  double seconds;
  assert_ok(egraph_costs_create(&kit->alloc, &options, &costs));
  assert_ok(egraph_graph_create(&kit->alloc, &graph));
  for (int64_t i = 1; i <= 20; i++) {
    char name[16];
    egraph_value x;
    (void)snprintf(name, sizeof name, "x%d", (int)i);
    assert_ok(
        egraph_graph_add_input(graph, name, EGRAPH_FLOAT32, 1, (int64_t[]){64 * i}, &x));
    assert_ok(egraph_graph_add(graph, NULL, "relu", NULL, &x, 1, &x));
    assert_ok(egraph_graph_add_output(graph, NULL, x));
  }
  assert_ok(egraph_costs_predict(costs, graph, &seconds));
  egraph_graph_destroy(graph);
  egraph_costs_destroy(costs);
}

/// SQLite leaves these beside a database that was only read.
static void remove_companions(const char *path) {
  static const char *const suffixes[] = {"-wal", "-shm"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    char name[160];
    (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
    (void)remove(name);
  }
}

static double cost_of(api_kit *kit, const api_problem *problem) {
  egraph_result *result = api_optimize_layer(kit, problem);
  double cost = egraph_result_report(result)->cost_after;
  egraph_result_destroy(result);
  return cost;
}

/// Whatever the machine is.
static void a_cost_of_ones_own_holds_for_every_target(void **state) {
  api_kit *kit = *state;
  static const char *const machines[] = {"host*2", "dgx-h100*1"};
  for (size_t i = 0; i < 2; i++) {
    api_problem problem = api_target(machines[i], NULL);
    problem.compare.only = "single-device";
    problem.costs = (egraph_costs_options){.size = sizeof problem.costs,
                                           .override_cost = api_unit_cost};
    double cost = cost_of(kit, &problem);
    assert_true(fabs(cost - 2e-6) <= 1e-15); // product, relu
  }
}

static void a_profile_takes_the_place_of_the_machines_figures(void **state) {
  api_kit *kit = *state;
  (void)snprintf(kit->path, sizeof kit->path, "test_api_plan_rules.%ld.db",
                 (long)getpid());
  profile_operators(kit);
  api_problem problem = forward(NULL);
  double figures = cost_of(kit, &problem);
  problem.costs = (egraph_costs_options){
      .size = sizeof problem.costs, .database = kit->path, .read_only = true};
  double profiled = cost_of(kit, &problem);
  assert_true(profiled > 0 && profiled != figures);
  // Nothing is known of another machine: its figures.
  problem.target.machine = "dgx-h100*1";
  problem.target.mesh = "gpu=8";
  double other = cost_of(kit, &problem);
  problem.costs.size = 0;
  assert_true(other == cost_of(kit, &problem));
  remove_companions(kit->path);
}

// ---- what is wrong ----------------------------------------------------------------

static void wrong_options_fail(void **state) {
  api_kit *kit = *state;
  api_problem problem = forward(NULL);
  problem.search.node_limit = 1e18;
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_ARGUMENT);
  problem = forward(NULL);
  problem.search.iteration_limit = (uint64_t)UINT32_MAX + 1;
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_ARGUMENT);
  problem = forward(NULL);
  problem.search.saturate_time_limit = NAN;
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_ARGUMENT);
  problem = forward(NULL);
  problem.costs = (egraph_costs_options){.size = sizeof problem.costs,
                                         .database = "no/such/folder/profile.db"};
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_IO);
}

static void unsound_rules_are_named(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules =
      rules_of(&kit->alloc, "(egraph-rules 1)\n"
                            "(rule wrong (source \"test\") (lhs (relu ?x))\n"
                            "  (rhs (reduce-sum :axes [0] :keepdims 0 ?x)))\n");
  api_problem problem = forward(rules);
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_TYPE);
  assert_non_null(strstr(egraph_last_error(), "rule wrong"));
  egraph_rules_destroy(rules);
}

static egraph_status everything(egraph_allocator heap, void *user) {
  (void)user;
  const egraph_allocator *alloc = &heap;
  egraph_graph *graph = NULL;
  egraph_rules *rules = NULL;
  egraph_result *joint = NULL, *first = NULL;
  egraph_status status = egraph_graph_create(alloc, &graph);
  if (status == EGRAPH_OK) status = api_build_layer(graph);
  if (status == EGRAPH_OK) status = egraph_rules_create(alloc, &rules);
  if (status == EGRAPH_OK) egraph_rules_trust(rules, true);
  if (status == EGRAPH_OK)
    status = egraph_rules_add_text(rules, "test.rules", api_fusion_rules);
  api_problem problem = forward(rules);
  problem.search.algebra_first = true;
  if (status == EGRAPH_OK) status = api_optimize(alloc, graph, &problem, &first);
  problem.search.algebra_first = false;
  if (status == EGRAPH_OK) status = api_optimize(alloc, graph, &problem, &joint);
  egraph_result_destroy(first);
  egraph_result_destroy(joint);
  egraph_rules_destroy(rules);
  egraph_graph_destroy(graph);
  return status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  test_every_allocation_failing(everything, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(rules_change_what_is_planned),
      api_test(limits_of_saturation_are_reported),
      api_test(algebra_first_is_no_cheaper),
      api_test(a_cost_of_ones_own_holds_for_every_target),
      api_test(a_profile_takes_the_place_of_the_machines_figures),
      api_test(wrong_options_fail),
      api_test(unsound_rules_are_named),
      api_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
