// Public functions on what a user demands of a plan: constraints, comparisons with
// baselines, and new prices without a search.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_kit.h"

static void name_file(api_kit *kit, const char *suffix) {
  (void)snprintf(kit->path, sizeof kit->path, "test_api_plan_demands.%ld%s",
                 (long)getpid(), suffix);
}

static void wrong_constraints_fail(void **state) {
  static const struct {
    const char *file, *text, *message;
    egraph_status status;
  } cases[] = {
      {NULL, "(pin w", "constraints:1:1: ", EGRAPH_E_PARSE},
      {NULL, "(pin v cpu=S0)", "constraints:1:1: there is no value 'v'",
       EGRAPH_E_ARGUMENT},
      {NULL, "(pin w gpu=S0)", "no axis 'gpu' in the mesh cpu=2", EGRAPH_E_ARGUMENT},
      {"no/such.constraints", NULL, "no/such", EGRAPH_E_IO},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    api_problem problem = api_training();
    problem.constraints.file = cases[i].file;
    problem.constraints.text = cases[i].text;
    assert_int_equal(api_try_layer(*state, &problem), cases[i].status);
    assert_non_null(strstr(egraph_last_error(), cases[i].message));
  }
}

static char *remarks_of(api_kit *kit, const egraph_plan *plan, bool json) {
  char *text;
  assert_ok(egraph_plan_remarks(&kit->alloc, plan, json, &text));
  return text;
}

static void constraints_come_from_a_file_and_from_text(void **state) {
  api_kit *kit = *state;
  static const char file[] = "(egraph-constraints 1)\n(pin w cpu=S0) ; rows\n";
  api_problem problem = api_training();
  egraph_plan *plan = api_plan_layer(kit, &problem);
  double cost = egraph_plan_info_of(plan).cost;
  egraph_plan_destroy(plan);
  name_file(kit, ".constraints");
  api_write_file(kit->path, file, sizeof file - 1);
  problem.constraints.file = kit->path;
  problem.constraints.text = "(pin (all states) *=S0)";
  plan = api_plan_layer(kit, &problem);
  assert_true(egraph_plan_info_of(plan).cost >= cost * (1 - 1e-9));
  char *text;
  assert_ok(egraph_plan_print(&kit->alloc, plan, false, &text));
  assert_non_null(strstr(text, "  w@S0: "));
  assert_non_null(strstr(text, "  w.m@S0: "));
  egraph_string_free(&kit->alloc, text);
  egraph_plan_destroy(plan);
  problem.constraints.text = "(forbid w S0)";
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_ARGUMENT);
  assert_non_null(strstr(egraph_last_error(), "constraints:1:1: this leaves 'w'"));
}

static void meshes_that_constraints_rule_out_leave_the_others(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  problem.target.machine = "host*4";
  problem.target.mesh = NULL;
  problem.constraints.text = "(pin x outer=S0)";
  egraph_result *result = api_optimize_layer(kit, &problem);
  const egraph_report *r = egraph_result_report(result);
  assert_string_equal(egraph_plan_info_of(egraph_result_plan(result)).mesh,
                      "outer=2,inner=2");
  assert_string_equal(r->status, "optimal");
  assert_int_equal(r->meshes, 2);
  egraph_result_destroy(result);
  problem.constraints.text = "(pin x outer=S0 cpu=S0)";
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_ARGUMENT);
  assert_non_null(strstr(egraph_last_error(), "in the mesh cpu=4"));
}

static void plans_are_compared_with_baselines(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  problem.compare.all = true;
  egraph_result *result = api_optimize_layer(kit, &problem);
  egraph_plan *plan, *back;
  assert_null(egraph_result_report(result)->seed);
  assert_ok(egraph_result_take_plan(result, &plan));
  egraph_result_destroy(result);
  char *text = remarks_of(kit, plan, false), *json = remarks_of(kit, plan, true), *again;
  for (const char *const *name =
           (const char *const[]){"single-device", "data-parallel", "zero-1", "zero-2",
                                 "zero-3", "megatron", NULL};
       *name != NULL; name++) {
    assert_non_null(strstr(text, *name));
    assert_non_null(strstr(json, *name));
  }
  name_file(kit, ".json");
  assert_ok(egraph_plan_save(plan, kit->path));
  assert_ok(egraph_plan_load(&kit->alloc, kit->path, &back));
  again = remarks_of(kit, back, true); // the text also has what costs rest on
  assert_string_equal(json, again);
  egraph_string_free(&kit->alloc, again);
  egraph_string_free(&kit->alloc, json);
  egraph_string_free(&kit->alloc, text);
  egraph_plan_destroy(back);
  egraph_plan_destroy(plan);
}

