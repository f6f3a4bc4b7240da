// Exact extraction against exhaustive search on small random problems: cyclic, several
// roots, zero costs, ties, duplicate children; every presolve pass switched off in turn;
// several such problems side by side, solved by several threads.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/search/extract.h"
#include "tests/extract_brute.h"
#include "tests/locked_allocator.h"

enum { MAX_CLASSES = 14, MAX_MEMBERS = 4, ELEMENTS = 9, SETS = 9 };

typedef struct draw {
  eg_rng rng;
  uint32_t classes;
  bool integers;
} draw;

#ifdef NDEBUG
enum { PROBLEMS = 3000 };
#else
enum { PROBLEMS = 1000 }; // assertions, and sanitizers most of the time
#endif

static double draw_cost(draw *d) {
  if (eg_rng_below(&d->rng, 4) == 0) return 0;
  if (d->integers) return (double)eg_rng_below(&d->rng, 6);
  return eg_rng_unit(&d->rng) * 1e-3;
}

static void draw_problem(draw *d, eg_extract_problem *problem) {
  assert_ok(eg_extract_problem_init(problem, eg_allocator_heap()));
  for (uint32_t i = 0; i < d->classes; i++) {
    uint32_t class;
    assert_ok(eg_extract_problem_add_class(problem, &class));
  }
  for (uint32_t class = 0; class < d->classes; class ++) {
    uint32_t members = (uint32_t)eg_rng_below(&d->rng, MAX_MEMBERS + 1);
    if (members == 0 && eg_rng_below(&d->rng, 3) != 0) members = 1;
    for (uint32_t m = 0; m < members; m++) {
      uint32_t children[4];
      uint32_t count = (uint32_t)eg_rng_below(&d->rng, m == 0 ? 3 : 5);
      for (uint32_t i = 0; i < count; i++)
        children[i] = (uint32_t)eg_rng_below(&d->rng, d->classes);
      assert_ok(eg_extract_problem_add_node(problem, class, draw_cost(d), children, count,
                                            NULL));
    }
  }
  uint32_t roots = 1 + (uint32_t)eg_rng_below(&d->rng, 3);
  for (uint32_t i = 0; i < roots; i++)
    assert_ok(eg_extract_problem_add_root(problem,
                                          (uint32_t)eg_rng_below(&d->rng, d->classes)));
}

static void add_node(eg_extract_problem *problem, uint32_t class, double cost,
                     const uint32_t *children, uint32_t count) {
  assert_ok(eg_extract_problem_add_node(problem, class, cost, children, count, NULL));
}

// Set covering, whose relaxation has a gap, so that branching is needed: class 0 needs
// all elements, an element is had through some sets, a set is paid, or made from two
// elements.
static void draw_cover(draw *d, eg_extract_problem *problem) {
  assert_ok(eg_extract_problem_init(problem, eg_allocator_heap()));
  d->classes = 1 + ELEMENTS + SETS;
  for (uint32_t i = 0; i < d->classes; i++) {
    uint32_t class;
    assert_ok(eg_extract_problem_add_class(problem, &class));
  }
  uint32_t elements[ELEMENTS];
  for (uint32_t e = 0; e < ELEMENTS; e++)
    elements[e] = 1 + e;
  add_node(problem, 0, 0, elements, ELEMENTS);
  for (uint32_t e = 0; e < ELEMENTS; e++)
    for (uint32_t i = 0; i < 2 + e % 2; i++) {
      uint32_t set = 1 + ELEMENTS + (uint32_t)eg_rng_below(&d->rng, SETS);
      add_node(problem, 1 + e, i == 2 ? draw_cost(d) : 0, &set, 1);
    }
  for (uint32_t set = 0; set < SETS; set++) {
    double cost = d->integers ? 1 : 1 + eg_rng_unit(&d->rng);
    add_node(problem, 1 + ELEMENTS + set, cost, NULL, 0);
    uint32_t pair[2];
    for (int i = 0; i < 2; i++)
      pair[i] = 1 + (uint32_t)eg_rng_below(&d->rng, ELEMENTS);
    if (set % 3 == 0) add_node(problem, 1 + ELEMENTS + set, cost / 2, pair, 2);
  }
  assert_ok(eg_extract_problem_add_root(problem, 0));
}

