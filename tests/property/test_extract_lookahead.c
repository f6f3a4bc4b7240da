// Bounds by looking ahead against exhaustive search: of one class, of two and of the
// roots they are never above the optimum, never fall, and meet it where the search has
// time and no cycle was cut; walks that they lead find it. Of layers too wide for all
// their states, and for linear programs, most are solved, and gaps are less than half.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/search/extract.h"
#include "extract/search/frontier.h"
#include "tests/extract_brute.h"
#include "tests/extract_draw.h"
#include "tests/testing.h"

enum { PROBLEMS = 1000, MAX_CLASSES = 12, ALL = 1 << 14, LAYERS = 50, WIDTH = 30 };

typedef struct seer {
  const eg_extract_problem *problem;
  eg_class_index index;
  eg_frontier frontier;
  eg_lookahead ahead;
  double bound; // of the roots
} seer;

static void setup(seer *s, const eg_extract_problem *problem) {
  s->problem = problem;
  s->bound = 0;
  eg_class_index_init(&s->index, eg_allocator_heap());
  eg_frontier_init(&s->frontier, eg_allocator_heap());
  eg_lookahead_init(&s->ahead, eg_allocator_heap());
  assert_ok(eg_class_index_build(&s->index, problem));
  assert_ok(eg_frontier_find(&s->frontier, problem, &s->index));
  assert_ok(eg_lookahead_build(&s->ahead, &s->frontier));
}

static void teardown(seer *s) {
  eg_lookahead_deinit(&s->ahead);
  eg_frontier_deinit(&s->frontier);
  eg_class_index_deinit(&s->index);
}

/// By exhaustive search; p and q may be the same class.
static double cost_of(const seer *s, uint32_t p, uint32_t q) {
  uint32_t roots[] = {p, q};
  eg_extract_problem problem = *s->problem; // borrows all but the roots
  problem.roots.data = roots;
  problem.roots.len = p == q ? 1 : 2;
  return brute_force(&problem);
}

/// Runs and looks at every class and pair; *out_exact: each meets its optimum.
static void run(seer *s, uint32_t states, bool in_pairs, bool *out_exact) {
  eg_lookahead_options options = {states, in_pairs, UINT64_MAX};
  double before = s->bound;
  assert_ok(eg_lookahead_run(&s->ahead, NULL, &options, &s->bound));
  assert_true(s->bound >= before);
  *out_exact = s->bound == brute_force(s->problem);
  assert_true(s->bound <= brute_force(s->problem));
  const uint32_t *order = s->frontier.order.data;
  for (uint32_t p = 0; p < s->ahead.alone.len; p++) {
    if (s->ahead.opened.data[p] == EG_EXTRACT_NONE) continue;
    double cost = cost_of(s, order[p], order[p]);
    assert_true(s->ahead.alone.data[p] <= cost);
    *out_exact = *out_exact && s->ahead.alone.data[p] == cost;
    for (uint32_t q = p + 1; in_pairs && q < s->ahead.alone.len; q++) {
      if (s->ahead.opened.data[q] > p) continue;
      double pair = eg_lookahead_of_pair(&s->ahead, p, q);
      assert_true(pair == eg_lookahead_of_pair(&s->ahead, q, p));
      assert_true(pair <= cost_of(s, order[p], order[q]));
      assert_true(pair >= fmax(s->ahead.alone.data[p], s->ahead.alone.data[q]) ||
                  states == 1);
    }
  }
}

static void expect_walks(const seer *s, double optimum) {
  eg_frontier_result result;
  eg_frontier_result_init(&result, eg_allocator_heap());
  eg_frontier_options options = {INFINITY, ALL, UINT64_MAX, false, &s->ahead};
  assert_ok(eg_frontier_run(&s->frontier, NULL, &options, &result));
  assert_true(result.has_ended && result.is_complete && result.cost >= optimum);
  if (!result.has_cycle) assert_true(result.cost == optimum);
  options.limit = optimum + 1;
  options.states = 1;
  assert_ok(eg_frontier_run(&s->frontier, NULL, &options, &result));
  assert_true(result.cost >= optimum);
  options.limit = optimum;
  options.states = ALL;
  assert_ok(eg_frontier_run(&s->frontier, NULL, &options, &result));
  assert_true(result.choice.len == 0);
  eg_frontier_result_deinit(&result);
}

static void bounds_are_below_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261201);
  size_t rounds = test_rounds(PROBLEMS), close = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    bool cyclic = round % 3 == 0, exact;
    eg_extract_problem problem;
    draw_narrow(&rng, 1 + (uint32_t)eg_rng_below(&rng, MAX_CLASSES), 6, cyclic ? 4 : 0,
                &problem);
    seer s;
    setup(&s, &problem);
    run(&s, 1, false, &exact);
    run(&s, 3, false, &exact);
    run(&s, 1, true, &exact);
    close += exact;
    expect_walks(&s, brute_force(&problem));
    run(&s, ALL, true, &exact);
    if (!cyclic) assert_true(exact);
    expect_walks(&s, brute_force(&problem));
    teardown(&s);
    eg_extract_problem_deinit(&problem);
  }
  assert_true(close > rounds / 4 && close < rounds);
}

/// All children of a class are in the layer below.
static void draw_layers(eg_rng *rng, eg_extract_problem *out) {
  assert_ok(eg_extract_problem_init(out, eg_allocator_heap()));
  eg_extract_problem_clear(out, LAYERS * WIDTH);
  for (uint32_t class = 0; class < LAYERS * WIDTH; class ++)
    for (uint32_t member = 0; member < 3; member++) {
      uint32_t layer = class / WIDTH, children[3];
      uint32_t count = layer == 0 ? 0 : 1 + (uint32_t)eg_rng_below(rng, 3);
      for (uint32_t i = 0; i < count; i++)
        children[i] = (layer - 1) * WIDTH + (uint32_t)eg_rng_below(rng, WIDTH);
      assert_ok(eg_extract_problem_add_node(
          out, class, (double)(1 + eg_rng_below(rng, 100)), children, count, NULL));
    }
  assert_ok(eg_extract_problem_add_root(out, LAYERS * WIDTH - 1));
}

static void most_wide_layers_are_solved(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261202);
  uint32_t solved = 0;
  for (size_t round = 0; round < 2; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_extract_problem problem;
    draw_layers(&rng, &problem);
    double gap[2];
    for (int without = 0; without < 2; without++) {
      eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
      options.without_frontier = without;
      options.work_limit = 800;
      eg_extract_result result;
      eg_extract_result_init(&result, eg_allocator_heap());
      assert_ok(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result));
      gap[without] = result.gap;
      eg_extract_result_deinit(&result);
    }
    assert_true(gap[0] < gap[1] / 2 && gap[1] >= 0.1);
    solved += gap[0] <= 0.02;
    eg_extract_problem_deinit(&problem);
  }
  assert_true(solved > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bounds_are_below_the_optimum),
      cmocka_unit_test(most_wide_layers_are_solved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
