// The layout solver against exhaustive search: random layout problems (transitions of any
// cost, ties, user constraints, limits of one to three memory rows, alternatives with
// cycles, several roots),
// random cyclic e-graphs under a memory limit as problems with one layout per value, and
// values that every user can be computed without, from what they are made of.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_presolve.h"
#include "extract/layout/layout_solve.h"
#include "tests/layout_draw.h"
#include "tests/testing.h"

enum { CLASSES = 10 };

static void draw_classes(eg_rng *rng, eg_layout_problem *p, bool integers) {
  assert_ok(eg_layout_problem_init(p, eg_allocator_heap()));
  uint32_t classes = 1 + draw_below(rng, CLASSES), value;
  const uint32_t zeros[4] = {0};
  for (uint32_t c = 0; c < classes; c++)
    assert_ok(eg_layout_problem_add_value(p, 1, 1, 1, &value));
  for (uint32_t c = 0; c < classes; c++) {
    uint32_t members = draw_below(rng, 4) + (draw_below(rng, 4) != 0);
    for (uint32_t m = 0; m < members; m++) {
      uint32_t children[4], count = draw_below(rng, m == 0 ? 3 : 5);
      for (uint32_t i = 0; i < count; i++)
        children[i] = draw_below(rng, classes);
      assert_ok(eg_layout_problem_add_operator(p, c, children, count, NULL));
      eg_layout_strategy node = {
          zeros, 0, draw_amount(rng, integers), {draw_amount(rng, integers)}};
      assert_ok(eg_layout_problem_add_strategy(p, &node));
    }
  }
  uint32_t roots = 1 + draw_below(rng, 3);
  for (uint32_t i = 0; i < roots; i++)
    assert_ok(eg_layout_problem_add_root(p, draw_below(rng, classes), zeros,
                                         draw_below(rng, 2)));
}

static bool near(double a, double b) { return fabs(a - b) <= 2e-9 * fabs(b) + 1e-300; }

/// The rows exceed their limits by no more than `rise`.
static void check_least_memory(const eg_layout_problem *p, const double *rows,
                               double rise, size_t round) {
  for (uint32_t r = 0; r < p->memory_rows; r++)
    if (rows[r] > p->memory_limit[r] + rise + 1e-8 * (1 + rows[r]))
      fail_msg("round %zu: row %u of the least memory is %.17g, wanted %.17g", round, r,
               rows[r], p->memory_limit[r] + rise);
}

static void expect(const eg_layout_problem *p, const eg_layout_options *options,
                   const brute_result *wanted, size_t round) {
  eg_layout_result result;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), p, options, &result));
  if (!wanted->any) {
    eg_layout_status none =
        isfinite(wanted->least_memory) ? EG_LAYOUT_NO_MEMORY : EG_LAYOUT_INFEASIBLE;
    if (result.status != none) fail_msg("round %zu: status %d", round, result.status);
    if (none == EG_LAYOUT_NO_MEMORY) {
      assert_true(result.is_least_memory_proven);
      check_least_memory(p, result.least_memory, wanted->least_rise, round);
    }
    eg_layout_result_deinit(&result);
    return;
  }
  if (result.status != EG_LAYOUT_OPTIMAL)
    fail_msg("round %zu: status %d, wanted %.17g", round, result.status,
             wanted->best[0].sum[0]);
  assert_true(result.bound <= result.cost);
  size_t count = options->solutions < wanted->count ? options->solutions : wanted->count;
  if (result.solutions.len != count)
    fail_msg("round %zu: %zu solutions of %zu", round, result.solutions.len, count);
  for (size_t i = 0; i < count; i++) {
    const eg_layout_solution *solution = &result.solutions.data[i];
    double cost, memory[EG_LAYOUT_MEMORY_ROWS];
    assert_ok(eg_layout_certify(eg_allocator_heap(), p, solution->strategy.data,
                                solution->arc_used.data, &cost, memory));
    if (!near(cost, wanted->best[i].sum[0]))
      fail_msg("round %zu: solution %zu costs %.17g, wanted %.17g", round, i, cost,
               wanted->best[i].sum[0]);
    assert_true(solution->is_proven);
    for (size_t k = 0; k < i; k++)
      assert_memory_not_equal(solution->strategy.data,
                              result.solutions.data[k].strategy.data,
                              solution->strategy.len * sizeof(uint32_t));
  }
  eg_layout_result_deinit(&result);
}

