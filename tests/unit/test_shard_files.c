// The reader of IOPDDL files on good, hostile and shared files, the rows of the sharding
// problem, and the certificate of a choice against a naive oracle.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "extract/shard/shard_problem.h"
#include "tests/testing.h"

#define NODES(text) "\"nodes\": {" text "}"
#define EDGES(text) "\"edges\": {" text "}"
#define PROBLEM(nodes, edges, rest)                                                      \
  "{\"problem\": {" NODES(nodes) ", " EDGES(edges) rest "}}"

// The example of the contest, with its keys in another order and something unknown.
static const char EXAMPLE[] =
    "{\"problem\": {\"edges\": {\"costs\": [[30, 40], [50, 10, 40], [90, 10, 20, 80], "
    "[60, 20, 30], [70, 60]], \"nodes\": [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]]},\n"
    "\"name\": \"example\", \"usage_limit\": 50, \"note\": [{\"a\": [1.5e3, null]}],\n"
    "\"nodes\": {\"usages\": [[10], [25, 25], [15, 20, 15], [10, 10], [15]],\n"
    "\"costs\": [[15], [55, 65], [25, 45, 35], [85, 75], [95]],\n"
    "\"intervals\": [[30, 70], [40, 70], [50, 120], [110, 140], [110, 150]]}},\n"
    "\"solution\": [0, 0, 2, 1, 0]}";

static egraph_status parse(const char *text, eg_shard_problem *problem) {
  assert_ok(eg_shard_problem_init(problem, eg_allocator_heap()));
  return eg_iopddl_parse("x.json", text, strlen(text), problem);
}

static void the_example_becomes_rows(void **state) {
  (void)state;
  eg_shard_problem problem;
  assert_ok(parse(EXAMPLE, &problem));
  assert_int_equal(eg_shard_node_count(&problem), 5);
  assert_int_equal(eg_shard_edge_count(&problem), 5);
  static const uint32_t BEGIN[] = {0, 1, 3, 6, 8, 9};
  assert_memory_equal(problem.strategy_begin.data, BEGIN, sizeof BEGIN);
  assert_int_equal(problem.cost.data[4], 45);
  assert_int_equal(problem.usage.data[4], 20);
  assert_int_equal(problem.first.data[3], 110);
  assert_int_equal(problem.last.data[3], 140);
  assert_int_equal(problem.edge_ends.data[6], 2);
  assert_int_equal(problem.edge_ends.data[7], 4);
  assert_int_equal(problem.table_begin.data[3], 9);
  assert_int_equal(problem.table.data[9], 60);
  assert_int_equal(problem.limit, 50);
  assert_ok(eg_shard_problem_check(&problem));
  eg_shard_problem_deinit(&problem);
}

// Puts the next choice in the order of numbers; false after the last.
static bool next_choice(const eg_shard_problem *problem, uint32_t *choice) {
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++) {
    const uint32_t *begin = &problem->strategy_begin.data[node];
    if (++choice[node] < begin[1] - begin[0]) return true;
    choice[node] = 0;
  }
  return false;
}

static void the_best_choice_of_the_example_costs_445(void **state) {
  (void)state;
  eg_shard_problem problem;
  assert_ok(parse(EXAMPLE, &problem));
  uint32_t choice[5] = {0}, count = 0, fitting = 0;
  int64_t best = EG_SHARD_INFINITE, cost, peak;
  do {
    count++;
    assert_ok(eg_shard_certify(eg_allocator_heap(), &problem, choice, &cost, &peak));
    if (peak > problem.limit) continue;
    fitting++;
    if (cost < best) best = cost;
  } while (next_choice(&problem, choice));
  assert_int_equal(count, 12);
  assert_int_equal(fitting, 8);
  assert_int_equal(best, 445);
  eg_shard_problem_deinit(&problem);
}

static void no_usage_limit_is_none(void **state) {
  (void)state;
  eg_shard_problem problem;
  assert_ok(parse(PROBLEM("\"intervals\": [], \"costs\": [], \"usages\": []",
                          "\"nodes\": [], \"costs\": []", ""),
                  &problem));
  assert_true(problem.limit == INT64_MAX);
  int64_t cost, peak;
  assert_ok(eg_shard_certify(eg_allocator_heap(), &problem, NULL, &cost, &peak));
  assert_int_equal(cost, 0);
  assert_int_equal(peak, 0);
  eg_shard_problem_deinit(&problem);
}

