// Extraction with negative costs: the plain formulation against exhaustive search, what
// counts as reached, limits, and failing allocations.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/search/extract.h"
#include "extract/search/formulation.h"
#include "tests/extract_brute.h"
#include "tests/testing.h"

enum { MAX_CLASSES = 9, MAX_MEMBERS = 3 };

static eg_extract_problem start(uint32_t classes) {
  eg_extract_problem problem;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  for (uint32_t i = 0; i < classes; i++) {
    uint32_t class;
    assert_ok(eg_extract_problem_add_class(&problem, &class));
  }
  return problem;
}

static void add(eg_extract_problem *problem, uint32_t class, double cost, uint32_t count,
                const uint32_t *children) {
  assert_ok(eg_extract_problem_add_node(problem, class, cost, children, count, NULL));
}
#define LIST(...)                                                                        \
  (const uint32_t[]) { __VA_ARGS__ }

// ---- random problems -------------------------------------------------------------

// kind 0: small integers, 1: any numbers, 2: sums that cancel out.
static double draw_cost(eg_rng *rng, uint64_t kind) {
  if (eg_rng_below(rng, 4) == 0) return 0;
  if (kind == 0) return (double)eg_rng_below(rng, 9) - 4;
  if (kind == 1) return (eg_rng_unit(rng) - 0.5) * 1e-5;
  return (eg_rng_below(rng, 2) == 0 ? 0.1 : -0.1) * (double)eg_rng_below(rng, 3);
}

static eg_extract_problem draw_problem(eg_rng *rng, uint64_t kind) {
  uint32_t classes = 1 + (uint32_t)eg_rng_below(rng, MAX_CLASSES);
  eg_extract_problem problem = start(classes);
  for (uint32_t class = 0; class < classes; class ++) {
    uint32_t members = 1 + (uint32_t)eg_rng_below(rng, MAX_MEMBERS);
    if (eg_rng_below(rng, 9) == 0) members = 0;
    for (uint32_t m = 0; m < members; m++) {
      uint32_t children[4], count = (uint32_t)eg_rng_below(rng, m == 0 ? 3 : 5);
      for (uint32_t i = 0; i < count; i++)
        children[i] = (uint32_t)eg_rng_below(rng, classes);
      add(&problem, class, draw_cost(rng, kind), count, children);
    }
  }
  for (uint64_t i = 0; i <= eg_rng_below(rng, 2); i++)
    assert_ok(
        eg_extract_problem_add_root(&problem, (uint32_t)eg_rng_below(rng, classes)));
  return problem;
}

static void expect_optimum(const eg_extract_problem *problem, double optimum,
                           uint64_t seed) {
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.seed = seed;
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  assert_ok(eg_extract_solve(eg_allocator_heap(), problem, &options, &result));
  if (isinf(optimum)) {
    assert_int_equal(result.status, EG_EXTRACT_INFEASIBLE);
  } else {
    double cost = NAN;
    assert_int_equal(result.status, EG_EXTRACT_OPTIMAL);
    assert_ok(
        eg_extract_certify(eg_allocator_heap(), problem, result.choice.data, &cost));
    assert_true(result.bound <= result.cost);
    if (!(fabs(cost - optimum) <= 1e-8 * fabs(optimum) + 1e-14))
      fail_msg("cost %.17g, optimum %.17g", cost, optimum);
  }
  eg_extract_result_deinit(&result);
}

static void the_optimum_is_found_with_costs_of_any_sign(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260301);
  size_t rounds = test_rounds(6000);
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_extract_problem problem = draw_problem(&rng, round % 3);
    expect_optimum(&problem, brute_force(&problem), round);
    eg_extract_problem_deinit(&problem);
  }
}

// Random MAX-2-SAT, as in extraction-gym's maxsat folder: the relaxation says nothing, so
// that the tree must do it all. Compared with trying every assignment.
enum { VARIABLES = 7, CLAUSES = 40 };

static uint32_t best_assignment(uint32_t literals[CLAUSES][2]) {
  uint32_t best = 0;
  for (uint32_t values = 0; values < 1u << VARIABLES; values++) {
    uint32_t satisfied = 0;
    for (uint32_t c = 0; c < CLAUSES; c++) {
      bool holds = false;
      for (uint32_t i = 0; i < 2; i++)
        holds = holds || ((values >> (literals[c][i] >> 1)) & 1) == (literals[c][i] & 1);
      satisfied += holds;
    }
    best = satisfied > best ? satisfied : best;
  }
  return best;
}