/// Only a bound, up to something below or above the optimum.
static void expect_bound(const eg_layout_problem *p, double least, double ceiling,
                         size_t round) {
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result result;
  options.ceiling = ceiling;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), p, &options, &result));
  double most = fmin(least, ceiling);
  if (result.bound > most + 1e-9 * fabs(most))
    fail_msg("round %zu: bound %.17g, the optimum is %.17g, the ceiling %.17g", round,
             result.bound, least, ceiling);
  assert_true(isinf(ceiling) || result.status != EG_LAYOUT_INFEASIBLE);
  eg_layout_result_deinit(&result);
}

static void try_round(eg_rng *rng, eg_layout_problem *p, size_t round) {
  static brute_result free, wanted;
  brute_force(p, &free);
  if (p->memory_rows == 1)
    draw_limit(rng, p, &free);
  else
    draw_limits(rng, p, &free);
  brute_force(p, &wanted);
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  expect(p, &options, &wanted, round);
  double least = wanted.any ? wanted.best[0].sum[0] : INFINITY;
  if (isfinite(least)) expect_bound(p, least, fmax(0.7, 1.2 * least), round);
  expect_bound(p, least, round % 4 < 2 ? INFINITY : 0.5 + 0.8 * fmin(least, 10), round);
  if (round % 4 == 0) {
    options = (eg_layout_options)EG_LAYOUT_OPTIONS_DEFAULT;
    options.solutions = 4;
    expect(p, &options, &wanted, round);
  }
}

static void layout_problems_are_solved_to_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260201);
  size_t rounds = test_rounds(2000);
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    bool integers = round % 2 == 0;
    eg_layout_problem problem;
    draw_problem(&rng, &problem, integers, false);
    try_round(&rng, &problem, round);
    eg_layout_problem_deinit(&problem);
  }
}

static void cyclic_e_graphs_under_a_memory_limit_are_solved(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260202);
  size_t rounds = test_rounds(10000);
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    bool integers = round % 2 == 0;
    eg_layout_problem problem;
    draw_classes(&rng, &problem, integers);
    try_round(&rng, &problem, round);
    eg_layout_problem_deinit(&problem);
  }
}

static void try_rows(uint64_t seed, size_t round) {
  eg_rng rng = {eg_hash_combine(seed, round)};
  bool integers = round % 2 == 0;
  eg_layout_problem problem;
  if (round % 3 == 0)
    draw_classes(&rng, &problem, integers);
  else
    draw_problem(&rng, &problem, integers, false);
  draw_rows(&rng, &problem, 2 + draw_below(&rng, 2), integers);
  try_round(&rng, &problem, round);
  eg_layout_problem_deinit(&problem);
}

static void every_memory_row_keeps_its_limit(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261123);
  for (size_t round = 0; round < test_rounds(3000); round++)
    try_rows(seed, round);
}

// The search for cuts once read past the inputs of such an operator.
static void an_operator_may_name_an_input_twice(void **state) {
  (void)state;
  try_rows(2, 2815);
}

// ---- values that are passed over ------------------------------------------------------

enum { PASS_FROM, PASSED, PASS_OTHER, PASS_USER }; // values

/// Adds a value whose places are all converted into each other. `like`: conversions cost
/// nearly always as much as those of the value before or more.
static void add_converted(eg_rng *rng, eg_layout_problem *p, uint32_t layouts,
                          bool integers, bool like) {
  uint32_t value, before = eg_layout_arc_count(p) - layouts * (layouts - 1);
  assert_ok(eg_layout_problem_add_value(p, layouts, 1, 1, &value));
  for (uint32_t from = 0, nth = 0; from < layouts; from++)
    for (uint32_t to = 0; to < layouts; to++) {
      if (from == to) continue;
      eg_layout_arc arc = {value, from, to, draw_amount(rng, integers), {0}};
      if (like && draw_below(rng, 10) != 0) arc.cost += p->arc_cost.data[before + nth];
      assert_ok(eg_layout_problem_add_arc(p, &arc));
      nth++;
    }
}

/// Adds an operator without inputs for each layout of a value.
static void add_leaves(eg_rng *rng, eg_layout_problem *p, uint32_t value, bool integers) {
  assert_ok(eg_layout_problem_add_operator(p, value, NULL, 0, NULL));
  for (uint32_t l = 0; l < eg_layout_layout_count(p, value); l++) {
    eg_layout_strategy leaf = {
        NULL, l, draw_amount(rng, integers), {draw_amount(rng, integers)}};
    assert_ok(eg_layout_problem_add_strategy(p, &leaf));
  }
}

