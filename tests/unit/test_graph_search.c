// Searches over whole graphs (baselines/): what backtracking and greedy descent find on
// graphs whose searches are written out by hand, and what they say about it.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "pcg/graph/graph.h"
#include "tests/unit/api_kit.h"

/// Microseconds of an operator; of all others 1.
static bool cost_of_operator(void *user, const egraph_cost_query *query,
                             double *out_seconds) {
  static const struct {
    const char *op;
    double cost;
  } rows[] = {{"neg", 0.04}, {"relu", 0.5}};
  (void)user;
  *out_seconds = 1e-6;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(query->op, rows[i].op) == 0) *out_seconds = 1e-6 * rows[i].cost;
  return true;
}

typedef struct bench {
  egraph_graph *graph;
  egraph_rules *rules;
  egraph_costs *costs;
  egraph_search search;
} bench;

/// `rules` NULL: those that are shipped.
static bench open_bench(api_kit *kit, const char *graph, const char *rules) {
  bench b = {.search = egraph_search_default()};
  egraph_costs_options costs = {.size = sizeof costs, .override_cost = cost_of_operator};
  (void)snprintf(kit->path, sizeof kit->path, "test_graph_search.egraph");
  api_write_file(kit->path, graph, strlen(graph));
  assert_ok(egraph_graph_load(&kit->alloc, kit->path, NULL, &b.graph));
  assert_ok(egraph_rules_create(&kit->alloc, &b.rules));
  assert_ok(rules != NULL ? egraph_rules_add_text(b.rules, "mine.rules", rules)
                          : egraph_rules_add_builtin(b.rules));
  assert_ok(egraph_costs_create(&kit->alloc, &costs, &b.costs));
  return b;
}

static void close_bench(bench *b) {
  egraph_graph_destroy(b->graph);
  egraph_rules_destroy(b->rules);
  egraph_costs_destroy(b->costs);
}

/// The result computes what the graph computes.
static egraph_result *search_by(api_kit *kit, bench *b, const char *algorithm) {
  egraph_result *result;
  egraph_comparison c;
  b->search.algorithm = algorithm;
  const egraph_options options = {.size = sizeof options, .search = &b->search};
  assert_ok(
      egraph_optimize(&kit->alloc, b->graph, b->rules, b->costs, &options, &result));
  assert_ok(egraph_compare(&kit->alloc, b->graph, egraph_result_graph(result), NULL, &c));
  assert_true(c.max_error < 1e-5);
  return result;
}

typedef struct expectation {
  double cost; // microseconds
  uint64_t visited, queued, tried;
  const char *stop;
} expectation;

static void check(api_kit *kit, bench *b, const char *algorithm, expectation expected) {
  egraph_result *result = search_by(kit, b, algorithm);
  const egraph_report *r = egraph_result_report(result);
  assert_string_equal(r->algorithm, algorithm);
  assert_string_equal(r->stop, expected.stop);
  assert_true(fabs(r->cost_after - 1e-6 * expected.cost) < 1e-12);
  assert_int_equal(r->graphs_visited, expected.visited);
  assert_int_equal(r->graphs_queued, expected.queued);
  assert_int_equal(r->rewrites_tried, expected.tried);
  assert_true(r->bound == 0 && r->gap == (r->cost_after > 0));
  assert_string_equal(r->status, "feasible");
  assert_true((r->search_work > 0) == (expected.tried > 0));
  assert_true(r->search_seconds <= r->total_seconds);
  egraph_result_destroy(result);
}

// ---- by hand ----------------------------------------------------------------------

#define RULES "(egraph-rules 1)\n"
#define TWICE "(rule twice (source \"test\") (lhs (neg (neg ?x))) (rhs ?x))\n"
#define APART "(rule apart (source \"test\") (lhs (sub ?a ?b)) (rhs (add ?a (neg ?b))))\n"
#define FOUR_NEG                                                                         \
  "(let a (neg x))\n(let b (neg a))\n(let c (neg b))\n(let d (neg c))\n"                 \
  "(let y (relu d))\n(output y)\n"
#define SUB_NEG "(let n (neg z))\n(let y (sub x n))\n(output y)\n"
#define GRAPH "(egraph-graph 1)\n(input x \"float32[4]\")\n(input z \"float32[4]\")\n"

/// neg^4: three places for the rule, which all make neg^2; then one; then none.
static void alpha_1_goes_the_way_of_greedy_descent(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, GRAPH FOUR_NEG, RULES TWICE);
  b.search.alpha = 1;
  check(kit, &b, "backtracking", (expectation){0.5, 3, 3, 4, "exhausted"});
  check(kit, &b, "greedy", (expectation){0.5, 3, 3, 4, "no-gain"});
  close_bench(&b);
}

