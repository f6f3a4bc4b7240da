// Rounds of the optimizer: where a limit cuts saturation off it goes on from the best
// graph; what is said of bounds, rounds, work and costs is true.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "api/objects.h"
#include "extract/problem.h"
#include "optimize/price/predict.h"
#include "optimize/single/optimizer.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/locked_allocator.h"
#include "tests/testing.h"

typedef struct fixture {
  test_heap heap;
  locked_allocator lock;
  egraph_allocator alloc;
  eg_rules *rules;
  eg_cost_model *costs;
  egraph_search search;
} fixture;

static void open_fixture(fixture *f, const char *rules, const eg_cost_options *costs) {
  *f = (fixture){.search = egraph_search_default()};
  f->alloc = locked_allocator_over(&f->lock, test_heap_allocator(&f->heap));
  assert_ok(eg_rules_create_checked(&f->alloc, &f->rules));
  if (rules == NULL)
    assert_ok(eg_rules_add_builtin(f->rules));
  else
    assert_ok(eg_rules_parse(f->rules, "test.rules", rules, strlen(rules)));
  assert_ok(eg_cost_model_create(&f->alloc, costs, &f->costs));
}

static void close_fixture(fixture *f) {
  eg_rules_destroy(f->rules);
  eg_cost_model_destroy(f->costs);
  assert_int_equal(f->heap.live_bytes, 0);
}

static eg_graph *parse(fixture *f, const char *text) {
  eg_graph *graph;
  assert_ok(eg_graph_parse(&f->alloc, "test", text, strlen(text), &graph));
  return graph;
}

static eg_optimization *optimize(fixture *f, const eg_graph *graph) {
  eg_optimizer_input input = {.graph = graph,
                              .rules = f->rules,
                              .costs = f->costs,
                              .formats = UINT32_MAX,
                              .search = &f->search};
  eg_optimization *result;
  assert_ok(eg_optimizer_run(f->alloc, &input, &result));
  const egraph_report *report = &result->report;
  assert_true(report->cost_after <= report->cost_before);
  assert_true(report->bound <= report->cost_after * (1 + 1e-9));
  return result;
}

static const eg_cost_options estimates = {.machine = "toy"};

// ---- a chain of rules that an iteration cannot follow to its end -------------------

static bool chain_cost(void *user, const eg_node_spec *spec, double *out) {
  (void)user;
  uint16_t op = spec->attrs->op;
  *out = op == EG_OP_TANH      ? 8e-6
         : op == EG_OP_SIGMOID ? 4e-6
         : op == EG_OP_RELU    ? 2e-6
         : op == EG_OP_ABS     ? 1e-6
                               : 0;
  return true;
}

static const eg_cost_options chain_costs = {.machine = "toy",
                                            .override_cost = chain_cost};
static const char chain_rules[] =
    "(egraph-rules 1)\n"
    "(rule first (source \"s\") (lhs (tanh ?x)) (rhs (sigmoid ?x)))\n"
    "(rule third (source \"s\") (lhs (relu ?x)) (rhs (abs ?x)))\n"
    "(rule second (source \"s\") (lhs (sigmoid ?x)) (rhs (relu ?x)))\n";
static const char chain_graph[] = "(egraph-graph 1)\n(input x \"float32[4]\")\n"
                                  "(let y (tanh x))\n(output y)\n";

static void a_round_starts_from_the_best_graph_of_the_one_before(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, chain_rules, &chain_costs);
  f.search.iteration_limit = 1;
  eg_graph *graph = parse(&f, chain_graph);
  eg_optimization *result = optimize(&f, graph);
  const egraph_report *report = &result->report;
  assert_true(report->cost_before == 8e-6 && report->cost_after == 1e-6);
  assert_int_equal(report->rounds, 4); // sigmoid, relu, abs, nothing
  assert_true(report->settled);
  assert_string_equal(report->stop, "iteration-limit");
  assert_string_equal(report->stop_words, "stopped at its iteration limit");
  assert_string_equal(report->proven_over, "variants reached");
  assert_string_equal(report->status, "optimal of the variants reached");
  assert_true(report->gap == 0);
  assert_int_equal(report->iterations, 4);
  assert_int_equal(report->nodes, 3 + 3 + 3 + 2);
  for (uint32_t i = 0; i < 3; i++) // each made its node in a round of its own
    assert_int_equal(
        egraph_result_rule(&(egraph_result){.made.optimization = result}, i).nodes, 1);
  char *text;
  assert_ok(egraph_result_explain(&f.alloc, &(egraph_result){.made.optimization = result},
                                  &text));
  assert_non_null(strstr(text, "third"));
  assert_null(strstr(text, "original"));
  egraph_string_free(&f.alloc, text);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
  close_fixture(&f);
}