/// Adds an operator that needs the value to be passed over, and nearly always its twin.
static void add_user_and_twin(eg_rng *rng, eg_layout_problem *p, uint32_t value,
                              bool integers) {
  const uint32_t inputs[2][2] = {{PASSED, PASS_OTHER}, {PASS_FROM, PASS_OTHER}};
  eg_layout_strategy drawn[3];
  uint32_t needs[3][2], count = 1 + draw_below(rng, 3);
  for (uint32_t twin = 0; twin < 2; twin++) {
    assert_ok(eg_layout_problem_add_operator(p, value, inputs[twin], 2, NULL));
    for (uint32_t i = 0; i < count; i++) {
      if (twin == 0) {
        for (uint32_t k = 0; k < 2; k++)
          needs[i][k] = draw_below(rng, eg_layout_layout_count(p, inputs[0][k]));
        drawn[i] = (eg_layout_strategy){needs[i],
                                        draw_below(rng, eg_layout_layout_count(p, value)),
                                        draw_amount(rng, integers),
                                        {draw_amount(rng, integers)}};
      } else if (draw_below(rng, 2) == 0) {
        drawn[i].cost /= 2;
      } else if (draw_below(rng, 15) == 0) {
        drawn[i].cost += draw_amount(rng, integers);
      }
      assert_ok(eg_layout_problem_add_strategy(p, &drawn[i]));
    }
  }
}

static void draw_passed(eg_rng *rng, eg_layout_problem *p, bool integers) {
  const uint32_t from = PASS_FROM;
  uint32_t layouts = 1 + draw_below(rng, 3), users = 1 + draw_below(rng, 2);
  assert_ok(eg_layout_problem_init(p, eg_allocator_heap()));
  for (uint32_t v = 0; v < PASS_USER + users; v++)
    add_converted(rng, p, v < PASS_OTHER ? layouts : 2, integers, v == PASSED);
  add_leaves(rng, p, PASS_FROM, integers);
  add_leaves(rng, p, PASS_OTHER, integers);
  assert_ok(eg_layout_problem_add_operator(p, PASSED, &from, 1, NULL));
  for (uint32_t l = 0; l < layouts; l++) {
    uint32_t need = draw_below(rng, 10) == 0 ? draw_below(rng, layouts) : l;
    eg_layout_strategy made = {
        &need, l, draw_amount(rng, integers), {draw_amount(rng, integers)}};
    assert_ok(eg_layout_problem_add_strategy(p, &made));
  }
  for (uint32_t u = 0; u < users; u++) {
    add_user_and_twin(rng, p, PASS_USER + u, integers);
    assert_ok(eg_layout_problem_add_root(p, PASS_USER + u, NULL, 0));
  }
  if (draw_below(rng, 10) == 0) assert_ok(eg_layout_problem_add_root(p, PASSED, NULL, 0));
  if (draw_below(rng, 10) == 0) draw_ties(rng, p);
}

/// True when presolve finds that no cheapest solution needs the value.
static bool is_passed_over(const eg_layout_problem *p) {
  eg_layout_view view;
  eg_layout_active active;
  const eg_layout_task task = eg_layout_task_of(EG_LAYOUT_COST);
  assert_ok(eg_layout_view_init(&view, eg_allocator_heap(), p));
  assert_ok(eg_layout_active_init(&active, eg_allocator_heap(), &view));
  assert_ok(eg_layout_presolve(&active, &task));
  bool is_used = active.used.data[PASSED];
  eg_layout_active_deinit(&active);
  eg_layout_view_deinit(&view);
  return !is_used;
}

static void values_passed_over_lose_no_solution(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261201);
  size_t rounds = test_rounds(2000), passed = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_layout_problem problem;
    draw_passed(&rng, &problem, round % 2 == 0);
    passed += is_passed_over(&problem);
    try_round(&rng, &problem, round);
    eg_layout_problem_deinit(&problem);
  }
  print_message("%zu of %zu values are passed over\n", passed, rounds);
  assert_true(passed > rounds / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layout_problems_are_solved_to_the_optimum),
      cmocka_unit_test(cyclic_e_graphs_under_a_memory_limit_are_solved),
      cmocka_unit_test(every_memory_row_keeps_its_limit),
      cmocka_unit_test(an_operator_may_name_an_input_twice),
      cmocka_unit_test(values_passed_over_lose_no_solution),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
