// The pipeline on small graphs: fusions, memory formats, weights, opaque nodes, limits,
// failures. Costs are given by a function here, so that every expectation is exact.
// SPDX-License-Identifier: Apache-2.0
#include "api/objects.h"
#include "optimize/single/optimizer.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/unit/session_kit.h"

/// Plain nodes cost their bytes; convolutions in a blocked format half; reorders a tenth.
static bool toy_cost(void *user, const eg_node_spec *spec, double *out) {
  (void)user;
  double bytes = eg_node_spec_bytes(spec);
  bool blocked = spec->results[0].layout.format != EG_FORMAT_PLAIN;
  if (eg_node_spec_is_reorder(spec))
    *out = 0.1 * bytes;
  else if (spec->attrs->op == EG_OP_CONV)
    *out = (blocked ? 5.0 : 10.0) * bytes;
  else
    *out = bytes;
  *out *= 1e-9;
  return true;
}

typedef struct fixture {
  test_heap heap;
  eg_rules *rules;
  eg_cost_model *costs;
  egraph_search search;
  bool (*progress)(void *user, const char *phase, const char *line);
} fixture;

static int setup(void **state) {
  fixture *f = test_calloc(1, sizeof *f);
  egraph_allocator alloc = test_heap_allocator(&f->heap);
  eg_cost_options costs = {.machine = "toy", .override_cost = toy_cost};
  assert_ok(eg_rules_create_checked(&alloc, &f->rules));
  assert_ok(eg_rules_add_builtin(f->rules));
  assert_ok(eg_cost_model_create(&alloc, &costs, &f->costs));
  f->search = egraph_search_default();
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  eg_rules_destroy(f->rules);
  eg_cost_model_destroy(f->costs);
  assert_int_equal(f->heap.live_bytes, 0);
  test_free(f);
  return 0;
}

static eg_graph *graph_of(fixture *f, const char *text) {
  egraph_allocator alloc = test_heap_allocator(&f->heap);
  eg_graph *graph;
  assert_ok(eg_graph_parse(&alloc, "test", text, strlen(text), &graph));
  return graph;
}

static egraph_status optimize(fixture *f, const eg_graph *graph, eg_optimization **out) {
  eg_optimizer_input input = {.graph = graph,
                              .rules = f->rules,
                              .costs = f->costs,
                              .formats = UINT32_MAX,
                              .search = &f->search,
                              .progress = f->progress};
  return eg_optimizer_run(test_heap_allocator(&f->heap), &input, out);
}

static uint32_t count_ops(const eg_graph *graph, eg_op op) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++)
    count += eg_graph_node_at(graph, (eg_graph_node){i}).attrs->op == op;
  return count;
}

#define CONV ":strides [1 1] :pads [1 1 1 1] :dilations [1 1]"
static const char conv_bn_relu[] =
    "(egraph-graph 1)\n"
    "(input x \"float32[1,32,8,8]\")\n(weight w \"float32[32,32,3,3]\")\n"
    "(weight g \"float32[32]\")\n(weight b \"float32[32]\")\n(weight m \"float32[32]\")\n"
    "(weight v \"float32[32]\")\n"
    "(let c (conv " CONV " x w))\n"
    "(let n (batch-normalization c g b m v))\n(let y (relu n))\n(output y)\n";

