// The layout solver on problems whose answers are known by hand, the user's constraints,
// the limits, the certificate's refusals, and every allocation failing.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_solve.h"
#include "tests/layout_chain.h"
#include "tests/testing.h"

static uint32_t add_value(eg_layout_problem *p, uint32_t layouts) {
  uint32_t value;
  assert_ok(eg_layout_problem_add_value(p, layouts, 1, 1, &value));
  return value;
}

static void add_arc(eg_layout_problem *p, uint32_t value, uint32_t from, uint32_t to,
                    double cost) {
  eg_layout_arc arc = {value, from, to, cost, {0}};
  assert_ok(eg_layout_problem_add_arc(p, &arc));
}

// An operator of one input that leaves each layout as it is, at cost[layout].
static uint32_t add_map(eg_layout_problem *p, uint32_t value, uint32_t input,
                        const double *cost) {
  uint32_t op;
  assert_ok(eg_layout_problem_add_operator(p, value, &input, 1, &op));
  for (uint32_t i = 0; i < eg_layout_layout_count(p, value); i++) {
    eg_layout_strategy s = {&i, i, cost[i], {0}};
    assert_ok(eg_layout_problem_add_strategy(p, &s));
  }
  return op;
}

static uint32_t add_source(eg_layout_problem *p, uint32_t value, const double *cost,
                           const double *memory) {
  uint32_t op;
  assert_ok(eg_layout_problem_add_operator(p, value, NULL, 0, &op));
  for (uint32_t i = 0; i < eg_layout_layout_count(p, value); i++) {
    eg_layout_strategy s = {NULL, i, cost[i], {memory == NULL ? 0 : memory[i]}};
    assert_ok(eg_layout_problem_add_strategy(p, &s));
  }
  return op;
}

static void solve(const eg_layout_problem *p, eg_layout_result *result) {
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result_init(result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), p, &options, result));
}

static void expect_cost(const eg_layout_problem *p, double cost) {
  eg_layout_result result;
  solve(p, &result);
  assert_int_equal(result.status, EG_LAYOUT_OPTIMAL);
  assert_true(fabs(result.cost - cost) <= 1e-9 * fabs(cost));
  eg_layout_result_deinit(&result);
}

// A source in layout 0, two users in layouts 1 and 2, and a way through layout 3.
static void draw_shared(eg_layout_problem *p, uint32_t *value) {
  assert_ok(eg_layout_problem_init(p, eg_allocator_heap()));
  *value = add_value(p, 4);
  add_source(p, *value, (double[]){0, 50, 50, 50}, NULL);
  add_arc(p, *value, 0, 1, 4);
  add_arc(p, *value, 0, 2, 4);
  add_arc(p, *value, 0, 3, 3);
  add_arc(p, *value, 3, 1, 0.5);
  add_arc(p, *value, 3, 2, 0.5);
  assert_ok(eg_layout_problem_add_root(p, *value, (uint32_t[]){1}, 1));
  assert_ok(eg_layout_problem_add_root(p, *value, (uint32_t[]){2}, 1));
}

static void consumers_share_transitions(void **state) {
  (void)state;
  eg_layout_problem p;
  uint32_t value;
  draw_shared(&p, &value);
  expect_cost(&p, 4); // 0 -> 3 once, then both; two direct ones would cost 8
  eg_layout_problem_deinit(&p);
}

// Eight layouts needed: the nearest is each time a direct one, the best is a hub.
static void many_consumers_share_a_hub(void **state) {
  (void)state;
  eg_layout_problem p;
  assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
  uint32_t value = add_value(&p, 10);
  assert_ok(eg_layout_problem_add_operator(&p, value, NULL, 0, NULL));
  eg_layout_strategy source = {NULL, 0, 1, {0}};
  assert_ok(eg_layout_problem_add_strategy(&p, &source));
  add_arc(&p, value, 0, 9, 5);
  for (uint32_t i = 1; i < 9; i++) {
    add_arc(&p, value, 0, i, 3);
    add_arc(&p, value, 9, i, 1);
    assert_ok(eg_layout_problem_add_root(&p, value, &i, 1));
  }
  expect_cost(&p, 1 + 5 + 8);
  eg_layout_problem_deinit(&p);
}

