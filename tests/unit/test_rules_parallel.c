// Rules with parallel operators: what they say of layouts is verified when they are read,
// and what is left of them without is a rule, or nothing that layouts do not imply.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/layout_check.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "tests/testing.h"

#define HEAD "(egraph-rules 1)\n"
#define RULE(lhs, rhs, rest)                                                             \
  HEAD "(rule r (source \"s\") (lhs " lhs ") (rhs " rhs ") " rest ")"

static eg_rules *rules_of(const char *text) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "t.rules", text, strlen(text)));
  return rules;
}

// ---- what is left ---------------------------------------------------------------------

static void a_rule_that_layouts_imply_adds_nothing(void **state) {
  (void)state;
  eg_rules *rules = rules_of(
      RULE("(relu ?x)", "(combine :dim ?d (relu (partition :dim ?d ?x)))", "both-ways"));
  assert_int_equal(eg_rules_count(rules), 0);
  assert_int_equal(eg_rules_implied_count(rules), 1);
  assert_true(eg_rules_implied_at(rules, 0)->implied);
  assert_ok(eg_rules_enable(rules, "r", false)); // there is such a rule
  eg_rules_destroy(rules);
}

static void a_set_without_checks_reads_no_parallel_operators(void **state) {
  (void)state;
  static const char text[] =
      RULE("(relu ?x)", "(combine :dim ?d (relu (partition :dim ?d ?x)))", "");
  eg_rules *rules;
  assert_ok(eg_rules_create(NULL, &rules));
  assert_fails(eg_rules_parse(rules, "t.rules", text, strlen(text)), EGRAPH_E_PARSE,
               "link the rule laboratory");
  assert_int_equal(eg_rules_implied_count(rules), 0);
  assert_ok(eg_rules_add_builtin(rules)); // has such rules, too
  eg_rules_destroy(rules);
}

static void algebra_enters_without_its_parallel_operators(void **state) {
  (void)state;
  eg_rules *rules = rules_of(
      RULE("(add (matmul ?x ?u) (matmul ?x ?v))",
           "(combine :dim 0 (matmul (partition :dim 0 ?x) (replicate (add ?u ?v))))",
           "(class fast) (when (same-shape ?u ?v) (= (rank ?x) 2) (= (rank ?u) 2))"));
  eg_rules *plain =
      rules_of(RULE("(add (matmul ?a ?b) (matmul ?a ?c))", "(matmul ?a (add ?b ?c))",
                    "(when (same-shape ?b ?c) (= (rank ?a) 2) (= (rank ?b) 2))"));
  assert_int_equal(eg_rules_count(rules), 1);
  assert_int_equal(eg_rules_implied_count(rules), 0);
  assert_string_equal(eg_rules_at(rules, 0)->key, eg_rules_at(plain, 0)->key);
  uint32_t rejected;
  const eg_verify_options options = {.seed = 3, .instances = 48};
  assert_ok(eg_rules_verify(rules, &options, NULL, NULL, &rejected));
  assert_int_equal(rejected, 0);
  eg_rules_destroy(rules);
  eg_rules_destroy(plain);
}

static void parallel_operators_around_a_known_rule_add_nothing(void **state) {
  (void)state;
  eg_rules *rules = rules_of(
      HEAD "(rule plain (source \"s\") (lhs (neg (neg ?x))) (rhs ?x))"
           "(rule parallel (source \"s\") (lhs (reduce (neg (neg ?y)))) (rhs (reduce "
           "?y)))");
  assert_int_equal(eg_rules_count(rules), 1);
  assert_string_equal(eg_rules_implied_at(rules, 0)->known_as, "plain");
  eg_rules_destroy(rules);
}

static void printing_keeps_parallel_operators(void **state) {
  (void)state;
  eg_rules *rules = rules_of(
      HEAD "(rule a (source \"s\") (lhs (add (reduce :axis g ?x) ?y)) (rhs (reduce :axis "
           "g (add ?x (replicate :axis g :others zero ?y)))))\n"
           "(rule b (source \"s\") (lhs (neg (neg ?x))) (rhs (combine :degree 2 :dim (- "
           "(rank ?x) 1) (partition :dim -1 ?x))))");
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_rules_print(rules, &text));
  assert_string_equal(
      eg_text_of(&text),
      HEAD "\n(rule b\n  (source \"s\")\n  (lhs (neg (neg ?x)))\n"
           "  (rhs (combine :dim (- (rank ?x) 1) :degree 2 (partition :dim -1 ?x))))\n\n"
           "(rule a\n  (source \"s\")\n  (lhs (add (reduce :axis g ?x) ?y))\n"
           "  (rhs (reduce :axis g (add ?x (replicate :axis g :others zero ?y)))))\n");
  eg_rules *again = rules_of(eg_text_of(&text));
  assert_int_equal(eg_rules_implied_count(again), 1);
  eg_rules_destroy(again);
  eg_rules_destroy(rules);
  eg_text_deinit(&text);
}

