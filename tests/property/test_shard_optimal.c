// The sharding solver against exhaustive search on small random problems: several edges
// per pair, forbidden entries, zero costs, empty intervals, tight and impossible limits,
// costs near the largest; every reduction switched off in turn.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_model.h"
#include "extract/shard/shard_solve.h"
#include "tests/testing.h"

enum { MAX_NODES = 14, BRUTE_NODES = 7, MAX_STRATEGIES = 4 };

typedef struct draw {
  eg_rng rng;
  uint32_t nodes;
  uint32_t counts[MAX_NODES];
  int64_t most;       // largest finite cost
  uint32_t forbidden; // one in so many entries is
} draw;

static int64_t draw_cost(draw *d) {
  if (eg_rng_below(&d->rng, 5) == 0) return 0;
  if (eg_rng_below(&d->rng, d->forbidden) == 0)
    return EG_SHARD_INFINITE + (int64_t)eg_rng_below(&d->rng, 2);
  return (int64_t)eg_rng_below(&d->rng, (uint64_t)d->most + 1);
}

static void draw_node(draw *d, eg_shard_problem *problem) {
  uint32_t count = 1 + (uint32_t)eg_rng_below(&d->rng, MAX_STRATEGIES);
  int64_t cost[MAX_STRATEGIES], usage[MAX_STRATEGIES];
  for (uint32_t v = 0; v < count; v++) {
    cost[v] = draw_cost(d);
    usage[v] = (int64_t)eg_rng_below(&d->rng, 12);
  }
  int64_t first = (int64_t)eg_rng_below(&d->rng, 8) - 2;
  int64_t last = first + (int64_t)eg_rng_below(&d->rng, 6) - 1;
  d->counts[d->nodes++] = count;
  assert_ok(eg_shard_problem_add_node(problem, first, last, cost, usage, count));
}

// Tables, some of them near a bijection, so that nodes merge.
static void draw_edge(draw *d, eg_shard_problem *problem) {
  uint32_t a = (uint32_t)eg_rng_below(&d->rng, d->nodes);
  uint32_t b = (uint32_t)eg_rng_below(&d->rng, d->nodes);
  if (a == b) return;
  bool bijection = eg_rng_below(&d->rng, 3) == 0;
  int64_t table[MAX_STRATEGIES * MAX_STRATEGIES];
  for (uint32_t v = 0; v < d->counts[a]; v++)
    for (uint32_t w = 0; w < d->counts[b]; w++) {
      int64_t cost = draw_cost(d);
      if (bijection && (v + 1) % d->counts[b] != w) cost = EG_SHARD_INFINITE;
      table[v * d->counts[b] + w] = cost;
    }
  assert_ok(eg_shard_problem_add_edge(problem, a, b, table));
}

static void draw_problem(draw *d, eg_shard_problem *problem) {
  assert_ok(eg_shard_problem_init(problem, eg_allocator_heap()));
  uint32_t nodes = 1 + (uint32_t)eg_rng_below(&d->rng, BRUTE_NODES);
  d->forbidden = 3 + (uint32_t)eg_rng_below(&d->rng, 20);
  for (uint32_t n = 0; n < nodes; n++)
    draw_node(d, problem);
  uint32_t edges = (uint32_t)eg_rng_below(&d->rng, 3 * nodes);
  for (uint32_t e = 0; e < edges; e++)
    draw_edge(d, problem);
  problem->limit = eg_rng_below(&d->rng, 5) == 0
                       ? INT64_MAX
                       : (int64_t)eg_rng_below(&d->rng, 5 * (uint64_t)nodes + 4);
}

// Every choice by the certificate; EG_SHARD_INFINITE when none fits.
static int64_t brute_force(const draw *d, const eg_shard_problem *problem) {
  uint32_t choice[MAX_NODES] = {0};
  int64_t best = EG_SHARD_INFINITE;
  for (uint32_t n = 0; n < d->nodes;) {
    int64_t cost, peak;
    assert_ok(eg_shard_certify(eg_allocator_heap(), problem, choice, &cost, &peak));
    if (peak <= problem->limit && cost < best) best = cost;
    for (n = 0; n < d->nodes && ++choice[n] == d->counts[n]; n++)
      choice[n] = 0;
  }
  return best;
}

static void expect_optimum(const eg_shard_problem *problem, int64_t optimum,
                           uint32_t disabled, bool tiny) {
  eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
  eg_shard_result result;
  eg_shard_result_init(&result, eg_allocator_heap());
  assert_ok(eg_shard_solve_without(eg_allocator_heap(), problem, &options, disabled, tiny,
                                   &result));
  if (result.cost != optimum)
    fail_msg("passes off: %x, tiny: %d, cost %lld, optimum %lld", disabled, tiny,
             (long long)result.cost, (long long)optimum);
  assert_int_equal(result.bound, optimum);
  if (optimum == EG_SHARD_INFINITE) {
    assert_int_equal(result.status, EG_EXTRACT_INFEASIBLE);
  } else {
    int64_t cost, peak;
    assert_int_equal(result.status, EG_EXTRACT_OPTIMAL);
    assert_ok(
        eg_shard_certify(eg_allocator_heap(), problem, result.choice.data, &cost, &peak));
    assert_int_equal(cost, optimum);
    assert_int_equal(peak, result.peak);
    assert_true(peak <= problem->limit);
  }
  eg_shard_result_deinit(&result);
}

