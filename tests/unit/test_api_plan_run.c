// Plans that are run through the public functions: deep ones as one device runs them,
// step by step, stopped, and as a process among others that are not there.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <unistd.h>

#include "tests/locked_allocator.h"
#include "tests/unit/api_kit.h"

enum { LAYERS = 6, MOST = 48 };

// ---- a deep network, trained ----------------------------------------------------

static egraph_plan *plan_layers(const egraph_allocator *alloc, const char *machine) {
  egraph_graph *graph = api_deep(alloc, LAYERS);
  egraph_plan *plan;
  api_problem problem = api_target(machine, NULL);
  problem.trains = true;
  problem.training.loss = "mean-squared-error";
  assert_ok(api_plan(alloc, graph, &problem, &plan));
  egraph_graph_destroy(graph);
  return plan;
}

typedef struct training {
  egraph_tensor inputs[MOST], outputs[MOST];
  const char *input_names[MOST], *output_names[MOST];
  uint32_t input_count, output_count;
  uint32_t steps, stop_after;
  float losses[8];
} training;

static void training_init(training *t, const egraph_graph *graph) {
  egraph_graph_info info = egraph_graph_info_of(graph);
  *t = (training){.input_count = info.inputs, .output_count = info.outputs};
  assert_true(info.inputs <= MOST && info.outputs <= MOST);
  for (uint32_t i = 0; i < info.inputs; i++) {
    egraph_tensor *tensor = &t->inputs[i];
    assert_ok(egraph_graph_input(graph, i, &t->input_names[i], tensor));
    tensor->data = test_calloc(1, egraph_tensor_bytes(tensor));
    if (tensor->dtype == EGRAPH_FLOAT64)
      *(double *)tensor->data = 0.05; // the learning rate
    else if (t->input_names[i][0] == 'w')
      egraph_draw_weight(t->input_names[i], 1, tensor);
    else
      egraph_draw_input(t->input_names[i], 1, tensor);
  }
  for (uint32_t o = 0; o < info.outputs; o++) {
    assert_ok(egraph_graph_output(graph, o, &t->output_names[o], &t->outputs[o]));
    t->outputs[o].data = test_calloc(1, egraph_tensor_bytes(&t->outputs[o]));
  }
}

static void training_deinit(training *t) {
  for (uint32_t i = 0; i < t->input_count; i++)
    test_free(t->inputs[i].data);
  for (uint32_t o = 0; o < t->output_count; o++)
    test_free(t->outputs[o].data);
}

static float loss_of(const training *t) {
  assert_string_equal(t->output_names[0], "loss");
  return *(const float *)t->outputs[0].data;
}

static bool on_step(void *user, const egraph_plan_step *step) {
  training *t = user;
  if (step->step != t->steps || step->rank != 0 || !(step->seconds > 0)) return true;
  t->losses[t->steps++] = loss_of(t);
  return t->steps == t->stop_after;
}

// ---- tests ----------------------------------------------------------------------

static void train_alone(training *t, const egraph_graph *graph, uint32_t steps) {
  egraph_session *session;
  assert_ok(egraph_session_create(NULL, graph, NULL, &session));
  for (uint32_t s = 0; s < steps; s++) {
    assert_ok(egraph_session_run(session, t->inputs, t->input_count, t->outputs,
                                 t->output_count));
    t->losses[s] = loss_of(t);
    for (uint32_t o = 0; o < t->output_count; o++)
      for (uint32_t i = 0; i < t->input_count; i++)
        if (strcmp(t->output_names[o], t->input_names[i]) == 0)
          memcpy(t->inputs[i].data, t->outputs[o].data,
                 egraph_tensor_bytes(&t->inputs[i]));
  }
  egraph_session_destroy(session);
}

