// Sharding through the public functions: problems built and loaded, evaluation against
// sums by hand, plans against exhaustive search, and every allocation failing.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/api_kit.h"

// The example of the contest; its best choice within the limit of 50 costs 445.
static const int64_t INTERVALS[5][2] = {
    {30, 70}, {40, 70}, {50, 120}, {110, 140}, {110, 150}};
static const uint32_t COUNTS[5] = {1, 2, 3, 2, 1};
static const int64_t COSTS[5][3] = {{15}, {55, 65}, {25, 45, 35}, {85, 75}, {95}};
static const int64_t USAGES[5][3] = {{10}, {25, 25}, {15, 20, 15}, {10, 10}, {15}};
static const uint32_t ENDS[5][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 4}};
static const int64_t TABLES[5][4] = {
    {30, 40}, {50, 10, 40}, {90, 10, 20, 80}, {60, 20, 30}, {70, 60}};

static egraph_status add_example(egraph_shard *shard) {
  egraph_status status = egraph_shard_set_limit(shard, 50);
  for (uint32_t i = 0; status == EGRAPH_OK && i < 5; i++)
    status = egraph_shard_add_node(shard, INTERVALS[i][0], INTERVALS[i][1], COSTS[i],
                                   USAGES[i], COUNTS[i], NULL);
  for (uint32_t i = 0; status == EGRAPH_OK && i < 5; i++)
    status = egraph_shard_add_edge(shard, ENDS[i][0], ENDS[i][1], TABLES[i]);
  return status;
}

static egraph_shard *example(api_kit *kit) {
  egraph_shard *shard;
  assert_ok(egraph_shard_create(&kit->alloc, &shard));
  assert_ok(add_example(shard));
  return shard;
}

static egraph_shard_plan *solve(api_kit *kit, const egraph_shard *shard,
                                const egraph_shard_options *options) {
  egraph_shard_plan *plan;
  assert_ok(egraph_shard_solve(&kit->alloc, shard, options, &plan));
  return plan;
}

static void the_example_is_solved(void **state) {
  api_kit *kit = *state;
  egraph_shard *shard = example(kit);
  egraph_shard_info info = egraph_shard_info_of(shard);
  assert_int_equal(info.nodes, 5);
  assert_int_equal(info.edges, 5);
  assert_int_equal(info.strategies, 9);
  assert_int_equal(info.entries, 14);
  assert_int_equal(info.limit, 50);
  egraph_shard_plan *plan = solve(kit, shard, NULL);
  const egraph_shard_report *report = egraph_shard_plan_report(plan);
  assert_string_equal(report->status, "optimal");
  assert_int_equal(report->cost, 445);
  assert_int_equal(report->bound, 445);
  assert_true(report->gap == 0);
  assert_int_equal(report->limit, 50);
  assert_true(report->seconds >= 0 && report->best_seconds >= 0);
  int64_t cost, peak;
  const uint32_t *choice = egraph_shard_plan_choice(plan);
  assert_ok(egraph_shard_evaluate(shard, choice, 5, &cost, &peak));
  assert_int_equal(cost, 445);
  assert_int_equal(peak, report->peak);
  assert_true(peak <= 50);
  // The plan stands alone.
  egraph_shard_destroy(shard);
  assert_int_equal(egraph_shard_plan_choice(plan)[0], 0);
  egraph_shard_plan_destroy(plan);
  egraph_shard_plan_destroy(NULL);
  egraph_shard_destroy(NULL);
}

static void evaluation_adds_up_by_hand(void **state) {
  api_kit *kit = *state;
  egraph_shard *shard = example(kit);
  int64_t cost = -1, peak = -1;
  // Nodes 15 + 55 + 45 + 75 + 95, edges 30 + 10 + 10 + 20 + 60.
  assert_ok(egraph_shard_evaluate(shard, (uint32_t[]){0, 0, 1, 1, 0}, 5, &cost, &peak));
  assert_int_equal(cost, 415);
  assert_int_equal(peak, 55); // 10 + 25 + 20 at 50: beyond the limit
  static const int64_t FORBIDDEN[] = {0, EGRAPH_SHARD_INFINITE};
  assert_ok(egraph_shard_add_edge(shard, 0, 1, FORBIDDEN));
  assert_ok(egraph_shard_evaluate(shard, (uint32_t[]){0, 1, 0, 0, 0}, 5, &cost, &peak));
  assert_true(cost == EGRAPH_SHARD_INFINITE);
  egraph_shard_destroy(shard);
}