#define TWO                                                                              \
  "\"intervals\": [[0,1],[0,1]], \"costs\": [[1,2],[3]], \"usages\": [[1,1],[1]]"
#define NONE "\"nodes\": [], \"costs\": []"

static const struct {
  const char *text, *message;
} HOSTILE[] = {
    {"", "x.json:1:1: the file ends where an object is expected"},
    {"[]", "x.json:1:1: '[' where an object is expected"},
    {"{}", "x.json: no \"problem\" in the file; is it an IOPDDL problem?"},
    {"{\"problem\": []}", "x.json:1:13: '[' where an object is expected"},
    {"{\"problem\": {}}", "x.json: no \"nodes\" in problem"},
    {"{\"problem\": {" NODES("\"costs\": [], \"usages\": []") "," EDGES(NONE) "}}",
     "x.json: no \"intervals\" in nodes"},
    {"{\"problem\": {" NODES("\"intervals\": [], \"costs\": []") "," EDGES(NONE) "}}",
     "x.json: no \"usages\" in nodes"},
    {"{\"problem\": {" NODES(TWO) "}}", "x.json: no \"edges\" in problem"},
    {PROBLEM(TWO, "\"costs\": []", ""), "x.json: no \"nodes\" in edges"},
    {PROBLEM(TWO, "\"nodes\": []", ""), "x.json: no \"costs\" in edges"},
    {PROBLEM(TWO, NONE, ", \"usage_limit\": 1, \"usage_limit\": 2"),
     "a second \"usage_limit\""},
    {PROBLEM(TWO ", \"costs\": []", NONE, ""), "a second \"costs\""},
    {PROBLEM(TWO, NONE, ", \"usage_limit\": null"), "'n' where an integer is expected"},
    {PROBLEM(TWO, NONE, ", \"usage_limit\": -1"),
     "x.json: the usage limit is -1; it cannot be negative"},
    {PROBLEM(TWO, NONE, ", \"usage_limit\": 1.5"), "a number with a fraction"},
    {PROBLEM(TWO, NONE, "") "x", "'x' where the end of the file is expected"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[1],[3]], \"usages\": [[1],[1]]", NONE,
             ""),
     "x.json: 1 intervals, 2 costs and 2 usages in nodes; every node needs one of each"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[1]], \"usages\": []", NONE, ""),
     "x.json: 1 intervals, 1 costs and 0 usages in nodes"},
    {PROBLEM("\"intervals\": [[0]], \"costs\": [[1]], \"usages\": [[1]]", NONE, ""),
     "x.json: the interval of node 0 has 1 numbers; write [first, last), or [0, 0]"},
    {PROBLEM("\"intervals\": [[]], \"costs\": [[1]], \"usages\": [[1]]", NONE, ""),
     "x.json: the interval of node 0 has 0 numbers"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[1,2]], \"usages\": [[1]]", NONE, ""),
     "x.json: node 0 has 2 costs and 1 usages; every strategy needs one of each"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[]], \"usages\": [[]]", NONE, ""),
     "x.json: node 0 has no strategy"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[-1]], \"usages\": [[1]]", NONE, ""),
     "x.json: the cost of strategy 0 of node 0 is -1"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[1]], \"usages\": [[-7]]", NONE, ""),
     "x.json: the usage of strategy 0 of node 0 is -7"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[1e2]], \"usages\": [[1]]", NONE, ""),
     "an exponent where an integer is expected; scale and round it"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[Infinity]], \"usages\": [[1]]", NONE,
             ""),
     "'I' where an integer is expected"},
    {PROBLEM("\"intervals\": [[0,1]], \"costs\": [[[1]]], \"usages\": [[1]]", NONE, ""),
     "'[' where an integer is expected"},
    {PROBLEM(TWO, "\"nodes\": [[0,1]], \"costs\": []", ""),
     "x.json: 1 nodes and 0 costs in edges; every edge needs one of each"},
    {PROBLEM(TWO, "\"nodes\": [[0]], \"costs\": [[1,1]]", ""),
     "x.json: edge 0 has 1 nodes instead of 2"},
    {PROBLEM(TWO, "\"nodes\": [[0,1,0]], \"costs\": [[1,1]]", ""),
     "x.json: edge 0 has 3 nodes instead of 2"},
    {PROBLEM(TWO, "\"nodes\": [[0,2]], \"costs\": [[1,1]]", ""),
     "x.json: edge 0 ends in node 2 of 2; count from 0"},
    {PROBLEM(TWO, "\"nodes\": [[-1,0]], \"costs\": [[1,1]]", ""),
     "x.json: edge 0 ends in node -1 of 2"},
    {PROBLEM(TWO, "\"nodes\": [[4294967296,0]], \"costs\": [[1,1]]", ""),
     "x.json: edge 0 ends in node 4294967296 of 2"},
    {PROBLEM(TWO, "\"nodes\": [[0,0]], \"costs\": [[1,1,1,1]]", ""),
     "x.json: edge 0 joins node 0 with itself"},
    {PROBLEM(TWO, "\"nodes\": [[0,1],[1,0]], \"costs\": [[1,1],[1]]", ""),
     "x.json: the table of edge 1 has 1 entries, but its ends have 1 and 2 strategies"},
    {PROBLEM(TWO, "\"nodes\": [[0,1]], \"costs\": [[1,-1]]", ""),
     "x.json: entry 1 in the table of edge 0 is -1"},
    {"{\"problem\": {\"x\": "
     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
     "nested deeper than"},
};