static void expect_optimum_by(const eg_extract_problem *problem, double optimum,
                              uint32_t disabled, bool without_frontier) {
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.disabled_passes = disabled;
  options.without_frontier = without_frontier;
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  assert_ok(eg_extract_solve(eg_allocator_heap(), problem, &options, &result));
  if (isinf(optimum)) {
    assert_int_equal(result.status, EG_EXTRACT_INFEASIBLE);
  } else {
    double cost = -1;
    assert_int_equal(result.status, EG_EXTRACT_OPTIMAL);
    assert_ok(
        eg_extract_certify(eg_allocator_heap(), problem, result.choice.data, &cost));
    assert_true(fabs(cost - result.cost) <= 1e-9 * fabs(cost));
    if (fabs(cost - optimum) > 2e-9 * fabs(optimum))
      fail_msg("passes off: %x, cost %.17g, optimum %.17g", disabled, cost, optimum);
    double greedy = fmin(result.tree_cost, result.dag_cost);
    assert_true(result.cost <= greedy * (1 + 1e-14)); // equal sums in another order
    assert_true(result.bound <= result.cost);
  }
  eg_extract_result_deinit(&result);
}

static void expect_optimum(const eg_extract_problem *problem, double optimum,
                           uint32_t disabled) {
  expect_optimum_by(problem, optimum, disabled, false);
  expect_optimum_by(problem, optimum, disabled, true);
}

static void without_any_pass_the_optimum_is_found(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260101);
  size_t rounds = test_rounds(PROBLEMS);
  for (size_t round = 0; round < rounds; round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)}};
    d.classes = 1 + (uint32_t)eg_rng_below(&d.rng, MAX_CLASSES);
    d.integers = round % 2 == 0;
    eg_extract_problem problem;
    draw_problem(&d, &problem);
    double optimum = brute_force(&problem);
    expect_optimum(&problem, optimum, 0);
    for (int pass = 0; pass < EG_PASS_COUNT; pass++)
      expect_optimum(&problem, optimum, 1u << pass);
    expect_optimum(&problem, optimum, (uint32_t)eg_rng_next(&d.rng));
    if (round % 8 == 0) expect_optimum(&problem, optimum, UINT32_MAX);
    eg_extract_problem_deinit(&problem);
  }
}

// Sums closed under associativity and commutativity: a class for every subset of the
// terms of some sum, a node for every way to split it. Little that presolve can remove,
// and weak relaxations: cuts that were kept and usage rows decide.
static void draw_sums(draw *d, eg_extract_problem *problem) {
  enum { TERMS = 4 };
  assert_ok(eg_extract_problem_init(problem, eg_allocator_heap()));
  for (uint32_t class = 0; class < 1u << TERMS; class ++) {
    uint32_t id;
    assert_ok(eg_extract_problem_add_class(problem, &id));
  }
  for (uint32_t class = 1; class < 1u << TERMS; class ++)
    for (uint32_t left = (class - 1) & class; left != 0; left = (left - 1) & class) {
      uint32_t children[2] = {left, class ^ left};
      double cost = d->integers ? 1 : draw_cost(d) + 1e-3;
      if (eg_rng_below(&d->rng, 5) != 0) add_node(problem, class, cost, children, 2);
    }
  for (uint32_t term = 0; term < TERMS; term++)
    add_node(problem, 1u << term, draw_cost(d), NULL, 0);
  uint32_t roots = 1 + (uint32_t)eg_rng_below(&d->rng, 3);
  for (uint32_t i = 0; i < roots; i++)
    assert_ok(eg_extract_problem_add_root(
        problem, i == 0 ? (1u << TERMS) - 1
                        : 1 + (uint32_t)eg_rng_below(&d->rng, (1u << TERMS) - 1)));
}

