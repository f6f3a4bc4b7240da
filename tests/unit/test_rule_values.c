// Values in rules: functions of conditions and computed attributes, and how near a number
// is to one that a rule names.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/saturate_kit.h"

// ---- functions ------------------------------------------------------------------

// x: float32[2,3,4]; i: int32[4]; b: bool[1]; s: weight of 0.1f.
static bool condition_holds(const char *condition) {
  fixture f;
  char rules[1024];
  (void)snprintf(rules, sizeof rules,
                 HEAD "(rule r (source \"s\") (lhs (where ?b (add ?x ?s) (add ?x (cast "
                      ":to float32 ?i)))) (rhs (add ?x ?s)) (when %s))",
                 condition);
  open_fixture(&f,
               GRAPH "(input x \"float32[2,3,4]\") (input i \"int32[4]\") (input b "
                     "\"bool[1]\")\n"
                     "(weight s \"float32[1,4]\" [0.1 0.1 0.1 0.1])\n"
                     "(let p (add x s)) (let c (cast :to float32 i)) (let q (add x c))\n"
                     "(let y (where b p q)) (output y)",
               rules);
  saturate(&f);
  bool holds = equal(&f, "y", "p");
  assert_true(stats_of(&f, "r")->matches + stats_of(&f, "r")->rejected > 0);
  close_fixture(&f);
  return holds;
}

static const char *const holding[] = {"(= (+ 1 2 3) 6)",
                                      "(= (- 5 7) -2)",
                                      "(= (- 4) -4)",
                                      "(= (* 2 3 4) 24)",
                                      "(= (/ 12 4) 3)",
                                      "(= (/ 1.0 4) 0.25)",
                                      "(= (floor-div -7 2) -4)",
                                      "(= (mod -7 2) 1)",
                                      "(= (mod 7 -2) -1)",
                                      "(= (min 3 1 2) 1)",
                                      "(= (max 3 1 2) 3)",
                                      "(= (+ 1 0.5) 1.5)",
                                      "(= (sqrt 16) 4.0)",
                                      "(= (exp 0.0) 1)",
                                      "(= (pow 2 10) 1024)",
                                      "(= (float 3) 3.0)",
                                      "(= (if (= 1 1) 2 3) 2)",
                                      "(= (if (= 1 2) 2 3) 3)",
                                      "(= (+ [1 2] [3 4]) [4 6])",
                                      "(= (* [1 2] 3) [3 6])",
                                      "(= (- 1 [1 2]) [0 -1])",
                                      "(= (floor-div [7 9] 2) [3 4])",
                                      "(= (dim ?x 0) 2)",
                                      "(= (dim ?x -1) 4)",
                                      "(= (rank ?x) 3)",
                                      "(= (elements ?x) 24)",
                                      "(= (shape ?x) [2 3 4])",
                                      "(= (dtype ?x) float32)",
                                      "(= float32 (dtype ?x))",
                                      "(= (splat ?s) 0.1)",
                                      "(= (axis ?x -1) 2)",
                                      "(= (axis ?x 1) 1)",
                                      "(= (broadcast-shape ?x ?s) [2 3 4])",
                                      "(= (broadcast-shape ?i ?b) [4])",
                                      "(= (list) [])",
                                      "(= (append [1] [2 3] []) [1 2 3])",
                                      "(= (repeat 7 3) [7 7 7])",
                                      "(= (range 2 5) [2 3 4])",
                                      "(= (range 5 2) [])",
                                      "(= (len [4 5 6]) 3)",
                                      "(= (at [4 5 6] -1) 6)",
                                      "(= (sum [1 2 3]) 6)",
                                      "(= (product []) 1)",
                                      "(= (product [2 3]) 6)",
                                      "(= (index-of [4 5 6] 5) 1)",
                                      "(= (take [1 2 3] 2) [1 2])",
                                      "(= (drop [1 2 3] 2) [3])",
                                      "(= (take [1] 0) [])",
                                      "(= (set-at [1 2 3] 1 9) [1 9 3])",
                                      "(= (remove-at [1 2 3] 0) [2 3])",
                                      "(= (insert-at [1 2] 2 9) [1 2 9])",
                                      "(= (insert-at [1 2] 0 9) [9 1 2])",
                                      "(= (insert-at [1 2] -1 9) [1 2 9])",
                                      "(= (reverse [1 2 3]) [3 2 1])",
                                      "(= (sort [3 1 2 1]) [1 1 2 3])",
                                      "(= (perm-inverse [2 0 1]) [1 2 0])",
                                      "(= (perm-apply [2 0 1] [7 8 9]) [9 7 8])",
                                      "(= (perm-compose [2 0 1] [2 0 1]) [1 2 0])",
                                      "(= (perm-swap 4 1 -1) [0 3 2 1])",
                                      "(!= 1 2)",
                                      "(not (= ?x ?i))",
                                      "(= ?x ?x)",
                                      "(= 0.1 0.10000000149)",
                                      "(not (= 1 1.0000001))",
                                      "(< 1 2)",
                                      "(<= 2 2)",
                                      "(> 2.5 2)",
                                      "(>= 2 2)",
                                      "(and (= 1 1) (= 2 2))",
                                      "(or (= 1 2) (= 2 2))",
                                      "(not (and (= 1 1) (= 1 2)))",
                                      "(is-float ?x)",
                                      "(is-int ?i)",
                                      "(is-bool ?b)",
                                      "(not (is-int ?b))",
                                      "(not (is-float ?i))",
                                      "(same-shape ?x ?x)",
                                      "(not (same-shape ?x ?i))",
                                      "(same-type ?s ?s)",
                                      "(same-dtype ?x ?s)",
                                      "(not (same-dtype ?x ?i))",
                                      "(broadcasts-to ?s ?x)",
                                      "(not (broadcasts-to ?x ?s))",
                                      "(broadcasts-to-shape ?i [5 4])",
                                      "(not (broadcasts-to-shape ?i [5 3]))",
                                      "(before ?x ?s)",
                                      "(not (before ?x ?x))",
                                      "(weight-only ?s)",
                                      "(not (weight-only ?x))",
                                      "(splat? ?s)",
                                      "(not (splat? ?x))",
                                      "(splat-is ?s 0.1)",
                                      "(not (splat-is ?s 0.1001))",
                                      "(divides 3 12)",
                                      "(not (divides 5 12))",
                                      "(odd -3)",
                                      "(even 0)",
                                      "(all-equal [2 2] 2)",
                                      "(not (all-equal [2 3] 2))",
                                      "(all-odd [1 -3])",
                                      "(not (all-odd [1 2]))",
                                      "(contains [1 2] 2)",
                                      "(not (contains [1 2] 3))",
                                      "(sorted [1 1 2])",
                                      "(not (sorted [2 1]))",
                                      "(perm-identity [0 1 2])",
                                      "(not (perm-identity [1 0]))",
                                      "(= (if (is-float ?x) ?x ?i) ?x)"};

