// Every rule shipped with the library is verified, and the verifier finds what is wrong
// with wrong ones.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"

#include "tests/testing.h"

/// The command takes EG_VERIFY_INSTANCES.
enum { INSTANCES = 96 };

typedef struct findings {
  uint32_t rules, rejected;
  bool loud;
  char last[1024]; // detail of the last rule
} findings;

static void collect(void *user, const char *rule, bool accepted, const char *detail) {
  findings *found = user;
  found->rules++;
  found->rejected += !accepted;
  (void)snprintf(found->last, sizeof found->last, "%s", detail);
  if (found->loud && !accepted) printf("%s: %s\n", rule, detail);
}

static eg_rules *parse(const char *text) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "test.rules", text, strlen(text)));
  return rules;
}

static findings verify(const char *text) {
  eg_rules *rules = parse(text);
  findings found = {.rules = 0};
  uint32_t rejected;
  const eg_verify_options options = {.seed = 7, .instances = INSTANCES};
  assert_ok(eg_rules_verify(rules, &options, collect, &found, &rejected));
  assert_int_equal(rejected, found.rejected);
  eg_rules_destroy(rules);
  return found;
}

static void assert_rejected(const char *text, const char *part) {
  findings found = verify(text);
  if (found.rejected != 1 || strstr(found.last, part) == NULL)
    fail_msg("expected a rejection with '%s', got '%s'", part, found.last);
}

static void every_rule_shipped_is_right(void **state) {
  (void)state;
  if (test_is_sanitized()) skip(); // minutes; a fourth of the rules is witnessed below
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  findings found = {.loud = true};
  uint32_t rejected;
  double start = eg_clock_seconds();
  const eg_verify_options options = {.seed = test_seed(2026),
                                     .instances = (uint32_t)test_rounds(INSTANCES)};
  assert_ok(eg_rules_verify(rules, &options, collect, &found, &rejected));
  printf("%u rules verified in %.1f s\n", found.rules, eg_clock_seconds() - start);
  assert_int_equal(found.rules, eg_rules_count(rules) + eg_rules_implied_count(rules));
  assert_int_equal(rejected, 0);
  eg_rules_destroy(rules);
}

typedef struct witnesses {
  uint32_t held, failed;
} witnesses;

static void note_witness(void *user, const eg_verify_instance *instance, bool holds) {
  (void)instance;
  witnesses *seen = user;
  if (holds) seen->held++;
  if (!holds) seen->failed++;
}

static void instances_of_shipped_rules_hold(void **state) {
  (void)state;
  if (!test_is_sanitized()) skip(); // all rules are verified above
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  const eg_verify_options options = {.seed = test_seed(2027),
                                     .instances = (uint32_t)test_rounds(INSTANCES)};
  for (uint32_t i = 0; i < eg_rules_count(rules); i += 4) {
    const eg_rule *rule = eg_rules_at(rules, i);
    witnesses seen = {0};
    assert_ok(eg_rule_witness(eg_allocator_heap(), rule, &options, note_witness, &seen));
    if (seen.failed > 0) fail_msg("%s: %u instances differ", rule->name, seen.failed);
    if (seen.held == 0 && rule->move_count == 0) fail_msg("%s: no instance", rule->name);
  }
  eg_rules_destroy(rules);
}

/// Some seeds draw two nearly equal numbers, of which a layer normalization without
/// epsilon leaves what rounding has made of their difference.
static void rounding_that_grows_is_no_difference(void **state) {
  (void)state;
  eg_rules *rules =
      parse("(egraph-rules 1) (rule layer-norm-core-div (source \"definition\")"
            " (lhs (div (as ?d (sub ?x (reduce-mean :axes ?axes ?x)))"
            "           (sqrt (add (reduce-mean :axes ?axes (square ?d)) ?eps))))"
            " (rhs (layer-normalization :axis (at ?axes 0) :epsilon (splat ?eps) ?x"
            "       (fill :dtype (dtype ?x) :shape (drop (shape ?x) (at ?axes 0))"
            "             :value 1.0)))"
            " (when (splat? ?eps) (>= (splat ?eps) 0.0) (= (elements ?eps) 1)"
            "       (<= (rank ?eps) (rank ?x)) (is-float ?x)"
            "       (= ?axes (range (at ?axes 0) (rank ?x)))))");
  for (uint64_t seed = 0; seed < test_rounds(40); seed++) {
    findings found = {.loud = true};
    uint32_t rejected;
    const eg_verify_options options = {.seed = seed, .instances = EG_VERIFY_INSTANCES};
    assert_ok(eg_rules_verify(rules, &options, collect, &found, &rejected));
    assert_int_equal(rejected, 0);
  }
  eg_rules_destroy(rules);
}

