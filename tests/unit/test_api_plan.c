// Plans through the public functions: made, saved, loaded, printed, compared and run;
// what does not fit; wrong options; and every allocation failing.
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
  egraph_plan_options options = api_training();
  egraph_plan *plan = api_make_plan(kit, &options);
  const egraph_plan_report *r = egraph_plan_report_of(plan);
  assert_string_equal(r->status, "optimal");
  assert_string_equal(r->mesh, "cpu=2");
  assert_int_equal(r->devices, 2);
  assert_int_equal(r->meshes, 1);
  assert_int_equal(r->blocks, 0);
  assert_true(r->cost > 0 && r->bound <= r->cost && r->gap <= 1e-9);
  assert_true(r->memory > 0 && r->memory <= r->memory_limit);
  assert_true(r->least_memory == 0);
  // x, target, learning rate, step, w and its two states; the loss and what w becomes.
  egraph_graph_info info = egraph_graph_info_of(egraph_plan_graph(plan));
  assert_int_equal(info.inputs, 7);
  assert_int_equal(info.outputs, 4);
  egraph_plan_destroy(plan);
  egraph_plan_destroy(NULL);
}

static void all_meshes_are_no_worse_than_each(void **state) {
  api_kit *kit = *state;
  static const char *const MESHES[] = {NULL, "cpu=4", "outer=2,inner=2"};
  double costs[3];
  for (int i = 0; i < 3; i++) {
    egraph_plan_options options = api_training();
    options.machine = "host*4";
    options.mesh = MESHES[i];
    egraph_plan *plan = api_make_plan(kit, &options);
    costs[i] = egraph_plan_report_of(plan)->cost;
    assert_int_equal(egraph_plan_report_of(plan)->meshes, i == 0 ? 2 : 1);
    egraph_plan_destroy(plan);
  }
  assert_true(costs[0] == fmin(costs[1], costs[2]));
}

static void the_least_memory_is_told_and_does(void **state) {
  api_kit *kit = *state;
  egraph_plan_options options = api_training();
  options.memory_limit = 16;
  egraph_plan *plan = api_make_plan(kit, &options);
  const egraph_plan_report *r = egraph_plan_report_of(plan);
  assert_string_equal(r->status, "infeasible");
  assert_true(isinf(r->cost) && r->least_memory > 16);
  assert_null(egraph_plan_graph(plan));
  char *text = NULL;
  assert_int_equal(egraph_plan_print(&kit->alloc, plan, false, &text), EGRAPH_E_ARGUMENT);
  assert_non_null(strstr(egraph_last_error(), "the least peak that is known is"));
  assert_int_equal(egraph_plan_save(plan, "never"), EGRAPH_E_ARGUMENT);
  options.memory_limit = r->least_memory;
  egraph_plan_destroy(plan);
  plan = api_make_plan(kit, &options);
  assert_true(egraph_plan_report_of(plan)->memory <= options.memory_limit);
  assert_non_null(egraph_plan_graph(plan));
  egraph_plan_destroy(plan);
}

static egraph_status create_with(api_kit *kit, const egraph_plan_options *options) {
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_plan *plan = NULL;
  egraph_status status = egraph_plan_create(&kit->alloc, graph, options, &plan);
  egraph_graph_destroy(graph);
  assert_null(plan);
  return status;
}

#define WRONG(member, value, status)                                                     \
  do {                                                                                   \
    egraph_plan_options wrong = api_training();                                          \
    wrong.member = (value);                                                              \
    assert_int_equal(create_with(*state, &wrong), status);                               \
  } while (0)

static void wrong_options_fail(void **state) {
  WRONG(machine, "no/such.machine", EGRAPH_E_IO);
  WRONG(mesh, "cpu", EGRAPH_E_PARSE);
  WRONG(mesh, "cpu=3", EGRAPH_E_ARGUMENT);
  WRONG(optimizer, "lion", EGRAPH_E_ARGUMENT);
  WRONG(loss, "hinge", EGRAPH_E_ARGUMENT);
  WRONG(clip_norm, -1, EGRAPH_E_ARGUMENT);
  WRONG(memory_limit, NAN, EGRAPH_E_ARGUMENT);
  WRONG(time_limit, INFINITY, EGRAPH_E_ARGUMENT);
  WRONG(relative_gap, NAN, EGRAPH_E_ARGUMENT);
}

