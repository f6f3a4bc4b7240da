// Extraction through its front end: greedy methods, certificate, limits, errors.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/extract.h"

#include <math.h>

#include "tests/testing.h"

// ---- small problems ------------------------------------------------------------------

static eg_extract_problem start(uint32_t classes) {
  eg_extract_problem problem;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  for (uint32_t i = 0; i < classes; i++) {
    uint32_t class = UINT32_MAX;
    assert_ok(eg_extract_problem_add_class(&problem, &class));
    assert_int_equal(class, i);
  }
  return problem;
}

static void leaf(eg_extract_problem *problem, uint32_t class, double cost) {
  assert_ok(eg_extract_problem_add_node(problem, class, cost, NULL, 0, NULL));
}

static void node1(eg_extract_problem *problem, uint32_t class, double cost, uint32_t a) {
  assert_ok(eg_extract_problem_add_node(problem, class, cost, &a, 1, NULL));
}

static void node2(eg_extract_problem *problem, uint32_t class, double cost, uint32_t a,
                  uint32_t b) {
  uint32_t children[] = {a, b};
  assert_ok(eg_extract_problem_add_node(problem, class, cost, children, 2, NULL));
}

static void root(eg_extract_problem *problem, uint32_t class) {
  assert_ok(eg_extract_problem_add_root(problem, class));
}

// Root 0 needs 1 and 2. Either both from the shared class 3 (cost 6), or each from a leaf
// of cost 4: a tree pays 3 twice and takes the leaves (8), a DAG pays it once (6).
static eg_extract_problem sharing(void) {
  eg_extract_problem problem = start(4);
  node2(&problem, 0, 0, 1, 2);
  leaf(&problem, 1, 4);
  node1(&problem, 1, 0, 3);
  leaf(&problem, 2, 4);
  node1(&problem, 2, 0, 3);
  leaf(&problem, 3, 6);
  root(&problem, 0);
  return problem;
}

// Covering {1, 2, 3} by the sets 4 = {1, 2}, 5 = {2, 3}, 6 = {1, 3}, and five more such
// triangles: the relaxation stays half a set per element, so branching is needed.
static eg_extract_problem triangles(uint32_t count) {
  eg_extract_problem problem = start(1 + 6 * count);
  for (uint32_t t = 0; t < count; t++) {
    uint32_t e = 1 + 6 * t, s = e + 3;
    root(&problem, e);
    root(&problem, e + 1);
    root(&problem, e + 2);
    node1(&problem, e, 0, s);
    node1(&problem, e, 0, s + 2);
    node1(&problem, e + 1, 0, s);
    node1(&problem, e + 1, 0, s + 1);
    node1(&problem, e + 2, 0, s + 1);
    node1(&problem, e + 2, 0, s + 2);
    for (uint32_t i = 0; i < 3; i++)
      leaf(&problem, s + i, 1.25 + 0.001 * (t + i));
  }
  leaf(&problem, 0, 1);
  root(&problem, 0);
  return problem;
}

static eg_extract_result solve(const eg_extract_problem *problem,
                               const eg_extract_options *options) {
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  assert_ok(eg_extract_solve(eg_allocator_heap(), problem, options, &result));
  return result;
}

// ---- tests ---------------------------------------------------------------------------

static void tree_greedy_pays_shared_classes_twice_and_ilp_does_not(void **state) {
  (void)state;
  eg_extract_problem problem = sharing();
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.method = EG_EXTRACT_TREE;
  eg_extract_result tree = solve(&problem, &options);
  assert_true(tree.cost == 8 && tree.tree_cost == 8);
  assert_int_equal(tree.status, EG_EXTRACT_FEASIBLE);
  options.method = EG_EXTRACT_ILP;
  eg_extract_result ilp = solve(&problem, &options);
  assert_true(ilp.cost == 6 && ilp.bound == 6 && ilp.gap == 0);
  assert_int_equal(ilp.status, EG_EXTRACT_OPTIMAL);
  assert_int_equal(ilp.choice.data[3], 5);
  eg_extract_result_deinit(&tree);
  eg_extract_result_deinit(&ilp);
  eg_extract_problem_deinit(&problem);
}