// ---- graphs that are large for the node limit ----------------------------------------

/// Rules of which the first one fills an e-graph before the second shrinks it.
static const char pair_rules[] =
    "(egraph-rules 1)\n"
    "(rule grow (source \"s\") (lhs (sigmoid ?x)) (rhs (relu (relu (relu ?x)))))\n"
    "(rule pair (source \"s\") (lhs (tanh (sigmoid ?x))) (rhs (abs ?x)))\n";

static eg_graph *chain_of_pairs(fixture *f, uint32_t pairs) {
  eg_text text;
  eg_text_init(&text, f->alloc);
  assert_ok(eg_text_append(&text, "(egraph-graph 1)\n(input x0 \"float32[4]\")\n"));
  for (uint32_t i = 0; i < pairs; i++)
    assert_ok(eg_text_printf(&text, "(let y%u (sigmoid x%u))\n(let x%u (tanh y%u))\n", i,
                             i, i + 1, i));
  assert_ok(eg_text_printf(&text, "(output x%u)\n", pairs));
  eg_graph *graph = parse(f, eg_text_of(&text));
  eg_text_deinit(&text);
  return graph;
}

/// Every pair, which costs 12 us, has become one operator of 1 us.
static void assert_all_pairs_shrink(fixture *f, uint32_t pairs, const char *stop) {
  eg_graph *graph = chain_of_pairs(f, pairs);
  eg_optimization *result = optimize(f, graph);
  assert_int_equal(result->report.nodes_before, 2 * pairs);
  assert_int_equal(result->report.nodes_after, pairs);
  assert_true(fabs(result->report.cost_after - pairs * 1e-6) < 1e-9);
  assert_string_equal(result->report.stop, stop);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

static void the_default_node_limit_grows_with_the_graph(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, pair_rules, &chain_costs);
  assert_all_pairs_shrink(&f, 10050, "saturated"); // 20,101 nodes
  close_fixture(&f);
}

static void a_node_limit_that_binds_leaves_what_shrinks(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, pair_rules, &chain_costs);
  f.search.rounds = 1;
  f.search.node_limit = 620; // 401 nodes, 200 more for all pairs, 600 for what grows
  assert_all_pairs_shrink(&f, 200, "node-limit");
  close_fixture(&f);
}

static void too_few_rounds_are_not_settled(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, chain_rules, &chain_costs);
  f.search.iteration_limit = 1;
  for (uint32_t rounds = 1; rounds <= 3; rounds++) {
    f.search.rounds = rounds;
    eg_graph *graph = parse(&f, chain_graph);
    eg_optimization *result = optimize(&f, graph);
    const egraph_report *report = &result->report;
    assert_int_equal(report->rounds, rounds);
    assert_false(report->settled);
    assert_string_equal(report->ended, "round-limit");
    assert_true(report->cost_after == (double)(8u >> rounds) * 1e-6);
    assert_string_equal(report->status, "optimal of the variants reached");
    eg_optimization_destroy(result);
    eg_graph_destroy(graph);
  }
  close_fixture(&f);
}

static void saturation_that_ends_is_over_all_variants(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, chain_rules, &chain_costs);
  eg_graph *graph = parse(&f, chain_graph);
  eg_optimization *result = optimize(&f, graph);
  const egraph_report *report = &result->report;
  assert_true(report->cost_after == 1e-6);
  assert_int_equal(report->rounds, 2); // the second finds nothing
  assert_true(report->settled);
  assert_string_equal(report->ended, "settled");
  assert_string_equal(report->stop, "saturated");
  assert_string_equal(report->stop_words, "ended");
  assert_string_equal(report->proven_over, "all variants");
  assert_string_equal(report->status, "optimal");
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
  close_fixture(&f);
}

