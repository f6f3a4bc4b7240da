// The ascent's bound apart against exhaustive search; that it holds for a chain of equal
// parts of which the problem has one that is tied to itself; and restricted solves, in
// which all values but a few keep an incumbent's strategies.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_bound.h"
#include "extract/layout/layout_search.h"
#include "tests/layout_draw.h"
#include "tests/testing.h"

static const eg_layout_bound_options ALONE = {.time_limit_seconds = 20};

static double bound_of(const eg_layout_problem *p, const double *price,
                       const uint32_t *target) {
  eg_layout_bound_options options = ALONE;
  eg_layout_bounded bounded;
  options.price = price;
  options.target = target;
  assert_ok(eg_layout_bound(eg_allocator_heap(), p, &options, &bounded, NULL));
  return bounded.bound;
}

static void no_bound_is_above_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261201);
  size_t rounds = test_rounds(1500), tight = 0, proven = 0, feasible = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    static brute_result free, exact;
    eg_layout_problem p;
    eg_layout_result result;
    draw_problem(&rng, &p, round % 2 == 0, false);
    draw_rows(&rng, &p, 1 + draw_below(&rng, 3), round % 2 == 0);
    brute_force(&p, &free);
    draw_limits(&rng, &p, &free);
    brute_force(&p, &exact);
    double optimum = exact.any ? exact.best[0].sum[0] : INFINITY;
    eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
    eg_layout_result_init(&result, eg_allocator_heap());
    assert_ok(eg_layout_solve(eg_allocator_heap(), &p, &options, &result));
    const uint32_t *best =
        result.solutions.len == 0 ? NULL : result.solutions.data[0].strategy.data;
    const double bounds[] = {bound_of(&p, NULL, NULL), bound_of(&p, result.price, best),
                             bound_of(&p, (double[]){0.3, 2, 0.1, 0}, NULL)};
    for (int i = 0; i < 3; i++) {
      if (bounds[i] > optimum + 1e-9 * fabs(optimum) + 1e-10)
        fail_msg("round %zu: bound %.17g (%d), optimum %.17g", round, bounds[i], i,
                 optimum);
      if (exact.any) assert_true(isfinite(bounds[i]));
    }
    feasible += exact.any;
    tight += exact.any && bounds[1] >= optimum - 1e-9 * fabs(optimum) - 1e-10;
    proven += !exact.any && isinf(bounds[0]);
    eg_layout_result_deinit(&result);
    eg_layout_problem_deinit(&p);
  }
  print_message("of %zu with a solution, %zu bounds are the optimum; %zu of the others "
                "have none by it\n",
                feasible, tight, proven);
  assert_true(tight > feasible / 2 && proven > rounds / 20);
}

// ---- a chain of equal parts ---------------------------------------------------------

enum { LAYOUTS = 3, PARTS = 4 };

/// Costs of one part: of its operator by layouts in and out, and of transitions.
typedef struct step {
  double cost[LAYOUTS][LAYOUTS], arc[LAYOUTS][LAYOUTS];
} step;

static uint32_t add_value(eg_layout_problem *p, const step *part, double times) {
  uint32_t value;
  assert_ok(eg_layout_problem_add_value(p, LAYOUTS, times, times, &value));
  for (uint32_t i = 0; i < LAYOUTS; i++)
    for (uint32_t k = 0; k < LAYOUTS; k++) {
      eg_layout_arc arc = {value, i, k, part->arc[i][k], {0}};
      if (i != k) assert_ok(eg_layout_problem_add_arc(p, &arc));
    }
  return value;
}

static void add_part(eg_layout_problem *p, const step *part, uint32_t from, uint32_t to) {
  assert_ok(eg_layout_problem_add_operator(p, to, &from, 1, NULL));
  for (uint32_t i = 0; i < LAYOUTS; i++)
    for (uint32_t k = 0; k < LAYOUTS; k++) {
      eg_layout_strategy s = {&i, k, part->cost[i][k], {0}};
      assert_ok(eg_layout_problem_add_strategy(p, &s));
    }
}

/// Starts as it likes, costs nothing.
static uint32_t add_start(eg_layout_problem *p, const step *part, double times) {
  uint32_t value = add_value(p, part, times);
  assert_ok(eg_layout_problem_add_operator(p, value, NULL, 0, NULL));
  for (uint32_t i = 0; i < LAYOUTS; i++) {
    eg_layout_strategy s = {NULL, i, 0, {0}};
    assert_ok(eg_layout_problem_add_strategy(p, &s));
  }
  return value;
}