/// (sub x (neg z)) 1.04 -> (add x (neg (neg z))) 1.08 -> (add x z) 1.
static void a_step_up_is_made_by_backtracking_only(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, GRAPH SUB_NEG, RULES APART TWICE);
  check(kit, &b, "greedy", (expectation){1.04, 1, 1, 1, "no-gain"});
  check(kit, &b, "backtracking", (expectation){1, 3, 3, 2, "exhausted"});
  b.search.alpha = 1.03; // 1.08 is more than that of 1.04
  check(kit, &b, "backtracking", (expectation){1.04, 1, 1, 1, "exhausted"});
  close_bench(&b);
}

/// The given graph of two operators may become one of four, no more.
static void graphs_of_more_than_twice_the_operators_are_left_out(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, GRAPH "(let r (relu x))\n(let y (relu r))\n(output y)\n",
                       RULES "(rule grow (source \"test\") (lhs (relu ?x))\n"
                             "  (rhs (relu (relu ?x))))\n");
  b.search.alpha = 1e6;
  // relu^2 has two places, relu^3 three, relu^4 four, whose results are too large.
  check(kit, &b, "backtracking", (expectation){1, 3, 3, 9, "exhausted"});
  close_bench(&b);
}

static void the_limit_of_graphs_counts_visits(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, GRAPH FOUR_NEG, RULES TWICE);
  static const char *const algorithms[] = {"backtracking", "greedy"};
  for (size_t i = 0; i < 2; i++) {
    b.search.graph_limit = 0;
    check(kit, &b, algorithms[i], (expectation){0.66, 0, 1, 0, "graph-limit"});
    b.search.graph_limit = 1;
    check(kit, &b, algorithms[i], (expectation){0.58, 1, 2, 3, "graph-limit"});
  }
  close_bench(&b);
}

/// A budget of nothing: `stop` says which.
static void other_limits_strike(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(
      kit, GRAPH "(let m (neg x))\n(let n (neg m))\n(let y (relu n))\n(output y)\n",
      RULES TWICE);
  b.search.time_limit = 0;
  b.search.saturate_time_limit = 1;
  check(kit, &b, "greedy", (expectation){0.58, 0, 1, 0, "time-limit"});
  b.search = egraph_search_default();
  b.search.byte_limit = 0;
  check(kit, &b, "backtracking", (expectation){0.58, 0, 1, 0, "byte-limit"});
  close_bench(&b);
}

// ---- whole graphs -----------------------------------------------------------------

static void outputs_that_become_one_value_keep_their_names(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit,
                       GRAPH "(let m (neg x))\n(let n (neg m))\n(let a (relu n))\n(let b "
                             "(relu x))\n(output a)\n(output b)\n",
                       RULES TWICE);
  egraph_result *result = search_by(kit, &b, "greedy");
  const egraph_graph *graph = egraph_result_graph(result);
  assert_int_equal(egraph_graph_info_of(graph).nodes, 1);
  assert_int_equal(egraph_graph_info_of(graph).outputs, 2);
  char *text;
  assert_ok(egraph_graph_text(&kit->alloc, graph, &text));
  assert_non_null(strstr(text, "(output b)"));
  assert_non_null(strstr(text, " a"));
  egraph_string_free(&kit->alloc, text);
  egraph_result_destroy(result);
  close_bench(&b);
}

/// The right side of `mix` needs both products at once. Where one is made of the other,
/// the graph would have a cycle.
static void a_rewrite_that_would_make_a_cycle_is_left_out(void **state) {
  static const char rules[] =
      RULES "(rule mix (source \"test\") (lhs (relu ?a) (relu ?b))\n"
            "  (let ?z (split :axis 0 :sizes [(dim ?a 0) (dim ?b 0)]\n"
            "            (relu (concat :axis 0 ?a ?b))))\n"
            "  (rhs (part :index 0 ?z) (part :index 1 ?z))\n"
            "  (when (= (rank ?a) 1) (= (rank ?b) 1)))\n";
  static const char aside[] =
      GRAPH "(let a (relu x))\n(let b (relu z))\n(let y (add a b))\n(output y)\n";
  static const char above[] = GRAPH "(let a (relu x))\n(let n (neg a))\n(let b (relu "
                                    "n))\n(let y (add a b))\n(output y)\n";
  api_kit *kit = *state;
  for (int i = 0; i < 2; i++) {
    bench b = open_bench(kit, i == 0 ? aside : above, rules);
    b.search.alpha = 4;
    b.search.graph_limit = 1;
    egraph_result *result = search_by(kit, &b, "backtracking");
    const egraph_report *r = egraph_result_report(result);
    // (a, a), (a, b), (b, a) and (b, b) match; two of them would make a cycle.
    assert_int_equal(r->rewrites_tried, 4);
    assert_int_equal(egraph_result_rule(result, 0).matches, 4);
    assert_int_equal(egraph_result_rule(result, 0).rejected, i == 0 ? 0 : 2);
    egraph_result_destroy(result);
    close_bench(&b);
  }
}

