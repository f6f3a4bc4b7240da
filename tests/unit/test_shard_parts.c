// Parts of the sharding solver against naive versions, and the shared instances with
// known optima.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_dual.h"
#include "extract/shard/shard_eliminate.h"
#include "extract/shard/shard_model.h"
#include "extract/shard/shard_problem.h"
#include "extract/shard/shard_solve.h"
#include "tests/testing.h"

enum { ROWS = 13, NODES = 6, VALUES = 3 };

static void the_slack_tree_equals_an_array(void **state) {
  (void)state;
  eg_rng rng = {test_seed(20260211)};
  for (uint32_t rows = 1; rows <= ROWS; rows++) {
    eg_shard_model model;
    eg_shard_slack slack;
    eg_shard_model_init(&model, eg_allocator_heap());
    eg_shard_slack_init(&slack, eg_allocator_heap());
    int64_t naive[ROWS];
    for (uint32_t r = 0; r < rows; r++) {
      naive[r] = (int64_t)eg_rng_below(&rng, 50);
      assert_ok(eg_i64s_push(&model.capacity, naive[r]));
    }
    assert_ok(eg_shard_slack_start(&slack, &model));
    for (int step = 0; step < 200; step++) {
      uint32_t first = (uint32_t)eg_rng_below(&rng, rows);
      uint32_t last = first + 1 + (uint32_t)eg_rng_below(&rng, rows - first);
      int64_t amount = (int64_t)eg_rng_below(&rng, 41) - 20, least = INT64_MAX;
      eg_shard_slack_add(&slack, first, last, amount);
      for (uint32_t r = first; r < last; r++)
        naive[r] += amount;
      for (uint32_t r = 0; r < rows; r++)
        if (naive[r] < least) least = naive[r];
      assert_int_equal(slack.least.data[1], least);
      assert_int_equal(eg_shard_slack_fits(&slack), least >= 0);
    }
    eg_shard_slack_deinit(&slack);
    eg_shard_model_deinit(&model);
  }
}

static void draw_problem(eg_rng *rng, eg_shard_problem *problem) {
  assert_ok(eg_shard_problem_init(problem, eg_allocator_heap()));
  for (int n = 0; n < NODES; n++) {
    int64_t cost[VALUES], usage[VALUES], first = (int64_t)eg_rng_below(rng, 6);
    for (int v = 0; v < VALUES; v++) {
      cost[v] = (int64_t)eg_rng_below(rng, 100);
      usage[v] = (int64_t)eg_rng_below(rng, 10);
    }
    assert_ok(eg_shard_problem_add_node(problem, first, first + 3, cost, usage, VALUES));
  }
  for (int e = 0; e < 9; e++) {
    int64_t table[VALUES * VALUES];
    for (int i = 0; i < VALUES * VALUES; i++)
      table[i] = eg_rng_below(rng, 12) == 0 ? EG_SHARD_INFINITE
                                            : (int64_t)eg_rng_below(rng, 100);
    uint32_t a = (uint32_t)eg_rng_below(rng, NODES);
    uint32_t b = (a + 1 + (uint32_t)eg_rng_below(rng, NODES - 1)) % NODES;
    assert_ok(eg_shard_problem_add_edge(problem, a, b, table));
  }
  problem->limit = 12 + (int64_t)eg_rng_below(rng, 10);
}

// Least cost over all choices of the model: of those that fit, and with charges instead.
static void enumerate(eg_shard_model *model, int64_t *out_fitting) {
  uint32_t choice[NODES] = {0};
  *out_fitting = EG_SHARD_INFINITE;
  for (uint32_t n = 0; n < NODES;) {
    int64_t cost;
    bool fits;
    assert_ok(eg_shard_model_evaluate(model, choice, &cost, &fits));
    if (fits && cost < *out_fitting) *out_fitting = cost;
    for (n = 0; n < NODES && ++choice[n] == model->nodes.data[n].count; n++)
      choice[n] = 0;
  }
}

