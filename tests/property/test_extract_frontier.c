// Walks over states of a frontier against exhaustive search: a complete walk is exact
// where it met no cycle, what a walk of few states finds is a solution, and a walk that
// ignores cycles costs no more than any. Narrow problems of any length are solved.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/search/extract.h"
#include "extract/search/frontier.h"
#include "tests/extract_brute.h"
#include "tests/extract_draw.h"
#include "tests/testing.h"

enum { PROBLEMS = 4000, MAX_CLASSES = 14, LAYERS = 400 };

typedef struct walker {
  eg_class_index index;
  eg_frontier frontier;
  eg_frontier_result result;
} walker;

static void setup(walker *w, const eg_extract_problem *problem) {
  eg_class_index_init(&w->index, eg_allocator_heap());
  eg_frontier_init(&w->frontier, eg_allocator_heap());
  eg_frontier_result_init(&w->result, eg_allocator_heap());
  assert_ok(eg_class_index_build(&w->index, problem));
  assert_ok(eg_frontier_find(&w->frontier, problem, &w->index));
}

static void teardown(walker *w) {
  eg_frontier_result_deinit(&w->result);
  eg_frontier_deinit(&w->frontier);
  eg_class_index_deinit(&w->index);
}

static void walk(walker *w, double limit, uint32_t states, bool ignores_cycles) {
  eg_frontier_options options = {limit, states, UINT64_MAX, ignores_cycles, NULL};
  assert_ok(eg_frontier_run(&w->frontier, NULL, &options, &w->result));
}

static void expect_solution(const walker *w, const eg_extract_problem *problem) {
  double cost;
  if (w->result.choice.len == 0) return;
  assert_ok(
      eg_extract_certify(eg_allocator_heap(), problem, w->result.choice.data, &cost));
  assert_true(cost == w->result.cost); // whole numbers
}

static void walks_agree_with_exhaustive_search(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261129);
  size_t rounds = test_rounds(PROBLEMS), exact = 0, cyclic = 0, found = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    uint32_t classes = 1 + (uint32_t)eg_rng_below(&rng, MAX_CLASSES);
    eg_extract_problem problem;
    draw_narrow(&rng, classes, 6, round % 3 == 0 ? 4 : 0, &problem);
    double optimum = brute_force(&problem);
    walker w;
    setup(&w, &problem);
    walk(&w, INFINITY, 1 << 14, false);
    assert_true(w.result.has_ended && w.result.is_complete);
    expect_solution(&w, &problem);
    assert_true(w.result.cost >= optimum);
    if (!w.result.has_cycle) assert_true(w.result.cost == optimum);
    w.result.has_cycle ? cyclic++ : exact++;
    walk(&w, optimum, 1 << 14, false);
    assert_true(w.result.choice.len == 0 && w.result.cost == optimum);
    walk(&w, INFINITY, 1, false);
    expect_solution(&w, &problem);
    assert_true(w.result.cost >= optimum);
    found += w.result.choice.len != 0;
    walk(&w, INFINITY, 1 << 14, true);
    assert_true(w.result.has_ended && w.result.cost <= optimum);
    teardown(&w);
    eg_extract_problem_deinit(&problem);
  }
  assert_true(exact > rounds / 2 && cyclic > rounds / 20 && found > rounds / 2);
}

/// By walks, and by the rest of the search, which has a bound or the optimum.
static void long_and_narrow_problems_are_solved(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261130);
  for (size_t round = 0; round < 4; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_extract_problem problem;
    draw_narrow(&rng, LAYERS * 8, 8, 0, &problem);
    double cost[2], bound[2];
    for (int without = 0; without < 2; without++) {
      eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
      options.without_frontier = without;
      options.work_limit = 200;
      eg_extract_result result;
      eg_extract_result_init(&result, eg_allocator_heap());
      assert_ok(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result));
      if (!without) assert_int_equal(result.status, EG_EXTRACT_OPTIMAL);
      cost[without] = result.cost, bound[without] = result.bound;
      eg_extract_result_deinit(&result);
    }
    assert_true(cost[0] <= cost[1] && bound[1] <= cost[0]);
    eg_extract_problem_deinit(&problem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(walks_agree_with_exhaustive_search),
      cmocka_unit_test(long_and_narrow_problems_are_solved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