static void misuse_is_refused(void **state) {
  api_kit *kit = *state;
  egraph_shard *shard = example(kit);
  static const int64_t GOOD[] = {1, 2}, BAD[] = {1, -2};
  int64_t cost, peak;
  uint32_t node = 77;
  assert_fails(egraph_shard_add_node(shard, 0, 1, GOOD, GOOD, 0, &node),
               EGRAPH_E_ARGUMENT, "at least one strategy");
  assert_fails(egraph_shard_add_node(shard, 0, 1, BAD, GOOD, 2, &node), EGRAPH_E_ARGUMENT,
               "cost 1 is -2");
  assert_fails(egraph_shard_add_node(shard, 0, 1, GOOD, BAD, 2, &node), EGRAPH_E_ARGUMENT,
               "usage 1 is -2");
  assert_int_equal(node, 77);
  assert_fails(egraph_shard_add_edge(shard, 0, 5, GOOD), EGRAPH_E_ARGUMENT,
               "between nodes 0 and 5, of 5 nodes");
  assert_fails(egraph_shard_add_edge(shard, 9, 0, GOOD), EGRAPH_E_ARGUMENT, "nodes 9");
  assert_fails(egraph_shard_add_edge(shard, 1, 1, GOOD), EGRAPH_E_ARGUMENT,
               "node 1 with itself");
  assert_fails(egraph_shard_add_edge(shard, 0, 1, BAD), EGRAPH_E_ARGUMENT,
               "entry 1 is -2");
  assert_fails(egraph_shard_set_limit(shard, -1), EGRAPH_E_ARGUMENT, "the limit is -1");
  assert_int_equal(egraph_shard_info_of(shard).limit, 50);
  uint32_t choice[6] = {0, 0, 3, 0, 0};
  assert_fails(egraph_shard_evaluate(shard, choice, 5, &cost, &peak), EGRAPH_E_ARGUMENT,
               "node 2 has strategy 3 of 3");
  assert_fails(egraph_shard_evaluate(shard, choice, 6, &cost, &peak), EGRAPH_E_ARGUMENT,
               "a choice for 6 nodes, but the problem has 5");
  assert_ok(egraph_shard_add_node(shard, 0, 1, GOOD, GOOD, 2, &node));
  assert_int_equal(node, 5);
  egraph_shard_destroy(shard);
}

static void a_time_limit_is_a_number_of_seconds(void **state) {
  api_kit *kit = *state;
  egraph_shard *shard = example(kit);
  static const double BAD[] = {-1, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    egraph_shard_options options = {.size = sizeof options, .time_limit = BAD[i]};
    egraph_shard_plan *plan = NULL;
    assert_fails(egraph_shard_solve(&kit->alloc, shard, &options, &plan),
                 EGRAPH_E_ARGUMENT, "time_limit");
    assert_null(plan);
  }
  egraph_shard_options options = {.size = sizeof options, .time_limit = 1e-9};
  egraph_shard_plan *plan = solve(kit, shard, &options);
  const egraph_shard_report *report = egraph_shard_plan_report(plan);
  assert_true(report->bound <= 445 && report->cost >= 445);
  egraph_shard_plan_destroy(plan);
  egraph_shard_destroy(shard);
}

static void a_limit_that_is_too_low_is_infeasible(void **state) {
  api_kit *kit = *state;
  egraph_shard *shard = example(kit);
  assert_ok(egraph_shard_set_limit(shard, 24));
  egraph_shard_plan *plan = solve(kit, shard, NULL);
  assert_string_equal(egraph_shard_plan_report(plan)->status, "infeasible");
  assert_true(egraph_shard_plan_report(plan)->cost == EGRAPH_SHARD_INFINITE);
  assert_null(egraph_shard_plan_choice(plan));
  egraph_shard_plan_destroy(plan);
  assert_ok(egraph_shard_set_limit(shard, INT64_MAX));
  plan = solve(kit, shard, NULL);
  assert_string_equal(egraph_shard_plan_report(plan)->status, "optimal");
  assert_int_equal(egraph_shard_plan_report(plan)->cost, 415);
  assert_true(egraph_shard_plan_report(plan)->limit == INT64_MAX);
  egraph_shard_plan_destroy(plan);
  egraph_shard_destroy(shard);
}

static void a_problem_without_nodes_costs_nothing(void **state) {
  api_kit *kit = *state;
  egraph_shard *shard;
  assert_ok(egraph_shard_create(&kit->alloc, &shard));
  assert_true(egraph_shard_info_of(shard).limit == INT64_MAX);
  egraph_shard_plan *plan = solve(kit, shard, NULL);
  assert_string_equal(egraph_shard_plan_report(plan)->status, "optimal");
  assert_int_equal(egraph_shard_plan_report(plan)->cost, 0);
  assert_int_equal(egraph_shard_plan_report(plan)->peak, 0);
  egraph_shard_plan_destroy(plan);
  egraph_shard_destroy(shard);
}

