// Public functions that execute graphs: sessions, comparisons, steps.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/api_kit.h"

static egraph_tensor matrix(int64_t rows, int64_t columns, float *data) {
  return (egraph_tensor){
      .dtype = EGRAPH_FLOAT32, .rank = 2, .dims = {rows, columns}, .data = data};
}

/// y = relu(x + b) with b given, so that results are known.
static egraph_graph *known_graph(const egraph_allocator *alloc) {
  egraph_graph *graph;
  egraph_value x, b, y;
  assert_ok(egraph_graph_create(alloc, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){2, 3}, &x));
  assert_ok(egraph_graph_add_weight(graph, "b", EGRAPH_FLOAT32, 1, (int64_t[]){3},
                                    (float[]){1, -10, 0.5f}, &b));
  assert_ok(egraph_graph_add(graph, NULL, "add", NULL, (egraph_value[]){x, b}, 2, &y));
  assert_ok(egraph_graph_add(graph, NULL, "relu", NULL, &y, 1, &y));
  assert_ok(egraph_graph_add_output(graph, "y", y));
  return graph;
}

static void sessions_compute_what_the_graph_says(void **state) {
  api_kit *kit = *state;
  static const char *const backends[] = {NULL, "cpu", "reference"};
  egraph_graph *graph = known_graph(&kit->alloc);
  for (size_t i = 0; i < 3; i++) {
    egraph_session_options options = {
        .size = sizeof options, .backend = backends[i], .threads = (uint32_t)i};
    egraph_session *session;
    assert_ok(egraph_session_create(&kit->alloc, graph, &options, &session));
    float x[6] = {1, 2, 3, 4, 50, 6}, y[6] = {0};
    static const float want[6] = {2, 0, 3.5f, 5, 40, 6.5f};
    egraph_tensor in = matrix(2, 3, x), out = matrix(2, 3, y);
    size_t requests = kit->heap.requests;
    for (int run = 0; run < 2; run++)
      assert_ok(egraph_session_run(session, &in, 1, &out, 1));
    assert_int_equal(kit->heap.requests, requests); // a run allocates nothing
    assert_memory_equal(y, want, sizeof y);
    egraph_session_destroy(session);
  }
  egraph_session_destroy(NULL);
  egraph_graph_destroy(graph);
}

static void tensors_that_do_not_fit_are_refused(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = known_graph(&kit->alloc);
  egraph_session *session;
  assert_ok(egraph_session_create(&kit->alloc, graph, NULL, &session));
  float x[6] = {0}, y[6] = {0};
  egraph_tensor in = matrix(2, 3, x), out = matrix(2, 3, y), bad;
  assert_fails(egraph_session_run(session, &in, 0, &out, 1), EGRAPH_E_ARGUMENT,
               "0 inputs and 1 outputs given; the graph has 1 and 1");
  assert_fails(egraph_session_run(session, &in, 1, &out, 2), EGRAPH_E_ARGUMENT,
               "1 inputs and 2 outputs given");
  bad = matrix(3, 2, x);
  assert_fails(egraph_session_run(session, &bad, 1, &out, 1), EGRAPH_E_TYPE, "'x'");
  assert_fails(egraph_session_run(session, &in, 1, &bad, 1), EGRAPH_E_TYPE, "'y'");
  bad = in;
  bad.dtype = EGRAPH_FLOAT64;
  assert_fails(egraph_session_run(session, &bad, 1, &out, 1), EGRAPH_E_TYPE, "'x'");
  bad = in;
  bad.data = NULL;
  assert_fails(egraph_session_run(session, &bad, 1, &out, 1), EGRAPH_E_ARGUMENT,
               "'x': no data");
  bad = in;
  bad.rank = 40;
  assert_fails(egraph_session_run(session, &bad, 1, &out, 1), EGRAPH_E_ARGUMENT,
               "rank 40");
  assert_ok(egraph_session_run(session, &in, 1, &out, 1)); // still usable
  egraph_session_destroy(session);
  egraph_graph_destroy(graph);
}