/// The part of an e-graph that a round keeps: a node of the given graph stays "original"
/// through all rounds, one that a rule made keeps that rule.
static void explanations_hold_across_rounds(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, chain_rules, &chain_costs);
  f.search.iteration_limit = 1;
  eg_graph *graph = parse(&f, "(egraph-graph 1)\n(input x \"float32[4]\")\n"
                              "(let s (sigmoid x))\n(let n (neg s))\n(let y (tanh n))\n"
                              "(output y)\n(output n)\n");
  eg_optimization *result = optimize(&f, graph);
  char *text;
  assert_ok(egraph_result_explain(&f.alloc, &(egraph_result){.made.optimization = result},
                                  &text));
  const char *neg = strstr(text, "neg "), *first = strstr(text, "abs ");
  assert_non_null(neg);
  assert_non_null(first);
  assert_int_equal(strncmp(neg + 22, "original", 8), 0);
  assert_int_equal(strncmp(first + 22, "third", 5), 0);
  assert_int_equal(strncmp(strstr(first + 1, "abs ") + 22, "third", 5), 0);
  egraph_string_free(&f.alloc, text);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
  close_fixture(&f);
}

// ---- attention without softmax, as Tensat has it ----------------------------------

static void add_block(eg_text *text, uint32_t block, const char *input) {
  for (uint32_t i = 0; i < 3; i++)
    assert_ok(eg_text_printf(
        text,
        "(weight w%u_%u \"float32[64,64]\")\n(let m%u_%u (matmul %s w%u_%u))\n"
        "(let r%u_%u (reshape :shape [16 4 16] m%u_%u))\n"
        "(let t%u_%u (transpose :perm [1 0 2] r%u_%u))\n",
        block, i, block, i, input, block, i, block, i, block, i, block, i, block, i));
  assert_ok(eg_text_printf(text,
                           "(let l%u (matmul :transB 1 t%u_0 t%u_1))\n"
                           "(let o%u (matmul l%u t%u_2))\n"
                           "(let p%u (transpose :perm [1 0 2] o%u))\n"
                           "(let q%u (reshape :shape [16 64] p%u))\n(output q%u)\n"
                           "(weight w%u \"float32[64,64]\")\n(let x%u (matmul %s w%u))\n",
                           block, block, block, block, block, block, block, block, block,
                           block, block, block, block + 1, input, block));
}

static eg_graph *attention(fixture *f, uint32_t blocks) {
  eg_text text;
  eg_text_init(&text, f->alloc);
  assert_ok(eg_text_append(&text, "(egraph-graph 1)\n(input x \"float32[16,64]\")\n"
                                  "(let x0 (relu x))\n"));
  for (uint32_t i = 0; i < blocks; i++) {
    char input[16];
    (void)snprintf(input, sizeof input, "x%u", i);
    add_block(&text, i, input);
  }
  assert_ok(eg_text_printf(&text, "(output x%u)\n", blocks));
  eg_graph *graph = parse(f, eg_text_of(&text));
  eg_text_deinit(&text);
  return graph;
}

static void rounds_of_a_small_egraph_reach_what_a_large_one_does(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, NULL, &estimates);
  eg_graph *graph = attention(&f, 3);
  f.search.math = EGRAPH_MATH_FAST;
  f.search.rounds = 1;
  f.search.node_limit = 100000;
  eg_optimization *large = optimize(&f, graph);
  double best = large->report.cost_after;
  f.search.node_limit = 450;
  eg_optimization *cut = optimize(&f, graph);
  f.search.rounds = egraph_search_default().rounds;
  eg_optimization *small = optimize(&f, graph);
  const egraph_report *report = &small->report;
  assert_string_equal(report->stop, "node-limit");
  assert_true(report->rounds > 1 && report->settled);
  assert_true(report->cost_after < cut->report.cost_after * 0.999);
  assert_true(report->cost_after <= best * 1.0001);
  // Again: nothing more.
  eg_optimization *again = optimize(&f, small->graph);
  const egraph_report *second = &again->report;
  assert_true(fabs(second->cost_before - report->cost_after) < 1e-12);
  assert_true(second->cost_after >= report->cost_after * 0.9999);
  assert_true(second->settled);
  eg_optimization_destroy(large);
  eg_optimization_destroy(cut);
  eg_optimization_destroy(small);
  eg_optimization_destroy(again);
  eg_graph_destroy(graph);
  close_fixture(&f);
}