static void add_literals(eg_extract_problem *problem, uint32_t literals[CLAUSES][2]) {
  for (uint32_t literal = 0; literal < 2 * VARIABLES; literal++) {
    uint32_t children[CLAUSES], count = 0;
    for (uint32_t c = 0; c < CLAUSES; c++)
      if (literals[c][0] == literal || literals[c][1] == literal)
        children[count++] = 1 + VARIABLES + c;
    add(problem, 1 + literal / 2, 0, count, children);
  }
}

// A reward for every clause that an assignment of the variables satisfies.
static eg_extract_problem draw_formula(eg_rng *rng, uint32_t literals[CLAUSES][2]) {
  eg_extract_problem problem = start(1 + VARIABLES + CLAUSES);
  uint32_t variables[VARIABLES];
  for (uint32_t v = 0; v < VARIABLES; v++)
    variables[v] = 1 + v;
  for (uint32_t c = 0; c < CLAUSES; c++)
    for (uint32_t i = 0; i < 2; i++)
      literals[c][i] = (uint32_t)eg_rng_below(rng, 2 * VARIABLES);
  add(&problem, 0, 0, VARIABLES, variables);
  add_literals(&problem, literals);
  for (uint32_t c = 0; c < CLAUSES; c++)
    add(&problem, 1 + VARIABLES + c, -1, 0, NULL);
  assert_ok(eg_extract_problem_add_root(&problem, 0));
  return problem;
}

static void satisfiability_is_solved_by_branching(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260302);
  size_t rounds = test_rounds(20);
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    uint32_t literals[CLAUSES][2];
    eg_extract_problem problem = draw_formula(&rng, literals);
    expect_optimum(&problem, -(double)best_assignment(literals), round);
    eg_extract_problem_deinit(&problem);
  }
}

// ---- single cases ----------------------------------------------------------------

// Class 2 would pay, but nothing leads to it; 3 and 4 would hold each other up.
static void what_is_not_reached_does_not_count(void **state) {
  (void)state;
  eg_extract_problem problem = start(5);
  add(&problem, 0, 1, 1, LIST(1));
  add(&problem, 1, 1, 0, NULL);
  add(&problem, 2, -9, 0, NULL);
  add(&problem, 3, -9, 1, LIST(4));
  add(&problem, 4, -9, 1, LIST(3));
  add(&problem, 1, 0, 1, LIST(3));
  assert_ok(eg_extract_problem_add_root(&problem, 0));
  expect_optimum(&problem, 2, 1);
  eg_extract_problem_deinit(&problem);
}

// A detour is taken for what it pays, once.
static void a_paying_node_counts_once(void **state) {
  (void)state;
  eg_extract_problem problem = start(4);
  add(&problem, 0, 0, 2, LIST(1, 2));
  add(&problem, 1, 0, 0, NULL);
  add(&problem, 1, 2, 1, LIST(3));
  add(&problem, 2, 0, 0, NULL);
  add(&problem, 2, 1.5, 1, LIST(3));
  add(&problem, 3, -2, 0, NULL);
  assert_ok(eg_extract_problem_add_root(&problem, 0));
  expect_optimum(&problem, -0.5, 1);
  eg_extract_problem_deinit(&problem);
}

static void the_model_keeps_what_can_be_chosen(void **state) {
  (void)state;
  eg_extract_problem problem = start(5);
  add(&problem, 0, 1, 2, LIST(1, 1));
  add(&problem, 0, 1, 1, LIST(0)); // needs itself
  add(&problem, 0, 1, 1, LIST(4)); // class 4 is empty
  add(&problem, 1, -1, 0, NULL);
  add(&problem, 2, -1, 0, NULL); // not reached
  add(&problem, 1, 1, 1, LIST(3));
  add(&problem, 3, 1, 0, NULL);
  assert_ok(eg_extract_problem_add_root(&problem, 0));
  eg_formulation model;
  assert_ok(eg_formulation_init(&model, eg_allocator_heap()));
  assert_ok(eg_formulation_build(&model, &problem));
  assert_int_equal(eg_extract_node_count(&model.reduced.problem), 4);
  assert_int_equal(model.reduced.part.data[1], 3);
  assert_true(model.pays.data[0] && model.pays.data[1] && !model.pays.data[3]);
  eg_formulation_deinit(&model);
  eg_extract_problem_deinit(&problem);
}

