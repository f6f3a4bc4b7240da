// Reading, checking and printing rule files.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rules.h"

#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_ast.h"
#include "tests/testing.h"

static egraph_status parse(eg_rules *rules, const char *text) {
  return eg_rules_parse(rules, "t.rules", text, strlen(text));
}

static eg_rules *rules_of(const char *text) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(parse(rules, text));
  return rules;
}

#define HEAD "(egraph-rules 1)\n"
#define ALL_FEATURES                                                                     \
  HEAD "(rule matmul-assoc (source \"a \\\"quoted\\\" source\")\n"                       \
       " (lhs (matmul ?x (matmul ?y ?z))) (rhs (matmul (matmul ?x ?y) ?z)) both-ways)\n" \
       "(rule share (rhs (part :index 0 ?s) (part :index 1 ?s))\n"                       \
       " (lhs (matmul ?x ?y) (matmul ?x ?z)) (source \"s\")\n"                           \
       " (let ?a (- (rank ?y) 1))\n"                                                     \
       " (let ?s (split :axis ?a :sizes [(dim ?y ?a) (dim ?z ?a)]\n"                     \
       "   (matmul ?x (concat :axis ?a ?y ?z))))\n"                                      \
       " (when (!= ?y ?z) (not (= (rank ?y) 1)) (= (dtype ?x) float32)))\n"              \
       "(rule attrs (source \"s\")\n"                                                    \
       " (lhs (as ?c (conv :strides [1 1] :pads ?p :dilations _ :act none ?x ?w)))\n"    \
       " (rhs (relu ?c)) (when (same-shape ?c ?x) (= ?p [0 0 0 0])))\n"                  \
       "(rule computed (source \"s\")\n"                                                 \
       " (lhs (transpose :perm (perm-swap 2 0 1) ?x)) (rhs ?x))\n"                       \
       "(test works (given (?x \"float32[2,3]\") (?w weight \"float32[2]\" 1.5))\n"      \
       " (rules share) (iterations 2) (term (relu ?x)) (equals (relu ?x)) (differs "     \
       "?x))\n"

static void printing_is_canonical_and_reads_back(void **state) {
  (void)state;
  eg_rules *rules = rules_of(ALL_FEATURES);
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  assert_ok(eg_rules_print(rules, &first));
  eg_rules *again = rules_of(eg_text_of(&first));
  assert_ok(eg_rules_print(again, &second));
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  assert_string_equal(
      eg_text_of(&first),
      "(egraph-rules 1)\n\n"
      "(rule matmul-assoc\n  (source \"a \\\"quoted\\\" source\")\n"
      "  (lhs (matmul ?x (matmul ?y ?z)))\n  (rhs (matmul (matmul ?x ?y) ?z))\n"
      "  both-ways)\n\n"
      "(rule share\n  (source \"s\")\n  (lhs (matmul ?x ?y) (matmul ?x ?z))\n"
      "  (let ?a (- (rank ?y) 1))\n"
      "  (let ?s (split :axis ?a :sizes (list (dim ?y ?a) (dim ?z ?a)) (matmul ?x "
      "(concat :axis ?a ?y ?z))))\n"
      "  (rhs (part :index 0 ?s) (part :index 1 ?s))\n"
      "  (when (!= ?y ?z) (not (= (rank ?y) 1)) (= (dtype ?x) float32)))\n\n"
      "(rule attrs\n  (source \"s\")\n"
      "  (lhs (as ?c (conv :strides [1 1] :pads ?p :dilations _ ?x ?w)))\n"
      "  (rhs (relu ?c))\n"
      "  (when (same-shape ?c ?x) (= ?p (list 0 0 0 0))))\n\n"
      "(rule computed\n  (source \"s\")\n"
      "  (lhs (transpose :perm (perm-swap 2 0 1) ?x))\n  (rhs ?x))\n\n"
      "(test works\n"
      "  (given (?x \"float32[2,3]\") (?w weight \"float32[2]\" 1.5))\n"
      "  (rules share)\n  (iterations 2)\n  (term (relu ?x))\n  (equals (relu ?x))\n"
      "  (differs ?x))\n");
  eg_text_deinit(&first);
  eg_text_deinit(&second);
  eg_rules_destroy(rules);
  eg_rules_destroy(again);
}