static void hostile_files_say_what_is_wrong(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof HOSTILE / sizeof *HOSTILE; i++) {
    eg_shard_problem problem;
    assert_fails(parse(HOSTILE[i].text, &problem), EGRAPH_E_PARSE, HOSTILE[i].message);
    eg_shard_problem_deinit(&problem);
  }
  eg_shard_problem problem;
  assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
  assert_fails(eg_iopddl_read("/nonexistent/x.json", &problem), EGRAPH_E_IO,
               "/nonexistent/x.json: No such file");
  eg_shard_problem_deinit(&problem);
}

static egraph_status parse_with(egraph_allocator alloc, void *text) {
  eg_shard_problem problem;
  egraph_status status = eg_shard_problem_init(&problem, alloc);
  if (status == EGRAPH_OK) status = eg_iopddl_parse("x", text, strlen(text), &problem);
  static const uint32_t CHOICE[5] = {0};
  int64_t cost, peak;
  if (status == EGRAPH_OK)
    status = eg_shard_certify(alloc, &problem, CHOICE, &cost, &peak);
  eg_shard_problem_deinit(&problem);
  return status;
}

static egraph_status build_with(egraph_allocator alloc, void *user) {
  (void)user;
  static const int64_t ONES[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  eg_shard_problem problem;
  egraph_status status = eg_shard_problem_init(&problem, alloc);
  for (uint32_t i = 0; i < 20 && status == EGRAPH_OK; i++) {
    status = eg_shard_problem_add_node(&problem, 0, 1, ONES, ONES, 3);
    if (status == EGRAPH_OK && i != 0)
      status = eg_shard_problem_add_edge(&problem, i - 1, i, ONES);
    // A failure leaves whole rows, up to the one that failed.
    if (problem.cost.len != 0) assert_ok(eg_shard_problem_check(&problem));
  }
  eg_shard_problem_deinit(&problem);
  return status;
}

static void every_failing_allocation_is_survived(void **state) {
  (void)state;
  char text[sizeof EXAMPLE];
  memcpy(text, EXAMPLE, sizeof EXAMPLE);
  test_every_allocation_failing(parse_with, text);
  test_every_allocation_failing(build_with, NULL);
}

// ---- rows damaged by hand ---------------------------------------------------------

static void damaged_rows_are_found(void **state) {
  (void)state;
  eg_shard_problem problem;
  assert_ok(parse(EXAMPLE, &problem));
#define DAMAGED(place, value, message)                                                   \
  do {                                                                                   \
    __typeof__(place) kept = (place);                                                    \
    (place) = (value);                                                                   \
    assert_fails(eg_shard_problem_check(&problem), EGRAPH_E_ARGUMENT, message);          \
    (place) = kept;                                                                      \
    assert_ok(eg_shard_problem_check(&problem));                                         \
  } while (0)
  DAMAGED(problem.usage.len, 8, "differ in length");
  DAMAGED(problem.table.len, 13, "differ in length");
  DAMAGED(problem.edge_ends.len, 9, "differ in length");
  DAMAGED(problem.strategy_begin.data[2], 1, "node 1 has no strategy");
  DAMAGED(problem.strategy_begin.data[2], 100, "node 1 has no strategy");
  DAMAGED(problem.cost.data[3], -1, "the cost of strategy 0 of node 2 is -1");
  DAMAGED(problem.usage.data[8], INT64_MIN, "the usage of strategy 0 of node 4");
  DAMAGED(problem.edge_ends.data[3], 5, "edge 1 ends in node 5 of 5");
  DAMAGED(problem.edge_ends.data[3], 0, "edge 1 joins node 0 with itself");
  DAMAGED(problem.edge_ends.data[3], 1, "the table of edge 1 has 3 entries");
  DAMAGED(problem.table_begin.data[1], 100, "the table of edge 0 has 100 entries");
  DAMAGED(problem.table.data[4], -5, "entry 2 in the table of edge 1 is -5");
  DAMAGED(problem.limit, -1, "the usage limit is -1");
#undef DAMAGED
  eg_shard_problem_deinit(&problem);
}

// ---- the certificate --------------------------------------------------------------

static void forbidden_and_huge_costs_saturate(void **state) {
  (void)state;
  eg_shard_problem problem;
  static const int64_t COST[] = {EG_SHARD_INFINITE / 2, EG_SHARD_INFINITE, INT64_MAX, 7};
  static const int64_t USAGE[] = {INT64_MAX, 0, 0, 1};
  static const int64_t TABLE[16] = {0, 1};
  static const struct {
    uint32_t choice[2];
    int64_t cost, peak;
  } CASES[] = {
      {{0, 0}, EG_SHARD_INFINITE, INT64_MAX},
      {{0, 1}, EG_SHARD_INFINITE, INT64_MAX},
      {{3, 2}, EG_SHARD_INFINITE, 1},
      {{3, 3}, 14, 2},
      {{0, 3}, EG_SHARD_INFINITE / 2 + 7, INT64_MAX},
      {{2, 2}, EG_SHARD_INFINITE, 0},
  };
  assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
  for (uint32_t i = 0; i < 2; i++)
    assert_ok(eg_shard_problem_add_node(&problem, INT64_MIN, INT64_MAX, COST, USAGE, 4));
  assert_ok(eg_shard_problem_add_edge(&problem, 0, 1, TABLE));
  assert_ok(eg_shard_problem_check(&problem));
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    int64_t cost = 0, peak = 0;
    assert_ok(
        eg_shard_certify(eg_allocator_heap(), &problem, CASES[i].choice, &cost, &peak));
    assert_true(cost == CASES[i].cost && peak == CASES[i].peak);
  }
  eg_shard_problem_deinit(&problem);
}

