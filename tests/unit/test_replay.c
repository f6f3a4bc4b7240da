// Explanations of graphs: what is explained and replayed, and how what is wrong is named.
// SPDX-License-Identifier: Apache-2.0
#include "include/egraph.h"
#include "pcg/graph/graph.h"
#include "tests/testing.h"

static egraph_graph *read(const char *text) {
  egraph_graph *graph;
  assert_ok(eg_graph_parse(NULL, "graph", text, strlen(text), &graph));
  return graph;
}

static egraph_rules *shipped(void) {
  egraph_rules *rules;
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  return rules;
}

static egraph_status replay(const char *given, const char *result, const char *text,
                            egraph_replay_report *out) {
  egraph_rules *rules = shipped();
  egraph_graph *a = read(given), *b = read(result);
  egraph_status status = egraph_replay(NULL, a, b, rules, "e", text, out);
  egraph_graph_destroy(a);
  egraph_graph_destroy(b);
  egraph_rules_destroy(rules);
  return status;
}

#define GIVEN                                                                            \
  "(egraph-graph 1) (input x \"float32[2,3]\") (weight w \"float32[3,3]\" "              \
  "[1 2 3 4 5 6 7 8 9]) (weight b \"float32[3]\" [0.5 1 2])\n"                           \
  "(let a (matmul x w)) (let c (add a b)) (output y c)"
#define RESULT                                                                           \
  "(egraph-graph 1) (input x \"float32[2,3]\") (weight w \"float32[3,3]\" "              \
  "[1 2 3 4 5 6 7 8 9]) (weight b \"float32[3]\" [0.5 1 2])\n"                           \
  "(let c (matmul x w b)) (output y c)"
#define TERMS                                                                            \
  "(egraph-explanation 1) (terms (input :name \"x\") (weight :name \"w\") "              \
  "(weight :name \"b\") (matmul 0 1) (add 3 2) (matmul 0 1 2))"
#define STEPS "(steps (matmul-add-bias 4))"

static void steps_are_replayed(void **state) {
  (void)state;
  egraph_replay_report report;
  assert_ok(replay(GIVEN, RESULT, TERMS STEPS "(outputs 5)", &report));
  assert_int_equal(report.steps, 1);
  assert_int_equal(report.rules, 1);
  assert_int_equal(report.constants, 0);
  assert_int_equal(report.math, EGRAPH_MATH_ASSOCIATIVE);
  assert_ok(replay(GIVEN, GIVEN, TERMS "(steps) (outputs 4)", &report));
  assert_int_equal(report.steps, 0);
  assert_int_equal(report.math, EGRAPH_MATH_EXACT);
}

/// Numbers are compared with their bits, as files have them.
static void numbers_are_the_same_bits(void **state) {
  (void)state;
#define PADDED(value)                                                                    \
  "(egraph-graph 1) (input x \"float16[2]\") (let y (pad :pads [1 1] :value " value      \
  " x)) (output y)"
#define EXPLAINED(value)                                                                 \
  "(egraph-explanation 1) (terms (input :name \"x\") (pad :pads [1 1] :value " value     \
  " 0)) (steps) (outputs 1)"
  egraph_replay_report report;
  assert_ok(replay(PADDED("0.1"), PADDED("0.0999755859375"), EXPLAINED("0.1"), &report));
  assert_fails(replay(PADDED("0.1"), PADDED("0.09997"), EXPLAINED("0.1"), &report),
               EGRAPH_E_ARGUMENT, "another operator");
  assert_ok(replay(PADDED("0.0"), PADDED("0.0"), EXPLAINED("0.0"), &report));
  assert_fails(replay(PADDED("0.0"), PADDED("-0.0"), EXPLAINED("0.0"), &report),
               EGRAPH_E_ARGUMENT, "another operator");
#undef EXPLAINED
#undef PADDED
}