// ---- mistakes -------------------------------------------------------------------------

typedef struct bad {
  const char *text, *message;
} bad;

static const bad bad_texts[] = {
    {RULE("(relu (partition ?x))", "(relu ?x)", ""),
     "t.rules:2:33: partition needs :dim (a dimension, a ?variable, or an expression)"},
    {RULE("(relu (reduce :dim 1 ?x))", "(relu ?x)", ""),
     "reduce has no attribute 'dim'; it is about whole tensors"},
    {RULE("(relu (reduce :dergee 2 ?x))", "(relu ?x)", ""),
     "reduce has no attribute 'dergee'; did you mean ':degree'?"},
    {RULE("(relu (reduce :degree 1 ?x))", "(relu ?x)", ""),
     "a degree is a number from 2 to 1024; leave it out where any will do"},
    {RULE("(relu (reduce :degree 2 :degree 2 ?x))", "(relu ?x)", ""),
     ":degree is given twice; remove one"},
    {RULE("(relu (reduce ?x ?y))", "(relu ?x)", ""), "reduce takes 1 operand, not more"},
    {RULE("(relu (reduce))", "(relu ?x)", ""), "reduce takes 1 operand, not 0"},
    {RULE("(relu (reduce ?x :axis))", "(relu ?x)", ""), ":axis has no value"},
    {RULE("(relu (reduce :axis [1] ?x))", "(relu ?x)", ""),
     "an axis has a name of at most 15 letters"},
    {RULE("(relu (reduce :others zero ?x))", "(relu ?x)", ""),
     "only replicate makes copies"},
    {RULE("(relu (replicate :others one ?x))", "(relu ?x)", ""),
     "the other copies are 'same' or 'zero'"},
    {RULE("(reduce :degree 2 (relu (reduce :degree 3 ?x)))", "(relu ?x)", ""),
     "an axis has one degree"},
    {RULE("(relu (reduce :axis a (reduce :axis b (reduce :axis c (reduce :axis d ?x)))))",
          "(relu ?x)", ""),
     "a rule speaks of at most 3 axes"},
    {RULE("(relu (partition :dim 1.5 ?x))", "(relu ?x)", ""),
     "this is a number where an integer is wanted"},
    {RULE("(partition :dim 0 ?x)", "(relu ?x)", ""),
     "without its parallel operators this is a bare variable"},
    {RULE("(relu ?x)", "(relu ?x)", "(when (= ?d 1))"), "?d is not bound"},
    {RULE("(relu (partition :dim ?d ?x))", "(relu ?x)", "(when (= ?d 1))"),
     "?d is not bound"},
    {RULE("(partitoin :dim 0 ?x)", "(relu ?x)", ""), "did you mean 'partition'?"},
    {HEAD "(test t (given (?x \"float32[2]\")) (term (reduce ?x)) (equals ?x))",
     "tests are about values"},
    {RULE("(relu ?x)", "(relu (combine :dim 0 (partition :dim 0 ?x)))",
          "") "(rule r (source \"s\") (lhs (neg (neg ?x))) (rhs ?x))",
     "a rule named r already stands at t.rules:2"},
    {RULE("(relu ?x)", "(relu (combine :dim 0 (partition :dim 0 ?x)))",
          "") "(rule q (source \"s\") (lhs (relu ?y)) (rhs (relu (combine :dim 0 "
              "(partition "
              ":dim 0 ?y)))))",
     "rule q is rule r (t.rules:2) with other variable names; remove one"},
};