static void work_does_not_depend_on_threads_and_limits_the_search(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, NULL, &estimates);
  eg_graph *graph = attention(&f, 3);
  f.search.rounds = 2;
  double work[2];
  for (uint32_t i = 0; i < 2; i++) {
    f.search.threads = 1 + 3 * i;
    eg_optimization *result = optimize(&f, graph);
    work[i] = result->report.saturate_work;
    eg_optimization_destroy(result);
  }
  assert_true(work[0] > 0.5 && work[0] == work[1]);
  f.search.work_limit = 1; // half of it for saturation
  eg_optimization *result = optimize(&f, graph);
  const egraph_report *report = &result->report;
  assert_string_equal(report->stop, "work-limit");
  assert_string_equal(report->proven_over, "variants reached");
  assert_false(report->settled);
  assert_true(report->saturate_work >= 0.5 && report->saturate_work < work[0]);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
  close_fixture(&f);
}

// ---- the graph that a round starts from -------------------------------------------

#define CONV ":strides [1 1] :pads [1 1 1 1] :dilations [1 1]"
static const char *const shapes_of_graphs[] = {
    chain_graph,
    "(egraph-graph 1)\n(input x \"float32[1,32,8,8]\")\n"
    "(weight w \"float32[32,32,3,3]\")\n(weight v \"float32[32,32,3,3]\")\n"
    "(let c (conv " CONV " x w))\n(let r (relu c))\n(let d (conv " CONV " r v))\n"
    "(let e (conv " CONV " r v))\n(let s (add d r))\n(let t (add s e))\n"
    "(output t)\n(output r)\n",
    "(egraph-graph 1)\n(input x \"float32[1,32,8,8]\")\n"
    "(weight w \"float32[32,32,3,3]\")\n(let c (conv " CONV " x w))\n"
    "(let [a b] (split :axis 1 :sizes [16 16] c))\n(let u (relu a))\n(let v (tanh b))\n"
    "(let y (concat :axis 1 v u))\n(output y)\n",
    "(egraph-graph 1)\n(input x \"float32[4,4]\")\n(weight w \"float32[4,4]\")\n"
    "(let p (matmul x w))\n(let q (matmul x w))\n(let i (identity q))\n"
    "(let z (add p i))\n(output z)\n"};

/// The choice that is the given graph has the given graph's cost, less what the graph
/// computes twice.
static void check_start(fixture *f, const eg_graph *graph, bool has_copies) {
  eg_tensor_egraph *egraph;
  eg_single_problem single;
  uint32_t *choice;
  bool is_as_given;
  double cost, predicted;
  assert_ok(eg_tensor_egraph_create(&f->alloc, graph, &egraph));
  const eg_single_source source = {
      .egraph = egraph, .costs = f->costs, .formats = UINT32_MAX};
  assert_ok(eg_single_problem_init(&single, f->alloc, &source));
  uint32_t count = single.problem.class_count;
  assert_ok(eg_alloc(f->alloc, count, sizeof *choice, &choice));
  assert_ok(eg_single_original(&single, choice, &is_as_given));
  assert_true(is_as_given);
  assert_ok(eg_extract_certify(f->alloc, &single.problem, choice, &cost));
  assert_ok(eg_graph_predict(graph, f->alloc, f->costs, &predicted));
  assert_true(cost <= predicted * (1 + 1e-9));
  assert_true(has_copies == (cost < predicted * (1 - 1e-9)));
  eg_free(f->alloc, choice, count, sizeof *choice);
  eg_single_problem_deinit(&single);
  eg_tensor_egraph_destroy(egraph);
}