// Messages and prices may be anything: good ones, and noise.
static void bounds_are_valid_for_any_messages_and_prices(void **state) {
  (void)state;
  eg_rng rng = {test_seed(20260212)};
  for (size_t round = 0; round < test_rounds(300); round++) {
    eg_shard_problem problem;
    eg_shard_model model;
    draw_problem(&rng, &problem);
    eg_shard_model_init(&model, eg_allocator_heap());
    assert_ok(eg_shard_model_build(&model, &problem));
    int64_t optimum, bound;
    bool changed = false;
    enumerate(&model, &optimum);
    if (round % 2 == 0) {
      for (size_t i = 0; i < model.message.len; i++)
        model.message.data[i] = 200 * eg_rng_unit(&rng) - 100;
      for (size_t r = 0; r < model.price.len; r++)
        model.price.data[r] = 5 * eg_rng_unit(&rng);
    } else {
      eg_shard_dual dual;
      eg_shard_dual_init(&dual, eg_allocator_heap());
      assert_ok(eg_shard_dual_start(&dual, &model));
      for (int i = 0; i < 20; i++) {
        eg_shard_dual_sweep(&dual);
        eg_shard_dual_reprice(&dual, (double)optimum);
      }
      eg_shard_dual_deinit(&dual);
    }
    model.cutoff = optimum == EG_SHARD_INFINITE ? optimum : optimum + 1;
    assert_ok(eg_shard_bound_run(&model, true, &bound, &changed));
    assert_true(bound <= optimum);
    if (optimum < EG_SHARD_INFINITE) assert_false(model.closed); // optimum is below
    eg_shard_model_deinit(&model);
    eg_shard_problem_deinit(&problem);
  }
}

static void elimination_is_exact_without_memory_and_a_bound_with(void **state) {
  (void)state;
  eg_rng rng = {test_seed(20260213)};
  for (size_t round = 0; round < test_rounds(300); round++) {
    eg_shard_problem problem;
    eg_shard_model model;
    eg_shard_elimination tables;
    draw_problem(&rng, &problem);
    if (round % 3 == 0) problem.limit = INT64_MAX;
    eg_shard_model_init(&model, eg_allocator_heap());
    eg_shard_elimination_init(&tables, eg_allocator_heap());
    assert_ok(eg_shard_model_build(&model, &problem));
    for (size_t r = 0; r < model.price.len; r++)
      model.price.data[r] = 3 * eg_rng_unit(&rng);
    int64_t optimum;
    enumerate(&model, &optimum);
    model.cutoff = 100000; // more than any finite sum
    size_t cap = round % 2 == 0 ? 100000 : 10;
    assert_ok(eg_shard_elimination_order(&tables, &model, NULL, NULL, cap, 1000000));
    assert_ok(eg_shard_elimination_run(&tables));
    int64_t unit = INT64_C(1) << tables.prices.scale;
    assert_true(tables.exact || cap == 10);
    if (optimum < EG_SHARD_INFINITE) assert_true(tables.bound <= optimum * unit);
    if (problem.limit == INT64_MAX && tables.exact && optimum < EG_SHARD_INFINITE) {
      uint32_t choice[NODES];
      int64_t cost;
      bool fits;
      assert_int_equal(tables.bound, optimum * unit);
      assert_ok(eg_shard_elimination_trace(&tables, choice));
      assert_ok(eg_shard_model_evaluate(&model, choice, &cost, &fits));
      assert_int_equal(cost, optimum);
    }
    eg_shard_elimination_deinit(&tables);
    eg_shard_model_deinit(&model);
    eg_shard_problem_deinit(&problem);
  }
}

static bool stop_at_once(void *user, int64_t cost, int64_t bound, double seconds) {
  assert_true(bound <= cost && seconds >= 0);
  (*(int *)user)++;
  return true;
}