/// A difference of nearly equal numbers excuses rounding, and nothing else.
static void a_wrong_difference_is_found(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule off (source \"nobody\")"
                  " (lhs (sub (add ?x ?y) ?x)) (rhs (mul ?y (fill :dtype (dtype ?y) "
                  ":shape [] :value 1.001)))"
                  " (when (is-float ?x) (same-shape ?x ?y)))",
                  "left");
}

static void every_test_in_rule_files_passes(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  eg_text failures;
  eg_text_init(&failures, eg_allocator_heap());
  eg_rule_test_summary summary;
  assert_ok(eg_rules_run_tests(rules, 0, NULL, &failures, &summary));
  if (summary.failed > 0) fail_msg("%s", eg_text_of(&failures));
  printf("%u tests of rule files passed\n", summary.run);
  assert_true(summary.run > 0);
  eg_text_deinit(&failures);
  eg_rules_destroy(rules);
}

// The rule that TASO applies by hand: the factor vanishes.
static void a_lost_factor_is_found(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule lost (source \"TASO\")"
                  " (lhs (mul (conv :strides ?s :pads ?p :dilations ?d ?x ?w) ?k))"
                  " (rhs (conv :strides ?s :pads ?p :dilations ?d ?x ?w))"
                  " (when (= (elements ?k) 1) (= (rank ?k) 0)))",
                  "left");
}

// Merging two grouped convolutions of one input: the published rule without its guard.
static void a_missing_guard_on_groups_is_found(void **state) {
  (void)state;
  assert_rejected(
      "(egraph-rules 1) (rule grouped (source \"TENSAT\")"
      " (lhs (concat :axis 1 (conv :strides ?s :pads ?p :dilations ?d :group ?g ?x ?w)"
      "                      (conv :strides ?s :pads ?p :dilations ?d :group ?g ?x ?v)))"
      " (rhs (conv :strides ?s :pads ?p :dilations ?d :group ?g ?x (concat :axis 0 ?w "
      "?v))))",
      "?g ");
}

// TENSAT's converted.txt, line 90: the sum of two convolutions, without its guard.
static void a_missing_guard_on_sums_is_found(void **state) {
  (void)state;
  assert_rejected(
      "(egraph-rules 1) (rule sum (source \"TENSAT\")"
      " (lhs (add (conv :strides ?s :pads ?p :dilations ?d :group ?g ?x ?w)"
      "           (conv :strides ?s :pads ?p :dilations ?d :group ?g ?y ?v)))"
      " (rhs (conv :strides ?s :pads ?p :dilations ?d :group ?g (concat :axis 1 ?x ?y)"
      "            (concat :axis 1 ?w ?v))))",
      "?g ");
}

// Lines 91 and 92: side by side, wrong on plain convolutions of unequal width too.
static void a_missing_guard_on_channels_is_found(void **state) {
  (void)state;
  assert_rejected(
      "(egraph-rules 1) (rule side-by-side (source \"TENSAT\")"
      " (lhs (concat :axis 1 (conv :strides ?s :pads ?p :dilations ?d ?x ?w)"
      "                      (conv :strides ?s :pads ?p :dilations ?d ?y ?v)))"
      " (rhs (conv :strides ?s :pads ?p :dilations ?d :group 2 (concat :axis 1 ?x ?y)"
      "            (concat :axis 0 ?w ?v)))"
      " (when (= (drop (shape ?w) 1) (drop (shape ?v) 1))))",
      "left");
}

static void swapped_results_are_found(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule swapped (source \"wrong\")"
                  " (lhs (matmul ?x ?y) (matmul ?x ?z))"
                  " (let ?s (split :axis 1 :sizes [(dim ?z 1) (dim ?y 1)]"
                  "           (matmul ?x (concat :axis 1 ?z ?y))))"
                  " (rhs (part :index 0 ?s) (part :index 1 ?s))"
                  " (when (= (rank ?x) 2) (= (rank ?y) 2) (same-shape ?y ?z)))",
                  "result 0");
}

// Right for numbers that are not negative only; types agree.
static void a_wrong_domain_is_found(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule root (source \"wrong\")"
                  " (lhs (square (sqrt ?x))) (rhs ?x))",
                  "right -");
  assert_rejected("(egraph-rules 1) (rule slope (source \"wrong\")"
                  " (lhs (relu (mul ?x ?k))) (rhs (mul (relu ?x) ?k))"
                  " (when (splat? ?k) (= (rank ?k) 0)))",
                  "?k ");
}