static void every_subset_of_reductions_finds_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260201);
  size_t rounds = test_rounds(12000);
  static const int64_t most[] = {4, 30, 1000, INT64_C(1) << 40,
                                 INT64_C(90000000000000000)};
  for (size_t round = 0; round < rounds; round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)}, .most = most[round % 5]};
    eg_shard_problem problem;
    draw_problem(&d, &problem);
    int64_t optimum = brute_force(&d, &problem);
    expect_optimum(&problem, optimum, 0, false);
    expect_optimum(&problem, optimum, 1u << (round / 5 % EG_SHARD_PASS_COUNT), false);
    expect_optimum(&problem, optimum, (uint32_t)eg_rng_next(&d.rng), round % 2 == 0);
    if (round % 4 == 0) expect_optimum(&problem, optimum, UINT32_MAX, round % 8 == 0);
    eg_shard_problem_deinit(&problem);
  }
}

// Two items in one row, one node left, and a cutoff that only one choice is below: the
// price of the row must not grow beyond what fixed point holds, or be trusted then.
static void a_price_that_runs_away_does_not_close_the_search(void **state) {
  (void)state;
  static const int64_t cost[2][4] = {
      {979024696576, 0, 993919990634, 0},
      {352349137720, 585051774066, EG_SHARD_INFINITE, 349750092230}};
  static const int64_t usage[2][4] = {{10, 6, 8, 7}, {11, 5, 11, 0}};
  static const int64_t table[16] = {952518435251,
                                    645699969679,
                                    0,
                                    480565972397,
                                    21282657099,
                                    30456667083,
                                    474297049800,
                                    211778321345,
                                    266489330306,
                                    0,
                                    121944867981,
                                    EG_SHARD_INFINITE,
                                    0,
                                    EG_SHARD_INFINITE,
                                    392975324702,
                                    353443025146};
  eg_shard_problem problem;
  assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
  assert_ok(eg_shard_problem_add_node(&problem, 5, 7, cost[0], usage[0], 4));
  assert_ok(eg_shard_problem_add_node(&problem, 3, 7, cost[1], usage[1], 4));
  assert_ok(eg_shard_problem_add_edge(&problem, 0, 1, table));
  problem.limit = 17;
  draw d = {.nodes = 2, .counts = {4, 4}};
  int64_t optimum = brute_force(&d, &problem);
  for (uint32_t mask = 0; mask < 1u << EG_SHARD_PASS_COUNT; mask++)
    expect_optimum(&problem, optimum, mask, mask % 2 == 0);
  eg_shard_problem_deinit(&problem);
}

// Too large for brute force: the ways of solving have to agree.
static void search_and_branching_agree_on_larger_problems(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260203);
  size_t rounds = test_rounds(60);
  for (size_t round = 0; round < rounds; round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)}, .most = 50, .forbidden = 30};
    eg_shard_problem problem;
    assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
    for (uint32_t n = 0; n < 14; n++)
      draw_node(&d, &problem);
    for (uint32_t e = 0; e < 30; e++)
      draw_edge(&d, &problem);
    problem.limit = 15 + (int64_t)eg_rng_below(&d.rng, 50);
    eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
    eg_shard_result result;
    eg_shard_result_init(&result, eg_allocator_heap());
    assert_ok(eg_shard_solve(eg_allocator_heap(), &problem, &options, &result));
    expect_optimum(&problem, result.cost, 0, true);
    expect_optimum(&problem, result.cost, 1u << (round % EG_SHARD_PASS_COUNT), true);
    expect_optimum(&problem, result.cost, UINT32_MAX & ~(1u << EG_SHARD_PASS_FILTER),
                   false);
    eg_shard_result_deinit(&result);
    eg_shard_problem_deinit(&problem);
  }
}

static egraph_status solve_with(egraph_allocator alloc, void *user) {
  eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
  eg_shard_result result;
  eg_shard_result_init(&result, alloc);
  egraph_status status = eg_shard_solve(alloc, user, &options, &result);
  eg_shard_result_deinit(&result);
  return status;
}

static void every_failing_allocation_is_reported(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260202);
  for (size_t round = 0; round < test_rounds(6); round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)}, .most = 30};
    eg_shard_problem problem;
    draw_problem(&d, &problem);
    test_every_allocation_failing(solve_with, &problem);
    eg_shard_problem_deinit(&problem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_subset_of_reductions_finds_the_optimum),
      cmocka_unit_test(a_price_that_runs_away_does_not_close_the_search),
      cmocka_unit_test(search_and_branching_agree_on_larger_problems),
      cmocka_unit_test(every_failing_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