static void both_ways_counts_as_two_rules(void **state) {
  (void)state;
  eg_rules *rules = rules_of(ALL_FEATURES);
  uint32_t rule;
  assert_int_equal(eg_rules_count(rules), 5);
  assert_true(eg_rules_find(rules, "matmul-assoc-reversed", &rule));
  assert_int_equal(rule, 1);
  assert_string_equal(eg_rule_file(rules, rule), "t.rules");
  assert_int_equal(eg_rule_line(rules, rule), 2);
  assert_false(eg_rules_find(rules, "reversed", &rule));
  eg_rules_destroy(rules);
}

static void rules_are_switched_by_name_direction_or_file(void **state) {
  (void)state;
  eg_rules *rules = rules_of(ALL_FEATURES);
  assert_ok(eg_rules_enable(rules, "matmul-assoc-reversed", false));
  assert_true(eg_rules_at(rules, 0)->enabled);
  assert_false(eg_rules_at(rules, 1)->enabled);
  assert_ok(eg_rules_enable(rules, "matmul-assoc", false));
  assert_false(eg_rules_at(rules, 0)->enabled);
  assert_true(eg_rules_at(rules, 2)->enabled);
  assert_ok(eg_rules_enable(rules, "t", false));
  assert_false(eg_rules_at(rules, 4)->enabled);
  assert_ok(eg_rules_enable(rules, "t", true));
  assert_true(eg_rules_at(rules, 1)->enabled);
  assert_fails(eg_rules_enable(rules, "matmul-asoc", true), EGRAPH_E_ARGUMENT,
               "no rule and no rule file is called 'matmul-asoc'; did you mean "
               "'matmul-assoc'?");
  eg_rules_destroy(rules);
}

// ---- messages -------------------------------------------------------------------

typedef struct bad {
  const char *text, *message;
} bad;

#define RULE(lhs, rhs, rest)                                                             \
  HEAD "(rule r (source \"s\") (lhs " lhs ") (rhs " rhs ") " rest ")"