static void solve_file(const char *name, double seconds, bool stop,
                       eg_shard_result *result) {
  eg_shard_problem problem;
  eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
  int calls = 0;
  options.time_limit_seconds = seconds;
  options.progress = stop ? stop_at_once : NULL;
  options.user = &calls;
  char path[512];
  (void)snprintf(path, sizeof path, EG_DATA_DIR "/iopddl/%s", name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) skip();
  fclose(file);
  assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
  assert_ok(eg_iopddl_read(path, &problem));
  assert_ok(eg_shard_solve(eg_allocator_heap(), &problem, &options, result));
  assert_true(result->peak <= problem.limit || result->choice.len == 0);
  if (stop) assert_true(calls == 1);
  eg_shard_problem_deinit(&problem);
}

static void shared_instances_are_solved_to_their_optima(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t optimum;
  } cases[] = {{"example.json", 445}, {"B.json.gz", 532843}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_shard_result first, second;
    eg_shard_result_init(&first, eg_allocator_heap());
    eg_shard_result_init(&second, eg_allocator_heap());
    solve_file(cases[i].name, 60, false, &first);
    assert_int_equal(first.cost, cases[i].optimum);
    assert_int_equal(first.bound, cases[i].optimum);
    assert_int_equal(first.status, EG_EXTRACT_OPTIMAL);
    solve_file(cases[i].name, 60, false, &second); // the same course of events
    assert_memory_equal(first.choice.data, second.choice.data,
                        first.choice.len * sizeof *first.choice.data);
    eg_shard_result_deinit(&second);
    eg_shard_result_deinit(&first);
  }
}

static void progress_stops_the_search(void **state) {
  (void)state;
  eg_shard_result result;
  eg_shard_result_init(&result, eg_allocator_heap());
  solve_file("B.json.gz", 60, true, &result);
  assert_true(result.bound <= 532843 && result.cost >= 532843);
  eg_shard_result_deinit(&result);
}

static void an_incumbent_is_taken_when_it_fits(void **state) {
  (void)state;
  eg_shard_problem problem;
  assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
  const int64_t cost[2] = {5, 7}, usage[2] = {9, 1};
  assert_ok(eg_shard_problem_add_node(&problem, 0, 2, cost, usage, 2));
  problem.limit = 4;
  static const uint32_t choices[] = {0, 1, 2}; // too large, good, out of range
  for (size_t i = 0; i < 3; i++) {
    eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
    options.incumbent = &choices[i];
    eg_shard_result result;
    eg_shard_result_init(&result, eg_allocator_heap());
    assert_ok(eg_shard_solve(eg_allocator_heap(), &problem, &options, &result));
    assert_int_equal(result.status, EG_EXTRACT_OPTIMAL);
    assert_int_equal(result.cost, 7);
    assert_int_equal(result.choice.data[0], 1);
    eg_shard_result_deinit(&result);
  }
  eg_shard_problem_deinit(&problem);
}

static void usages_that_would_overflow_are_refused(void **state) {
  (void)state;
  eg_shard_problem problem;
  assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
  const int64_t cost[1] = {1}, usage[1] = {INT64_MAX / 2};
  for (int n = 0; n < 3; n++)
    assert_ok(eg_shard_problem_add_node(&problem, 0, 2, cost, usage, 1));
  problem.limit = INT64_MAX - 1;
  eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
  eg_shard_result result;
  eg_shard_result_init(&result, eg_allocator_heap());
  assert_fails(eg_shard_solve(eg_allocator_heap(), &problem, &options, &result),
               EGRAPH_E_ARGUMENT, "add up beyond");
  eg_shard_result_deinit(&result);
  eg_shard_problem_deinit(&problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_slack_tree_equals_an_array),
      cmocka_unit_test(bounds_are_valid_for_any_messages_and_prices),
      cmocka_unit_test(elimination_is_exact_without_memory_and_a_bound_with),
      cmocka_unit_test(an_incumbent_is_taken_when_it_fits),
      cmocka_unit_test(usages_that_would_overflow_are_refused),
      cmocka_unit_test(shared_instances_are_solved_to_their_optima),
      cmocka_unit_test(progress_stops_the_search),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
