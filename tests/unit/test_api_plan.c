// Plans through the public functions: made, taken, certified, saved, loaded, printed,
// compared and run; what does not fit; wrong options; and every allocation failing.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_kit.h"

static void name_file(api_kit *kit, const char *suffix) {
  (void)snprintf(kit->path, sizeof kit->path, "test_api_plan.%ld%s", (long)getpid(),
                 suffix);
}

static void a_step_is_planned(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  egraph_result *result = api_optimize_layer(kit, &problem);
  const egraph_report *r = egraph_result_report(result);
  const egraph_plan *plan = egraph_result_plan(result);
  egraph_plan_info figures = egraph_plan_info_of(plan);
  assert_string_equal(r->status, "optimal");
  assert_string_equal(figures.mesh, "cpu=2");
  assert_int_equal(figures.devices, 2);
  assert_int_equal(r->meshes, 1);
  assert_int_equal(r->blocks, 0);
  assert_true(r->cost_after > 0 && r->bound <= r->cost_after && r->gap <= 1e-9);
  assert_true(fabs(figures.cost - r->cost_after) <= 1e-12 * figures.cost);
  assert_true(figures.memory > 0 && figures.memory <= figures.memory_limit);
  assert_true(figures.memory_limit == r->memory_limit);
  assert_true(r->least_memory == 0);
  // x, target, learning rate, step, w and its two states; the loss and what w becomes.
  assert_ptr_equal(egraph_result_graph(result), egraph_plan_graph(plan));
  egraph_graph_info info = egraph_graph_info_of(egraph_plan_graph(plan));
  assert_int_equal(info.inputs, 7);
  assert_int_equal(info.outputs, 4);
  egraph_result_destroy(result);
  egraph_result_destroy(NULL);
  egraph_plan_destroy(NULL);
}

/// The plan goes with its graph; nothing of it is left in the result.
static void a_plan_is_taken_once(void **state) {
  api_kit *kit = *state;
  for (int targets = 0; targets < 2; targets++) {
    api_problem problem = api_target("host*2", NULL);
    problem.targets = targets != 0;
    egraph_result *result = api_optimize_layer(kit, &problem);
    egraph_plan *plan, *again = NULL;
    char *text;
    assert_ok(egraph_result_explain(&kit->alloc, result, &text));
    egraph_string_free(&kit->alloc, text);
    assert_ok(egraph_result_take_plan(result, &plan));
    assert_null(egraph_result_plan(result));
    assert_null(egraph_result_graph(result));
    assert_fails(egraph_result_take_plan(result, &again), EGRAPH_E_ARGUMENT, "taken");
    assert_fails(egraph_result_explain(&kit->alloc, result, &text), EGRAPH_E_ARGUMENT,
                 "taken");
    assert_null(again);
    egraph_result_destroy(result);
    assert_int_equal(egraph_graph_info_of(egraph_plan_graph(plan)).inputs, 1);
    assert_int_equal(egraph_plan_info_of(plan).devices, targets != 0 ? 2 : 1);
    egraph_plan_destroy(plan);
  }
}

