// Different objects may be used from different threads: whole flows side by side, sharing
// one graph that nobody changes. Of most use under the thread sanitizer.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "tests/unit/api_kit.h"

enum { THREADS = 4, ROUNDS = 3 };

// The sanitizer does not see the locks inside oneDNN and takes its cache for a race.
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define EG_TEST_TSAN 1
#endif
#endif
#if defined __SANITIZE_THREAD__ || defined EG_TEST_TSAN
static const char back_end[] = "reference";
#else
static const char back_end[] = "cpu";
#endif

typedef struct worker {
  const egraph_graph *shared;
  egraph_status status;
  double cost_after, max_error;
  char message[256];
} worker;

static egraph_status flow(worker *w) {
  egraph_rules *rules = NULL;
  egraph_costs *costs = NULL;
  egraph_result *result = NULL;
  egraph_comparison c = {.max_error = 1};
  egraph_costs_options costs_options = {
      .size = sizeof costs_options, .override_cost = api_unit_cost, .backend = back_end};
  egraph_compare_options compare = {
      .size = sizeof compare, .repeats = 2, .seed = 1, .backend = back_end};
  egraph_status status = egraph_rules_create(NULL, &rules);
  if (status == EGRAPH_OK) status = egraph_rules_add_builtin(rules);
  if (status == EGRAPH_OK) status = egraph_costs_create(NULL, &costs_options, &costs);
  if (status == EGRAPH_OK)
    status = egraph_optimize(NULL, w->shared, rules, costs, NULL, &result);
  if (status == EGRAPH_OK) {
    w->cost_after = egraph_result_report(result)->cost_after;
    status = egraph_compare(NULL, w->shared, egraph_result_graph(result), &compare, &c);
    w->max_error = c.max_error;
  }
  egraph_result_destroy(result);
  egraph_costs_destroy(costs);
  egraph_rules_destroy(rules);
  return status;
}

static void *work(void *user) {
  worker *w = user;
  for (int i = 0; i < ROUNDS && w->status == EGRAPH_OK; i++)
    w->status = flow(w);
  // The message belongs to this thread.
  if (w->status != EGRAPH_OK)
    (void)snprintf(w->message, sizeof w->message, "%s", egraph_last_error());
  return NULL;
}

static void threads_with_objects_of_their_own_do_not_meet(void **state) {
  (void)state;
  egraph_graph *graph = api_layer(NULL);
  worker workers[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.shared = graph, .status = EGRAPH_OK};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  egraph_graph_destroy(graph);
  for (int i = 0; i < THREADS; i++) {
    if (workers[i].status != EGRAPH_OK) fail_msg("%s", workers[i].message);
    assert_true(workers[i].cost_after == workers[0].cost_after);
    assert_true(workers[i].max_error < 1e-5);
  }
}

static const egraph_load_options one = {.size = sizeof one, .batch = 1};

static void *fail_once(void *user) {
  egraph_graph *graph;
  *(egraph_status *)user = egraph_graph_load(NULL, "no such file.onnx", &one, &graph);
  return NULL;
}

static void the_last_error_is_the_threads_own(void **state) {
  (void)state;
  egraph_graph *graph;
  egraph_status other = EGRAPH_OK;
  pthread_t thread;
  assert_fails(egraph_graph_load(NULL, "mine.onnx", &one, &graph), EGRAPH_E_IO,
               "mine.onnx");
  assert_int_equal(pthread_create(&thread, NULL, fail_once, &other), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(other, EGRAPH_E_IO);
  assert_non_null(strstr(egraph_last_error(), "mine.onnx"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_with_objects_of_their_own_do_not_meet),
      cmocka_unit_test(the_last_error_is_the_threads_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