#define CONV ":strides [1 1] :pads [1 1 1 1] :dilations [1 1]"
static const char branches[] =
    "(egraph-graph 1)\n(input x \"float32[1,32,8,8]\")\n"
    "(weight u \"float32[32,32,3,3]\")\n(weight w \"float32[32,32,3,3]\")\n"
    "(weight g \"float32[32]\")\n(weight b \"float32[32]\")\n(weight m \"float32[32]\")\n"
    "(weight v \"float32[32]\")\n"
    "(let c (conv " CONV " x u))\n(let n (batch-normalization c g b m v))\n"
    "(let r (relu n))\n(let d (conv " CONV " x w))\n(let s (relu d))\n"
    "(let y (add r s))\n(output y)\n";

static void shipped_rules_reach_what_the_e_graph_reaches(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, branches, NULL);
  egraph_result *own = search_by(kit, &b, NULL);
  double best = egraph_result_report(own)->cost_after;
  assert_null(egraph_result_report(own)->algorithm);
  assert_string_equal(egraph_result_report(own)->status, "optimal");
  static const char *const algorithms[] = {"backtracking", "greedy"};
  for (size_t i = 0; i < 2; i++) {
    egraph_result *result = search_by(kit, &b, algorithms[i]);
    const egraph_report *r = egraph_result_report(result);
    assert_true(r->cost_after >= best * (1 - 1e-9));
    assert_true(r->cost_after < 0.8 * r->cost_before);
    char *text;
    assert_ok(egraph_result_explain(&kit->alloc, result, &text));
    assert_non_null(strstr(text, "conv-"));
    egraph_string_free(&kit->alloc, text);
    egraph_result_destroy(result);
  }
  egraph_result_destroy(own);
  close_bench(&b);
}

static void the_same_call_gives_the_same_graph(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, branches, NULL);
  char *text[2];
  uint64_t visited[2], tried[2];
  b.search.graph_limit = 50;
  for (int i = 0; i < 2; i++) {
    egraph_result *result = search_by(kit, &b, "backtracking");
    visited[i] = egraph_result_report(result)->graphs_visited;
    tried[i] = egraph_result_report(result)->rewrites_tried;
    assert_ok(egraph_graph_text(&kit->alloc, egraph_result_graph(result), &text[i]));
    egraph_result_destroy(result);
  }
  assert_string_equal(text[0], text[1]);
  assert_int_equal(visited[0], visited[1]);
  assert_int_equal(tried[0], tried[1]);
  for (int i = 0; i < 2; i++)
    egraph_string_free(&kit->alloc, text[i]);
  close_bench(&b);
}

static void graphs_without_operators_are_searched(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, GRAPH "(output x)\n", RULES TWICE);
  check(kit, &b, "greedy", (expectation){0, 1, 1, 0, "no-gain"});
  close_bench(&b);
}