static void the_user_forbids_and_fixes(void **state) {
  (void)state;
  eg_layout_problem p;
  uint32_t value;
  draw_shared(&p, &value);
  assert_ok(eg_layout_problem_forbid_layout(&p, value, 3));
  expect_cost(&p, 8);
  assert_ok(eg_layout_problem_fix_layout(&p, value, 1));
  eg_layout_result result;
  solve(&p, &result); // nothing leads from 1 to 2
  assert_int_equal(result.status, EG_LAYOUT_INFEASIBLE);
  eg_layout_result_deinit(&result);
  eg_layout_problem_deinit(&p);
}

static void the_user_forces_a_strategy(void **state) {
  (void)state;
  eg_layout_problem p;
  uint32_t value;
  draw_shared(&p, &value);
  add_arc(&p, value, 1, 2, 1);
  assert_ok(eg_layout_problem_force_strategy(&p, 0, 1));
  expect_cost(&p, 51);
  assert_ok(eg_layout_problem_forbid_strategy(&p, 0, 1));
  eg_layout_result result;
  solve(&p, &result);
  assert_int_equal(result.status, EG_LAYOUT_INFEASIBLE);
  eg_layout_result_deinit(&result);
  eg_layout_problem_deinit(&p);
}

// A weight of two layouts (whole, split), used whole, updated split: entering split and
// gathering once, or entering whole, is decided by memory.
static void draw_weight(eg_layout_problem *p) {
  assert_ok(eg_layout_problem_init(p, eg_allocator_heap()));
  uint32_t weight = add_value(p, 2), used = add_value(p, 2), update = add_value(p, 2);
  uint32_t left;
  add_source(p, weight, (double[]){0, 0}, (double[]){8, 2});
  add_map(p, used, weight, (double[]){1, 100});
  add_map(p, update, used, (double[]){9, 3});
  add_arc(p, weight, 1, 0, 5);
  add_arc(p, used, 0, 1, 0);
  add_arc(p, update, 1, 0, 4);
  assert_ok(eg_layout_problem_add_kept(
      p, update, (double[2 * EG_LAYOUT_MEMORY_ROWS]){4, 0, 0, 0, 1}, &left));
  assert_ok(
      eg_layout_problem_tie(p, EG_LAYOUT_TIE_SOURCES, (uint32_t[]){weight, left}, 2));
  assert_ok(eg_layout_problem_add_root(p, left, NULL, 0));
}

static void a_weight_leaves_as_it_entered(void **state) {
  (void)state;
  eg_layout_problem p;
  draw_weight(&p);
  expect_cost(&p, 1 + 3 + 4); // whole: the update is gathered before it is kept
  p.memory_limit[0] = 11;
  expect_cost(&p, 5 + 1 + 3); // split: gathered for its use, 2 + 1 of memory
  p.memory_limit[0] = 2;
  eg_layout_result result;
  solve(&p, &result);
  assert_int_equal(result.status, EG_LAYOUT_NO_MEMORY);
  assert_true(result.is_least_memory_proven && fabs(result.least_memory[0] - 3) < 1e-9);
  eg_layout_result_deinit(&result);
  eg_layout_problem_deinit(&p);
}

static void tied_operators_take_the_same_strategy(void **state) {
  (void)state;
  eg_layout_problem p;
  assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
  uint32_t a = add_value(&p, 2), b = add_value(&p, 2);
  uint32_t ops[2] = {add_source(&p, a, (double[]){1, 3}, NULL),
                     add_source(&p, b, (double[]){7, 2}, NULL)};
  assert_ok(eg_layout_problem_add_root(&p, a, NULL, 0));
  assert_ok(eg_layout_problem_add_root(&p, b, NULL, 0));
  expect_cost(&p, 3);
  assert_ok(eg_layout_problem_tie(&p, EG_LAYOUT_TIE_STRATEGIES, ops, 2));
  expect_cost(&p, 5);
  eg_layout_problem_deinit(&p);
}