static void convolution_norm_and_relu_become_one_blocked_convolution(void **state) {
  fixture *f = *state;
  eg_graph *graph = graph_of(f, conv_bn_relu);
  eg_optimization *result;
  assert_ok(optimize(f, graph, &result));
  const eg_graph *best = result->graph;
  const egraph_report *report = &result->report;
  assert_int_equal(count_ops(best, EG_OP_CONV), 1);
  assert_int_equal(count_ops(best, EG_OP_BATCH_NORM), 0);
  assert_int_equal(count_ops(best, EG_OP_RELU), 0);
  assert_int_equal(report->nodes_after, 3); // reorder, convolution, reorder
  assert_string_equal(report->status, "optimal");
  assert_true(report->cost_after < report->cost_before);
  assert_true(report->bound <= report->cost_after * (1 + 1e-9));
  const char *name;
  eg_value output = eg_graph_output(best, 0, &name);
  assert_string_equal(name, "y");
  assert_int_equal(eg_graph_value(best, output)->type.layout.format, EG_FORMAT_PLAIN);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

static void without_formats_everything_stays_plain(void **state) {
  fixture *f = *state;
  f->search.formats = 0;
  eg_graph *graph = graph_of(f, conv_bn_relu);
  eg_optimization *result;
  assert_ok(optimize(f, graph, &result));
  assert_int_equal(result->report.nodes_after, 1);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

static void zero_budgets_return_the_original(void **state) {
  fixture *f = *state;
  f->search.formats = 0;
  f->search.iteration_limit = 0;
  f->search.node_limit = 0;
  f->search.time_limit = 0;
  eg_graph *graph = graph_of(f, conv_bn_relu);
  eg_optimization *result;
  assert_ok(optimize(f, graph, &result));
  const egraph_report *report = &result->report;
  assert_int_equal(report->nodes_after, 3);
  assert_true(report->cost_after == report->cost_before);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

static void an_empty_graph_stays_empty(void **state) {
  fixture *f = *state;
  eg_graph *graph =
      graph_of(f, "(egraph-graph 1)\n(input x \"float32[2]\")\n(output x)\n");
  eg_optimization *result;
  assert_ok(optimize(f, graph, &result));
  assert_int_equal(eg_graph_node_count(result->graph), 0);
  assert_int_equal(eg_graph_output_count(result->graph), 1);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

static void outputs_that_become_equal_keep_their_names(void **state) {
  fixture *f = *state;
  eg_graph *graph = graph_of(f, "(egraph-graph 1)\n(input x \"float32[2,3]\")\n"
                                "(let a (relu x))\n(let c (relu x))\n(let b (relu c))\n"
                                "(output a)\n(output b)\n");
  eg_optimization *result;
  assert_ok(optimize(f, graph, &result));
  const eg_graph *best = result->graph;
  const char *first, *second;
  eg_value a = eg_graph_output(best, 0, &first), b = eg_graph_output(best, 1, &second);
  assert_string_equal(first, "a");
  assert_string_equal(second, "b");
  assert_int_equal(a.id, b.id);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

static void options_out_of_range_are_refused(void **state) {
  fixture *f = *state;
  eg_graph *graph = graph_of(f, conv_bn_relu);
  eg_optimization *result;
  f->search.relative_gap = 2.0;
  assert_fails(optimize(f, graph, &result), EGRAPH_E_ARGUMENT, "relative_gap");
  f->search = egraph_search_default();
  f->search.extractor = "magic";
  assert_fails(optimize(f, graph, &result), EGRAPH_E_ARGUMENT,
               "unknown extractor 'magic'");
  eg_graph_destroy(graph);
}

static bool cancel(void *user, const char *phase, const char *line) {
  (void)user, (void)phase, (void)line;
  return true;
}

static void cancelling_returns_the_best_so_far(void **state) {
  fixture *f = *state;
  f->progress = cancel;
  eg_graph *graph = graph_of(f, conv_bn_relu);
  eg_optimization *result;
  assert_ok(optimize(f, graph, &result));
  assert_string_equal(result->report.stop, "cancelled");
  assert_true(result->report.cost_after <= result->report.cost_before);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

static void every_node_of_the_result_is_explained(void **state) {
  fixture *f = *state;
  egraph_allocator alloc = test_heap_allocator(&f->heap);
  eg_graph *graph = graph_of(f, conv_bn_relu);
  eg_optimization *result;
  char *text;
  assert_ok(optimize(f, graph, &result));
  assert_ok(egraph_result_explain(&alloc, &(egraph_result){.made.optimization = result},
                                  &text));
  assert_non_null(strstr(text, "conv-relu"));
  assert_non_null(strstr(text, "change of memory format"));
  eg_string_free(alloc, text);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

static void the_same_input_gives_the_same_text(void **state) {
  fixture *f = *state;
  egraph_allocator alloc = test_heap_allocator(&f->heap);
  eg_graph *graph = graph_of(f, conv_bn_relu);
  eg_text texts[2];
  for (int i = 0; i < 2; i++) {
    eg_optimization *result;
    assert_ok(optimize(f, graph, &result));
    eg_text_init(&texts[i], alloc);
    assert_ok(eg_graph_print(result->graph, &texts[i]));
    eg_optimization_destroy(result);
  }
  assert_string_equal(eg_text_of(&texts[0]), eg_text_of(&texts[1]));
  eg_text_deinit(&texts[0]);
  eg_text_deinit(&texts[1]);
  eg_graph_destroy(graph);
}

/// The whole pipeline on two nodes and one rule.
static egraph_status optimize_tiny(egraph_allocator alloc, void *user) {
  (void)user;
  static const char rule[] = "(egraph-rules 1)\n(rule twice (source \"idempotent\")\n"
                             "(lhs (relu (relu ?x))) (rhs (relu ?x)))\n";
  static const char text[] = "(egraph-graph 1)\n(input x \"float32[2,3]\")\n"
                             "(let a (relu x))\n(let b (relu a))\n(output b)\n";
  eg_rules *rules = NULL;
  eg_graph *graph = NULL;
  eg_cost_model *costs = NULL;
  eg_optimization *result = NULL;
  char *explanation = NULL;
  egraph_search search = egraph_search_default();
  eg_cost_options cost_options = {.machine = "toy", .override_cost = toy_cost};
  egraph_status status = eg_rules_create_checked(&alloc, &rules);
  if (status == EGRAPH_OK) status = eg_rules_parse(rules, "rule", rule, strlen(rule));
  if (status == EGRAPH_OK)
    status = eg_graph_parse(&alloc, "test", text, strlen(text), &graph);
  if (status == EGRAPH_OK) status = eg_cost_model_create(&alloc, &cost_options, &costs);
  eg_optimizer_input input = {.graph = graph,
                              .rules = rules,
                              .costs = costs,
                              .formats = UINT32_MAX,
                              .search = &search};
  if (status == EGRAPH_OK) status = eg_optimizer_run(alloc, &input, &result);
  if (status == EGRAPH_OK)
    status = egraph_result_explain(&alloc, &(egraph_result){.made.optimization = result},
                                   &explanation);
  if (status == EGRAPH_OK) assert_int_equal(result->report.nodes_after, 1);
  eg_string_free(alloc, explanation);
  eg_optimization_destroy(result);
  eg_cost_model_destroy(costs);
  eg_graph_destroy(graph);
  eg_rules_destroy(rules);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(optimize_tiny, NULL);
}

// ---- constants that overflow ----------------------------------------------------------

/// A graph of x float32[2] and y, in which rules fold two finite weights into one; its
/// elements differ, so that only folding tells what comes out.
typedef struct overflow_case {
  const char *graph, *rules; // rules: NULL: the shipped ones
  float x[2];
  bool overflows;
} overflow_case;

#define TWO(op, a, b)                                                                    \
  "(egraph-graph 1)\n(input x \"float32[2]\")\n(weight a \"float32[2]\" " a ")\n"        \
  "(weight b \"float32[2]\" " b ")\n(let p (" op " x a))\n(let y (" op                   \
  " p b))\n(output y)\n"
#define PRODUCTS_MEET                                                                    \
  "(lhs (mul (mul ?x ?a) ?b)) (rhs (mul ?x (mul ?a ?b))) "                               \
  "(when (weight-only ?a) (weight-only ?b)))"
#define MEET(class)                                                                      \
  "(egraph-rules 1)\n(rule meet (source \"s\") (class " class ") " PRODUCTS_MEET

static const overflow_case overflow_cases[] = {
    {TWO("mul", "[1e30 2e30]", "[3e30 1e30]"), NULL, {1e-30F, -2e-30F}, true},
    {TWO("mul", "[2 3]", "[5 7]"), NULL, {1, -2}, false},
    {TWO("mul", "[1e30 2]", "[3e30 5]"), MEET("associative"), {1e-30F, -2}, true},
    {TWO("mul", "[1e30 2]", "[3e30 5]"), MEET("fast"), {1e-30F, -2}, true},
    {TWO("mul", "[2 3]", "[5 7]"), MEET("fast"), {1, -2}, false},
    {TWO("add", "[3e38 -2]", "[2e38 5]"), NULL, {-3e38F, 3}, true},
    // Too small.
    {TWO("mul", "[1e-30 2e-30]", "[3e-30 1e-30]"), NULL, {1e30F, -2e30F}, true},
    {TWO("div", "[1e30 2e30]", "[3e30 1e30]"), NULL, {1e37F, -2e37F}, true}};

/// y, where x is as the case says.
static void run_case(const eg_graph *graph, const overflow_case *c, float *out) {
  eg_session *session;
  float x[2] = {c->x[0], c->x[1]};
  const eg_type type = eg_type_of(EGRAPH_FLOAT32, 1, (int64_t[]){2});
  const eg_tensor input = {.type = type, .data = x}, output = {.type = type, .data = out};
  const eg_session_options options = {.backend = "reference", .threads = 1, .seed = 1};
  assert_ok(eg_session_create(NULL, graph, &options, &session));
  assert_ok(eg_session_run(session, &input, &output));
  eg_session_destroy(session);
}

static void assert_same_results(const overflow_case *c, const eg_graph *graph,
                                const eg_graph *optimized) {
  float want[2], have[2];
  run_case(graph, c, want);
  run_case(optimized, c, have);
  for (int i = 0; i < 2; i++) {
    assert_true(isfinite(want[i]));
    if (!(fabsf(have[i] - want[i]) <= 1e-6F * fabsf(want[i])))
      fail_msg("%s%g instead of %g", c->graph, (double)have[i], (double)want[i]);
  }
}

static void check_overflow(fixture *f, const overflow_case *c, egraph_math math) {
  eg_graph *graph = graph_of(f, c->graph);
  eg_optimization *result;
  f->search.math = math;
  assert_ok(optimize(f, graph, &result));
  assert_same_results(c, graph, result->graph);
  assert_int_equal(result->report.math, c->overflows ? EGRAPH_MATH_EXACT : math);
  assert_int_equal(result->report.nodes_after, c->overflows ? 2 : 1);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

// Equal elements are known when a rule matches, which then makes no such constant; other
// rules stay.
static void known_constants_are_not_folded_to_nothing(void **state) {
  fixture *f = *state;
  const overflow_case c = {.graph = TWO("mul", "[1e-30 1e-30]", "[1e-30 1e-30]"),
                           .x = {1e30F, -1e30F}};
  eg_graph *graph = graph_of(f, c.graph);
  eg_optimization *result;
  f->search.math = EGRAPH_MATH_ASSOCIATIVE;
  assert_ok(optimize(f, graph, &result));
  assert_same_results(&c, graph, result->graph);
  assert_int_equal(result->report.math, EGRAPH_MATH_ASSOCIATIVE);
  assert_int_equal(result->report.nodes_after, 2);
  eg_optimization_destroy(result);
  eg_graph_destroy(graph);
}

// Elements of weights are not looked at before they are folded: where two finite ones
// make an infinite one, what is left are exact rules, and numbers stay numbers.
static void constants_that_overflow_leave_exact_rules_alone(void **state) {
  fixture *f = *state;
  eg_rules *shipped = f->rules;
  for (size_t i = 0; i < sizeof overflow_cases / sizeof *overflow_cases; i++) {
    const overflow_case *c = &overflow_cases[i];
    eg_rules *own;
    assert_ok(eg_rules_create_checked(NULL, &own));
    if (c->rules != NULL)
      assert_ok(eg_rules_parse(own, "t.rules", c->rules, strlen(c->rules)));
    f->rules = c->rules != NULL ? own : shipped;
    check_overflow(f, c, EGRAPH_MATH_FAST);
    bool is_fast = c->rules != NULL && strstr(c->rules, "fast") != NULL;
    if (!is_fast) check_overflow(f, c, EGRAPH_MATH_ASSOCIATIVE);
    eg_rules_destroy(own);
  }
  f->rules = shipped;
}

/// True when the value `name` may be stored in channels-last order.
static bool may_be_nhwc(const eg_single_problem *single, const eg_graph *graph,
                        const char *name) {
  eg_value value;
  assert_true(eg_graph_find_value(graph, name, &value));
  uint32_t v = eg_plan_space_value(
      &single->space, eg_tensor_egraph_value_class(single->space.egraph, value));
  return eg_single_class(single, v, EG_FORMAT_NHWC) != EG_EXTRACT_NONE;
}

static void formats_reach_along_chains_from_a_convolution_only(void **state) {
  fixture *f = *state;
  egraph_allocator alloc = test_heap_allocator(&f->heap);
  eg_graph *graph =
      graph_of(f, "(egraph-graph 1)\n"
                  "(input x \"float32[1,32,8,8]\")\n(weight w \"float32[32,32,3,3]\")\n"
                  "(let a (relu x))\n(let b (tanh a))\n(let s (relu a))\n"
                  "(let c (conv " CONV " b w))\n(let d (tanh c))\n(let e (relu d))\n"
                  "(let r (reshape :shape [32 64] e))\n(let q (tanh r))\n"
                  "(input y \"float32[1,32,8,8]\")\n(let z (relu y))\n"
                  "(output q)\n(output s)\n(output z)\n");
  eg_tensor_egraph *egraph;
  eg_single_problem single;
  assert_ok(eg_tensor_egraph_create(&alloc, graph, &egraph));
  const eg_single_source source = {
      .egraph = egraph, .costs = f->costs, .formats = UINT32_MAX};
  assert_ok(eg_single_problem_init(&single, alloc, &source));
  static const char *const inside[] = {"x", "a", "b", "s", "c", "d", "e"};
  static const char *const outside[] = {"w", "r", "q", "y", "z"};
  for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
    assert_true(may_be_nhwc(&single, graph, inside[i]));
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
    assert_false(may_be_nhwc(&single, graph, outside[i]));
  eg_single_problem_deinit(&single);
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      FIXTURE_TEST(convolution_norm_and_relu_become_one_blocked_convolution),
      FIXTURE_TEST(without_formats_everything_stays_plain),
      FIXTURE_TEST(formats_reach_along_chains_from_a_convolution_only),
      FIXTURE_TEST(constants_that_overflow_leave_exact_rules_alone),
      FIXTURE_TEST(known_constants_are_not_folded_to_nothing),
      FIXTURE_TEST(zero_budgets_return_the_original),
      FIXTURE_TEST(an_empty_graph_stays_empty),
      FIXTURE_TEST(outputs_that_become_equal_keep_their_names),
      FIXTURE_TEST(options_out_of_range_are_refused),
      FIXTURE_TEST(cancelling_returns_the_best_so_far),
      FIXTURE_TEST(every_node_of_the_result_is_explained),
      FIXTURE_TEST(the_same_input_gives_the_same_text),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
