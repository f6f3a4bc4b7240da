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

static egraph_plan_options forward(const egraph_rules *rules) {
  egraph_plan_options options = egraph_plan_options_default();
  options.machine = "host*2";
  options.mesh = "cpu=2";
  options.rules = rules;
  return options;
}

static egraph_plan *make(api_kit *kit, const egraph_plan_options *options) {
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_plan *plan;
  assert_ok(egraph_plan_create(&kit->alloc, graph, options, &plan));
  egraph_graph_destroy(graph);
  return plan;
}

static void rules_change_what_is_planned(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules = rules_of(&kit->alloc, api_fusion_rules);
  egraph_plan_options with = forward(rules), without = forward(NULL);
  egraph_plan *fused = make(kit, &with), *plain = make(kit, &without);
  egraph_rules_destroy(rules); // the plan stands alone
  const egraph_plan_report *r = egraph_plan_report_of(fused);
  const egraph_plan_report *s = egraph_plan_report_of(plain);
  assert_string_equal(r->status, "optimal");
  assert_string_equal(r->stop, "saturated");
  assert_int_equal(s->egraph_nodes, 4); // x, w, product, relu
  assert_int_equal(s->egraph_classes, 4);
  assert_int_equal(r->egraph_nodes, 5);
  assert_int_equal(r->egraph_classes, 4);
  assert_true(r->iterations >= 1 && s->iterations == 0);
  assert_int_equal(s->nodes, 2);
  assert_int_equal(r->nodes, 1);
  assert_true(r->cost < s->cost && r->bound <= r->cost);
  egraph_plan_destroy(fused);
  egraph_plan_destroy(plain);
}

static void limits_of_saturation_are_reported(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules = rules_of(&kit->alloc, api_fusion_rules);
  egraph_plan_options options = forward(rules);
  options.node_limit = 4;
  egraph_plan *plan = make(kit, &options);
  assert_string_equal(egraph_plan_report_of(plan)->stop, "node-limit");
  assert_int_equal(egraph_plan_report_of(plan)->nodes, 2);
  egraph_plan_destroy(plan);
  egraph_rules_destroy(rules);
}

static void algebra_first_is_no_cheaper(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules;
  assert_ok(egraph_rules_create(&kit->alloc, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  egraph_plan_options options = forward(rules);
  options.optimizer = "momentum";
  options.loss = "mean-squared-error";
  egraph_plan *joint = make(kit, &options);
  options.algebra_first = true;
  egraph_plan *first = make(kit, &options);
  assert_string_equal(egraph_plan_report_of(joint)->status, "optimal");
  assert_string_equal(egraph_plan_report_of(first)->status, "optimal");
  assert_true(egraph_plan_report_of(joint)->cost <=
              egraph_plan_report_of(first)->cost * (1 + 1e-9));
  egraph_plan_destroy(first);
  egraph_plan_destroy(joint);
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

static void a_profile_takes_the_place_of_the_machines_figures(void **state) {
  api_kit *kit = *state;
  (void)snprintf(kit->path, sizeof kit->path, "test_api_plan_rules.%ld.db",
                 (long)getpid());
  profile_operators(kit);
  egraph_plan_options options = forward(NULL);
  egraph_plan *figures = make(kit, &options);
  options.database = kit->path;
  egraph_plan *profiled = make(kit, &options);
  assert_true(egraph_plan_report_of(profiled)->cost > 0);
  assert_true(egraph_plan_report_of(profiled)->cost !=
              egraph_plan_report_of(figures)->cost);
  egraph_plan_destroy(profiled);
  // Nothing is known of another machine: its figures.
  options.machine = "dgx-h100*1";
  options.mesh = "gpu=8";
  egraph_plan *other = make(kit, &options);
  options.database = NULL;
  egraph_plan *same = make(kit, &options);
  assert_true(egraph_plan_report_of(other)->cost == egraph_plan_report_of(same)->cost);
  egraph_plan_destroy(same);
  egraph_plan_destroy(other);
  egraph_plan_destroy(figures);
  remove_companions(kit->path);
}

// ---- what is wrong ----------------------------------------------------------------

static egraph_status create_with(api_kit *kit, const egraph_plan_options *options) {
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_plan *plan = NULL;
  egraph_status status = egraph_plan_create(&kit->alloc, graph, options, &plan);
  egraph_graph_destroy(graph);
  assert_null(plan);
  return status;
}

static void wrong_options_fail(void **state) {
  api_kit *kit = *state;
  egraph_plan_options options = forward(NULL);
  options.node_limit = UINT64_MAX;
  assert_int_equal(create_with(kit, &options), EGRAPH_E_ARGUMENT);
  options = forward(NULL);
  options.iteration_limit = (uint64_t)UINT32_MAX + 1;
  assert_int_equal(create_with(kit, &options), EGRAPH_E_ARGUMENT);
  options = forward(NULL);
  options.saturate_time_limit = NAN;
  assert_int_equal(create_with(kit, &options), EGRAPH_E_ARGUMENT);
  options = forward(NULL);
  options.database = "no/such/folder/profile.db";
  assert_int_equal(create_with(kit, &options), EGRAPH_E_IO);
}

static void unsound_rules_are_named(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules =
      rules_of(&kit->alloc, "(egraph-rules 1)\n"
                            "(rule wrong (source \"test\") (lhs (relu ?x))\n"
                            "  (rhs (reduce-sum :axes [0] :keepdims 0 ?x)))\n");
  egraph_plan_options options = forward(rules);
  assert_int_equal(create_with(kit, &options), EGRAPH_E_TYPE);
  assert_non_null(strstr(egraph_last_error(), "rule wrong"));
  egraph_rules_destroy(rules);
}

static egraph_status everything(egraph_allocator heap, void *user) {
  (void)user;
  const egraph_allocator *alloc = &heap;
  egraph_graph *graph = NULL;
  egraph_rules *rules = NULL;
  egraph_plan *joint = NULL, *first = NULL;
  egraph_status status = egraph_graph_create(alloc, &graph);
  if (status == EGRAPH_OK) status = api_build_layer(graph);
  if (status == EGRAPH_OK) status = egraph_rules_create(alloc, &rules);
  if (status == EGRAPH_OK) egraph_rules_trust(rules, true);
  if (status == EGRAPH_OK)
    status = egraph_rules_add_text(rules, "test.rules", api_fusion_rules);
  egraph_plan_options options = forward(rules);
  options.algebra_first = true;
  if (status == EGRAPH_OK) status = egraph_plan_create(alloc, graph, &options, &first);
  options.algebra_first = false;
  if (status == EGRAPH_OK) status = egraph_plan_create(alloc, graph, &options, &joint);
  egraph_plan_destroy(first);
  egraph_plan_destroy(joint);
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
      api_test(a_profile_takes_the_place_of_the_machines_figures),
      api_test(wrong_options_fail),
      api_test(unsound_rules_are_named),
      api_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