static void functions_have_their_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof holding / sizeof *holding; i++)
    if (!condition_holds(holding[i])) fail_msg("does not hold: %s", holding[i]);
}

// Without a value, a condition does not hold, and neither does its negation.
static void expressions_without_a_value_reject_the_match(void **state) {
  (void)state;
  static const char *const undefined[] = {"(/ 7 2)",
                                          "(/ 7 0)",
                                          "(floor-div 1 0)",
                                          "(mod 1 0)",
                                          "(dim ?x 3)",
                                          "(dim ?x -4)",
                                          "(axis ?x 3)",
                                          "(at [1 2] 2)",
                                          "(at [] 0)",
                                          "(index-of [1] 2)",
                                          "(+ 9223372036854775807 1)",
                                          "(* 9223372036854775807 2)",
                                          "(- -9223372036854775807 2)",
                                          "(sum [9223372036854775807 1])",
                                          "(len (take [1] 2))",
                                          "(len (drop [1] -1))",
                                          "(len (repeat 1 -1))",
                                          "(len (repeat 1 100000000))",
                                          "(len (range 0 100000000))",
                                          "(len (perm-inverse [0 0]))",
                                          "(len (perm-inverse [0 5]))",
                                          "(len (perm-apply [0 5] [1 2]))",
                                          "(len (perm-apply [0] [1 2]))",
                                          "(len (perm-swap 2 0 2))",
                                          "(len (+ [1 2] [1 2 3]))",
                                          "(len (set-at [1] 1 0))",
                                          "(len (remove-at [] 0))",
                                          "(len (insert-at [1] 3 0))"};
  for (size_t i = 0; i < sizeof undefined / sizeof *undefined; i++) {
    char condition[256];
    (void)snprintf(condition, sizeof condition, "(= %s 1)", undefined[i]);
    if (condition_holds(condition)) fail_msg("has a value: %s", undefined[i]);
    (void)snprintf(condition, sizeof condition, "(!= %s 1)", undefined[i]);
    if (condition_holds(condition)) fail_msg("has a value: %s", undefined[i]);
  }
  assert_false(condition_holds("(> (sqrt -1) 0)"));
  assert_false(condition_holds("(not (> (sqrt -1) 0))"));
  assert_false(condition_holds("(> (splat ?x) 0)"));
  assert_true(condition_holds("(or (= 1 1) (= (/ 7 2) 1))")); // the second is not tried
}