static const bad bad_files[] = {
    {"", "t.rules:1:1: a rule file begins with (egraph-rules 1); put that first"},
    {"(rule r)", "t.rules:1:1: a rule file begins with (egraph-rules 1); put that first"},
    {"(egraph-rules 2)",
     "t.rules:1:1: this version of rule files is unknown; only (egraph-rules 1) is"},
    {"(egraph-rules 1 symbolic)",
     "t.rules:1:1: these are rules over plain symbols, not over tensor operators"},
    {HEAD "(rul r)",
     "t.rules:2:1: unknown form; write (rule name ...), (test name ...) or (for $name"},
    {HEAD "(rule \"r\")",
     "t.rules:2:7: a rule wants a name of small letters, digits and '-' after (rule"},
    {HEAD "(rule)",
     "t.rules:2:1: a rule wants a name of small letters, digits and '-' after (rule"},
    {HEAD "(rule Big)",
     "t.rules:2:7: a rule wants a name of small letters, digits and '-' after (rule"},
    {HEAD "(rule r (lhs (relu ?x)) (rhs ?x))",
     "t.rules:2:1: rule r does not say where it comes from; write (source \"...\")"},
    {HEAD "(rule r (source \"s\") (rhs ?x))",
     "t.rules:2:1: rule r has no left side; write (lhs pattern ...)"},
    {HEAD "(rule r (source \"s\") (lhs (relu ?x)))",
     "t.rules:2:1: rule r has no right side; write (rhs term ...)"},
    {HEAD "(rule r (source \"s\") (lhs) (rhs ?x))",
     "t.rules:2:22: (lhs) is empty; write what belongs there"},
    {RULE("(relu ?x)", "?x", "(lhs ?x)"),
     "t.rules:2:47: (lhs ...) is given twice; remove one"},
    {RULE("(relu ?x)", "?x", "(wen ?x)"),
     "t.rules:2:47: unknown clause 'wen'; did you mean 'when'?"},
    {RULE("(relu ?x)", "?x", "bothways"),
     "t.rules:2:47: unknown clause 'bothways'; did you mean 'both-ways'?"},
    {RULE("(relu ?x)", "?x", "(frobnicate)"),
     "t.rules:2:47: unknown clause 'frobnicate'; a rule has source, class, operators, "
     "least, lhs, let, rhs, when, both-ways"},
    {RULE("(relu ?x) (neg ?y)", "?x", ""),
     "t.rules:2:47: rule r has 2 left sides but 1 right side; they are united in pairs"},
    {RULE("?x", "?x", ""), "t.rules:2:27: a left side that is a bare variable matches "
                           "everything; write an operator"},
    {RULE("(relu ?x)", "?y", ""),
     "t.rules:2:43: ?y is not bound; bind it on the left side or by (let ?y ...)"},
    {RULE("(rleu ?x)", "?x", ""),
     "t.rules:2:28: unknown operator 'rleu'; did you mean 'relu'?"},
    {RULE("(wombat-squeezer ?x)", "?x", ""),
     "t.rules:2:28: unknown operator 'wombat-squeezer'; egraph rules --operators lists "
     "them"},
    {RULE("(weight :name \"w\")", "?x", ""),
     "t.rules:2:28: 'weight' cannot stand in a rule; use a class variable"},
    {RULE("(softmax :axs 1 ?x)", "?x", ""),
     "t.rules:2:36: softmax has no attribute 'axs'; did you mean ':axis'?"},
    {RULE("(relu :axis 1 ?x)", "?x", ""),
     "t.rules:2:33: relu has no attribute 'axis'; it has none at all"},
    {RULE("(softmax :axis 1 :axis 2 ?x)", "?x", ""),
     "t.rules:2:44: :axis is given twice; remove one"},
    {RULE("(softmax ?x :axis)", "?x", ""),
     "t.rules:2:39: :axis has no value; write one after it"},
    {RULE("(transpose ?x)", "?x", ""),
     "t.rules:2:27: transpose needs :perm (a value, a ?variable, or _)"},
    {RULE("(relu ?x)", "(transpose ?x)", ""),
     "t.rules:2:43: transpose needs :perm (a value, a ?variable, or an expression)"},
    {RULE("(relu ?x)", "(transpose :perm _ ?x)", ""),
     "t.rules:2:60: '_' matches anything and so has no value on this side; write a "
     "value"},
    {RULE("(softmax :axis one ?x)", "?x", ""),
     "t.rules:2:42: softmax: attribute axis wants a value of the form: integer; got "
     "'one'"},
    {RULE("(matmul :act rleu ?x ?y)", "?x", ""),
     "t.rules:2:40: matmul: attribute act is one of:"},
    {RULE("(transpose :perm 1 ?x)", "?x", ""),
     "t.rules:2:44: transpose: attribute perm wants a value of the form:"},
    {RULE("(relu ?x ?y)", "?x", ""), "t.rules:2:27: relu takes 1 operand, not 2"},
    {RULE("(conv :strides _ :pads _ :dilations _ ?x)", "?x", ""),
     "t.rules:2:27: conv takes 2 to 4 operands, not 1"},
    {RULE("(softmax :axis ?x ?x)", "?x", ""),
     "t.rules:2:45: ?x is an integer, but an operand is a tensor; use another name"},
    {RULE("(add ?x (softmax :axis ?x ?y))", "?x", ""),
     "t.rules:2:50: this is a tensor where :axis of softmax is an integer"},
    {RULE("(transpose :perm ?p (softmax :axis ?p ?x))", "?x", ""),
     "t.rules:2:62: this is a list of integers where :axis of softmax is an integer"},
    {RULE("(relu ?x)", "(as ?y (relu ?x))", ""),
     "t.rules:2:43: (as ...) names what a pattern matched; on this side use (let ?v "
     "...)"},
    {RULE("(add ?x (as ?x (relu ?y)))", "?x", ""),
     "t.rules:2:39: ?x is already bound; use another name"},
    {RULE("(add (as ?c (relu ?c)) ?y)", "?y", ""),
     "t.rules:2:36: ?c occurs inside what it names"},
    {RULE("(relu 3)", "?x", ""), "t.rules:2:33: a term is wanted: a ?variable or "
                                 "(operator :attribute value ... operand ...)"},
    {RULE("(einsum :equation \"ij,klmnopqrstuvw->ij\" ?x ?y)", "?x", ""),
     "t.rules:2:45: term 1 of the equation, counted from 0, names 13 dimensions; a "
     "tensor "
     "has at most 12"},
    {RULE("(relu ?x)", "?x", "(when (same-shap ?x ?x))"),
     "t.rules:2:54: unknown function 'same-shap'; did you mean 'same-shape'?"},
    {RULE("(relu ?x)", "?x", "(when (rank ?x))"),
     "t.rules:2:53: this is an integer where a condition is wanted"},
    {RULE("(relu ?x)", "?x", "(when (= (rank ?x) (shape ?x)))"),
     "t.rules:2:66: this is a list of integers where an integer is wanted"},
    {RULE("(relu ?x)", "?x", "(when (odd ?x))"),
     "t.rules:2:58: this is a tensor where an integer is wanted"},
    {RULE("(relu ?x)", "?x", "(when (odd))"),
     "t.rules:2:53: odd takes 1 argument, not 0"},
    {RULE("(relu ?x)", "?x", "(when (- 1 2 3))"),
     "t.rules:2:53: - takes 1 to 2 arguments, not 3"},
    {RULE("(relu ?x)", "?x", "(when (and))"),
     "t.rules:2:53: and takes at least 1 arguments, not 0"},
    {RULE("(relu ?x)", "?x", "(when (odd ?q))"),
     "t.rules:2:58: ?q is not bound; bind it on the left side or by (let ?q ...)"},
    {RULE("(relu ?x)", "?x", "(let ?s (neg ?x)) (when (= (rank ?s) 2))"),
     "t.rules:2:80: ?s names a term that is not built yet; expressions may use only what "
     "the left side binds, and values"},
    {RULE("(relu ?x)", "?x", "(let ?x (neg ?x))"),
     "t.rules:2:52: ?x is already bound; use another name"},
    {RULE("(relu ?x)", "?x", "(let x (neg ?x))"),
     "t.rules:2:47: malformed; write (let ?name term-or-expression)"},
    {RULE("(relu (neg ?x))", "?x", "both-ways"),
     "t.rules:2:53: the rule does not work both ways; remove both-ways, or mend the "
     "reversed rule: t.rules:2:49: a left side that is a bare variable matches "
     "everything; write an operator"},
    {RULE("(add ?x ?y)", "(relu ?x)", "both-ways"),
     "t.rules:2:56: the rule does not work both ways; remove both-ways, or mend the "
     "reversed rule: t.rules:2:35: ?y is not bound; bind it on the left side or by (let "
     "?y ...)"},
    {RULE("(relu ?x)", "(neg ?x)", "both-ways (let ?n 1)"),
     "t.rules:2:63: a both-ways rule cannot have lets; write two rules"},
    {RULE("(add ?x ?y)", "(add ?y ?x)", "both-ways"),
     "t.rules:2:1: rule r is its own reverse; remove both-ways"},
    {RULE("(relu ?x)", "?x", "") "\n(rule r (source \"s\") (lhs (neg ?x)) (rhs ?x))",
     "t.rules:3:1: a rule named r already stands at t.rules:2; use another name"},
    {RULE("(relu ?x)", "?x", "") "\n(rule q (source \"s\") (lhs (relu ?y)) (rhs ?y))",
     "t.rules:3:1: rule q is rule r (t.rules:2) with other variable names; remove one"},
    {RULE("(relu ?x)", "(neg ?x)",
          "both-ways") "\n(rule q (source \"s\") (lhs (neg ?y)) (rhs (relu ?y)))",
     "t.rules:3:1: rule q is rule r-reversed (t.rules:2) with other variable names; "
     "remove one"},
    {HEAD "(rule r", "t.rules:2:1:"},
    {HEAD "(test t (given (?x \"float32[2]\")) (term ?x))",
     "t.rules:2:1: test t claims nothing; write (equals term) or (differs term)"},
    {HEAD "(test t (given (?x \"flot32[2]\")) (term ?x))", "t.rules:2:20"},
    {HEAD "(test t (given (?x)) (term ?x))",
     "t.rules:2:16: malformed; write (?name \"float32[2,3]\")"},
    {HEAD "(test t (given (?x \"float32[2]\" 1.0)) (term ?x))",
     "t.rules:2:33: only one number may follow the type, and only of a weight"},
    {HEAD "(test t (given (?x \"float32[2]\") (?x \"float32[2]\")) (term ?x))",
     "t.rules:2:34: ?x is given twice; remove one"},
    {HEAD "(test t (term ?x))", "t.rules:2:15: ?x is not bound"},
    {HEAD "(test t (given (?x \"float32[2]\")) (equals ?x))",
     "t.rules:2:35: (term ...) before this has 0 terms, but here are 1; they are "
     "compared in pairs"},
    {HEAD "(test t (iterations 0))",
     "t.rules:2:9: malformed; write (iterations N) with N from 1 to 1000"},
    {HEAD "(test t (wat))", "t.rules:2:9: unknown clause; a test has given, rules, "
                            "iterations, term, equals, differs"},
};