static void saved_plans_come_back(void **state) {
  api_kit *kit = *state;
  egraph_plan_options options = api_training();
  egraph_plan *plan = api_make_plan(kit, &options), *back;
  name_file(kit, ".json");
  assert_ok(egraph_plan_save(plan, kit->path));
  assert_ok(egraph_plan_load(&kit->alloc, kit->path, &back));
  const egraph_plan_report *r = egraph_plan_report_of(back);
  assert_string_equal(r->status, "loaded");
  assert_string_equal(r->mesh, "cpu=2");
  double cost = egraph_plan_report_of(plan)->cost;
  assert_true(fabs(r->cost - cost) <= 1e-9 * cost);
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

static egraph_plan *plan_deep(api_kit *kit, const egraph_plan_options *options) {
  egraph_graph *graph = api_deep(&kit->alloc, 9);
  egraph_plan *plan;
  assert_ok(egraph_plan_create(&kit->alloc, graph, options, &plan));
  egraph_graph_destroy(graph);
  return plan;
}

static void deep_plans_are_those_of_all_blocks(void **state) {
  api_kit *kit = *state;
  for (int trains = 0; trains < 2; trains++) {
    egraph_plan_options options = api_training();
    if (!trains) options.optimizer = NULL;
    egraph_plan *folded = plan_deep(kit, &options);
    options.no_fold = true;
    egraph_plan *whole = plan_deep(kit, &options);
    const egraph_plan_report *a = egraph_plan_report_of(folded);
    const egraph_plan_report *b = egraph_plan_report_of(whole);
    assert_true(a->blocks >= 2 && b->blocks == 0);
    assert_int_equal(a->nodes, b->nodes);
    assert_true(a->cost >= b->bound * (1 - 1e-9));
    name_file(kit, ".json");
    egraph_plan *back;
    assert_ok(egraph_plan_save(folded, kit->path));
    assert_ok(egraph_plan_load(&kit->alloc, kit->path, &back));
    assert_true(fabs(egraph_plan_report_of(back)->cost - a->cost) <= 1e-9 * a->cost);
    totals sum = {.count = 0};
    assert_ok(egraph_plan_account(back, add_exchange, add_store, &sum));
    assert_true(sum.held > 0);
    egraph_plan_destroy(back);
    egraph_plan_destroy(whole);
    egraph_plan_destroy(folded);
  }
}

// ---- runs -----------------------------------------------------------------------

static void a_plan_runs_as_one_device_does(void **state) {
  api_kit *kit = *state;
  egraph_plan_options options = api_training();
  options.optimizer = NULL;
  egraph_plan *plan = api_make_plan(kit, &options);
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

static bool stop(void *user, const char *mesh, double cost, double bound,
                 double seconds) {
  (void)cost;
  (void)bound;
  (void)seconds;
  assert_non_null(mesh);
  ++*(int *)user;
  return true;
}

static void a_callback_may_stop_it(void **state) {
  api_kit *kit = *state;
  int calls = 0;
  egraph_plan_options options = api_training();
  options.progress = stop;
  options.user = &calls;
  options.machine = "dgx-h100*2";
  options.mesh = NULL;
  egraph_plan *plan = api_make_plan(kit, &options);
  const egraph_plan_report *r = egraph_plan_report_of(plan);
  assert_int_equal(calls, 1);
  assert_int_equal(r->meshes, 1); // of several: the callback hears of every mesh
  assert_true(r->bound == 0 && r->cost > 0);
  egraph_plan_destroy(plan);
}

static egraph_status everything(egraph_allocator heap, void *user) {
  const egraph_allocator *alloc = &heap;
  const char *path = user;
  egraph_graph *graph = NULL;
  egraph_plan *plan = NULL, *back = NULL;
  char *text = NULL;
  egraph_plan_options options = api_training();
  egraph_status status = egraph_graph_create(alloc, &graph);
  if (status == EGRAPH_OK) status = api_build_layer(graph);
  if (status == EGRAPH_OK) status = egraph_plan_create(alloc, graph, &options, &plan);
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