// What the catalogue of Unity's rules lists as wrong, and what is easily forgotten.
static const bad bad_layouts[] = {
    {RULE("(matmul ?x ?w)", "(matmul (partition :dim 1 ?x) (partition :dim 0 ?w))",
          "(when (= (rank ?x) 2) (= (rank ?w) 2))"),
     "t.rules:2:1: layouts of rule r: the left side is whole on every device, the right "
     "side partial sums; the sum of partial values is missing: add (reduce ...) around "
     "the right side"},
    {RULE("(relu (partition :dim 0 ?x))", "(relu ?x)", ""),
     "the left side is split along dimension 0, the right side whole on every device; "
     "add "
     "(combine :dim 0 ...) around the left side"},
    {RULE("(reduce (replicate ?x))", "?x", ""), // st-4
     "t.rules:2:27: layouts of rule r: reduce does not apply: ?x is whole on every "
     "device "
     "there, and adding the copies would multiply it by the degree"},
    {RULE("(relu (reduce ?x))", "(reduce (relu ?x))", ""), // un-6
     "relu cannot be computed from operands that are partial sums"},
    {RULE("(add (reduce ?x) ?y)", "(reduce (add ?x (replicate ?y)))", ""), // bi-4
     "add cannot be computed from operands that are partial sums, whole on every device"},
    {RULE("(mul (reduce ?x) (reduce ?y))", "(reduce (mul ?x ?y))", ""), // bi-6
     "mul cannot be computed from operands that are partial sums, partial sums"},
    {RULE("(concat :axis 0 ?x ?y)", // cc-3
          "(combine :dim 0 (concat :axis 0 (partition :dim 0 ?x) (partition :dim 0 ?y)))",
          ""),
     "concat cannot be computed from operands that are split along dimension 0"},
    {RULE("(softmax :axis 1 ?x)",
          "(combine :dim 1 (softmax :axis 1 (partition :dim 1 ?x)))",
          ""), // sm-2
     "softmax cannot be computed from operands that are split along dimension"},
    {RULE("(flatten :axis 0 ?x)", // rs-2
          "(combine :dim 1 (flatten :axis 0 (partition :dim 1 ?x)))",
          "(when (= (rank ?x) 2) (> (dim ?x 0) 1))"),
     "flatten cannot be computed from operands that are split along dimension 1"},
    {RULE("(neg (max-pool :kernel_shape ?n :strides ?s :pads ?p :dilations ?d (reduce "
          "?x)))",
          "(neg (reduce (max-pool :kernel_shape ?n :strides ?s :pads ?p :dilations ?d "
          "?x)))",
          ""), // po-4
     "max-pool cannot be computed from operands that are partial sums"},
    {RULE("(relu ?x)", "(combine :dim 1 (relu (partition :dim 0 ?x)))", ""),
     "combine does not apply: (relu ...) is split along dimension 0 there; put (combine "
     ":dim 0 ...) there"},
    {RULE("(relu ?x)", "(combine :dim 0 (relu ?x))", ""),
     "so there are no blocks to combine; leave it out"},
    {RULE("(partition :dim 0 :axis a (partition :dim 0 :axis b ?x))",
          "(partition :dim 0 :axis b (partition :dim 0 :axis a ?x))", ""), // ax-3
     "an axis that comes later cuts the same dimension"},
    {RULE("(partition :dim 7 (relu (neg ?x)))", "(partition :dim 7 (neg (relu ?x)))",
          "(when (= (rank ?x) 2))"),
     "layouts of rule r: partition names a dimension that a"},
    {RULE("(relu ?x)", "(combine :dim 0 (relu (partition :dim 0 :degree 7 ?x)))", ""),
     "has no dimension 0 that divides by 7"},
};

static void check_refused(const bad *texts, size_t count) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  for (size_t i = 0; i < count; i++) {
    assert_fails(eg_rules_parse(rules, "t.rules", texts[i].text, strlen(texts[i].text)),
                 EGRAPH_E_PARSE, texts[i].message);
    assert_int_equal(eg_rules_count(rules) + eg_rules_implied_count(rules), 0);
  }
  eg_rules_destroy(rules);
}

static void every_mistake_has_its_message(void **state) {
  (void)state;
  check_refused(bad_texts, sizeof bad_texts / sizeof *bad_texts);
}

static void layouts_that_do_not_fit_are_explained(void **state) {
  (void)state;
  check_refused(bad_layouts, sizeof bad_layouts / sizeof *bad_layouts);
}

// ---- the rest of the language ---------------------------------------------------------