// ---- random problems against exhaustive search --------------------------------------

enum { NODES = 6, STRATEGIES = 3 };

static void add_random(eg_rng *rng, egraph_shard *shard) {
  for (uint32_t i = 0; i < NODES; i++) {
    int64_t cost[STRATEGIES], usage[STRATEGIES], first = (int64_t)eg_rng_below(rng, 8);
    for (uint32_t s = 0; s < STRATEGIES; s++) {
      cost[s] = (int64_t)eg_rng_below(rng, 50);
      usage[s] = (int64_t)eg_rng_below(rng, 20);
    }
    assert_ok(egraph_shard_add_node(shard, first, first + (int64_t)eg_rng_below(rng, 6),
                                    cost, usage, STRATEGIES, NULL));
  }
  for (uint32_t e = 0; e < 8; e++) {
    uint32_t a = (uint32_t)eg_rng_below(rng, NODES);
    uint32_t b = (a + 1 + (uint32_t)eg_rng_below(rng, NODES - 1)) % NODES;
    int64_t table[STRATEGIES * STRATEGIES];
    for (uint32_t i = 0; i < STRATEGIES * STRATEGIES; i++)
      table[i] = eg_rng_below(rng, 8) == 0 ? EGRAPH_SHARD_INFINITE
                                           : (int64_t)eg_rng_below(rng, 100);
    assert_ok(egraph_shard_add_edge(shard, a, b, table));
  }
  assert_ok(egraph_shard_set_limit(shard, 15 + (int64_t)eg_rng_below(rng, 40)));
}

static bool next(uint32_t choice[NODES]) {
  for (uint32_t i = 0; i < NODES; i++) {
    if (++choice[i] < STRATEGIES) return true;
    choice[i] = 0;
  }
  return false;
}

static int64_t exhaustive(const egraph_shard *shard) {
  uint32_t choice[NODES] = {0};
  int64_t best = EGRAPH_SHARD_INFINITE, cost, peak;
  do {
    assert_ok(egraph_shard_evaluate(shard, choice, NODES, &cost, &peak));
    if (peak <= egraph_shard_info_of(shard).limit && cost < best) best = cost;
  } while (next(choice));
  return best;
}

static void random_problems_are_solved_to_their_optimum(void **state) {
  api_kit *kit = *state;
  eg_rng rng = {test_seed(7)};
  size_t rounds = test_rounds(60), feasible = 0;
  for (size_t round = 0; round < rounds; round++) {
    egraph_shard *shard;
    assert_ok(egraph_shard_create(&kit->alloc, &shard));
    add_random(&rng, shard);
    int64_t best = exhaustive(shard);
    egraph_shard_plan *plan = solve(kit, shard, NULL);
    const egraph_shard_report *report = egraph_shard_plan_report(plan);
    assert_string_equal(report->status,
                        best < EGRAPH_SHARD_INFINITE ? "optimal" : "infeasible");
    assert_true(report->cost == best);
    feasible += best < EGRAPH_SHARD_INFINITE;
    egraph_shard_plan_destroy(plan);
    egraph_shard_destroy(shard);
  }
  assert_true(feasible > rounds / 4);
}

// ---- options ------------------------------------------------------------------------

static void the_same_seed_gives_the_same_choice(void **state) {
  api_kit *kit = *state;
  eg_rng rng = {test_seed(3)};
  egraph_shard *shard;
  assert_ok(egraph_shard_create(&kit->alloc, &shard));
  add_random(&rng, shard);
  assert_ok(egraph_shard_set_limit(shard, INT64_MAX));
  egraph_shard_options options = {.size = sizeof options, .seed = 5};
  egraph_shard_plan *first = solve(kit, shard, &options);
  egraph_shard_plan *second = solve(kit, shard, &options);
  if (egraph_shard_plan_choice(first) != NULL)
    assert_memory_equal(egraph_shard_plan_choice(first), egraph_shard_plan_choice(second),
                        NODES * sizeof(uint32_t));
  egraph_shard_plan_destroy(first);
  egraph_shard_plan_destroy(second);
  egraph_shard_destroy(shard);
}

static bool stop_at_once(void *user, int64_t cost, int64_t bound, double seconds) {
  ++*(int *)user;
  assert_true(cost >= bound && seconds >= 0);
  return true;
}