static void every_mistake_has_its_message_and_adds_nothing(void **state) {
  (void)state;
  eg_rules *rules =
      rules_of(HEAD "(rule old (source \"s\") (lhs (exp ?x)) (rhs (exp ?x)))");
  for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
    assert_fails(parse(rules, bad_files[i].text), EGRAPH_E_PARSE, bad_files[i].message);
    assert_int_equal(eg_rules_count(rules), 1);
    assert_int_equal(eg_rules_test_count(rules), 0);
  }
  assert_ok(parse(rules, ALL_FEATURES)); // nothing of the failures is in the way
  eg_rules_destroy(rules);
}

static void deep_nesting_is_refused(void **state) {
  (void)state;
  char text[4096] = HEAD "(rule r (source \"s\") (lhs ";
  for (int i = 0; i < 300; i++)
    strcat(text, "(relu ");
  strcat(text, "?x");
  for (int i = 0; i < 300; i++)
    strcat(text, ")");
  strcat(text, ") (rhs ?x))");
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_fails(parse(rules, text), EGRAPH_E_PARSE, "nested deeper");
  eg_rules_destroy(rules);
}

static void a_missing_file_is_an_io_error(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_fails(eg_rules_load(rules, "/nonexistent/x.rules"), EGRAPH_E_IO,
               "/nonexistent/x.rules");
  eg_rules_destroy(rules);
}