static void different_types_are_found(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule shrink (source \"wrong\")"
                  " (lhs (add ?x ?y)) (rhs ?x) (when (splat-is ?y 0.0)))",
                  "the left side is ");
}

static void a_wrong_constant_is_found(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule gelu (source \"wrong\")"
                  " (lhs (sigmoid (mul ?x ?c))) (rhs (sigmoid (mul ?x ?x)))"
                  " (when (splat-is ?c 1.702) (broadcasts-to ?c ?x)))",
                  "?c ");
}

/// An addend of -inf makes NaN of every element, which the right side hides.
static void constants_that_are_not_finite_are_drawn(void **state) {
  (void)state;
#define SHIFT(conditions)                                                                \
  "(egraph-rules 1)\n(rule shift (source \"s\") (lhs (softmax :axis ?a (add ?x ?c))) "   \
  "(rhs (softmax :axis ?a ?x)) (when (splat? ?c) (broadcasts-to ?c ?x)" conditions "))"
  assert_rejected(SHIFT(""), "its sides differ as only class fast allows");
  findings found = verify(SHIFT(" (finite (splat ?c))"));
  assert_int_equal(found.rejected, 0);
  found = verify(SHIFT(" (<= -1e3 (splat ?c)) (<= (splat ?c) 1e3)"));
  assert_int_equal(found.rejected, 0);
#undef SHIFT
}

/// Between bounds such as 0.25 and 0.75 lies no integer.
static void bounds_of_integers_lie_between_two(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1)\n(rule meet (source \"s\")"
                  " (lhs (clip :min ?a :max ?b (clip :min ?c :max ?d ?x)))"
                  " (rhs (clip :min (min (max ?c ?a) ?b) :max (min (max ?d ?a) ?b) ?x))"
                  " (when (<= ?a ?b) (<= ?c ?d) (is-int ?x)))",
                  "result 0");
}

/// The kernel of dequantization computes in float32, whatever the scale is.
static void kernels_that_round_to_float32_are_known(void **state) {
  (void)state;
  findings found = verify(
      "(egraph-rules 1)\n(rule parts (source \"s\") (lhs (dequantize-linear ?x ?s ?z))"
      " (rhs (mul (sub (cast :to (dtype ?s) ?x) (cast :to (dtype ?s) ?z)) ?s))"
      " (when (= (rank ?s) 0)))");
  assert_int_equal(found.rejected, 0);
}

static void rules_that_never_apply_are_found(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule never (source \"wrong\")"
                  " (lhs (relu ?x)) (rhs ?x) (when (< (rank ?x) 0)))",
                  "no instance found");
  assert_rejected("(egraph-rules 1) (rule ill-typed (source \"wrong\")"
                  " (lhs (relu ?x)) (rhs (reshape :shape [17 19 23] ?x)))",
                  "ill-typed on the right");
}

static void a_condition_without_variables_counts(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule never (source \"wrong\")"
                  " (lhs (neg ?x)) (rhs ?x) (when (= 1 2)))",
                  "no instance found");
  findings found = verify("(egraph-rules 1) (rule always (source \"relu\")"
                          " (lhs (relu (relu ?x))) (rhs (relu ?x)) (when (= 1 1)))");
  assert_int_equal(found.rejected, 0);
}

/// A number of few digits is looked at as finely as they allow.
static void constants_of_short_types_count(void **state) {
  (void)state;
  static const char *const numbers[][2] = {{"bfloat16", "1.02"}, {"float16", "1.004"}};
  for (size_t i = 0; i < 2; i++) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "(egraph-rules 1) (rule scale (source \"wrong\")"
                   " (lhs (mul ?x ?c)) (rhs ?x)"
                   " (when (= (dtype ?x) %s) (splat-is ?c %s) (broadcasts-to ?c ?x)))",
                   numbers[i][0], numbers[i][1]);
    assert_rejected(text, "result 0");
  }
}

/// The index is beyond the table unless it is 0.
static void a_right_side_that_fails_is_found(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule beyond (source \"wrong\") (class fast)"
                  " (lhs (gather :axis 0 ?x ?i)) (rhs (gather :axis 0 ?x"
                  "  (mul ?i (fill :dtype int64 :shape [] :value 1001.0)))))",
                  "the right side fails where the left side does not: gather");
}