static void the_start_of_a_round_is_among_its_variants(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, NULL, &estimates);
  for (size_t i = 0; i < sizeof shapes_of_graphs / sizeof *shapes_of_graphs; i++) {
    eg_graph *graph = parse(&f, shapes_of_graphs[i]);
    eg_optimization *result = optimize(&f, graph);
    check_start(&f, graph, i == 1 || i == 3);
    check_start(&f, result->graph, false);
    // Nothing but the start, in memory formats where it has them, is left.
    f.search.iteration_limit = 0;
    f.search.time_limit = 0;
    eg_optimization *again = optimize(&f, result->graph);
    const egraph_report *report = &again->report;
    assert_true(fabs(report->cost_before - report->cost_after) <
                1e-9 * report->cost_before);
    f.search = egraph_search_default();
    eg_optimization_destroy(result);
    eg_optimization_destroy(again);
    eg_graph_destroy(graph);
  }
  close_fixture(&f);
}

// ---- what costs rest on -----------------------------------------------------------

static egraph_status measure_bytes(void *self, const eg_node_spec *spec,
                                   double *out_seconds, bool *out_supported,
                                   eg_evidence *out_evidence) {
  (void)out_evidence;
  (void)self;
  *out_seconds = 1e-9 * eg_node_spec_bytes(spec);
  *out_supported = true;
  return EGRAPH_OK;
}

static const char pointwise_graph[] =
    "(egraph-graph 1)\n(input x \"float32[1000000]\")\n(let a (tanh x))\n"
    "(let b (sigmoid a))\n(let c (exp b))\n(let d (sqrt c))\n(output d)\n";

static void costs_are_counted_by_what_they_rest_on(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, "(egraph-rules 1)\n", &estimates);
  eg_graph *graph = parse(&f, pointwise_graph);
  eg_optimization *result = optimize(&f, graph);
  egraph_cost_basis basis = result->report.basis;
  assert_int_equal(basis.guessed, 4); // nothing was ever measured
  assert_int_equal(basis.measured + basis.estimated + basis.given, 0);
  eg_optimization_destroy(result);

  const eg_measurer measurer = {.measure = measure_bytes};
  assert_ok(eg_graph_request_costs(graph, f.alloc, f.costs));
  assert_ok(eg_cost_measure(f.costs, &measurer, NULL, NULL));
  result = optimize(&f, graph);
  basis = result->report.basis;
  assert_int_equal(basis.measured, 4);
  assert_int_equal(basis.guessed + basis.estimated + basis.given, 0);
  assert_true(result->report.compared.measured >= 4);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);

  // Others than those that were measured: estimated from them.
  graph = parse(&f, "(egraph-graph 1)\n(input x \"float32[500000]\")\n"
                    "(let a (tanh x))\n(let b (relu a))\n(output b)\n");
  result = optimize(&f, graph);
  basis = result->report.basis;
  assert_int_equal(basis.estimated, 2);
  assert_int_equal(basis.guessed + basis.measured + basis.given, 0);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
  close_fixture(&f);

  open_fixture(&f, "(egraph-rules 1)\n", &chain_costs);
  graph = parse(&f, chain_graph);
  result = optimize(&f, graph);
  basis = result->report.basis;
  assert_int_equal(basis.given, 1);
  assert_int_equal(basis.guessed + basis.measured + basis.estimated, 0);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_round_starts_from_the_best_graph_of_the_one_before),
      cmocka_unit_test(the_default_node_limit_grows_with_the_graph),
      cmocka_unit_test(a_node_limit_that_binds_leaves_what_shrinks),
      cmocka_unit_test(too_few_rounds_are_not_settled),
      cmocka_unit_test(saturation_that_ends_is_over_all_variants),
      cmocka_unit_test(explanations_hold_across_rounds),
      cmocka_unit_test(rounds_of_a_small_egraph_reach_what_a_large_one_does),
      cmocka_unit_test(work_does_not_depend_on_threads_and_limits_the_search),
      cmocka_unit_test(the_start_of_a_round_is_among_its_variants),
      cmocka_unit_test(costs_are_counted_by_what_they_rest_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