static void all_solutions_come_in_order(void **state) {
  (void)state;
  eg_layout_problem p;
  assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
  uint32_t a = add_value(&p, 2), b = add_value(&p, 2);
  add_source(&p, a, (double[]){1, 3}, NULL);
  add_source(&p, b, (double[]){7, 2}, NULL);
  assert_ok(eg_layout_problem_add_root(&p, a, NULL, 0));
  assert_ok(eg_layout_problem_add_root(&p, b, NULL, 0));
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.solutions = 10;
  eg_layout_result result;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &p, &options, &result));
  assert_true(result.is_complete);
  assert_int_equal(result.solutions.len, 4);
  static const double COSTS[4] = {3, 5, 8, 10};
  for (int i = 0; i < 4; i++)
    assert_true(fabs(result.solutions.data[i].cost - COSTS[i]) < 1e-9);
  eg_layout_result_deinit(&result);
  eg_layout_problem_deinit(&p);
}

static void nothing_asked_for_costs_nothing(void **state) {
  (void)state;
  eg_layout_problem p;
  assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
  expect_cost(&p, 0);
  (void)add_value(&p, 3);
  expect_cost(&p, 0);
  assert_ok(eg_layout_problem_add_root(&p, 0, NULL, 0));
  eg_layout_result result;
  solve(&p, &result);
  assert_int_equal(result.status, EG_LAYOUT_INFEASIBLE);
  eg_layout_result_deinit(&result);
  eg_layout_problem_deinit(&p);
}

static void a_seed_is_used_and_a_bad_one_ignored(void **state) {
  (void)state;
  chain c;
  chain_init(&c, 12, 512, 1024);
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result first, second;
  eg_layout_result_init(&first, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &c.p, &options, &first));
  assert_int_equal(first.status, EG_LAYOUT_OPTIMAL);
  options.incumbent = first.solutions.data[0].strategy.data;
  options.time_limit_seconds = 1e-9;
  eg_layout_result_init(&second, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &c.p, &options, &second));
  assert_true(fabs(second.cost - first.cost) <= 1e-9 * first.cost);
  assert_true(second.bound <= second.cost);
  eg_layout_result_deinit(&second);
  eg_u32s bad;
  eg_u32s_init(&bad, eg_allocator_heap());
  assert_ok(eg_u32s_resize(&bad, eg_layout_value_count(&c.p)));
  bad.data[0] = 12345678;
  options = (eg_layout_options)EG_LAYOUT_OPTIONS_DEFAULT;
  options.incumbent = bad.data;
  eg_layout_result_init(&second, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &c.p, &options, &second));
  assert_true(fabs(second.cost - first.cost) <= 1e-9 * first.cost);
  eg_u32s_deinit(&bad);
  eg_layout_result_deinit(&second);
  eg_layout_result_deinit(&first);
  chain_deinit(&c);
}

static bool stop_at_once(void *user, double cost, double bound, double seconds) {
  (void)seconds;
  assert_true(bound <= cost);
  ++*(int *)user;
  return true;
}

static void a_caller_stops_the_search(void **state) {
  (void)state;
  chain c;
  int calls = 0;
  chain_init(&c, 12, 2048, 2048);
  c.p.memory_limit[0] = 7.55604e8;
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.progress = stop_at_once;
  options.user = &calls;
  eg_layout_result result;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &c.p, &options, &result));
  assert_true(calls <= 1);
  assert_true(result.bound <= result.cost);
  eg_layout_result_deinit(&result);
  chain_deinit(&c);
}

// A chain where the limit binds: proven, or at least close, within the time limit.
static void a_training_step_fits_its_memory(void **state) {
  (void)state;
  chain c;
  chain_init(&c, 12, 8192, 1024);
  c.p.memory_limit[0] = 2.97586e8;
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result result;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &c.p, &options, &result));
  assert_true(result.status == EG_LAYOUT_OPTIMAL || result.status == EG_LAYOUT_FEASIBLE);
  assert_true(result.gap < 0.02);
  assert_true(result.solutions.data[0].memory[0] <= c.p.memory_limit[0]);
  eg_layout_result_deinit(&result);
  chain_deinit(&c);
}