static void deep_plans_are_trained_as_on_one_device(void **state) {
  api_kit *kit = *state;
  egraph_plan *plan = plan_layers(&kit->alloc, "host*2");
  const egraph_graph *graph = egraph_plan_graph(plan);
  training two, one;
  training_init(&two, graph);
  training_init(&one, graph);
  const egraph_plan_run_options options = {
      .size = sizeof options, .seed = 1, .steps = 3, .on_step = on_step, .user = &two};
  assert_ok(egraph_plan_run_local(NULL, plan, &options, two.inputs, two.input_count,
                                  two.outputs, two.output_count));
  assert_int_equal(two.steps, 3);
  train_alone(&one, graph, 3);
  for (int s = 0; s < 3; s++)
    assert_true(fabsf(one.losses[s] - two.losses[s]) <= 1e-5F * fabsf(one.losses[s]));
  assert_true(one.losses[2] < one.losses[0]);
  for (uint32_t o = 0; o < one.output_count; o++)
    assert_true(egraph_tensor_error(&one.outputs[o], &two.outputs[o]) < 1e-5);
  assert_true(isinf(egraph_tensor_error(&one.outputs[0], &two.outputs[1])));
  assert_int_equal(egraph_tensor_not_finite(&two.outputs[0]), 0);
  *(float *)two.outputs[0].data = NAN;
  assert_int_equal(egraph_tensor_not_finite(&two.outputs[0]), 1);
  training_deinit(&one);
  training_deinit(&two);
  egraph_plan_destroy(plan);
}

/// A copy without data begins as its weight: the run ends like a run with copies given.
static void copies_without_data_begin_as_their_weights(void **state) {
  api_kit *kit = *state;
  egraph_graph *model = api_deep(&kit->alloc, LAYERS);
  egraph_plan *plan;
  api_problem problem = api_target("host*2", NULL);
  problem.trains = true;
  problem.training.loss = "mean-squared-error";
  problem.training.precision = "bf16-weights";
  assert_ok(api_plan(&kit->alloc, model, &problem, &plan));
  training given, absent;
  training_init(&given, egraph_plan_graph(plan));
  training_init(&absent, egraph_plan_graph(plan));
  uint32_t copies = 0;
  for (uint32_t i = 0; i < given.input_count; i++) {
    const char *dot = strchr(given.input_names[i], '.');
    if (dot == NULL || strcmp(dot, ".copy") != 0) continue;
    for (uint32_t w = 0; w < given.input_count; w++)
      if (strlen(given.input_names[w]) == (size_t)(dot - given.input_names[i]) &&
          strncmp(given.input_names[w], given.input_names[i],
                  strlen(given.input_names[w])) == 0)
        egraph_tensor_convert(&given.inputs[w], &given.inputs[i]);
    test_free(absent.inputs[i].data);
    absent.inputs[i].data = NULL;
    copies++;
  }
  assert_true(copies >= LAYERS);
  const egraph_plan_run_options options = {.size = sizeof options, .seed = 1, .steps = 2};
  training *const runs[] = {&given, &absent};
  for (int r = 0; r < 2; r++)
    assert_ok(egraph_plan_run_local(NULL, plan, &options, runs[r]->inputs,
                                    runs[r]->input_count, runs[r]->outputs,
                                    runs[r]->output_count));
  for (uint32_t o = 0; o < given.output_count; o++)
    assert_memory_equal(given.outputs[o].data, absent.outputs[o].data,
                        egraph_tensor_bytes(&given.outputs[o]));
  training_deinit(&given);
  training_deinit(&absent);
  egraph_plan_destroy(plan);
  egraph_graph_destroy(model);
}

static void a_run_may_be_stopped_after_a_step(void **state) {
  api_kit *kit = *state;
  egraph_plan *plan = plan_layers(&kit->alloc, "host*2");
  training t;
  training_init(&t, egraph_plan_graph(plan));
  t.stop_after = 2;
  const egraph_plan_run_options options = {
      .size = sizeof options, .seed = 1, .steps = 8, .on_step = on_step, .user = &t};
  assert_int_equal(egraph_plan_run_local(NULL, plan, &options, t.inputs, t.input_count,
                                         t.outputs, t.output_count),
                   EGRAPH_E_CANCELLED);
  assert_int_equal(t.steps, 2);
  training_deinit(&t);
  egraph_plan_destroy(plan);
}

