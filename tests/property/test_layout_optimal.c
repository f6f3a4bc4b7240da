// The layout solver against exhaustive search: random layout problems (transitions of any
// cost, ties, user constraints, memory limits, alternatives with cycles, several roots),
// and random cyclic e-graphs under a memory limit as problems with one layout per value.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_solve.h"
#include "tests/layout_brute.h"
#include "tests/testing.h"

enum { VALUES = 6, LAYOUTS = 6, OPERATORS = 10, CLASSES = 10 };

static uint32_t below(eg_rng *rng, uint32_t bound) {
  return (uint32_t)eg_rng_below(rng, bound);
}

static double draw_amount(eg_rng *rng, bool integers) {
  if (below(rng, 4) == 0) return 0;
  return integers ? (double)below(rng, 7) : eg_rng_unit(rng) * 3;
}

static void draw_arcs(eg_rng *rng, eg_layout_problem *p, uint32_t value, bool integers) {
  uint32_t layouts = eg_layout_layout_count(p, value);
  uint32_t count = layouts == 1 ? 0 : below(rng, layouts == 2 ? 4 : 9);
  for (uint32_t i = 0; i < count; i++) {
    eg_layout_arc arc = {value, below(rng, layouts), below(rng, layouts),
                         draw_amount(rng, integers), 0};
    if (below(rng, 3) == 0) arc.memory = draw_amount(rng, integers);
    assert_ok(eg_layout_problem_add_arc(p, &arc));
  }
}

static void draw_operator(eg_rng *rng, eg_layout_problem *p, uint32_t value,
                          bool integers) {
  uint32_t inputs[3], count = value == 0 ? 0 : below(rng, 4), op;
  for (uint32_t i = 0; i < count; i++) // mostly downwards, now and then a cycle
    inputs[i] = below(rng, below(rng, 4) == 0 ? eg_layout_value_count(p) : value);
  assert_ok(eg_layout_problem_add_operator(p, value, inputs, count, &op));
  uint32_t strategies = 1 + below(rng, 4);
  for (uint32_t s = 0; s < strategies; s++) {
    uint32_t needs[3];
    for (uint32_t i = 0; i < count; i++)
      needs[i] = below(rng, eg_layout_layout_count(p, inputs[i]));
    eg_layout_strategy strategy = {needs, below(rng, eg_layout_layout_count(p, value)),
                                   draw_amount(rng, integers),
                                   draw_amount(rng, integers)};
    assert_ok(eg_layout_problem_add_strategy(p, &strategy));
  }
}

static void draw_ties(eg_rng *rng, eg_layout_problem *p) {
  uint32_t count = below(rng, 3);
  for (uint32_t i = 0; i < count; i++) {
    bool sources = below(rng, 2);
    uint32_t all = sources ? eg_layout_value_count(p) : eg_layout_operator_count(p);
    uint32_t members[3] = {below(rng, all), below(rng, all), below(rng, all)};
    assert_ok(eg_layout_problem_tie(
        p, sources ? EG_LAYOUT_TIE_SOURCES : EG_LAYOUT_TIE_STRATEGIES, members,
        2 + below(rng, 2)));
  }
}

static void draw_user(eg_rng *rng, eg_layout_problem *p) {
  uint32_t value = below(rng, eg_layout_value_count(p));
  uint32_t layout = below(rng, eg_layout_layout_count(p, value));
  uint32_t op = below(rng, eg_layout_operator_count(p));
  switch (below(rng, 8)) {
  case 0: assert_ok(eg_layout_problem_forbid_layout(p, value, layout)); break;
  case 1: assert_ok(eg_layout_problem_fix_layout(p, value, layout)); break;
  case 2: assert_ok(eg_layout_problem_forbid_strategy(p, op, 0)); break;
  case 3: assert_ok(eg_layout_problem_force_strategy(p, op, 0)); break;
  default: break;
  }
}

static void draw_roots(eg_rng *rng, eg_layout_problem *p) {
  uint32_t roots = 1 + below(rng, 2), values = eg_layout_value_count(p);
  for (uint32_t i = 0; i < roots; i++) {
    uint32_t value = i == 0 ? values - 1 : below(rng, values);
    uint32_t count = below(rng, 3), layouts[2];
    for (uint32_t k = 0; k < count; k++)
      layouts[k] = below(rng, eg_layout_layout_count(p, value));
    assert_ok(eg_layout_problem_add_root(p, value, layouts, count));
  }
}