static egraph_status parse_body(egraph_allocator alloc, void *user) {
  (void)user;
  eg_rules *rules;
  EG_TRY(eg_rules_create_checked(&alloc, &rules));
  egraph_status status = parse(rules, ALL_FEATURES);
  eg_text text;
  eg_text_init(&text, alloc);
  if (status == EGRAPH_OK) status = eg_rules_print(rules, &text);
  eg_text_deinit(&text);
  eg_rules_destroy(rules);
  return status;
}

static void reading_survives_every_allocation_failing(void **state) {
  (void)state;
  test_every_allocation_failing(parse_body, NULL);
}

// ---- the files that are shipped -------------------------------------------------

static void the_builtin_rules_load_and_read_back(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  assert_true(eg_rules_count(rules) > 0);
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  assert_ok(eg_rules_print(rules, &first));
  eg_rules *again = rules_of(eg_text_of(&first));
  assert_ok(eg_rules_print(again, &second));
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  assert_int_equal(eg_rules_count(rules), eg_rules_count(again));
  eg_text_deinit(&first);
  eg_text_deinit(&second);
  eg_rules_destroy(rules);
  eg_rules_destroy(again);
}

static void the_tests_in_the_builtin_rule_files_pass(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  eg_text failures;
  eg_text_init(&failures, eg_allocator_heap());
  eg_rule_test_summary summary;
  assert_ok(eg_rules_run_tests(rules, 0, NULL, &failures, &summary));
  assert_string_equal(eg_text_of(&failures), "");
  assert_true(summary.run > 0);
  assert_int_equal(summary.failed, 0);
  eg_text_deinit(&failures);
  eg_rules_destroy(rules);
}