static void channels_that_are_not_there_are_named(void **state) {
  api_kit *kit = *state;
  egraph_plan *plan = plan_layers(&kit->alloc, "host*2");
  training t;
  uint32_t rank = 0;
  training_init(&t, egraph_plan_graph(plan));
  assert_int_equal(egraph_plan_run_rank(NULL, plan, "pigeons", NULL, t.inputs,
                                        t.input_count, t.outputs, t.output_count, &rank),
                   EGRAPH_E_ARGUMENT);
  assert_non_null(strstr(egraph_last_error(), "pigeons"));
  assert_int_equal(egraph_plan_run_rank(NULL, plan, "mpi", NULL, t.inputs, 1, t.outputs,
                                        t.output_count, &rank),
                   EGRAPH_E_ARGUMENT);
  training_deinit(&t);
  egraph_plan_destroy(plan);
}

static void deadlines_are_checked(void **state) {
  (void)state;
  static const double bad[] = {-1, 1e9, NAN};
  training t;
  egraph_plan *plan = plan_layers(NULL, "host*2");
  training_init(&t, egraph_plan_graph(plan));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const egraph_plan_run_options options = {.size = sizeof options,
                                             .deadline_seconds = bad[i]};
    assert_int_equal(egraph_plan_run_local(NULL, plan, &options, t.inputs, t.input_count,
                                           t.outputs, t.output_count),
                     EGRAPH_E_ARGUMENT);
    assert_non_null(strstr(egraph_last_error(), "deadline"));
  }
  training_deinit(&t);
  egraph_plan_destroy(plan);
}

static void transports_need_devices(void **state) {
  (void)state;
  training t;
  egraph_plan *plan = plan_layers(NULL, "host*2");
  training_init(&t, egraph_plan_graph(plan));
  const egraph_plan_run_options options = {.size = sizeof options, .transport = "nccl"};
  assert_fails(egraph_plan_run_local(NULL, plan, &options, t.inputs, t.input_count,
                                     t.outputs, t.output_count),
               EGRAPH_E_ARGUMENT,
               "transport 'nccl' works between devices; back-end 'cpu'");
  training_deinit(&t);
  egraph_plan_destroy(plan);
}

static void this_host_is_measured(void **state) {
  api_kit *kit = *state;
  locked_allocator locked;
  const egraph_allocator alloc = locked_allocator_over(&locked, kit->alloc);
  for (uint32_t ranks = 1; ranks <= 2; ranks++) {
    char *text;
    assert_ok(egraph_machine_probe(&alloc, ranks, &text));
    assert_non_null(strstr(text, "(egraph-machine 1)"));
    (void)snprintf(kit->path, sizeof kit->path, "test_api_plan_run.%ld.machine",
                   (long)getpid());
    api_write_file(kit->path, text, strlen(text));
    egraph_plan *plan = plan_layers(&kit->alloc, kit->path);
    assert_int_equal(egraph_plan_info_of(plan).devices, ranks);
    assert_true(egraph_plan_info_of(plan).cost > 0);
    egraph_plan_destroy(plan);
    egraph_string_free(&alloc, text);
  }
  char *none;
  assert_int_equal(egraph_machine_probe(NULL, 0, &none), EGRAPH_E_ARGUMENT);
  assert_int_equal(egraph_machine_probe(NULL, 1000, &none), EGRAPH_E_ARGUMENT);
}

/// A layer on two ranks, measured into `database`. Threads that measure need an allocator
/// for several.
static egraph_result *optimize_measured(const char *database, bool measure) {
  api_problem problem = api_target("host*2", NULL);
  egraph_graph *graph = api_layer(NULL);
  egraph_result *result;
  problem.costs = (egraph_costs_options){
      .size = sizeof problem.costs, .database = database, .measure = measure};
  assert_ok(api_optimize(NULL, graph, &problem, &result));
  egraph_graph_destroy(graph);
  return result;
}