static void wrong_steps_are_named(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {TERMS "(steps) (outputs 5)", "output 'y' of the given model does not follow"},
      {TERMS "(steps (matmul-add-bias 3)) (outputs 5)",
       "step 1 (matmul-add-bias): its left side does not match"},
      {TERMS "(steps (matmul-add-bias 4 4)) (outputs 5)",
       "step 1 (matmul-add-bias): it has 1 left sides, and 2 terms are given"},
      {TERMS "(steps (matmul-add-bias 4) (nobody 4)) (outputs 5)",
       "step 2 (nobody): there is no such rule"},
      {TERMS STEPS "(outputs)", "1 outputs, the result 1, the explanation 0"},
      {TERMS STEPS "(outputs 4)",
       "value 'c' of the result is made by another operator than its term"},
      {"(egraph-explanation 1) (terms (input :name \"q\")) (steps) (outputs 0)",
       "term 0 (input): the graph has no value 'q'"},
      {"(egraph-explanation 1) (terms (input :name \"x\") (matmul 0 0)) (steps) "
       "(outputs 1)",
       "term 1 (matmul): matmul"},
      {"(egraph-explanation 1) (terms (input :name \"x\") (constant 0)) (steps) "
       "(outputs 1)",
       "term 1 (constant): a constant is of a tensor that weights and fills alone make"},
      {"(egraph-explanation 1) (terms (fill :shape [2] :value 1e300)) (steps) (outputs)",
       "term 0 (fill): it makes a number that its type does not hold"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    egraph_replay_report report;
    assert_fails(replay(GIVEN, RESULT, cases[i].text, &report), EGRAPH_E_ARGUMENT,
                 cases[i].message);
  }
}

static void malformed_texts_have_places(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "begins with (egraph-explanation 1)"},
      {"(egraph-explanation 2) (terms) (steps) (outputs)", "of a newer version"},
      {"(egraph-explanation 1) (terms) (outputs)", "expected (terms ...)"},
      {"(egraph-explanation 1) (steps) (terms) (outputs)", "e:1:24: expected (terms"},
      {"(egraph-explanation 1) (terms (relu 0)) (steps) (outputs)",
       "e:1:37: expected the number of a term before this one"},
      {"(egraph-explanation 1) (terms (grelu)) (steps) (outputs)",
       "there is no operator 'grelu'"},
      {"(egraph-explanation 1) (terms (input)) (steps) (outputs)", "needs the attribute"},
      {"(egraph-explanation 1) (terms (input :name \"x\" :name \"x\")) (steps) (outputs)",
       "given twice"},
      {"(egraph-explanation 1) (terms (fill :shape (1) :value 1.0)) (steps) (outputs)",
       "expected the value of an attribute"},
      {"(egraph-explanation 1) (terms (constant)) (steps) (outputs)",
       "expected (constant term)"},
      {"(egraph-explanation 1) (terms) (steps relu) (outputs)", "expected (rule terms"},
      {"(egraph-explanation 1) (terms) (steps) (outputs -1)", "e:1:49: expected"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    egraph_replay_report report;
    assert_fails(replay(GIVEN, RESULT, cases[i].text, &report), EGRAPH_E_PARSE,
                 cases[i].message);
  }
}

// ---- results ---------------------------------------------------------------------