// ---- numbers ----------------------------------------------------------------------

/// The number that many units in the last place of its type further from zero.
static double neighbour(egraph_dtype dtype, double value, int units) {
  uint64_t bits = 0; // of an IEEE format: the next number is the next integer
  eg_tensor scalar = {.type = eg_type_of(dtype, 0, NULL), .data = &bits};
  eg_tensor_set_double(&scalar, 0, value);
  bits += (uint64_t)(int64_t)units;
  return eg_tensor_get_double(&scalar, 0);
}

/// Whether a rule about the number `want` applies to a weight or an attribute `have`.
static bool number_matches(const char *left, const char *when, const char *graph,
                           double want, double have) {
  fixture f;
  char rule[512], text[256], side[128], condition[128];
  (void)snprintf(side, sizeof side, left, want);
  (void)snprintf(condition, sizeof condition, when, want);
  (void)snprintf(rule, sizeof rule, HEAD "(rule r (source \"s\") (lhs %s) (rhs ?x) %s)",
                 side, condition);
  (void)snprintf(text, sizeof text, graph, have);
  open_fixture(&f, text, rule);
  saturate(&f);
  bool matches = equal(&f, "y", "x");
  close_fixture(&f);
  return matches;
}

static const double numbers[] = {0.1, 1.5, -3.3, 700};

/// Whole numbers and simple fractions, as all of bfloat16 are, match themselves alone.
static bool may_match(egraph_dtype dtype, double number, int units) {
  bool is_simple = dtype == EGRAPH_BFLOAT16 || number == 1.5 || number == 700;
  return units == 0 || (units * units <= 1 && !is_simple);
}

static void weights_match_numbers_within_a_unit_of_their_type(void **state) {
  (void)state;
  static const egraph_dtype dtypes[] = {EGRAPH_FLOAT16, EGRAPH_BFLOAT16, EGRAPH_FLOAT32,
                                        EGRAPH_FLOAT64};
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
      for (int units = -2; units <= 2; units++) {
        const char *type = eg_dtype_name(dtypes[t]);
        double want = neighbour(dtypes[t], numbers[n], 0);
        double have = neighbour(dtypes[t], numbers[n], units);
        char graph[256];
        (void)snprintf(graph, sizeof graph,
                       GRAPH "(input x \"%s[2]\") (weight s \"%s[1]\" [%%.17g]) "
                             "(let y (add x s)) (output y)",
                       type, type);
        bool matches = number_matches("(add ?x ?s)", "(when (splat-is ?s %.17g))", graph,
                                      want, have);
        if (matches != may_match(dtypes[t], numbers[n], units))
          fail_msg("%s: %.17g, %d units from %.17g, matches: %d", type, have, units, want,
                   matches);
      }
}

// Attributes are float32 in files.
static void attributes_match_numbers_within_a_unit_of_float32(void **state) {
  (void)state;
  static const char graph[] =
      GRAPH "(input x \"float64[2]\") (let y (leaky-relu :alpha %.17g x)) (output y)";
  for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
    for (int units = -2; units <= 2; units++) {
      double want = neighbour(EGRAPH_FLOAT32, numbers[n], 0);
      double have = neighbour(EGRAPH_FLOAT32, numbers[n], units);
      bool close = may_match(EGRAPH_FLOAT32, numbers[n], units);
      assert_int_equal(
          number_matches("(leaky-relu :alpha %.17g ?x)", "", graph, want, have), close);
      assert_int_equal(number_matches("(leaky-relu :alpha ?a ?x)", "(when (= ?a %.17g))",
                                      graph, want, have),
                       close);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_have_their_values),
      cmocka_unit_test(expressions_without_a_value_reject_the_match),
      cmocka_unit_test(weights_match_numbers_within_a_unit_of_their_type),
      cmocka_unit_test(attributes_match_numbers_within_a_unit_of_float32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