static void a_cancelled_solve_keeps_a_good_incumbent(void **state) {
  api_kit *kit = *state;
  egraph_shard *shard = example(kit);
  const uint32_t incumbent[5] = {0, 1, 0, 1, 0};
  int64_t cost, peak;
  int calls = 0;
  assert_ok(egraph_shard_evaluate(shard, incumbent, 5, &cost, &peak));
  assert_true(peak <= 50);
  egraph_shard_options options = {.size = sizeof options,
                                  .incumbent = incumbent,
                                  .progress = stop_at_once,
                                  .user = &calls};
  egraph_shard_plan *plan = solve(kit, shard, &options);
  const egraph_shard_report *report = egraph_shard_plan_report(plan);
  assert_true(report->cost <= cost && report->cost >= 445 && report->bound <= 445);
  assert_non_null(egraph_shard_plan_choice(plan));
  egraph_shard_plan_destroy(plan);
  // One that is none, and one beyond the limit of memory.
  static const uint32_t BAD[2][5] = {{0, 0, 7, 0, 0}, {0, 0, 1, 1, 0}};
  for (int i = 0; i < 2; i++) {
    options =
        (egraph_shard_options){.size = sizeof(egraph_shard_options), .incumbent = BAD[i]};
    plan = solve(kit, shard, &options);
    assert_int_equal(egraph_shard_plan_report(plan)->cost, 445);
    egraph_shard_plan_destroy(plan);
  }
  egraph_shard_destroy(shard);
}

// ---- files --------------------------------------------------------------------------

static const char FILE_TEXT[] =
    "{\"problem\": {\"name\": \"two\", \"nodes\": {\"intervals\": [[0, 2], [1, 3]],\n"
    "\"costs\": [[1, 5], [2, 4]], \"usages\": [[8, 1], [8, 1]]},\n"
    "\"edges\": {\"nodes\": [[0, 1]], \"costs\": [[0, 9, 9, 0]]}, \"usage_limit\": 9}}";

static void files_are_loaded_or_refused(void **state) {
  api_kit *kit = *state;
  egraph_shard *shard = NULL;
  (void)snprintf(kit->path, sizeof kit->path, "test_api_shard.json");
  api_write_file(kit->path, FILE_TEXT, sizeof FILE_TEXT - 1);
  assert_ok(egraph_shard_load(&kit->alloc, kit->path, &shard));
  assert_int_equal(egraph_shard_info_of(shard).nodes, 2);
  egraph_shard_plan *plan = solve(kit, shard, NULL);
  assert_int_equal(egraph_shard_plan_report(plan)->cost, 9); // 5 + 4: both small
  assert_int_equal(egraph_shard_plan_report(plan)->peak, 2);
  egraph_shard_plan_destroy(plan);
  egraph_shard_destroy(shard);
  shard = NULL;
  api_write_file(kit->path, FILE_TEXT, sizeof FILE_TEXT - 20);
  assert_fails(egraph_shard_load(&kit->alloc, kit->path, &shard), EGRAPH_E_PARSE,
               "test_api_shard.json:3:");
  assert_fails(egraph_shard_load(&kit->alloc, "nowhere/x.json", &shard), EGRAPH_E_IO,
               "nowhere/x.json: No such file");
  assert_null(shard);
}

static egraph_status whole_flow(egraph_allocator alloc, void *path) {
  egraph_shard *shard = NULL, *loaded = NULL;
  egraph_shard_plan *plan = NULL;
  egraph_status status = egraph_shard_create(&alloc, &shard);
  if (status == EGRAPH_OK) status = add_example(shard);
  if (status == EGRAPH_OK) status = egraph_shard_load(&alloc, path, &loaded);
  if (status == EGRAPH_OK) status = egraph_shard_solve(&alloc, shard, NULL, &plan);
  if (status == EGRAPH_OK) assert_int_equal(egraph_shard_plan_report(plan)->cost, 445);
  egraph_shard_plan_destroy(plan);
  egraph_shard_destroy(loaded);
  egraph_shard_destroy(shard);
  return status;
}

static void every_failing_allocation_is_survived(void **state) {
  api_kit *kit = *state;
  (void)snprintf(kit->path, sizeof kit->path, "test_api_shard_memory.json");
  api_write_file(kit->path, FILE_TEXT, sizeof FILE_TEXT - 1);
  test_every_allocation_failing(whole_flow, kit->path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(the_example_is_solved),
      api_test(evaluation_adds_up_by_hand),
      api_test(misuse_is_refused),
      api_test(a_time_limit_is_a_number_of_seconds),
      api_test(a_limit_that_is_too_low_is_infeasible),
      api_test(a_problem_without_nodes_costs_nothing),
      api_test(random_problems_are_solved_to_their_optimum),
      api_test(the_same_seed_gives_the_same_choice),
      api_test(a_cancelled_solve_keeps_a_good_incumbent),
      api_test(files_are_loaded_or_refused),
      api_test(every_failing_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