/// A class of instances lies on each side of a number that a rule names.
static void numbers_that_rules_name_are_drawn(void **state) {
  (void)state;
  static const struct {
    const char *left, *right, *part;
  } rows[] = {
      {"(trilu :upper ?u :k ?k ?x)", "(trilu :upper ?u :k (min ?k 9) ?x)", "?k 1"},
      {"(trilu :upper ?u :k ?k ?x)", "(trilu :upper ?u :k (if (= ?k 55) 54 ?k) ?x)",
       "?k 55"},
      {"(lp-pool :kernel_shape ?k :strides ?s :pads ?p :dilations ?d :p ?q ?x)",
       "(lp-pool :kernel_shape ?k :strides ?s :pads ?p :dilations ?d :p (min ?q 5) ?x)",
       "?q "},
      {"(lrn :size ?n :alpha ?a :beta ?b :bias ?c ?x)",
       "(lrn :size (min ?n 9) :alpha ?a :beta ?b :bias ?c ?x)", "?n 1"},
      {"(slice :starts ?b :ends ?e :steps ?s ?x)",
       "(slice :starts ?b :ends ?e :steps (max ?s -5) ?x)", "?s "},
      {"(leaky-relu :alpha ?a ?x)", "(leaky-relu :alpha (min ?a 200.0) ?x)", "?a "},
      {"(elu :alpha ?a ?x)", "(elu :alpha (max ?a -30.0) ?x)", "?a "},
      {"(pad :pads ?p :value ?v (abs ?x))",
       "(pad :pads ?p :value (min ?v 500.0) (abs ?x))", "?v "},
      {"(softmax :axis ?a ?x)", "(softmax :axis (min ?a 9) ?x)", "?a 1"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "(egraph-rules 1) (rule named (source \"wrong\") (class fast)"
                   " (lhs %s) (rhs %s))",
                   rows[i].left, rows[i].right);
    assert_rejected(text, rows[i].part);
  }
}

static void scales_and_regions_of_resize_are_drawn(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule scales (source \"wrong\") (class fast)"
                  " (lhs (resize :shape ?s :mode linear :scales ?c ?x))"
                  " (rhs (resize :shape ?s :mode linear ?x)))",
                  "?c [");
  assert_rejected("(egraph-rules 1) (rule region (source \"wrong\") (class fast)"
                  " (lhs (resize :shape ?s :mode linear :coordinates tf-crop-and-resize"
                  "       :roi ?r ?x))"
                  " (rhs (resize :shape ?s :mode linear :coordinates align-corners ?x)))",
                  "?r [");
}

static void layers_have_operands_that_fit(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule turned (source \"wrong\") (class fast)"
                  " (lhs (part :index 0 (rnn ?x ?w ?r)))"
                  " (rhs (part :index 0 (rnn ?x ?w (transpose :perm [0 2 1] ?r)))))",
                  "left");
  assert_rejected("(egraph-rules 1) (rule reset (source \"wrong\") (class fast)"
                  " (lhs (part :index 0 (gru :linear_before_reset 1 ?x ?w ?r)))"
                  " (rhs (part :index 0 (gru :linear_before_reset 0 ?x ?w ?r))))",
                  "left");
  static const char *const layers[] = {"part :index 0 (gru ?x ?w ?r %s)",
                                       "part :index 0 (lstm ?x ?w ?r %s)",
                                       "quantize-linear ?x %s ?z",
                                       "dequantize-linear ?x %s ?z",
                                       "qlinear-matmul ?x ?s ?z ?w %s ?v ?t ?y",
                                       "roi-align ?x %s ?i",
                                       ("max-unpool :kernel_shape ?k :strides ?s :pads ?p"
                                        " :shape ?o %s ?i")};
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    char left[128], right[128], text[512];
    (void)snprintf(left, sizeof left, layers[i], "(neg (neg ?b))");
    (void)snprintf(right, sizeof right, layers[i], "?b");
    (void)snprintf(text, sizeof text,
                   "(egraph-rules 1) (rule layer (source \"neg\") (class fast)"
                   " (lhs (%s)) (rhs (%s)))",
                   left, right);
    findings found = verify(text);
    if (found.rejected != 0) fail_msg("%s: %s", layers[i], found.last);
  }
}

static void results_beyond_a_number_are_compared(void **state) {
  (void)state;
  assert_rejected("(egraph-rules 1) (rule large (source \"wrong\") (class fast)"
                  " (lhs (exp ?x)) (rhs (clip :max 1e30 (exp ?x))))",
                  "right 1");
  assert_rejected("(egraph-rules 1) (rule below (source \"wrong\") (class fast)"
                  " (lhs (mul (exp ?x) (exp (neg ?x))))"
                  " (rhs (mul (clip :max 1e6 (exp ?x)) (exp (neg ?x)))))",
                  "on numbers of all sizes");
}

