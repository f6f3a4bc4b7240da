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

static egraph_status create_with(api_kit *kit, const egraph_plan_options *options) {
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_plan *plan = NULL;
  egraph_status status = egraph_plan_create(&kit->alloc, graph, options, &plan);
  egraph_graph_destroy(graph);
  assert_null(plan);
  return status;
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
    egraph_plan_options options = api_training();
    options.constraints_file = cases[i].file;
    options.constraints = cases[i].text;
    assert_int_equal(create_with(*state, &options), cases[i].status);
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
  egraph_plan_options options = api_training();
  egraph_plan *plan = api_make_plan(kit, &options);
  double cost = egraph_plan_report_of(plan)->cost;
  egraph_plan_destroy(plan);
  name_file(kit, ".constraints");
  api_write_file(kit->path, file, sizeof file - 1);
  options.constraints_file = kit->path;
  options.constraints = "(pin (all states) *=S0)";
  plan = api_make_plan(kit, &options);
  assert_true(egraph_plan_report_of(plan)->cost >= cost * (1 - 1e-9));
  char *text;
  assert_ok(egraph_plan_print(&kit->alloc, plan, false, &text));
  assert_non_null(strstr(text, "  w@S0: "));
  assert_non_null(strstr(text, "  w.m@S0: "));
  egraph_string_free(&kit->alloc, text);
  egraph_plan_destroy(plan);
  options.constraints = "(forbid w S0)";
  assert_int_equal(create_with(kit, &options), EGRAPH_E_ARGUMENT);
  assert_non_null(strstr(egraph_last_error(), "constraints:1:1: this leaves 'w'"));
}

static void meshes_that_constraints_rule_out_leave_the_others(void **state) {
  api_kit *kit = *state;
  egraph_plan_options options = api_training();
  options.machine = "host*4";
  options.mesh = NULL;
  options.constraints = "(pin x outer=S0)";
  egraph_plan *plan = api_make_plan(kit, &options);
  const egraph_plan_report *r = egraph_plan_report_of(plan);
  assert_string_equal(r->mesh, "outer=2,inner=2");
  assert_string_equal(r->status, "optimal");
  assert_int_equal(r->meshes, 2);
  egraph_plan_destroy(plan);
  options.constraints = "(pin x outer=S0 cpu=S0)";
  assert_int_equal(create_with(kit, &options), EGRAPH_E_ARGUMENT);
  assert_non_null(strstr(egraph_last_error(), "in the mesh cpu=4"));
}

static void plans_are_compared_with_baselines(void **state) {
  api_kit *kit = *state;
  egraph_plan_options options = api_training();
  options.baselines = true;
  egraph_plan *plan = api_make_plan(kit, &options), *back;
  assert_null(egraph_plan_report_of(plan)->seed);
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
  again = remarks_of(kit, back, false);
  assert_string_equal(text, again);
  egraph_string_free(&kit->alloc, again);
  egraph_string_free(&kit->alloc, json);
  egraph_string_free(&kit->alloc, text);
  egraph_plan_destroy(back);
  egraph_plan_destroy(plan);
}

static void a_baseline_is_planned_alone(void **state) {
  api_kit *kit = *state;
  egraph_plan_options options = api_training();
  egraph_plan *plan = api_make_plan(kit, &options);
  double cost = egraph_plan_report_of(plan)->cost;
  egraph_plan_destroy(plan);
  for (const char *const *name =
           (const char *const[]){"single-device", "data-parallel", "zero-1", "zero-2",
                                 "zero-3", "megatron", NULL};
       *name != NULL; name++) {
    options.baseline = *name;
    plan = api_make_plan(kit, &options);
    assert_true(egraph_plan_report_of(plan)->cost >= cost * (1 - 1e-9));
    egraph_plan_destroy(plan);
  }
  options.constraints = "(pin v cpu=S0)";
  assert_int_equal(create_with(kit, &options), EGRAPH_E_ARGUMENT);
  assert_non_null(strstr(egraph_last_error(), "there is no value 'v'"));
  options.constraints = NULL;
  options.baseline = "fsdp";
  assert_int_equal(create_with(kit, &options), EGRAPH_E_ARGUMENT);
}

static egraph_status price_on(egraph_plan *plan, const char *machine) {
  return egraph_plan_price(
      plan,
      &(egraph_plan_options){.size = sizeof(egraph_plan_options), .machine = machine});
}

static void a_plan_is_priced_anew(void **state) {
  api_kit *kit = *state;
  egraph_plan_options options = api_training();
  egraph_plan *plan = api_make_plan(kit, &options);
  double cost = egraph_plan_report_of(plan)->cost;
  assert_ok(price_on(plan, "host*2"));
  const egraph_plan_report *r = egraph_plan_report_of(plan);
  assert_string_equal(r->status, "loaded");
  assert_true(fabs(r->cost - cost) <= 1e-9 * cost);
  static const char machine[] =
      "(egraph-machine 1)(name slow)(device (memory 1e9) (bandwidth 1e6) (overhead 1)"
      " (peak (float32 1e6)))(link wire (latency 1) (bandwidth 1e3))(axis cpu 2 wire)";
  name_file(kit, ".machine");
  api_write_file(kit->path, machine, sizeof machine - 1);
  assert_ok(price_on(plan, kit->path));
  assert_true(r->cost > 1 && r->memory_limit == 1e9);
  assert_int_equal(price_on(plan, "host*4"), EGRAPH_E_ARGUMENT);
  assert_int_equal(price_on(plan, "no/such.machine"), EGRAPH_E_IO);
  egraph_plan_destroy(plan);
}

// ---- allocations ----------------------------------------------------------------

static egraph_status everything(egraph_allocator heap, void *user) {
  (void)user;
  const egraph_allocator *alloc = &heap;
  egraph_graph *graph = NULL;
  egraph_plan *plan = NULL;
  char *text = NULL;
  egraph_plan_options options = api_training();
  options.optimizer = NULL; // few allocations
  options.baselines = true;
  options.constraints = "(pin w cpu=S0)";
  egraph_status status = egraph_graph_create(alloc, &graph);
  if (status == EGRAPH_OK) status = api_build_layer(graph);
  if (status == EGRAPH_OK) status = egraph_plan_create(alloc, graph, &options, &plan);
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
      api_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