/// One device, as a graph and as a target: by extraction, and by the search for plans.
static void one_device_costs_the_same_both_ways(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules;
  double costs[2];
  assert_ok(egraph_rules_create(&kit->alloc, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  for (int targets = 0; targets < 2; targets++) {
    api_problem problem = api_target("host*1", NULL);
    problem.targets = targets != 0;
    problem.rules = rules;
    problem.costs = (egraph_costs_options){.size = sizeof problem.costs,
                                           .override_cost = api_unit_cost};
    egraph_result *result = api_optimize_layer(kit, &problem);
    assert_string_equal(egraph_result_report(result)->status, "optimal");
    costs[targets] = egraph_result_report(result)->cost_after;
    assert_true(costs[targets] == egraph_plan_info_of(egraph_result_plan(result)).cost);
    assert_string_equal(egraph_plan_info_of(egraph_result_plan(result)).mesh, "");
    egraph_result_destroy(result);
  }
  assert_true(fabs(costs[0] - costs[1]) <= 1e-12 * costs[0]);
  egraph_rules_destroy(rules);
}

/// Convolutions are fast in a memory format, and formats cost something.
static bool formats_pay(void *user, const egraph_cost_query *query, double *out_seconds) {
  (void)user;
  bool is_formatted = strchr(query->text, '@') != NULL;
  *out_seconds = strcmp(query->op, "identity") == 0 ? 2e-6 : is_formatted ? 1e-6 : 1e-5;
  return true;
}

/// Inputs come in and outputs go out as they are: a convolution between two reorders,
/// however it is asked for.
static void formats_are_paid_for_at_both_ends(void **state) {
  api_kit *kit = *state;
  static const char conv[] =
      "(egraph-graph 1)(input x \"float32[1,16,14,14]\")"
      "(weight w \"float32[16,16,3,3]\")"
      "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w))(output y)";
  static const char *const machines[] = {NULL, "host*1", "host*2"};
  egraph_graph *graph;
  assert_ok(egraph_graph_parse(&kit->alloc, "conv.egraph", conv, sizeof conv - 1, NULL,
                               &graph));
  for (int i = 0; i < 6; i++) {
    api_problem problem = api_target(machines[i % 3], NULL);
    problem.targets = machines[i % 3] != NULL;
    problem.compare.only = i == 4 ? "single-device" : NULL;
    problem.constraints.text = i == 5 ? "(forbid (all values) S)" : NULL;
    problem.costs = (egraph_costs_options){.size = sizeof problem.costs,
                                           .override_cost = formats_pay};
    egraph_result *result;
    assert_ok(api_optimize(&kit->alloc, graph, &problem, &result));
    assert_string_equal(egraph_result_report(result)->status, "optimal");
    assert_true(fabs(egraph_result_report(result)->cost_after - 5e-6) <= 1e-15);
    egraph_result_destroy(result);
  }
  egraph_graph_destroy(graph);
}

static void all_meshes_are_no_worse_than_each(void **state) {
  api_kit *kit = *state;
  static const char *const MESHES[] = {NULL, "cpu=4", "outer=2,inner=2"};
  double costs[3];
  for (int i = 0; i < 3; i++) {
    api_problem problem = api_training();
    problem.target.machine = "host*4";
    problem.target.mesh = MESHES[i];
    egraph_result *result = api_optimize_layer(kit, &problem);
    costs[i] = egraph_result_report(result)->cost_after;
    assert_int_equal(egraph_result_report(result)->meshes, i == 0 ? 2 : 1);
    egraph_result_destroy(result);
  }
  assert_true(costs[0] == fmin(costs[1], costs[2]));
}

static void the_least_memory_is_told_and_does(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  problem.target.memory_limit = 16;
  egraph_result *result = api_optimize_layer(kit, &problem);
  const egraph_report *r = egraph_result_report(result);
  assert_string_equal(r->status, "infeasible");
  assert_true(isinf(r->cost_after) && r->least_memory > 16);
  assert_null(egraph_result_graph(result));
  assert_null(egraph_result_plan(result));
  char *text = NULL;
  egraph_plan *none = NULL;
  const char *certificate;
  assert_fails(egraph_result_explain(&kit->alloc, result, &text), EGRAPH_E_ARGUMENT,
               "the least peak that is known is");
  assert_fails(egraph_result_take_plan(result, &none), EGRAPH_E_ARGUMENT,
               "the least peak that is known is");
  assert_fails(egraph_result_certificate(result, &certificate), EGRAPH_E_ARGUMENT,
               "no certificate");
  problem.target.memory_limit = r->least_memory;
  egraph_result_destroy(result);
  egraph_plan *plan = api_plan_layer(kit, &problem);
  assert_true(egraph_plan_info_of(plan).memory <= problem.target.memory_limit);
  egraph_plan_destroy(plan);
}

static void a_certificate_comes_with_the_result(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  problem.search.certify = true;
  egraph_result *result = api_optimize_layer(kit, &problem);
  const egraph_report *r = egraph_result_report(result);
  const char *text;
  assert_ok(egraph_result_certificate(result, &text));
  assert_non_null(strstr(text, "certificate"));
  assert_true(r->checked > 0 && r->checked <= r->bound && r->uncertified == NULL);
  egraph_result_destroy(result);
}

#define WRONG(member, value, status)                                                     \
  do {                                                                                   \
    api_problem wrong = api_training();                                                  \
    wrong.member = (value);                                                              \
    assert_int_equal(api_try_layer(*state, &wrong), status);                             \
  } while (0)

static void wrong_options_fail(void **state) {
  WRONG(target.machine, "no/such.machine", EGRAPH_E_IO);
  WRONG(target.mesh, "cpu", EGRAPH_E_PARSE);
  WRONG(target.mesh, "cpu=3", EGRAPH_E_ARGUMENT);
  WRONG(training.optimizer, "lion", EGRAPH_E_ARGUMENT);
  WRONG(training.loss, "hinge", EGRAPH_E_ARGUMENT);
  WRONG(training.clip_norm, -1, EGRAPH_E_ARGUMENT);
  WRONG(target.memory_limit, NAN, EGRAPH_E_ARGUMENT);
  WRONG(search.time_limit, INFINITY, EGRAPH_E_ARGUMENT);
  WRONG(search.relative_gap, NAN, EGRAPH_E_ARGUMENT);
}

static void saved_plans_come_back(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  egraph_plan *plan = api_plan_layer(kit, &problem), *back;
  name_file(kit, ".json");
  assert_ok(egraph_plan_save(plan, kit->path));
  assert_ok(egraph_plan_load(&kit->alloc, kit->path, &back));
  egraph_plan_info read = egraph_plan_info_of(back), made = egraph_plan_info_of(plan);
  assert_string_equal(read.mesh, "cpu=2");
  assert_true(read.memory_limit == made.memory_limit);
  assert_true(fabs(read.cost - made.cost) <= 1e-9 * made.cost);
  for (int unity = 0; unity < 2; unity++) {
    char *before, *after;
    assert_ok(egraph_plan_print(&kit->alloc, plan, unity != 0, &before));
    assert_ok(egraph_plan_print(&kit->alloc, back, unity != 0, &after));
    assert_string_equal(before, after);
    egraph_string_free(&kit->alloc, before);
    egraph_string_free(&kit->alloc, after);
  }
  char *text;
  assert_ok(egraph_plan_diff(&kit->alloc, plan, back, true, &text));
  assert_non_null(strstr(text, "\"layouts\": [], \"outputs\": [], \"moves\": []"));
  egraph_string_free(&kit->alloc, text);
  assert_ok(egraph_plan_summary_json(&kit->alloc, plan, &text));
  assert_non_null(strstr(text, "\"devices\": 2"));
  egraph_string_free(&kit->alloc, text);
  egraph_plan_destroy(back);
  egraph_plan_destroy(plan);
  api_write_file(kit->path, "{\"egraph-plan\": 1", 17);
  assert_int_equal(egraph_plan_load(&kit->alloc, kit->path, &back), EGRAPH_E_PARSE);
  assert_int_equal(egraph_plan_load(&kit->alloc, "no/such.json", &back), EGRAPH_E_IO);
}

// ---- blocks ---------------------------------------------------------------------

typedef struct totals {
  double bytes, held;
  uint64_t count;
} totals;

static void add_exchange(void *user, const egraph_plan_exchange *exchange) {
  totals *sum = user;
  sum->bytes += exchange->bytes;
  sum->count += exchange->count;
}

static void add_store(void *user, const egraph_plan_store *store) {
  totals *sum = user;
  sum->held += store->at_peak;
}

static egraph_result *optimize_deep(api_kit *kit, const api_problem *problem) {
  egraph_graph *graph = api_deep(&kit->alloc, 9);
  egraph_result *result;
  assert_ok(api_optimize(&kit->alloc, graph, problem, &result));
  egraph_graph_destroy(graph);
  return result;
}

static void deep_plans_are_those_of_all_blocks(void **state) {
  api_kit *kit = *state;
  for (int trains = 0; trains < 2; trains++) {
    api_problem problem = api_training();
    problem.trains = trains != 0;
    egraph_result *folded = optimize_deep(kit, &problem);
    problem.search.no_fold = true;
    egraph_result *whole = optimize_deep(kit, &problem);
    const egraph_report *a = egraph_result_report(folded);
    const egraph_report *b = egraph_result_report(whole);
    assert_true(a->blocks >= 2 && b->blocks == 0);
    assert_int_equal(a->nodes_after, b->nodes_after);
    assert_true(a->cost_after >= b->bound * (1 - 1e-9));
    name_file(kit, ".json");
    egraph_plan *back;
    assert_ok(egraph_plan_save(egraph_result_plan(folded), kit->path));
    assert_ok(egraph_plan_load(&kit->alloc, kit->path, &back));
    double cost = egraph_plan_info_of(back).cost;
    assert_true(fabs(cost - a->cost_after) <= 1e-9 * a->cost_after);
    totals sum = {.count = 0};
    assert_ok(egraph_plan_account(back, add_exchange, add_store, &sum));
    assert_true(sum.held > 0);
    egraph_plan_destroy(back);
    egraph_result_destroy(whole);
    egraph_result_destroy(folded);
  }
}

// ---- runs -----------------------------------------------------------------------

static void a_plan_runs_as_one_device_does(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_target("host*2", "cpu=2");
  egraph_plan *plan = api_plan_layer(kit, &problem);
  const egraph_graph *graph = egraph_plan_graph(plan);
  float x[4 * 8], four[4 * 6], one[4 * 6];
  egraph_tensor input, outputs[2];
  const char *name;
  assert_ok(egraph_graph_input(graph, 0, &name, &input));
  input.data = x;
  egraph_draw_input(name, 3, &input);
  for (int i = 0; i < 2; i++) {
    assert_ok(egraph_graph_output(graph, 0, &name, &outputs[i]));
    outputs[i].data = i == 0 ? four : one;
  }
  assert_ok(egraph_plan_run_local(NULL, plan, NULL, &input, 1, &outputs[0], 1));
  egraph_session *session;
  assert_ok(egraph_session_create(&kit->alloc, graph, NULL, &session));
  assert_ok(egraph_session_run(session, &input, 1, &outputs[1], 1));
  egraph_session_destroy(session);
  for (int i = 0; i < 4 * 6; i++)
    assert_true(fabsf(four[i] - one[i]) <= 1e-5F);
  assert_int_equal(egraph_plan_run_local(NULL, plan, NULL, &input, 1, NULL, 0),
                   EGRAPH_E_ARGUMENT);
  input.rank = 1;
  assert_int_equal(egraph_plan_run_local(NULL, plan, NULL, &input, 1, outputs, 1),
                   EGRAPH_E_TYPE);
  egraph_plan_destroy(plan);
}

// ---- stopping and failing -------------------------------------------------------

static bool stop(void *user, const char *phase, const char *line) {
  assert_string_equal(phase, "plan");
  assert_non_null(line);
  ++*(int *)user;
  return true;
}

static void a_callback_may_stop_it(void **state) {
  api_kit *kit = *state;
  int calls = 0;
  api_problem problem = api_training();
  problem.progress = stop;
  problem.user = &calls;
  problem.target.machine = "dgx-h100*2";
  problem.target.mesh = NULL;
  egraph_result *result = api_optimize_layer(kit, &problem);
  const egraph_report *r = egraph_result_report(result);
  assert_int_equal(calls, 1);
  assert_int_equal(r->meshes, 1); // of several: the callback hears of every mesh
  assert_true(r->bound == 0 && r->cost_after > 0);
  egraph_result_destroy(result);
}

static egraph_status everything(egraph_allocator heap, void *user) {
  const egraph_allocator *alloc = &heap;
  const char *path = user;
  egraph_graph *graph = NULL;
  egraph_plan *plan = NULL, *back = NULL;
  char *text = NULL;
  api_problem problem = api_training();
  egraph_status status = egraph_graph_create(alloc, &graph);
  if (status == EGRAPH_OK) status = api_build_layer(graph);
  if (status == EGRAPH_OK) status = api_plan(alloc, graph, &problem, &plan);
  if (status == EGRAPH_OK) status = egraph_plan_save(plan, path);
  if (status == EGRAPH_OK) status = egraph_plan_load(alloc, path, &back);
  if (status == EGRAPH_OK) status = egraph_plan_diff(alloc, plan, back, false, &text);
  egraph_string_free(alloc, text);
  egraph_plan_destroy(back);
  egraph_plan_destroy(plan);
  egraph_graph_destroy(graph);
  return status;
}

static void failing_allocations_are_survived(void **state) {
  api_kit *kit = *state;
  name_file(kit, ".json");
  test_every_allocation_failing(everything, kit->path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(a_step_is_planned),
      api_test(a_plan_is_taken_once),
      api_test(one_device_costs_the_same_both_ways),
      api_test(a_certificate_comes_with_the_result),
      api_test(formats_are_paid_for_at_both_ends),
      api_test(all_meshes_are_no_worse_than_each),
      api_test(the_least_memory_is_told_and_does),
      api_test(wrong_options_fail),
      api_test(saved_plans_come_back),
      api_test(deep_plans_are_those_of_all_blocks),
      api_test(a_plan_runs_as_one_device_does),
      api_test(a_callback_may_stop_it),
      api_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