static void a_choice_out_of_range_is_an_internal_error(void **state) {
  (void)state;
  eg_shard_problem problem;
  assert_ok(parse(EXAMPLE, &problem));
  int64_t cost, peak;
  assert_fails(eg_shard_certify(eg_allocator_heap(), &problem,
                                (uint32_t[]){0, 0, 3, 0, 0}, &cost, &peak),
               EGRAPH_E_INTERNAL, "node 2 has strategy 3 of 3");
  eg_shard_problem_deinit(&problem);
}

enum { MAX_NODES = 8, MAX_STRATEGIES = 4, TIMES = 12 };

static int64_t random_amount(eg_rng *rng) {
  switch (eg_rng_below(rng, 8)) {
  case 0: return EG_SHARD_INFINITE;
  case 1: return 0;
  default: return (int64_t)eg_rng_below(rng, 1000);
  }
}

static void fill_random(eg_rng *rng, int64_t *amounts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    amounts[i] = random_amount(rng);
}

static void add_random_rows(eg_rng *rng, eg_shard_problem *problem) {
  uint32_t counts[MAX_NODES], nodes = 1 + (uint32_t)eg_rng_below(rng, MAX_NODES);
  for (uint32_t i = 0; i < nodes; i++) {
    int64_t cost[MAX_STRATEGIES], usage[MAX_STRATEGIES];
    counts[i] = 1 + (uint32_t)eg_rng_below(rng, MAX_STRATEGIES);
    fill_random(rng, cost, counts[i]);
    fill_random(rng, usage, counts[i]);
    assert_ok(eg_shard_problem_add_node(problem, (int64_t)eg_rng_below(rng, TIMES),
                                        (int64_t)eg_rng_below(rng, TIMES), cost, usage,
                                        counts[i]));
  }
  for (uint64_t left = nodes < 2 ? 0 : eg_rng_below(rng, 12); left > 0; left--) {
    int64_t table[MAX_STRATEGIES * MAX_STRATEGIES];
    uint32_t a = (uint32_t)eg_rng_below(rng, nodes),
             b = (uint32_t)eg_rng_below(rng, nodes);
    if (a == b) continue;
    fill_random(rng, table, counts[a] * counts[b]);
    assert_ok(eg_shard_problem_add_edge(problem, a, b, table));
  }
}