// Class 3 is used by class 1 alone, which every choice needs; class 4 by two classes.
static void negative_costs_move_to_where_they_are_paid(void **state) {
  (void)state;
  eg_extract_problem problem = start(6);
  add(&problem, 0, 1, 2, LIST(1, 2));
  add(&problem, 1, 5, 1, LIST(3));
  add(&problem, 1, 1, 1, LIST(4));
  add(&problem, 2, 3, 1, LIST(4));
  add(&problem, 3, -2, 0, NULL);
  add(&problem, 3, 1, 0, NULL);
  add(&problem, 4, 1, 0, NULL);
  add(&problem, 5, -9, 0, NULL); // not reached
  assert_ok(eg_extract_problem_add_root(&problem, 0));
  eg_doubles cost;
  double offset = NAN;
  bool done = false;
  eg_doubles_init(&cost, eg_allocator_heap());
  assert_ok(eg_cost_shift_find(eg_allocator_heap(), &problem,
                               (eg_patience){INFINITY, NULL}, &cost, &offset, &done));
  static const double expected[] = {1, 3, 1, 3, 0, 3, 1, 0};
  for (size_t n = 0; n < sizeof expected / sizeof *expected; n++)
    assert_true(cost.data[n] == expected[n]);
  assert_true(done && offset == 0);
  expect_optimum(&problem, 6, 1);
  problem.cost.data[6] = -1; // class 4: every choice needs it, through class 2
  assert_ok(eg_cost_shift_find(eg_allocator_heap(), &problem,
                               (eg_patience){INFINITY, NULL}, &cost, &offset, &done));
  assert_true(done && offset == -1 && cost.data[6] == 0);
  expect_optimum(&problem, 4, 1);
  eg_doubles_deinit(&cost);
  eg_extract_problem_deinit(&problem);
}

static void shifted_costs_keep_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260303);
  size_t rounds = test_rounds(3000), away = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_extract_problem problem = draw_problem(&rng, 0);
    double before = brute_force(&problem), offset = 0;
    bool done;
    eg_doubles cost;
    eg_doubles_init(&cost, eg_allocator_heap());
    assert_ok(eg_cost_shift_find(eg_allocator_heap(), &problem,
                                 (eg_patience){INFINITY, NULL}, &cost, &offset, &done));
    eg_doubles original = problem.cost;
    problem.cost = cost;
    assert_true(isinf(before) || brute_force(&problem) + offset == before);
    away += done;
    problem.cost = original;
    eg_doubles_deinit(&cost);
    eg_extract_problem_deinit(&problem);
  }
  assert_true(away > rounds / 10 && away < rounds); // both ways are taken
}

static bool stop_at_once(void *user, double cost, double bound, double seconds) {
  (void)seconds;
  assert_true(bound <= cost);
  ++*(int *)user;
  return true;
}

static void limits_keep_a_choice_and_a_bound(void **state) {
  (void)state;
  eg_rng rng = {77};
  uint32_t literals[CLAUSES][2];
  eg_extract_problem problem = draw_formula(&rng, literals);
  int asked = 0;
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.time_limit_seconds = 1e-9;
  options.progress = stop_at_once;
  options.user = &asked;
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  assert_ok(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result));
  assert_int_equal(result.status, EG_EXTRACT_FEASIBLE);
  assert_true(result.bound >= -CLAUSES && result.bound < result.cost);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static egraph_status solve_small(egraph_allocator alloc, void *user) {
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result result;
  eg_extract_result_init(&result, alloc);
  egraph_status status = eg_extract_solve(alloc, user, &options, &result);
  eg_extract_result_deinit(&result);
  return status;
}

static void solving_survives_every_failing_allocation(void **state) {
  (void)state;
  eg_extract_problem problem = start(4);
  add(&problem, 0, 1, 2, LIST(1, 2));
  add(&problem, 1, 2, 1, LIST(2));
  add(&problem, 1, 1, 1, LIST(3));
  add(&problem, 2, -3, 1, LIST(1));
  add(&problem, 2, 1, 0, NULL);
  add(&problem, 3, -1, 1, LIST(2));
  assert_ok(eg_extract_problem_add_root(&problem, 0));
  test_every_allocation_failing(solve_small, &problem);
  eg_extract_problem_deinit(&problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_not_reached_does_not_count),
      cmocka_unit_test(a_paying_node_counts_once),
      cmocka_unit_test(the_model_keeps_what_can_be_chosen),
      cmocka_unit_test(negative_costs_move_to_where_they_are_paid),
      cmocka_unit_test(shifted_costs_keep_the_optimum),
      cmocka_unit_test(limits_keep_a_choice_and_a_bound),
      cmocka_unit_test(the_optimum_is_found_with_costs_of_any_sign),
      cmocka_unit_test(satisfiability_is_solved_by_branching),
      cmocka_unit_test(solving_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