/// x -> Magic (of unknown type) -> Magic of two results -> neg, neg, relu of the first.
static void operators_that_nobody_knows_stay(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, GRAPH "(output x)\n", RULES TWICE);
  eg_graph *graph;
  eg_value x, unknown, known[2], y;
  const eg_type four = eg_type_of(EGRAPH_FLOAT32, 1, (int64_t[]){4});
  const eg_type *types[] = {&four, NULL};
  egraph_graph_destroy(b.graph);
  assert_ok(eg_graph_create(&kit->alloc, &graph));
  b.graph = graph;
  assert_ok(eg_graph_add_input(graph, "x", &four, &x));
  assert_ok(
      eg_graph_add_opaque(graph, "m", "Magic", "r", 1, &x, 1, NULL, NULL, 1, &unknown));
  assert_ok(eg_graph_add_opaque(graph, "n", "Magic", "s", 1, &unknown, 1, types, NULL, 2,
                                known));
  y = known[0];
  for (int i = 0; i < 3; i++) {
    const eg_attrs attrs = {.op = i < 2 ? EG_OP_NEG : EG_OP_RELU};
    assert_ok(eg_graph_add_node(graph, NULL, &attrs, &y, 1, NULL, &y));
  }
  assert_ok(eg_graph_add_output(graph, "y", y));
  assert_ok(eg_graph_add_output(graph, "z", known[1]));
  static const char *const algorithms[] = {"backtracking", "greedy"};
  for (size_t i = 0; i < 2; i++) {
    b.search.algorithm = algorithms[i];
    const egraph_options options = {.size = sizeof options, .search = &b.search};
    egraph_result *result;
    assert_ok(egraph_optimize(&kit->alloc, b.graph, b.rules, b.costs, &options, &result));
    assert_int_equal(egraph_result_report(result)->nodes_after, 3);
    char *text;
    assert_ok(egraph_graph_text(&kit->alloc, egraph_result_graph(result), &text));
    assert_null(strstr(text, "neg"));
    assert_non_null(strstr(text, "Magic"));
    egraph_string_free(&kit->alloc, text);
    egraph_result_destroy(result);
  }
  close_bench(&b);
}

// ---- calls ------------------------------------------------------------------------

static bool cancel(void *user, const char *phase, const char *line) {
  (void)user;
  assert_true(line[0] != '\0');
  return strcmp(phase, "search") == 0;
}

static void cancelling_gives_the_best_so_far(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, branches, NULL);
  egraph_result *result;
  b.search.algorithm = "backtracking";
  const egraph_options options = {
      .size = sizeof options, .search = &b.search, .progress = cancel};
  assert_ok(egraph_optimize(&kit->alloc, b.graph, b.rules, b.costs, &options, &result));
  const egraph_report *r = egraph_result_report(result);
  assert_string_equal(r->stop, "cancelled");
  assert_true(r->cost_after <= r->cost_before);
  egraph_result_destroy(result);
  close_bench(&b);
}

static void what_an_algorithm_is_not_for_is_refused(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, GRAPH "(output x)\n", RULES TWICE);
  egraph_result *result = NULL;
  egraph_target target = egraph_target_default();
  egraph_options options = {.size = sizeof options, .search = &b.search};
  b.search.algorithm = "simulated-annealing";
  assert_fails(egraph_optimize(&kit->alloc, b.graph, b.rules, b.costs, &options, &result),
               EGRAPH_E_ARGUMENT,
               "'simulated-annealing'; leave it out, or choose one of: "
               "backtracking, greedy");
  b.search.algorithm = "greedy";
  options.target = &target;
  assert_fails(egraph_optimize(&kit->alloc, b.graph, b.rules, b.costs, &options, &result),
               EGRAPH_E_UNSUPPORTED, "'greedy' finds a graph for one device, no plan");
  options.target = NULL;
  b.search.alpha = 0.5;
  assert_fails(egraph_optimize(&kit->alloc, b.graph, b.rules, b.costs, &options, &result),
               EGRAPH_E_ARGUMENT, "option alpha is 0.5");
  assert_null(result);
  close_bench(&b);
}

static egraph_status search_in(egraph_allocator alloc, void *user) {
  const bench *b = user;
  egraph_result *result;
  const egraph_options options = {.size = sizeof options, .search = &b->search};
  egraph_status status =
      egraph_optimize(&alloc, b->graph, b->rules, b->costs, &options, &result);
  if (status == EGRAPH_OK) egraph_result_destroy(result);
  return status;
}

static void every_allocation_may_fail(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit, GRAPH SUB_NEG, RULES APART TWICE);
  b.search.algorithm = "backtracking";
  test_every_allocation_failing(search_in, &b);
  b.search.algorithm = "greedy";
  test_every_allocation_failing(search_in, &b);
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(alpha_1_goes_the_way_of_greedy_descent),
      api_test(a_step_up_is_made_by_backtracking_only),
      api_test(graphs_of_more_than_twice_the_operators_are_left_out),
      api_test(the_limit_of_graphs_counts_visits),
      api_test(other_limits_strike),
      api_test(outputs_that_become_one_value_keep_their_names),
      api_test(a_rewrite_that_would_make_a_cycle_is_left_out),
      api_test(shipped_rules_reach_what_the_e_graph_reaches),
      api_test(the_same_call_gives_the_same_graph),
      api_test(graphs_without_operators_are_searched),
      api_test(operators_that_nobody_knows_stay),
      api_test(cancelling_gives_the_best_so_far),
      api_test(what_an_algorithm_is_not_for_is_refused),
      api_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