static void the_certificate_refuses(void **state) {
  (void)state;
  eg_layout_problem p;
  uint32_t value;
  double cost, memory[EG_LAYOUT_MEMORY_ROWS];
  draw_shared(&p, &value);
  uint32_t strategy[1] = {0};
  uint8_t arcs[5] = {0, 0, 1, 1, 1};
  egraph_allocator heap = eg_allocator_heap();
  assert_ok(eg_layout_certify(heap, &p, strategy, arcs, &cost, memory));
  assert_true(fabs(cost - 4) < 1e-12);
  arcs[4] = 0;
  assert_fails(eg_layout_certify(heap, &p, strategy, arcs, &cost, memory),
               EGRAPH_E_INTERNAL, "root 1 is not served");
  arcs[2] = 0;
  arcs[0] = arcs[1] = 1;
  assert_fails(eg_layout_certify(heap, &p, strategy, arcs, &cost, memory),
               EGRAPH_E_INTERNAL, "starts where nothing is");
  strategy[0] = EG_LAYOUT_NONE;
  assert_fails(eg_layout_certify(heap, &p, strategy, arcs, &cost, memory),
               EGRAPH_E_INTERNAL, "not produced");
  eg_layout_problem_deinit(&p);
}

static void wrong_numbers_are_refused(void **state) {
  (void)state;
  eg_layout_problem p;
  uint32_t value;
  draw_shared(&p, &value);
  assert_fails(eg_layout_problem_add_value(&p, 0, 1, 1, &value), EGRAPH_E_ARGUMENT,
               "needs a layout");
  eg_layout_arc arc = {0, 0, 9, 1, {0}};
  assert_fails(eg_layout_problem_add_arc(&p, &arc), EGRAPH_E_ARGUMENT, "no layout 9");
  arc.to = 1;
  arc.cost = -1;
  assert_fails(eg_layout_problem_add_arc(&p, &arc), EGRAPH_E_ARGUMENT, ">= 0");
  assert_fails(eg_layout_problem_force_strategy(&p, 0, 4), EGRAPH_E_ARGUMENT,
               "no strategy 4");
  assert_fails(eg_layout_problem_tie(&p, EG_LAYOUT_TIE_STRATEGIES, (uint32_t[]){3}, 1),
               EGRAPH_E_ARGUMENT, "no operator 3");
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.solutions = 0;
  eg_layout_result result;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_fails(eg_layout_solve(eg_allocator_heap(), &p, &options, &result),
               EGRAPH_E_ARGUMENT, "number of solutions");
  eg_layout_result_deinit(&result);
  eg_layout_problem_deinit(&p);
}

// Two ways to make the last value that need each other's, a tie, a limit, a set of
// layouts at the root: every part of the solver has something to do.
static egraph_status build_knot(eg_layout_problem *p) {
  uint32_t values[4], root_layouts[2] = {0, 1}, ends[2];
  eg_layout_arc arc = {.cost = 2, .memory = {1}};
  for (uint32_t v = 0; v < 4; v++) {
    EG_TRY(eg_layout_problem_add_value(p, 3, 1, 1, &values[v]));
    for (uint32_t i = 0; i < 6; i++) {
      arc.value = v;
      arc.from = i % 3;
      arc.to = (i % 3 + 1 + i / 3) % 3;
      arc.cost = 1 + (i * 7 + v) % 5;
      EG_TRY(eg_layout_problem_add_arc(p, &arc));
    }
  }
  static const uint32_t INPUTS[7][3] = {{9, 9, 9}, {0, 9, 9}, {2, 9, 9}, {1, 9, 9},
                                        {0, 9, 9}, {1, 2, 9}, {2, 1, 0}};
  static const uint32_t OUTPUTS[7] = {0, 1, 1, 2, 2, 3, 3};
  for (uint32_t o = 0; o < 7; o++) {
    uint32_t count = 0, needs[3];
    while (count < 3 && INPUTS[o][count] != 9)
      count++;
    EG_TRY(eg_layout_problem_add_operator(p, OUTPUTS[o], INPUTS[o], count, NULL));
    for (uint32_t s = 0; s < 3; s++) {
      for (uint32_t i = 0; i < 3; i++)
        needs[i] = (s + i * (o % 2 + 1)) % 3;
      eg_layout_strategy strategy = {
          needs, (s + o) % 3, (o * 5 + s * 3) % 7 + 1, {(o * 3 + s) % 4}};
      EG_TRY(eg_layout_problem_add_strategy(p, &strategy));
    }
  }
  ends[0] = 1;
  ends[1] = 3;
  EG_TRY(eg_layout_problem_tie(p, EG_LAYOUT_TIE_STRATEGIES, ends, 2));
  ends[0] = 0;
  EG_TRY(eg_layout_problem_tie(p, EG_LAYOUT_TIE_SOURCES, ends, 1));
  EG_TRY(eg_layout_problem_add_kept(p, 3, NULL, &values[0]));
  p->memory_limit[0] = 7;
  EG_TRY(eg_layout_problem_add_root(p, 3, root_layouts, 2));
  return eg_layout_problem_add_root(p, values[0], root_layouts, 1);
}