static double optimum_of_chain(const step *part) {
  eg_layout_problem p;
  static brute_result exact;
  assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
  uint32_t last = add_start(&p, part, 1), first = last;
  for (int i = 0; i < PARTS; i++) {
    uint32_t next = add_value(&p, part, 1);
    add_part(&p, part, last, next);
    last = next;
  }
  // A ring: the end is as the start was.
  assert_ok(eg_layout_problem_tie(&p, (uint32_t[]){first, last}, 2));
  assert_ok(eg_layout_problem_add_root(&p, last, NULL, 0));
  brute_force(&p, &exact);
  eg_layout_problem_deinit(&p);
  return exact.best[0].sum[0];
}

static void the_bound_of_a_part_tied_to_itself_is_one_of_the_chain(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261202);
  size_t rounds = test_rounds(300), dearer = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    step part;
    eg_layout_problem p;
    static brute_result folded;
    for (int i = 0; i < LAYOUTS; i++)
      for (int k = 0; k < LAYOUTS; k++) {
        part.cost[i][k] = (double)draw_below(&rng, 20);
        part.arc[i][k] = (double)draw_below(&rng, 20);
      }
    assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
    uint32_t start = add_start(&p, &part, PARTS), end = add_value(&p, &part, PARTS);
    add_part(&p, &part, start, end);
    assert_ok(eg_layout_problem_tie(&p, (uint32_t[]){start, end}, 2));
    assert_ok(eg_layout_problem_add_root(&p, end, NULL, 0));
    brute_force(&p, &folded);
    double chain = optimum_of_chain(&part), bound = bound_of(&p, NULL, NULL);
    if (bound > chain + 1e-9 * chain)
      fail_msg("round %zu: bound %.17g, chain %.17g", round, bound, chain);
    dearer += folded.best[0].sum[0] > chain * (1 + 1e-9);
    eg_layout_problem_deinit(&p);
  }
  print_message("%zu of %zu chains are cheaper than their parts alike\n", dearer, rounds);
  assert_true(dearer > rounds / 20);
}

// ---- planted faults -----------------------------------------------------------------

typedef struct planted {
  eg_layout_view view;
  eg_layout_task task;
  eg_layout_clock clock;
  eg_layout_search search;
} planted;

static void open_planted(planted *f, const eg_layout_problem *p) {
  *f = (planted){.task = eg_layout_task_of(EG_LAYOUT_COST), .clock.deadline = INFINITY};
  assert_ok(eg_layout_view_init(&f->view, eg_allocator_heap(), p));
  assert_ok(eg_layout_search_init(&f->search, eg_allocator_heap(), &f->view, &f->task,
                                  &f->clock));
}

static void close_planted(planted *f) {
  eg_layout_search_deinit(&f->search);
  eg_layout_view_deinit(&f->view);
}

static egraph_status offer(planted *f, const eg_layout_solution *solution) {
  bool ok;
  memcpy(f->search.trial.strategy.data, solution->strategy.data,
         solution->strategy.len * sizeof(uint32_t));
  egraph_status status = eg_layout_search_offer(&f->search, &ok);
  if (status == EGRAPH_OK) assert_true(ok);
  return status;
}

static void a_bound_above_a_solution_is_an_error(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261204);
  size_t rounds = test_rounds(300), planted_faults = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_layout_problem p;
    eg_layout_result result;
    eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
    draw_problem(&rng, &p, false, false);
    eg_layout_result_init(&result, eg_allocator_heap());
    assert_ok(eg_layout_solve(eg_allocator_heap(), &p, &options, &result));
    if (result.solutions.len != 0 && result.cost > 0.01) {
      planted f;
      const eg_layout_solution *best = &result.solutions.data[0];
      open_planted(&f, &p); // first the bound, then the solution
      assert_ok(eg_layout_search_raise(&f.search, result.cost * 1.001));
      assert_fails(offer(&f, best), EGRAPH_E_INTERNAL, "above the cost");
      close_planted(&f);
      open_planted(&f, &p); // the other way round
      assert_ok(offer(&f, best));
      assert_ok(eg_layout_search_raise(&f.search, result.cost));
      assert_fails(eg_layout_search_raise(&f.search, result.cost * 1.001),
                   EGRAPH_E_INTERNAL, "above the cost");
      close_planted(&f);
      planted_faults++;
    }
    eg_layout_result_deinit(&result);
    eg_layout_problem_deinit(&p);
  }
  assert_true(planted_faults > rounds / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_bound_is_above_the_optimum),
      cmocka_unit_test(the_bound_of_a_part_tied_to_itself_is_one_of_the_chain),
      cmocka_unit_test(a_bound_above_a_solution_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