// Second by second, in floating point, where sums of this size are exact.
static void check_against_oracle(const eg_shard_problem *p, const uint32_t *choice) {
  long double cost = 0, peak = 0;
  for (uint32_t n = 0; n < eg_shard_node_count(p); n++)
    cost += p->cost.data[p->strategy_begin.data[n] + choice[n]];
  for (uint32_t e = 0; e < eg_shard_edge_count(p); e++) {
    uint32_t a = p->edge_ends.data[2 * e], b = p->edge_ends.data[2 * e + 1];
    uint32_t columns = p->strategy_begin.data[b + 1] - p->strategy_begin.data[b];
    cost += p->table.data[p->table_begin.data[e] + choice[a] * columns + choice[b]];
  }
  for (int64_t t = 0; t < TIMES; t++) {
    long double used = 0;
    for (uint32_t n = 0; n < eg_shard_node_count(p); n++)
      if (p->first.data[n] <= t && t < p->last.data[n])
        used += p->usage.data[p->strategy_begin.data[n] + choice[n]];
    if (used > peak) peak = used;
  }
  int64_t got_cost = 0, got_peak = 0;
  assert_ok(eg_shard_certify(eg_allocator_heap(), p, choice, &got_cost, &got_peak));
  if (cost >= EG_SHARD_INFINITE)
    assert_true(got_cost == EG_SHARD_INFINITE);
  else
    assert_true(got_cost == (int64_t)cost);
  assert_true(got_peak == (int64_t)peak);
}

static void the_certificate_agrees_with_a_naive_oracle(void **state) {
  (void)state;
  eg_rng rng = {test_seed(1)};
  size_t rounds = test_rounds(2000);
  for (size_t round = 0; round < rounds; round++) {
    eg_shard_problem problem;
    uint32_t choice[MAX_NODES];
    assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
    add_random_rows(&rng, &problem);
    assert_ok(eg_shard_problem_check(&problem));
    for (int i = 0; i < 10; i++) {
      for (uint32_t n = 0; n < eg_shard_node_count(&problem); n++)
        choice[n] = (uint32_t)eg_rng_below(&rng, problem.strategy_begin.data[n + 1] -
                                                     problem.strategy_begin.data[n]);
      check_against_oracle(&problem, choice);
    }
    eg_shard_problem_deinit(&problem);
  }
}

// ---- the shared files -------------------------------------------------------------

static void the_shared_files_are_read(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t nodes, edges;
    size_t strategies, entries;
    int64_t limit;
  } FILES[] = {
      {"A", 34932, 54801, 213736, 5938641, 472141920},
      {"B", 816, 1096, 10188, 236126, 14392528},
      {"P", 65335, 100547, 182682, 1000666, 179269173248},
  };
  if (access(EG_DATA_DIR "/iopddl", R_OK) != 0) {
    print_message("no %s/iopddl: skipped\n", EG_DATA_DIR);
    skip();
  }
  for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/iopddl/%s.json.gz", EG_DATA_DIR, FILES[i].name);
    eg_shard_problem problem;
    assert_ok(eg_shard_problem_init(&problem, eg_allocator_heap()));
    assert_ok(eg_iopddl_read(path, &problem));
    assert_int_equal(eg_shard_node_count(&problem), FILES[i].nodes);
    assert_int_equal(eg_shard_edge_count(&problem), FILES[i].edges);
    assert_int_equal(problem.cost.len, FILES[i].strategies);
    assert_int_equal(problem.table.len, FILES[i].entries);
    assert_true(problem.limit == FILES[i].limit);
    eg_shard_problem_deinit(&problem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_example_becomes_rows),
      cmocka_unit_test(the_best_choice_of_the_example_costs_445),
      cmocka_unit_test(no_usage_limit_is_none),
      cmocka_unit_test(hostile_files_say_what_is_wrong),
      cmocka_unit_test(every_failing_allocation_is_survived),
      cmocka_unit_test(damaged_rows_are_found),
      cmocka_unit_test(forbidden_and_huge_costs_saturate),
      cmocka_unit_test(a_choice_out_of_range_is_an_internal_error),
      cmocka_unit_test(the_certificate_agrees_with_a_naive_oracle),
      cmocka_unit_test(the_shared_files_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