static void draw_problem(eg_rng *rng, eg_layout_problem *p, bool integers) {
  assert_ok(eg_layout_problem_init(p, eg_allocator_heap()));
  uint32_t values = 1 + below(rng, VALUES);
  for (uint32_t v = 0; v < values; v++) {
    uint32_t value, layouts = 1 + below(rng, below(rng, 4) == 0 ? LAYOUTS : 3);
    double times = below(rng, 4) == 0 ? 3 : 1;
    assert_ok(eg_layout_problem_add_value(p, layouts, times, below(rng, 8) ? times : 2,
                                          &value));
    draw_arcs(rng, p, value, integers);
  }
  for (uint32_t v = 0; v < values; v++)
    draw_operator(rng, p, v, integers);
  while (eg_layout_operator_count(p) < OPERATORS && below(rng, 3) != 0)
    draw_operator(rng, p, below(rng, values), integers);
  draw_ties(rng, p);
  draw_user(rng, p);
  draw_roots(rng, p);
}

static void draw_classes(eg_rng *rng, eg_layout_problem *p, bool integers) {
  assert_ok(eg_layout_problem_init(p, eg_allocator_heap()));
  uint32_t classes = 1 + below(rng, CLASSES), value;
  const uint32_t zeros[4] = {0};
  for (uint32_t c = 0; c < classes; c++)
    assert_ok(eg_layout_problem_add_value(p, 1, 1, 1, &value));
  for (uint32_t c = 0; c < classes; c++) {
    uint32_t members = below(rng, 4) + (below(rng, 4) != 0);
    for (uint32_t m = 0; m < members; m++) {
      uint32_t children[4], count = below(rng, m == 0 ? 3 : 5);
      for (uint32_t i = 0; i < count; i++)
        children[i] = below(rng, classes);
      assert_ok(eg_layout_problem_add_operator(p, c, children, count, NULL));
      eg_layout_strategy node = {zeros, 0, draw_amount(rng, integers),
                                 draw_amount(rng, integers)};
      assert_ok(eg_layout_problem_add_strategy(p, &node));
    }
  }
  uint32_t roots = 1 + below(rng, 3);
  for (uint32_t i = 0; i < roots; i++)
    assert_ok(eg_layout_problem_add_root(p, below(rng, classes), zeros, below(rng, 2)));
}

// A limit between the least memory there is and what the cheapest takes; sometimes below.
static void draw_limit(eg_rng *rng, eg_layout_problem *p, const brute_result *free) {
  if (!free->any || below(rng, 3) == 0) return;
  double least = free->least_memory, most = free->best[0].sum[1];
  if (below(rng, 8) == 0)
    p->memory_limit = least * 0.75;
  else
    p->memory_limit = least + (most - least) * (below(rng, 5) / 4.0);
}

static bool near(double a, double b) { return fabs(a - b) <= 2e-9 * fabs(b) + 1e-300; }

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
      if (!near(result.least_memory, wanted->least_memory))
        fail_msg("round %zu: least memory %.17g, wanted %.17g", round,
                 result.least_memory, wanted->least_memory);
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
    double cost, memory;
    assert_ok(eg_layout_certify(eg_allocator_heap(), p, solution->strategy.data,
                                solution->arc_used.data, &cost, &memory));
    if (!near(cost, wanted->best[i].sum[0]))
      fail_msg("round %zu: solution %zu costs %.17g, wanted %.17g", round, i, cost,
               wanted->best[i].sum[0]);
    assert_true(solution->is_proven);
    for (size_t k = 0; k < i; k++)
      assert_memory_not_equal(solution->strategy.data,
                              result.solutions.data[k].strategy.data,
                              solution->strategy.len * sizeof(uint32_t));
  }
  if (options->least_memory) {
    double numbers = 0;
    const eg_layout_solution *first = &result.solutions.data[0];
    for (uint32_t v = 0; v < first->strategy.len; v++)
      if (first->strategy.data[v] != EG_LAYOUT_NONE)
        numbers += brute_number(p, v, first->strategy.data[v]);
    double sums[4] = {first->cost, first->memory, first->transitions, numbers};
    for (int m = 0; m < 4; m++)
      if (!near(sums[m], wanted->lexicographic[m]))
        fail_msg("round %zu: measure %d is %.17g, wanted %.17g", round, m, sums[m],
                 wanted->lexicographic[m]);
  }
  eg_layout_result_deinit(&result);
}

static void try_round(eg_rng *rng, eg_layout_problem *p, bool integers, size_t round) {
  static brute_result free, wanted;
  brute_force(p, &free);
  draw_limit(rng, p, &free);
  brute_force(p, &wanted);
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.expand_from = round % 2 == 0 ? 0 : options.expand_from;
  expect(p, &options, &wanted, round);
  if (integers && round % 3 == 0) {
    options.least_memory = options.fewest_transitions = options.lowest_numbers = true;
    expect(p, &options, &wanted, round);
  }
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
    draw_problem(&rng, &problem, integers);
    try_round(&rng, &problem, integers, round);
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
    try_round(&rng, &problem, integers, round);
    eg_layout_problem_deinit(&problem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layout_problems_are_solved_to_the_optimum),
      cmocka_unit_test(cyclic_e_graphs_under_a_memory_limit_are_solved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