static void operators_and_messages_of_this_host_are_measured_once(void **state) {
  api_kit *kit = *state;
  (void)snprintf(kit->path, sizeof kit->path, "test_api_plan_run.%ld.db", (long)getpid());
  egraph_result *first = optimize_measured(kit->path, true);
  egraph_result *second = optimize_measured(kit->path, true);
  egraph_result *assumed = optimize_measured(NULL, false);
  const egraph_report *r = egraph_result_report(first);
  assert_true(r->measured > 0 && r->cost_after > 0);
  assert_int_equal(egraph_result_report(second)->measured, 0);
  assert_true(egraph_result_report(second)->cost_after == r->cost_after);
  assert_int_equal(egraph_result_report(assumed)->measured, 0);
  const egraph_costs_options as_first = {
      .size = sizeof as_first, .database = kit->path, .measure = true};
  const egraph_target target = {.size = sizeof target, .machine = "host*2"};
  egraph_costs *costs;
  egraph_plan *plan;
  assert_ok(egraph_costs_create(NULL, &as_first, &costs));
  assert_ok(egraph_result_take_plan(second, &plan));
  assert_ok(egraph_plan_price(plan, &target, costs));
  double cost = egraph_plan_info_of(plan).cost;
  assert_true(fabs(cost - r->cost_after) <= 1e-9 * cost);
  assert_ok(egraph_plan_price(plan, &target, NULL));
  assert_true(fabs(egraph_plan_info_of(plan).cost - cost) > 1e-9 * cost);
  egraph_plan_destroy(plan);
  egraph_costs_destroy(costs);
  egraph_result_destroy(first);
  egraph_result_destroy(second);
  egraph_result_destroy(assumed);
}

static uint32_t not_measured(const egraph_cost_basis *basis) {
  return basis->given + basis->estimated + basis->guessed;
}

static void plans_say_what_their_costs_rest_on(void **state) {
  (void)state;
  egraph_result *measured = optimize_measured(NULL, true);
  egraph_result *assumed = optimize_measured(NULL, false);
  const egraph_report *m = egraph_result_report(measured);
  const egraph_report *a = egraph_result_report(assumed);
  assert_true(m->basis.measured > 0 && not_measured(&m->basis) == 0);
  assert_true(m->compared.measured > m->basis.measured);
  assert_int_equal(not_measured(&m->compared), 0);
  assert_true(a->basis.guessed > 0 && a->compared.guessed >= a->basis.guessed);
  assert_int_equal(a->basis.measured + a->basis.estimated + a->basis.given, 0);
  egraph_result_destroy(measured);
  egraph_result_destroy(assumed);
}

/// Nothing is measured once the caller wants to stop, and one thread has nobody to talk
/// to.
static bool stop_at_once(void *user, const char *phase, const char *line) {
  (void)user, (void)phase, (void)line;
  return true;
}

static api_problem measured_alone(void) {
  api_problem problem = api_target("host*1", NULL);
  problem.costs = (egraph_costs_options){.size = sizeof problem.costs, .measure = true};
  return problem;
}

static void measuring_can_be_stopped(void **state) {
  api_kit *kit = *state;
  api_problem problem = measured_alone();
  problem.progress = stop_at_once;
  egraph_result *result = api_optimize_layer(kit, &problem);
  const egraph_report *r = egraph_result_report(result);
  assert_int_equal(r->measured, 0);
  assert_true(r->basis.guessed > 0); // and that is said
  egraph_result_destroy(result);
}

static egraph_status plan_and_give_back(egraph_allocator heap, void *user) {
  (void)user;
  egraph_graph *graph = NULL;
  egraph_plan *plan = NULL;
  const api_problem problem = measured_alone();
  egraph_status status = egraph_graph_create(&heap, &graph);
  if (status == EGRAPH_OK) status = api_build_layer(graph);
  if (status == EGRAPH_OK) status = api_plan(&heap, graph, &problem, &plan);
  egraph_plan_destroy(plan);
  egraph_graph_destroy(graph);
  return status;
}

static void measuring_survives_failing_allocations(void **state) {
  (void)state;
  test_every_allocation_failing(plan_and_give_back, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(deep_plans_are_trained_as_on_one_device),
      api_test(copies_without_data_begin_as_their_weights),
      api_test(a_run_may_be_stopped_after_a_step),
      api_test(channels_that_are_not_there_are_named),
      api_test(this_host_is_measured),
      api_test(deadlines_are_checked),
      api_test(transports_need_devices),
      api_test(operators_and_messages_of_this_host_are_measured_once),
      api_test(plans_say_what_their_costs_rest_on),
      api_test(measuring_can_be_stopped),
      api_test(measuring_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