static void an_unknown_back_end_is_named(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = known_graph(&kit->alloc);
  egraph_session_options options = {.size = sizeof options, .backend = "abacus"};
  egraph_session *session = NULL;
  assert_fails(egraph_session_create(&kit->alloc, graph, &options, &session),
               EGRAPH_E_ARGUMENT, "no back-end 'abacus'");
  assert_null(session);
  egraph_costs_options costs_options = {.size = sizeof costs_options,
                                        .backend = "abacus"};
  egraph_costs *costs = NULL;
  assert_fails(egraph_costs_create(&kit->alloc, &costs_options, &costs),
               EGRAPH_E_ARGUMENT, "no back-end 'abacus'");
  egraph_compare_options compare = {.size = sizeof compare, .backend = "abacus"};
  egraph_comparison c;
  assert_fails(egraph_compare(&kit->alloc, graph, graph, &compare, &c), EGRAPH_E_ARGUMENT,
               "no back-end 'abacus'");
  egraph_graph_destroy(graph);
}

static void absent_weights_follow_the_seed(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  float x[32], y[3][24];
  static const uint64_t seeds[3] = {5, 5, 6};
  egraph_tensor in = matrix(4, 8, x);
  egraph_draw_input("x", 1, &in);
  for (int i = 0; i < 3; i++) {
    egraph_session_options options = {.size = sizeof options, .seed = seeds[i]};
    egraph_session *session;
    egraph_tensor out = matrix(4, 6, y[i]);
    assert_ok(egraph_session_create(&kit->alloc, graph, &options, &session));
    assert_ok(egraph_session_run(session, &in, 1, &out, 1));
    egraph_session_destroy(session);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  assert_memory_not_equal(y[0], y[2], sizeof y[0]);
  egraph_graph_destroy(graph);
}

static void drawn_inputs_depend_on_name_and_seed(void **state) {
  (void)state;
  float a[6], b[6], untouched[1] = {7};
  egraph_tensor ta = matrix(2, 3, a), tb = matrix(2, 3, b);
  egraph_draw_input("x", 1, &ta);
  egraph_draw_input("x", 1, &tb);
  assert_memory_equal(a, b, sizeof a);
  egraph_draw_input("x", 2, &tb);
  assert_memory_not_equal(a, b, sizeof a);
  egraph_draw_input("z", 1, &tb);
  assert_memory_not_equal(a, b, sizeof a);
  egraph_tensor bad = matrix(-1, 3, untouched);
  egraph_draw_input("x", 1, &bad);
  assert_true(untouched[0] == 7);
}

static void a_graph_without_operators_runs(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph;
  egraph_value x;
  assert_ok(egraph_graph_create(&kit->alloc, &graph));
  egraph_session *session;
  assert_ok(egraph_session_create(&kit->alloc, graph, NULL, &session));
  assert_ok(egraph_session_run(session, NULL, 0, NULL, 0));
  egraph_session_destroy(session);
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){2, 3}, &x));
  assert_ok(egraph_graph_add_output(graph, "y", x));
  float in_data[6] = {1, 2, 3, 4, 5, 6}, out_data[6] = {0};
  egraph_tensor in = matrix(2, 3, in_data), out = matrix(2, 3, out_data);
  assert_ok(egraph_session_create(&kit->alloc, graph, NULL, &session));
  assert_ok(egraph_session_run(session, &in, 1, &out, 1));
  assert_memory_equal(in_data, out_data, sizeof in_data);
  egraph_session_destroy(session);
  egraph_comparison c;
  assert_ok(egraph_compare(&kit->alloc, graph, graph, NULL, &c));
  assert_true(c.max_error == 0);
  egraph_graph_destroy(graph);
}

// ---- steps -----------------------------------------------------------------------

typedef struct step_log {
  uint32_t steps;
  double flops, seconds;
  bool relu_or_fused;
} step_log;

static void note_step(void *user, const egraph_step *step) {
  step_log *log = user;
  log->steps++;
  log->flops += step->flops;
  log->seconds += step->seconds;
  assert_non_null(step->node);
  assert_non_null(step->kernel);
  log->relu_or_fused |= strcmp(step->op, "relu") == 0 || strcmp(step->op, "matmul") == 0;
}