static void dag_greedy_pays_a_diamond_once(void **state) {
  (void)state;
  eg_extract_problem problem = start(4);
  node2(&problem, 0, 1, 1, 2); // a tree of 1 + 2 * (1 + 5), as a DAG 1 + 2 * 1 + 5
  leaf(&problem, 0, 10);
  node1(&problem, 1, 1, 3);
  node1(&problem, 2, 1, 3);
  leaf(&problem, 3, 5);
  root(&problem, 0);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.method = EG_EXTRACT_DAG;
  eg_extract_result result = solve(&problem, &options);
  assert_true(result.cost == 8 && result.dag_cost == 8);
  eg_extract_result_deinit(&result);
  options.method = EG_EXTRACT_TREE;
  result = solve(&problem, &options);
  assert_true(result.cost == 10);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static void free_cycles_between_formats_are_never_chosen(void **state) {
  (void)state;
  // Formats 1 and 2 of a value, free transitions both ways, computed in format 2 only.
  eg_extract_problem problem = start(4);
  node1(&problem, 0, 0, 1);
  node1(&problem, 1, 0, 2);
  node1(&problem, 2, 0, 1);
  node1(&problem, 2, 3, 3);
  leaf(&problem, 3, 0);
  root(&problem, 0);
  for (eg_extract_method method = EG_EXTRACT_TREE; method <= EG_EXTRACT_ILP; method++) {
    eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
    options.method = method;
    eg_extract_result result = solve(&problem, &options);
    assert_true(result.cost == 3);
    assert_int_equal(result.choice.data[2], 3);
    eg_extract_result_deinit(&result);
  }
  eg_extract_problem_deinit(&problem);
}

static void a_root_without_derivation_is_infeasible(void **state) {
  (void)state;
  eg_extract_problem problem = start(3);
  node1(&problem, 0, 1, 1);
  node1(&problem, 1, 1, 2);
  node1(&problem, 2, 1, 1);
  root(&problem, 0);
  for (eg_extract_method method = EG_EXTRACT_TREE; method <= EG_EXTRACT_ILP; method++) {
    eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
    options.method = method;
    eg_extract_result result = solve(&problem, &options);
    assert_int_equal(result.status, EG_EXTRACT_INFEASIBLE);
    assert_int_equal(result.choice.len, 0);
    eg_extract_result_deinit(&result);
  }
  eg_extract_problem_deinit(&problem);
}

static void an_empty_problem_costs_nothing(void **state) {
  (void)state;
  eg_extract_problem problem = start(0);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result result = solve(&problem, &options);
  assert_int_equal(result.status, EG_EXTRACT_OPTIMAL);
  assert_true(result.cost == 0);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static void the_certificate_rejects_what_is_no_solution(void **state) {
  (void)state;
  eg_extract_problem problem = start(3);
  node2(&problem, 0, 1, 1, 2); // 0
  node1(&problem, 1, 1, 2);    // 1
  node1(&problem, 2, 1, 1);    // 2
  leaf(&problem, 2, 1);        // 3
  root(&problem, 0);
  egraph_allocator heap = eg_allocator_heap();
  double cost = -1;
  uint32_t cyclic[] = {0, 1, 2}, incomplete[] = {0, 1, EG_EXTRACT_NONE};
  uint32_t foreign[] = {0, 1, 1}, beyond[] = {0, 1, 99}, right[] = {0, 1, 3};
  assert_fails(eg_extract_certify(heap, &problem, cyclic, &cost), EGRAPH_E_INTERNAL,
               "cyclic");
  assert_fails(eg_extract_certify(heap, &problem, incomplete, &cost), EGRAPH_E_INTERNAL,
               "class 2 is needed");
  assert_fails(eg_extract_certify(heap, &problem, foreign, &cost), EGRAPH_E_INTERNAL,
               "node 1 is not in class 2");
  assert_fails(eg_extract_certify(heap, &problem, beyond, &cost), EGRAPH_E_INTERNAL,
               "node 99");
  assert_true(cost < 0);
  assert_ok(eg_extract_certify(heap, &problem, right, &cost));
  assert_true(cost == 3);
  eg_extract_problem_deinit(&problem);
}

static void malformed_problems_are_refused(void **state) {
  (void)state;
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  struct {
    uint32_t class, child, root;
    double cost;
    const char *part;
  } cases[] = {{7, 0, 0, 1, "node 0 is in class 7"},
               {0, 9, 0, 1, "child class 9"},
               {0, 0, 5, 1, "root 0 is class 5"},
               {0, 0, 0, NAN, "not finite"},
               {0, 0, 0, -INFINITY, "cost of node 0"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_extract_problem problem = start(1);
    node1(&problem, cases[i].class, cases[i].cost, cases[i].child);
    root(&problem, cases[i].root);
    assert_fails(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result),
                 EGRAPH_E_ARGUMENT, cases[i].part);
    eg_extract_problem_deinit(&problem);
  }
  eg_extract_problem problem = start(2);
  leaf(&problem, 0, -1e308);
  leaf(&problem, 1, 1e308);
  root(&problem, 1);
  assert_fails(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result),
               EGRAPH_E_ARGUMENT, "add up to more");
  problem.cost.data[0] = -1e307;
  assert_ok(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result));
  eg_extract_problem_deinit(&problem);
  problem = start(1);
  leaf(&problem, 0, 1);
  problem.child_begin.len--;
  assert_fails(eg_extract_problem_check(&problem), EGRAPH_E_ARGUMENT, "rows");
  problem.child_begin.len++;
  options.time_limit_seconds = 0;
  assert_fails(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result),
               EGRAPH_E_ARGUMENT, "time limit");
  options.time_limit_seconds = 1;
  options.relative_gap = -1;
  assert_fails(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result),
               EGRAPH_E_ARGUMENT, "gap");
  eg_extract_problem_deinit(&problem);
  eg_extract_result_deinit(&result);
}