static void results_are_followed(void **state) {
  (void)state;
  egraph_replay_report report;
#define LEAVES                                                                           \
  "(egraph-graph 1) (input x \"float32[2,3]\") (weight w \"float32[3,3]\" "              \
  "[1 2 3 4 5 6 7 8 9]) "
  static const struct {
    const char *result, *message;
  } cases[] = {
      {LEAVES "(weight b \"float32[3]\" [0.5 1 3]) (let c (matmul x w b)) (output y c)",
       "value 'b' of the result is a weight with other data than its term"},
      {LEAVES "(weight b \"float32[3]\") (let c (matmul x w b)) (output y c)",
       "value 'b' of the result is a weight without data, which cannot be compared"},
      {LEAVES "(weight b \"float32[1]\" [1]) (let c (matmul x w b)) (output y c)",
       "value 'b' of the result has another type than its term"},
      {LEAVES "(input b \"float32[3]\") (let c (matmul x w b)) (output y c)",
       "value 'b' of the result is an input, and not its term"},
      {LEAVES "(weight b \"float32[3]\" [0.5 1 2]) (let c (matmul :act relu x w b)) "
              "(output y c)",
       "made by another operator"},
      {LEAVES "(weight b \"float32[3]\" [0.5 1 2]) (let c (matmul x w b)) (output z c)",
       "output 1 is 'z' in the result, and 'y' in the given model"},
      {LEAVES "(weight b \"float32[3]\" [0.5 1 2]) (let c (matmul x w b)) (output y c) "
              "(output z c)",
       "1 outputs, the result 2"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_fails(replay(GIVEN, cases[i].result, TERMS STEPS "(outputs 5)", &report),
                 EGRAPH_E_ARGUMENT, cases[i].message);
  // Names of weights are free, and identities are their operands.
  assert_ok(replay(GIVEN,
                   LEAVES "(weight bias \"float32[3]\" [0.5 1 2]) (let i (identity x)) "
                          "(let c (matmul i w bias)) (let d (identity c)) (output y d)",
                   TERMS STEPS "(outputs 5)", &report));
#undef LEAVES
}

static void constants_are_computed_again(void **state) {
  (void)state;
  egraph_replay_report report;
  static const char given[] =
      "(egraph-graph 1) (input x \"float32[2]\") (weight w \"float32[2]\" [1 2]) "
      "(weight v \"float32[2]\" [3 4]) (weight absent \"float32[2]\")"
      "(let [p q] (split :axis 0 :sizes [1 1] v)) (let u (concat :axis 0 q p))"
      "(let s (add w u)) (let y (add x s)) (output y)";
  static const char result[] =
      "(egraph-graph 1) (input x \"float32[2]\") (weight s \"float32[2]\" [5 5]) "
      "(let y (add x s)) (output y)";
#define CONSTANT_TERMS                                                                   \
  "(egraph-explanation 1) (terms (input :name \"x\") (weight :name \"w\") (weight "      \
  ":name "                                                                               \
  "\"v\") (split :axis 0 :sizes [1 1] 2) (part :index 0 3) (part :index 1 3) "           \
  "(concat :axis 0 5 4) (add 1 6) (constant 7) (add 0 8)) "
  assert_ok(replay(given, result, CONSTANT_TERMS "(steps) (outputs 9)", &report));
  assert_int_equal(report.constants, 1);
  assert_fails(
      replay(given,
             "(egraph-graph 1) (input x \"float32[2]\") (weight s \"float32[2]\" [5 6]) "
             "(let y (add x s)) (output y)",
             CONSTANT_TERMS "(steps) (outputs 9)", &report),
      EGRAPH_E_ARGUMENT, "value 's' of the result is a weight with other data");
  assert_fails(replay(given, result,
                      "(egraph-explanation 1) (terms (weight :name \"absent\") "
                      "(constant 0)) (steps) (outputs 1)",
                      &report),
               EGRAPH_E_ARGUMENT, "the data of weight 'absent' are not in the given");
}

// ---- operators that nobody knows -------------------------------------------------

static void unknown_operators_stand_once(void **state) {
  (void)state;
  egraph_replay_report report;
#define UNKNOWN "(opaque \"Mystery\" x) :types [\"float32[2]\"] :record \"00\""
  static const char given[] = "(egraph-graph 1) (input x \"float32[2]\") (let a " UNKNOWN
                              ") (let y (add a a)) (output y)";
  static const char terms[] = "(egraph-explanation 1) (terms (input :name \"x\") "
                              "(opaque :key \"Mystery#0\" 0) (add 1 1)) (steps) "
                              "(outputs 2)";
  assert_ok(replay(given, given, terms, &report));
  assert_fails(replay(given,
                      "(egraph-graph 1) (input x \"float32[2]\") (let a " UNKNOWN
                      ") (let b " UNKNOWN ") (let y (add a b)) (output y)",
                      terms, &report),
               EGRAPH_E_ARGUMENT, "is made by another operator than its term");
  assert_fails(replay(given,
                      "(egraph-graph 1) (input x \"float32[2]\") (let a (opaque "
                      "\"Mystery\" x) :types [\"float32[2]\"] :record \"01\") "
                      "(let y (add a a)) (output y)",
                      terms, &report),
               EGRAPH_E_ARGUMENT, "is made by another operator than its term");
  assert_fails(replay(given, // of another size, as nobody but the graph says
                      "(egraph-graph 1) (input x \"float32[2]\") (let a (opaque "
                      "\"Mystery\" x) :types [\"float32[3]\"] :record \"00\") "
                      "(let y (add a a)) (output y)",
                      terms, &report),
               EGRAPH_E_ARGUMENT, "is made by another operator than its term");
}

#define RECORD_HEAD                                                                      \
  "3a550a3a0a01781201791a00220f436f6e7374616e744f6653686170652a1d0a0576616c75652a110801" \
  "10"                                                                                   \
  "012204"
#define RECORD_TAIL                                                                      \
  "420576616c7565a001043a006a170a017912120a100801120c0a0208040a0208030a02080242040a0010"
#define WITH_RECORD(name, value, opset)                                                  \
  "(egraph-graph 1) (input " name " \"int64[3]\") (let y (opaque ConstantOfShape " name  \
  ") :types [\"float32[4,3,2]\"] :record \"" RECORD_HEAD value RECORD_TAIL opset         \
  "\") (output y)"

static void unknown_operators_are_compared_by_meaning(void **state) {
  (void)state;
  egraph_replay_report report;
  static const char given[] = WITH_RECORD("x", "0000803f", "09");
  static const char terms[] = "(egraph-explanation 1) (terms (input :name \"x\") (opaque "
                              ":key \"ConstantOfShape#0\" 0)) (steps) (outputs 1)";
  assert_ok(replay(given, WITH_RECORD("x", "0000803f", "0d"), terms, &report));
  assert_fails(replay(given, WITH_RECORD("x", "00000040", "0d"), terms, &report),
               EGRAPH_E_ARGUMENT, "is made by another operator than its term");
  assert_fails(replay(given,
                      "(egraph-graph 1) (input x \"int64[3]\") (let y (opaque "
                      "ConstantOfShape x) :types [\"float32[4,3,2]\"] :record \"00\") "
                      "(output y)",
                      terms, &report),
               EGRAPH_E_ARGUMENT, "is made by another operator than its term");
}

// ---- making ----------------------------------------------------------------------

static egraph_status explain_and_replay(egraph_allocator alloc, void *user) {
  egraph_search search = egraph_search_default();
  const egraph_options options = {.size = sizeof options, .search = &search};
  const egraph_rules *rules = user;
  egraph_graph *graph = read(GIVEN);
  egraph_result *result = NULL;
  egraph_replay_report report;
  const char *text;
  search.explain = true;
  egraph_status status = egraph_optimize(&alloc, graph, rules, NULL, &options, &result);
  if (status == EGRAPH_OK) status = egraph_result_explanation(result, &text);
  if (status == EGRAPH_OK)
    status = egraph_replay(&alloc, graph, egraph_result_graph(result), rules, "e", text,
                           &report);
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
  return status;
}

static void allocations_may_fail(void **state) {
  (void)state;
  egraph_rules *rules = shipped();
  test_every_allocation_failing(explain_and_replay, rules);
  egraph_rules_destroy(rules);
}

static void explanations_are_asked_for(void **state) {
  (void)state;
  egraph_rules *rules = shipped();
  egraph_graph *graph = read(GIVEN);
  egraph_result *result;
  const char *text;
  assert_ok(egraph_optimize(NULL, graph, rules, NULL, NULL, &result));
  assert_fails(egraph_result_explanation(result, &text), EGRAPH_E_ARGUMENT,
               "none was asked for");
  egraph_result_destroy(result);
  egraph_search search = egraph_search_default();
  search.explain = search.certify = true;
  egraph_options options = {.size = sizeof options, .search = &search};
  assert_fails(egraph_optimize(NULL, graph, rules, NULL, &options, &result),
               EGRAPH_E_UNSUPPORTED, "takes no explanation; leave that out");
  search.certify = false;
  search.algorithm = "greedy";
  assert_fails(egraph_optimize(NULL, graph, rules, NULL, &options, &result),
               EGRAPH_E_UNSUPPORTED,
               "takes no explanation; leave that out, or the algorithm");
  egraph_graph_destroy(graph);
  egraph_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_are_replayed),
      cmocka_unit_test(numbers_are_the_same_bits),
      cmocka_unit_test(wrong_steps_are_named),
      cmocka_unit_test(malformed_texts_have_places),
      cmocka_unit_test(results_are_followed),
      cmocka_unit_test(constants_are_computed_again),
      cmocka_unit_test(unknown_operators_stand_once),
      cmocka_unit_test(unknown_operators_are_compared_by_meaning),
      cmocka_unit_test(allocations_may_fail),
      cmocka_unit_test(explanations_are_asked_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