static void rules_beyond_the_limits_are_rejected(void **state) {
  (void)state;
  findings nine =
      verify("(egraph-rules 1) (rule wide (source \"nine operands\")"
             " (lhs (relu (concat :axis 0 ?a ?b ?c ?d ?e ?f ?g ?h ?i)))"
             " (rhs (concat :axis 0 (relu ?a) (relu ?b) (relu ?c) (relu ?d) (relu ?e)"
             "              (relu ?f) (relu ?g) (relu ?h) (relu ?i))))");
  assert_int_equal(nine.rejected, 0); // there is room for them
  assert_rejected("(egraph-rules 1) (rule large (source \"a large constant\")"
                  " (lhs (add ?x (fill :dtype float64 :shape [4000 4000] :value 0.0)))"
                  " (rhs ?x) (when (= (shape ?x) [4000 4000])))",
                  ", 0 without a finite result, ");
}

static void right_rules_are_accepted_the_same_way_each_time(void **state) {
  (void)state;
  const char *text =
      "(egraph-rules 1) (rule twice (source \"relu\")"
      " (lhs (relu (relu ?x))) (rhs (relu ?x)))"
      "(rule swap (source \"addition\") (lhs (add ?x ?y)) (rhs (add ?y ?x)))";
  findings first = verify(text), second = verify(text);
  assert_int_equal(first.rules, 2);
  assert_int_equal(first.rejected, 0);
  assert_string_equal(first.last, second.last);
  assert_non_null(strstr(first.last, "exact"));
}

static egraph_status verify_small(egraph_allocator alloc, void *user) {
  const char *text = user;
  eg_rules *rules;
  EG_TRY(eg_rules_create_checked(&alloc, &rules));
  egraph_status status = eg_rules_parse(rules, "test.rules", text, strlen(text));
  const eg_verify_options options = {.seed = 1, .instances = 8};
  if (status == EGRAPH_OK) status = eg_rules_verify(rules, &options, NULL, NULL, NULL);
  eg_rules_destroy(rules);
  return status;
}

static void verifying_survives_every_allocation_failing(void **state) {
  (void)state;
  // Wrong, so that it ends after few draws.
  test_every_allocation_failing(
      verify_small, "(egraph-rules 1) (rule wrong (source \"wrong\")"
                    " (lhs (add (part :index 0 (split :axis 0 :sizes ?s ?x)) ?y))"
                    " (rhs (part :index 0 (split :axis 0 :sizes ?s ?x)))"
                    " (when (splat-is ?y 1.0) (= (rank ?y) 0)))");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_test_in_rule_files_passes),
      cmocka_unit_test(every_rule_shipped_is_right),
      cmocka_unit_test(instances_of_shipped_rules_hold),
      cmocka_unit_test(rounding_that_grows_is_no_difference),
      cmocka_unit_test(a_wrong_difference_is_found),
      cmocka_unit_test(a_lost_factor_is_found),
      cmocka_unit_test(a_missing_guard_on_groups_is_found),
      cmocka_unit_test(a_missing_guard_on_sums_is_found),
      cmocka_unit_test(a_missing_guard_on_channels_is_found),
      cmocka_unit_test(swapped_results_are_found),
      cmocka_unit_test(a_wrong_domain_is_found),
      cmocka_unit_test(different_types_are_found),
      cmocka_unit_test(a_wrong_constant_is_found),
      cmocka_unit_test(constants_that_are_not_finite_are_drawn),
      cmocka_unit_test(bounds_of_integers_lie_between_two),
      cmocka_unit_test(kernels_that_round_to_float32_are_known),
      cmocka_unit_test(rules_that_never_apply_are_found),
      cmocka_unit_test(a_condition_without_variables_counts),
      cmocka_unit_test(constants_of_short_types_count),
      cmocka_unit_test(a_right_side_that_fails_is_found),
      cmocka_unit_test(numbers_that_rules_name_are_drawn),
      cmocka_unit_test(scales_and_regions_of_resize_are_drawn),
      cmocka_unit_test(layers_have_operands_that_fit),
      cmocka_unit_test(results_beyond_a_number_are_compared),
      cmocka_unit_test(rules_beyond_the_limits_are_rejected),
      cmocka_unit_test(right_rules_are_accepted_the_same_way_each_time),
      cmocka_unit_test(verifying_survives_every_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