static egraph_status solve_under(egraph_allocator alloc, const eg_layout_problem *p,
                                 uint32_t solutions, bool break_ties) {
  eg_layout_result result;
  eg_layout_result_init(&result, alloc);
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.solutions = solutions;
  options.least_memory = options.fewest_transitions = options.lowest_numbers = break_ties;
  egraph_status status = eg_layout_solve(alloc, p, &options, &result);
  if (status == EGRAPH_OK) assert_int_equal(result.status, EG_LAYOUT_OPTIMAL);
  eg_layout_result_deinit(&result);
  return status;
}

static egraph_status solve_knot(egraph_allocator alloc, void *user) {
  eg_layout_problem p;
  (void)user;
  EG_TRY(eg_layout_problem_init(&p, alloc));
  egraph_status status = build_knot(&p);
  if (status == EGRAPH_OK) status = solve_under(alloc, &p, 1, false);
  eg_layout_problem_deinit(&p);
  return status;
}

static egraph_status solve_passes(egraph_allocator alloc, void *problem) {
  return solve_under(alloc, problem, 2, true);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(solve_knot, NULL);
}

static void every_allocation_of_later_passes_may_fail(void **state) {
  (void)state;
  eg_layout_problem p;
  draw_weight(&p);
  p.memory_limit[0] = 11;
  test_every_allocation_failing(solve_passes, &p);
  eg_layout_problem_deinit(&p);
}

// A clock that is no limit: the same work gives the same answer, and too little of it
// leaves a gap.
static void work_is_a_limit(void **state) {
  (void)state;
  uint64_t all = 0;
  size_t optimal = 0, open = 0;
  for (uint64_t share = 0; share <= 4; share++) {
    eg_layout_result result[2];
    chain c;
    chain_init(&c, 3, 512, 1024);
    c.p.memory_limit[0] = 9e7;
    eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
    options.time_limit_seconds = 1e6;
    options.work_limit = share == 0 ? 0 : 1 + all * share / 4;
    for (int i = 0; i < 2; i++) {
      eg_layout_result_init(&result[i], eg_allocator_heap());
      assert_ok(eg_layout_solve(eg_allocator_heap(), &c.p, &options, &result[i]));
    }
    assert_true(result[0].cost == result[1].cost || isnan(result[0].cost));
    assert_true(result[0].bound == result[1].bound);
    assert_true(result[0].work == result[1].work && result[0].work > 0);
    assert_int_equal(result[0].status, result[1].status);
    optimal += result[0].status == EG_LAYOUT_OPTIMAL;
    open += result[0].status != EG_LAYOUT_OPTIMAL;
    if (share == 0) all = result[0].work;
    for (int i = 0; i < 2; i++)
      eg_layout_result_deinit(&result[i]);
    chain_deinit(&c);
  }
  assert_true(optimal >= 1 && open >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(consumers_share_transitions),
      cmocka_unit_test(many_consumers_share_a_hub),
      cmocka_unit_test(all_solutions_come_in_order),
      cmocka_unit_test(the_user_forbids_and_fixes),
      cmocka_unit_test(the_user_forces_a_strategy),
      cmocka_unit_test(a_weight_leaves_as_it_entered),
      cmocka_unit_test(tied_operators_take_the_same_strategy),
      cmocka_unit_test(nothing_asked_for_costs_nothing),
      cmocka_unit_test(a_seed_is_used_and_a_bad_one_ignored),
      cmocka_unit_test(a_caller_stops_the_search),
      cmocka_unit_test(a_training_step_fits_its_memory),
      cmocka_unit_test(work_is_a_limit),
      cmocka_unit_test(the_certificate_refuses),
      cmocka_unit_test(wrong_numbers_are_refused),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(every_allocation_of_later_passes_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