static void lets_and_names_of_patterns_carry_layouts(void **state) {
  (void)state;
  eg_rules *rules = rules_of(
      HEAD "(rule let (source \"s\") (lhs (add (neg ?x) (neg ?x))) (let ?p (partition "
           ":dim 0 ?x)) (let ?s (neg ?p)) (rhs (combine :dim 0 (add ?s ?s))))\n"
           "(rule as (source \"s\") (lhs (partition :dim 0 (as ?m (neg (neg ?x))))) (rhs "
           "(partition :dim 0 (max ?m ?x))))");
  assert_int_equal(eg_rules_count(rules), 2);
  eg_rules_destroy(rules);
  eg_rules *none;
  assert_ok(eg_rules_create_checked(NULL, &none));
  const char *wrong = RULE("(add (neg ?x) (neg ?x))", "(combine :dim 0 (add ?s ?x))",
                           "(let ?s (neg (partition :dim 0 ?x)))");
  assert_fails(eg_rules_parse(none, "t.rules", wrong, strlen(wrong)), EGRAPH_E_PARSE,
               "add cannot be computed from operands that are split along dimension 0, "
               "whole on every device");
  eg_rules_destroy(none);
}

static void several_results_are_claimed_together(void **state) {
  (void)state;
  eg_rules *rules = rules_of(RULE(
      "(matmul ?x ?u) (matmul ?x ?v)",
      "(combine :dim 1 (matmul ?x (partition :dim 1 ?u))) (reduce (matmul (partition "
      ":dim 1 ?x) (partition :dim 0 ?v)))",
      "(when (= (rank ?x) 2) (= (rank ?u) 2) (= (rank ?v) 2) (!= ?u ?v))"));
  assert_int_equal(eg_rules_implied_count(rules), 1);
  eg_rules_destroy(rules);
}

// ---- Unity's catalogue ----------------------------------------------------------------

static void unitys_rules_add_nothing_that_stands_nowhere_else(void **state) {
  (void)state;
  static const char *const known[][2] = {
      {"parallel-add-as-reduce", "add-of-stacked"},
      {"parallel-linear-relu-fused", "matmul-relu"},
      {"parallel-matmul-of-concat", "matmul-of-concat-columns"}};
  eg_rules *rules;
  uint32_t from_elsewhere = 0;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  for (uint32_t i = 0; i < eg_rules_count(rules); i++)
    assert_string_not_equal(eg_rules_at(rules, i)->file, "unity-parallel.rules");
  for (uint32_t i = 0; i < eg_rules_implied_count(rules); i++) {
    const eg_rule *rule = eg_rules_implied_at(rules, i);
    if (rule->known_as == NULL) continue;
    assert_true(from_elsewhere < sizeof known / sizeof *known);
    assert_string_equal(rule->name, known[from_elsewhere][0]);
    assert_string_equal(rule->known_as, known[from_elsewhere][1]);
    from_elsewhere++;
  }
  assert_int_equal(from_elsewhere, sizeof known / sizeof *known);
  assert_true(eg_rules_implied_count(rules) >= 80);
  eg_rules_destroy(rules);
}

// ---- memory ---------------------------------------------------------------------------

static egraph_status read_some(egraph_allocator alloc, void *user) {
  (void)user;
  static const char good[] =
      HEAD "(rule a (source \"s\") (lhs (relu ?x)) (rhs (combine :dim 0 :degree 2 (relu "
           "(partition :dim 0 ?x)))))";
  static const char wrong[] =
      HEAD "(rule b (source \"s\") (lhs (neg (relu ?x))) (rhs (relu (partition :dim 0 "
           ":degree 2 ?x))))";
  eg_rules *rules;
  EG_TRY(eg_rules_create_checked(&alloc, &rules));
  egraph_status status = eg_rules_parse(rules, "t.rules", good, strlen(good));
  if (status == EGRAPH_OK) {
    status = eg_rules_parse(rules, "t.rules", wrong, strlen(wrong));
    if (status == EGRAPH_E_PARSE) status = EGRAPH_OK;
  }
  eg_rules_destroy(rules);
  return status;
}

static void reading_survives_every_allocation_failing(void **state) {
  (void)state;
  test_every_allocation_failing(read_some, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rule_that_layouts_imply_adds_nothing),
      cmocka_unit_test(a_set_without_checks_reads_no_parallel_operators),
      cmocka_unit_test(algebra_enters_without_its_parallel_operators),
      cmocka_unit_test(parallel_operators_around_a_known_rule_add_nothing),
      cmocka_unit_test(printing_keeps_parallel_operators),
      cmocka_unit_test(every_mistake_has_its_message),
      cmocka_unit_test(layouts_that_do_not_fit_are_explained),
      cmocka_unit_test(lets_and_names_of_patterns_carry_layouts),
      cmocka_unit_test(several_results_are_claimed_together),
      cmocka_unit_test(unitys_rules_add_nothing_that_stands_nowhere_else),
      cmocka_unit_test(reading_survives_every_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