// ---- rules that are shipped -----------------------------------------------------------

#define ASSOCIATIVE(name, more)                                                          \
  "(egraph-rules 1)\n(rule " name " (source \"s\") (lhs (add (add ?a ?b) ?c)) "          \
  "(rhs (add ?a (add ?b ?c))))\n" more

static egraph_status add_text(eg_rules *rules, const char *text) {
  return eg_rules_parse(rules, "t.rules", text, strlen(text));
}

static void shipped_rules_may_be_repeated(void **state) {
  (void)state;
  eg_rules *rules;
  uint32_t shipped;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  assert_true(eg_rules_find(rules, "add-assoc", &shipped));
  assert_false(eg_rules_at(rules, shipped)->enabled);
  uint32_t count = eg_rules_count(rules), implied = eg_rules_implied_count(rules);
  // A file that fails leaves all as it was.
  assert_fails(add_text(rules, ASSOCIATIVE("mine", "(rule")), EGRAPH_E_PARSE, "t.rules");
  assert_fails(add_text(rules, ASSOCIATIVE("mine", "(fool)")), EGRAPH_E_PARSE, "unknown");
  assert_false(eg_rules_at(rules, shipped)->enabled);
  assert_int_equal(eg_rules_implied_count(rules), implied);
  assert_ok(add_text(rules, ASSOCIATIVE("mine", "")));
  assert_true(eg_rules_at(rules, shipped)->enabled);
  assert_int_equal(eg_rules_count(rules), count);
  assert_int_equal(eg_rules_implied_count(rules), implied + 1);
  const eg_rule *told = eg_rules_implied_at(rules, implied);
  assert_string_equal(told->name, "mine");
  assert_string_equal(told->known_as, "add-assoc");
  // Under its own name, and once more: nothing to tell.
  assert_ok(add_text(rules, ASSOCIATIVE("add-assoc", "")));
  assert_ok(add_text(rules, ASSOCIATIVE("again", "")));
  assert_int_equal(eg_rules_implied_count(rules), implied + 1);
  // A name that is taken by another rule is an error all the same.
  assert_fails(add_text(rules, "(egraph-rules 1)\n(rule add-assoc (source \"s\") "
                               "(lhs (abs (abs (abs ?x)))) (rhs (abs ?x)))"),
               EGRAPH_E_PARSE, "a rule named add-assoc already stands");
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(printing_is_canonical_and_reads_back),
      cmocka_unit_test(both_ways_counts_as_two_rules),
      cmocka_unit_test(rules_are_switched_by_name_direction_or_file),
      cmocka_unit_test(every_mistake_has_its_message_and_adds_nothing),
      cmocka_unit_test(deep_nesting_is_refused),
      cmocka_unit_test(a_missing_file_is_an_io_error),
      cmocka_unit_test(reading_survives_every_allocation_failing),
      cmocka_unit_test(the_builtin_rules_load_and_read_back),
      cmocka_unit_test(the_tests_in_the_builtin_rule_files_pass),
      cmocka_unit_test(shipped_rules_may_be_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