static void steps_are_reported_with_their_times(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_session *session;
  assert_ok(egraph_session_create(&kit->alloc, graph, NULL, &session));
  for (uint32_t repeats = 0; repeats < 3; repeats++) {
    step_log log = {.steps = 0};
    assert_ok(egraph_session_steps(session, 1, repeats, note_step, &log));
    assert_true(log.steps >= 1);
    assert_true(log.relu_or_fused);
    assert_true(log.flops > 0);
    assert_true(log.seconds > 0 && log.seconds < 10);
  }
  egraph_session_destroy(session);
  egraph_graph_destroy(graph);
}

// ---- comparing -------------------------------------------------------------------

/// y = x * factor, one input of the given name and type.
static egraph_graph *scaled(const egraph_allocator *alloc, const char *input,
                            int64_t rows, const char *output, float factor) {
  egraph_graph *graph;
  egraph_value x, f, y;
  assert_ok(egraph_graph_create(alloc, &graph));
  assert_ok(
      egraph_graph_add_input(graph, input, EGRAPH_FLOAT32, 2, (int64_t[]){rows, 3}, &x));
  assert_ok(egraph_graph_add_weight(graph, "f", EGRAPH_FLOAT32, 0, NULL, &factor, &f));
  assert_ok(egraph_graph_add(graph, NULL, "mul", NULL, (egraph_value[]){x, f}, 2, &y));
  assert_ok(egraph_graph_add_output(graph, output, y));
  return graph;
}

static void different_graphs_differ(void **state) {
  api_kit *kit = *state;
  egraph_graph *one = scaled(&kit->alloc, "x", 2, "y", 1.0f);
  static const struct {
    float factor;
    double error;
  } cases[] = {{1.0f, 0}, {1.5f, 0.5}, {NAN, INFINITY}, {INFINITY, INFINITY}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    egraph_graph *other = scaled(&kit->alloc, "x", 2, "y", cases[i].factor);
    egraph_comparison c;
    egraph_compare_options options = {
        .size = sizeof options, .backend = "reference", .repeats = 1 + (uint32_t)i};
    assert_ok(egraph_compare(&kit->alloc, one, other, &options, &c));
    if (isinf(cases[i].error))
      assert_true(isinf(c.max_error));
    else
      assert_true(fabs(c.max_error - cases[i].error) < 1e-6);
    assert_true(c.time_a > 0 && c.time_b > 0);
    assert_ok(egraph_compare(&kit->alloc, other, other, &options, &c));
    assert_true(c.max_error == 0); // also of NaN with itself
    egraph_graph_destroy(other);
  }
  egraph_graph_destroy(one);
}

static void graphs_of_other_interfaces_are_not_compared(void **state) {
  api_kit *kit = *state;
  egraph_graph *one = scaled(&kit->alloc, "x", 2, "y", 1.0f);
  egraph_graph *others[] = {scaled(&kit->alloc, "x", 3, "y", 1.0f),
                            scaled(&kit->alloc, "x", 2, "y", 1.0f),
                            scaled(&kit->alloc, "x", 2, "y", 1.0f)};
  egraph_value sum;
  assert_ok(egraph_graph_add(others[1], NULL, "reduce-sum", ":axes [0] :keepdims 0",
                             (egraph_value[]){{0}}, 1, &sum));
  assert_ok(egraph_graph_add_output(others[1], "sum", sum));
  assert_ok(egraph_graph_add_output(one, "same", (egraph_value){0}));
  assert_ok(egraph_graph_add_output(others[0], "same", (egraph_value){0}));
  static const char *const parts[] = {"input 0 ('x')", "output 1 ('same')",
                                      "number of inputs or outputs"};
  for (size_t i = 0; i < 3; i++) {
    egraph_comparison c = {.max_error = 42};
    assert_fails(egraph_compare(&kit->alloc, one, others[i], NULL, &c), EGRAPH_E_ARGUMENT,
                 parts[i]);
    assert_true(c.max_error == 42);
    egraph_graph_destroy(others[i]);
  }
  egraph_graph_destroy(one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(sessions_compute_what_the_graph_says),
      api_test(tensors_that_do_not_fit_are_refused),
      api_test(an_unknown_back_end_is_named),
      api_test(absent_weights_follow_the_seed),
      cmocka_unit_test(drawn_inputs_depend_on_name_and_seed),
      api_test(a_graph_without_operators_runs),
      api_test(steps_are_reported_with_their_times),
      api_test(different_graphs_differ),
      api_test(graphs_of_other_interfaces_are_not_compared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