static void negative_costs_are_solved_too(void **state) {
  (void)state;
  eg_extract_problem problem = start(2);
  node1(&problem, 0, 5, 1);
  leaf(&problem, 1, -2);
  leaf(&problem, 1, 1);
  root(&problem, 0);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  assert_ok(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result));
  assert_true(result.cost == 3 && result.status == EG_EXTRACT_OPTIMAL);
  options.method = EG_EXTRACT_DAG;
  assert_ok(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result));
  assert_true(result.cost == 3 && result.bound <= 3);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static void a_better_incumbent_is_kept_and_a_wrong_one_ignored(void **state) {
  (void)state;
  eg_extract_problem problem = sharing();
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.method = EG_EXTRACT_TREE;
  uint32_t shared[] = {0, 2, 4, 5}, wrong[] = {0, 3, 3, 77};
  options.incumbent = shared;
  eg_extract_result result = solve(&problem, &options);
  assert_true(result.cost == 6 && result.tree_cost == 8);
  eg_extract_result_deinit(&result);
  options.incumbent = wrong;
  result = solve(&problem, &options);
  assert_true(result.cost == 8);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

typedef struct watch {
  size_t calls;
  bool stop, sane;
} watch;

static bool on_progress(void *user, double cost, double bound, double seconds) {
  watch *w = user;
  w->calls++;
  w->sane = w->sane && bound <= cost && seconds >= 0;
  return w->stop;
}

// Set covering too hard to finish: n random elements and sets, `copies` times.
static eg_extract_problem hard_covers(uint32_t copies, uint32_t elements, uint32_t sets) {
  eg_extract_problem problem = start(copies * (elements + sets));
  eg_rng rng = {99};
  for (uint32_t c = 0; c < copies; c++) {
    uint32_t first = c * (elements + sets);
    for (uint32_t e = 0; e < elements; e++) {
      root(&problem, first + e);
      for (int i = 0; i < 6; i++)
        node1(&problem, first + e, 0,
              first + elements + (uint32_t)eg_rng_below(&rng, sets));
    }
    for (uint32_t s = 0; s < sets; s++)
      leaf(&problem, first + elements + s, 1 + 0.01 * eg_rng_unit(&rng));
  }
  return problem;
}

static eg_extract_problem hard_cover(uint32_t elements, uint32_t sets) {
  return hard_covers(1, elements, sets);
}

static void limits_end_with_a_solution_and_a_bound(void **state) {
  (void)state;
  eg_extract_problem problem = hard_cover(240, 160);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  watch w = {.sane = true};
  options.progress = on_progress;
  options.user = &w;
  options.time_limit_seconds = 0.6;
  eg_extract_result result = solve(&problem, &options);
  assert_int_equal(result.status, EG_EXTRACT_FEASIBLE);
  assert_true(result.cost <= result.dag_cost && result.cost <= result.tree_cost);
  assert_true(result.bound > 0 && result.bound < result.cost && result.gap > 0);
  assert_true(w.calls >= 1 && w.sane);
  eg_extract_result_deinit(&result);

  w = (watch){.stop = true, .sane = true};
  options.time_limit_seconds = 100;
  result = solve(&problem, &options);
  assert_int_equal(result.status, EG_EXTRACT_FEASIBLE);
  assert_int_equal(w.calls, 1);
  eg_extract_result_deinit(&result);

  options.progress = NULL;
  options.relative_gap = 0.9;
  result = solve(&problem, &options);
  assert_true(result.gap <= 0.9);
  assert_true(result.seconds < 50);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static void threads_stop_at_limits_too(void **state) {
  (void)state;
  eg_extract_problem problem = hard_covers(3, 200, 120);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  watch w = {.stop = true, .sane = true};
  options.threads = 3;
  options.progress = on_progress;
  options.user = &w;
  options.time_limit_seconds = 100;
  eg_extract_result result = solve(&problem, &options);
  assert_int_equal(result.status, EG_EXTRACT_FEASIBLE);
  assert_true(w.calls == 1 && w.sane && result.seconds < 50);
  eg_extract_result_deinit(&result);

  options.progress = NULL;
  options.time_limit_seconds = 0.6;
  result = solve(&problem, &options);
  assert_int_equal(result.status, EG_EXTRACT_FEASIBLE);
  assert_true(result.bound > 0 && result.bound < result.cost && result.seconds < 30);
  eg_extract_result_deinit(&result);

  // One piece alone cannot close the gap of three.
  options.time_limit_seconds = 100;
  options.relative_gap = 0.5;
  eg_extract_result several = solve(&problem, &options);
  options.threads = 1;
  result = solve(&problem, &options);
  assert_true(result.gap <= 0.5 && several.gap <= 0.5);
  assert_true(!(result.cost < several.cost) && !(result.cost > several.cost));
  assert_true(!(result.bound < several.bound) && !(result.bound > several.bound));
  eg_extract_result_deinit(&several);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static void branching_closes_the_gap_of_the_relaxation(void **state) {
  (void)state;
  eg_extract_problem problem = triangles(6);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result result = solve(&problem, &options);
  assert_int_equal(result.status, EG_EXTRACT_OPTIMAL);
  double optimum = 1; // the two cheapest sets of each triangle
  for (uint32_t t = 0; t < 6; t++)
    optimum += 2 * (1.25 + 0.001 * t) + 0.001;
  assert_true(fabs(result.cost - optimum) <= 1e-9 * optimum);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static void equal_calls_give_equal_choices(void **state) {
  (void)state;
  eg_extract_problem problem = triangles(5);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result first = solve(&problem, &options);
  eg_extract_result second = solve(&problem, &options);
  assert_int_equal(first.choice.len, second.choice.len);
  assert_memory_equal(first.choice.data, second.choice.data,
                      first.choice.len * sizeof(uint32_t));
  eg_extract_result_deinit(&first);
  eg_extract_result_deinit(&second);
  eg_extract_problem_deinit(&problem);
}

// Deep chains: no recursion, no quadratic walk.
static void graphs_are_as_deep_as_they_like(void **state) {
  (void)state;
  enum { DEPTH = 20000 };
  eg_extract_problem problem = start(DEPTH);
  for (uint32_t class = 0; class + 1 < DEPTH; class ++)
    node1(&problem, class, class % 7, class + 1);
  leaf(&problem, DEPTH - 1, 1);
  root(&problem, 0);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result result = solve(&problem, &options);
  assert_int_equal(result.status, EG_EXTRACT_OPTIMAL);
  assert_int_equal(result.reduced_nodes, 0);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static egraph_status solve_with(egraph_allocator alloc, void *user) {
  const eg_extract_problem *problem = user;
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result result;
  eg_extract_result_init(&result, alloc);
  egraph_status status = eg_extract_solve(alloc, problem, &options, &result);
  eg_extract_result_deinit(&result);
  return status;
}

static egraph_status build_with(egraph_allocator alloc, void *user) {
  (void)user;
  eg_extract_problem problem;
  EG_TRY(eg_extract_problem_init(&problem, alloc));
  egraph_status status = EGRAPH_OK;
  uint32_t class = 0, children[] = {0, 0, 0};
  for (int i = 0; status == EGRAPH_OK && i < 40; i++) {
    status = eg_extract_problem_add_class(&problem, &class);
    if (status == EGRAPH_OK)
      status = eg_extract_problem_add_node(&problem, class, 1, children, 3, NULL);
    if (status == EGRAPH_OK) status = eg_extract_problem_add_root(&problem, class);
  }
  if (status != EGRAPH_OK) assert_int_equal(problem.cost.len, problem.node_class.len);
  eg_extract_problem_deinit(&problem);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(build_with, NULL);
  eg_extract_problem problem = sharing();
  test_every_allocation_failing(solve_with, &problem);
  eg_extract_problem_deinit(&problem);
  problem = triangles(2);
  test_every_allocation_failing(solve_with, &problem);
  eg_extract_problem_deinit(&problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tree_greedy_pays_shared_classes_twice_and_ilp_does_not),
      cmocka_unit_test(dag_greedy_pays_a_diamond_once),
      cmocka_unit_test(free_cycles_between_formats_are_never_chosen),
      cmocka_unit_test(a_root_without_derivation_is_infeasible),
      cmocka_unit_test(an_empty_problem_costs_nothing),
      cmocka_unit_test(the_certificate_rejects_what_is_no_solution),
      cmocka_unit_test(malformed_problems_are_refused),
      cmocka_unit_test(negative_costs_are_solved_too),
      cmocka_unit_test(a_better_incumbent_is_kept_and_a_wrong_one_ignored),
      cmocka_unit_test(limits_end_with_a_solution_and_a_bound),
      cmocka_unit_test(threads_stop_at_limits_too),
      cmocka_unit_test(branching_closes_the_gap_of_the_relaxation),
      cmocka_unit_test(equal_calls_give_equal_choices),
      cmocka_unit_test(graphs_are_as_deep_as_they_like),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