static void sums_find_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260103);
  size_t rounds = test_rounds(PROBLEMS / 10);
  for (size_t round = 0; round < rounds; round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)}, .integers = round % 2 == 0};
    eg_extract_problem problem;
    draw_sums(&d, &problem);
    double optimum = brute_force(&problem);
    expect_optimum(&problem, optimum, 0);
    expect_optimum(&problem, optimum, 1u << (round / 2 % EG_PASS_COUNT));
    expect_optimum(&problem, optimum, (uint32_t)eg_rng_next(&d.rng));
    eg_extract_problem_deinit(&problem);
  }
}

static void branching_finds_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260102);
  size_t rounds = test_rounds(PROBLEMS / 10);
  for (size_t round = 0; round < rounds; round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)}, .integers = round % 2 == 0};
    eg_extract_problem problem;
    draw_cover(&d, &problem);
    double optimum = brute_force(&problem);
    expect_optimum(&problem, optimum, 0);
    expect_optimum(&problem, optimum, 1u << (round / 2 % EG_PASS_COUNT));
    expect_optimum(&problem, optimum, UINT32_MAX);
    eg_extract_problem_deinit(&problem);
  }
}

// What every choice pays hides the rest from tolerances, which are shares of the whole.
static void a_small_part_of_the_cost_is_settled(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260104);
  size_t rounds = test_rounds(PROBLEMS / 5);
  for (size_t round = 0; round < rounds; round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)}};
    eg_extract_problem problem;
    uint32_t class;
    (round % 2 == 0 ? draw_sums : draw_cover)(&d, &problem);
    assert_ok(eg_extract_problem_add_class(&problem, &class));
    double heavy = pow(10, (double)(round % 8)) * (1 + eg_rng_unit(&d.rng));
    add_node(&problem, class, heavy, NULL, 0);
    assert_ok(eg_extract_problem_add_root(&problem, class));
    expect_optimum(&problem, brute_force(&problem), 0);
    eg_extract_problem_deinit(&problem);
  }
}

// ---- threads ---------------------------------------------------------------------

// Appends the classes of `part` with new numbers.
static void append_problem(eg_extract_problem *whole, const eg_extract_problem *part) {
  uint32_t first = whole->class_count, children[1 << 4];
  for (uint32_t class = 0; class < part->class_count; class ++) {
    uint32_t id;
    assert_ok(eg_extract_problem_add_class(whole, &id));
  }
  for (uint32_t n = 0; n < eg_extract_node_count(part); n++) {
    uint32_t begin = part->child_begin.data[n],
             count = part->child_begin.data[n + 1] - begin;
    for (uint32_t i = 0; i < count; i++)
      children[i] = first + part->children.data[begin + i];
    add_node(whole, first + part->node_class.data[n], part->cost.data[n], children,
             count);
  }
  for (size_t i = 0; i < part->roots.len; i++)
    assert_ok(eg_extract_problem_add_root(whole, first + part->roots.data[i]));
}

// Returns the sum of the optima of the parts.
static double draw_union(draw *d, eg_extract_problem *whole) {
  assert_ok(eg_extract_problem_init(whole, eg_allocator_heap()));
  uint64_t parts = 2 + eg_rng_below(&d->rng, 20);
  double optimum = 0;
  for (uint64_t i = 0; i < parts; i++) {
    eg_extract_problem part;
    d->classes = 1 + (uint32_t)eg_rng_below(&d->rng, MAX_CLASSES);
    void (*const kinds[])(draw *, eg_extract_problem *) = {draw_problem, draw_sums,
                                                           draw_cover, draw_cover};
    kinds[eg_rng_below(&d->rng, 4)](d, &part);
    double best = brute_force(&part);
    if (isfinite(best)) {
      append_problem(whole, &part);
      optimum += best;
    }
    eg_extract_problem_deinit(&part);
  }
  return optimum;
}