static void a_baseline_is_planned_alone(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  egraph_plan *plan = api_plan_layer(kit, &problem);
  double cost = egraph_plan_info_of(plan).cost;
  egraph_plan_destroy(plan);
  for (const char *const *name =
           (const char *const[]){"single-device", "data-parallel", "zero-1", "zero-2",
                                 "zero-3", "megatron", NULL};
       *name != NULL; name++) {
    problem.compare.only = *name;
    plan = api_plan_layer(kit, &problem);
    assert_true(egraph_plan_info_of(plan).cost >= cost * (1 - 1e-9));
    egraph_plan_destroy(plan);
  }
  problem.constraints.text = "(pin v cpu=S0)";
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_ARGUMENT);
  assert_non_null(strstr(egraph_last_error(), "there is no value 'v'"));
  problem.constraints.text = NULL;
  problem.compare.only = "fsdp";
  assert_int_equal(api_try_layer(kit, &problem), EGRAPH_E_ARGUMENT);
}

static egraph_status price_on(egraph_plan *plan, const char *machine) {
  const egraph_target target = {.size = sizeof target, .machine = machine};
  return egraph_plan_price(plan, &target, NULL);
}

static void a_plan_is_priced_anew(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  egraph_plan *plan = api_plan_layer(kit, &problem);
  double cost = egraph_plan_info_of(plan).cost;
  assert_ok(price_on(plan, "host*2"));
  assert_true(fabs(egraph_plan_info_of(plan).cost - cost) <= 1e-9 * cost);
  static const char machine[] =
      "(egraph-machine 1)(name slow)(device (memory 1e9) (bandwidth 1e6) (overhead 1)"
      " (peak (float32 1e6)))(link wire (latency 1) (bandwidth 1e3))(axis cpu 2 wire)";
  name_file(kit, ".machine");
  api_write_file(kit->path, machine, sizeof machine - 1);
  assert_ok(price_on(plan, kit->path));
  assert_true(egraph_plan_info_of(plan).cost > 1);
  assert_true(egraph_plan_info_of(plan).memory_limit == 1e9);
  assert_int_equal(price_on(plan, "host*4"), EGRAPH_E_ARGUMENT);
  assert_int_equal(price_on(plan, "no/such.machine"), EGRAPH_E_IO);
  egraph_plan_destroy(plan);
}

/// The first prices are fine, a later one is none.
static bool fails_later(void *user, const egraph_cost_query *query, double *out_seconds) {
  (void)query;
  *out_seconds = ++*(int *)user > 2 ? -1 : 5;
  return true;
}

static void a_plan_keeps_its_prices_where_new_ones_fail(void **state) {
  api_kit *kit = *state;
  int asked = 0;
  egraph_costs_options options = {
      .size = sizeof options, .override_cost = fails_later, .user = &asked};
  api_problem problem = api_training();
  egraph_plan *plan = api_plan_layer(kit, &problem);
  egraph_costs *costs;
  char *before, *after;
  assert_ok(egraph_costs_create(&kit->alloc, &options, &costs));
  assert_ok(egraph_plan_pack(&kit->alloc, plan, &before));
  assert_int_equal(egraph_plan_price(plan, NULL, costs), EGRAPH_E_ARGUMENT);
  assert_true(asked > 2);
  assert_ok(egraph_plan_pack(&kit->alloc, plan, &after));
  assert_string_equal(before, after);
  egraph_string_free(&kit->alloc, before);
  egraph_string_free(&kit->alloc, after);
  egraph_costs_destroy(costs);
  egraph_plan_destroy(plan);
}

// ---- allocations ----------------------------------------------------------------

static egraph_status everything(egraph_allocator heap, void *user) {
  (void)user;
  const egraph_allocator *alloc = &heap;
  egraph_graph *graph = NULL;
  egraph_plan *plan = NULL;
  char *text = NULL;
  api_problem problem = api_training();
  problem.trains = false; // few allocations
  problem.compare.all = true;
  problem.constraints.text = "(pin w cpu=S0)";
  egraph_status status = egraph_graph_create(alloc, &graph);
  if (status == EGRAPH_OK) status = api_build_layer(graph);
  if (status == EGRAPH_OK) status = api_plan(alloc, graph, &problem, &plan);
  if (status == EGRAPH_OK) status = price_on(plan, "host*2");
  if (status == EGRAPH_OK) status = egraph_plan_remarks(alloc, plan, true, &text);
  egraph_string_free(alloc, text);
  egraph_plan_destroy(plan);
  egraph_graph_destroy(graph);
  return status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  test_every_allocation_failing(everything, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(wrong_constraints_fail),
      api_test(constraints_come_from_a_file_and_from_text),
      api_test(meshes_that_constraints_rule_out_leave_the_others),
      api_test(plans_are_compared_with_baselines),
      api_test(a_baseline_is_planned_alone),
      api_test(a_plan_is_priced_anew),
      api_test(a_plan_keeps_its_prices_where_new_ones_fail),
      api_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