static void solve_with_threads(const eg_extract_problem *problem,
                               eg_extract_options options, uint32_t threads,
                               eg_extract_result *result) {
  test_heap heap = {.fail_at = 0};
  locked_allocator locked;
  egraph_allocator alloc = locked_allocator_over(&locked, test_heap_allocator(&heap));
  options.threads = threads;
  eg_extract_result own; // ends before the allocator does
  eg_extract_result_init(&own, alloc);
  assert_ok(eg_extract_solve(alloc, problem, &options, &own));
  eg_u32s kept = result->choice;
  *result = own;
  result->choice = kept;
  assert_ok(eg_u32s_append(&result->choice, own.choice.data, own.choice.len));
  eg_extract_result_deinit(&own);
  assert_int_equal(heap.live_bytes, 0);
}

static void expect_same(const eg_extract_result *a, const eg_extract_result *b) {
  assert_int_equal(a->status, b->status);
  assert_memory_equal(&a->cost, &b->cost, sizeof a->cost);
  assert_memory_equal(&a->bound, &b->bound, sizeof a->bound);
  assert_int_equal(a->choice.len, b->choice.len);
  if (a->choice.len != 0)
    assert_memory_equal(a->choice.data, b->choice.data, a->choice.len * sizeof(uint32_t));
}

static void any_number_of_threads_gives_the_same(void **state) {
  (void)state;
  static const uint32_t THREADS[] = {2, 4, 8};
  uint64_t seed = test_seed(20260104);
  size_t rounds = test_rounds(PROBLEMS / 50);
  for (size_t round = 0; round < rounds; round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)}, .integers = round % 2 == 0};
    eg_extract_problem problem;
    double optimum = draw_union(&d, &problem);
    eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
    if (round % 4 >= 2) options.disabled_passes = (uint32_t)eg_rng_next(&d.rng);
    if (round % 5 == 4) options.relative_gap = 0.05;
    eg_extract_result alone;
    eg_extract_result_init(&alone, eg_allocator_heap());
    solve_with_threads(&problem, options, 1, &alone);
    assert_true(alone.cost >= optimum * (1 - 2e-9) &&
                alone.bound <= optimum * (1 + 2e-9));
    if (options.relative_gap == 0)
      assert_true(alone.status == EG_EXTRACT_OPTIMAL &&
                  alone.cost <= optimum * (1 + 2e-9));
    else
      assert_true(alone.gap <= options.relative_gap * (1 + 1e-9));
    for (size_t i = 0; i < sizeof THREADS / sizeof *THREADS; i++) {
      eg_extract_result several;
      eg_extract_result_init(&several, eg_allocator_heap());
      solve_with_threads(&problem, options, THREADS[i], &several);
      expect_same(&alone, &several);
      eg_extract_result_deinit(&several);
    }
    eg_extract_result_deinit(&alone);
    eg_extract_problem_deinit(&problem);
  }
}

static egraph_status solve_failing(egraph_allocator alloc, void *user) {
  locked_allocator locked;
  egraph_allocator shared = locked_allocator_over(&locked, alloc);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.threads = 3;
  eg_extract_result result;
  eg_extract_result_init(&result, shared);
  egraph_status status = eg_extract_solve(shared, user, &options, &result);
  eg_extract_result_deinit(&result);
  return status;
}

static void threads_survive_every_failing_allocation(void **state) {
  (void)state;
  draw d = {.rng = {7}, .integers = true};
  eg_extract_problem problem, part;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  for (int i = 0; i < 3; i++) {
    draw_cover(&d, &part);
    append_problem(&problem, &part);
    eg_extract_problem_deinit(&part);
  }
  test_every_allocation_failing(solve_failing, &problem);
  eg_extract_problem_deinit(&problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_of_threads_gives_the_same),
      cmocka_unit_test(threads_survive_every_failing_allocation),
      cmocka_unit_test(branching_finds_the_optimum),
      cmocka_unit_test(sums_find_the_optimum),
      cmocka_unit_test(a_small_part_of_the_cost_is_settled),
      cmocka_unit_test(without_any_pass_the_optimum_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
