// Rules with operators and numbers of operands as parameters: what cases they have, what
// these match, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/language/rules.h"
#include "tests/testing.h"

#define HEADER "(egraph-rules 1)\n"
#define POINTWISE                                                                        \
  "(rule past (source \"s\") (class exact) (operators ?f pointwise (without prelu))"     \
  " (lhs (?f (each (transpose :perm ?p ?x...)))) (rhs (transpose :perm ?p (?f ?x...)))"  \
  " (when (each (= (rank ?x...) (rank ?x.1)))))\n"
#define SHARE                                                                            \
  "(rule share (source \"s\") (class exact)"                                             \
  " (lhs (each (as ?m... (matmul ?x ?w...))))"                                           \
  " (let ?z (split :axis 1 :sizes [(each (dim ?m... 1))]"                                \
  "   (matmul ?x (concat :axis 1 ?w...))))"                                              \
  " (rhs (each (part :index (index ?m...) ?z)))"                                         \
  " (when (each (= (rank ?w...) 2)) (= (rank ?x) 2) (each (weight-only ?w...))"          \
  "   (each (not (is-concat ?w...)))))\n"
#define FLAT                                                                             \
  "(rule flat (source \"s\") (class exact) (least 2 ?y...)"                              \
  " (lhs (concat :axis ?a ?x... (concat :axis ?a ?y...) ?z...))"                         \
  " (rhs (concat :axis ?a ?x... ?y... ?z...)))\n"

static eg_rules *read_rules(const char *text) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "t.rules", text, strlen(text)));
  return rules;
}

static void cases_are_rules(void **state) {
  (void)state;
  static const struct {
    const char *rule, *name, *expected;
  } cases[] = {
      {POINTWISE, "past:relu:1",
       "(lhs (relu (transpose :perm ?p ?x.1)))\n"
       "  (rhs (transpose :perm ?p (relu ?x.1))))\n"},
      {POINTWISE, "past:leaky-relu:1",
       "(lhs (leaky-relu :alpha ?f.alpha (transpose :perm ?p ?x.1)))\n"
       "  (rhs (transpose :perm ?p (leaky-relu :alpha ?f.alpha ?x.1))))\n"},
      {POINTWISE, "past:sub:2",
       "(lhs (sub (transpose :perm ?p ?x.1) (transpose :perm ?p ?x.2)))\n"
       "  (rhs (transpose :perm ?p (sub ?x.1 ?x.2)))\n"
       "  (when (= (rank ?x.2) (rank ?x.1))))\n"},
      {FLAT, "flat:1:2:0",
       "(lhs (concat :axis ?a ?x.1 (concat :axis ?a ?y.1 ?y.2)))\n"
       "  (rhs (concat :axis ?a ?x.1 ?y.1 ?y.2)))\n"},
      {FLAT, "flat:0:2:2",
       "(lhs (concat :axis ?a (concat :axis ?a ?y.1 ?y.2) ?z.1 ?z.2))\n"
       "  (rhs (concat :axis ?a ?y.1 ?y.2 ?z.1 ?z.2)))\n"},
      {SHARE, "share:2",
       "(lhs (as ?m.1 (matmul ?x ?w.1)) (as ?m.2 (matmul ?x ?w.2)))\n"
       "  (let ?z (split :axis 1 :sizes (list (dim ?m.1 1) (dim ?m.2 1)) (matmul ?x "
       "(concat "
       ":axis 1 ?w.1 ?w.2))))\n"
       "  (rhs (part :index 0 ?z) (part :index 1 ?z))\n"
       "  (when (= (rank ?w.1) 2) (= (rank ?w.2) 2) (= (rank ?x) 2) (weight-only ?w.1) "
       "(weight-only ?w.2) (not (is-concat ?w.1)) (not (is-concat ?w.2))))\n"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2048];
    (void)snprintf(text, sizeof text, HEADER "%s", cases[i].rule);
    eg_rules *rules = read_rules(text);
    eg_rule_cases *list;
    const eg_rule *rule, *again;
    uint32_t number;
    eg_text out;
    assert_ok(eg_rule_cases_create(eg_allocator_heap(), rules, &list));
    assert_ok(eg_rule_cases_find(list, cases[i].name, &number, &rule));
    assert_non_null(rule);
    assert_string_equal(rule->name, cases[i].name);
    assert_ok(eg_rule_cases_get(list, number, rule->values, &again));
    assert_ptr_equal(rule, again);
    eg_text_init(&out, eg_allocator_heap());
    assert_ok(eg_rule_print(&out, rule));
    assert_non_null(strstr(eg_text_of(&out), cases[i].expected));
    eg_text_deinit(&out);
    eg_rule_cases_destroy(list);
    eg_rules_destroy(rules);
  }
}

static void what_is_no_case_is_not_found(void **state) {
  (void)state;
  static const char *const names[] = {"past",
                                      "past:",
                                      "past:relu",
                                      "past:relu:2",
                                      "past:prelu:2",
                                      "past:relu:1:",
                                      "past:relu:1:1",
                                      "past:1:relu",
                                      "past:relu:+1",
                                      "past:relu:1000",
                                      "share:0",
                                      "share:65",
                                      "share:-1",
                                      "flat:1:1:0",
                                      "flat:1:2",
                                      "nothing:1",
                                      "",
                                      ":"};
  eg_rules *rules = read_rules(HEADER POINTWISE SHARE FLAT);
  eg_rule_cases *list;
  assert_ok(eg_rule_cases_create(eg_allocator_heap(), rules, &list));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    uint32_t number;
    const eg_rule *rule;
    assert_ok(eg_rule_cases_find(list, names[i], &number, &rule));
    assert_null(rule);
  }
  eg_rule_cases_destroy(list);
  eg_rules_destroy(rules);
}

/// Rules with parameters are printed as they were read.
static void printing_and_reading_agree(void **state) {
  (void)state;
  eg_rules *rules = read_rules(HEADER POINTWISE SHARE FLAT);
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  assert_ok(eg_rules_print(rules, &first));
  eg_rules *again = read_rules(eg_text_of(&first));
  assert_ok(eg_rules_print(again, &second));
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  assert_int_equal(eg_rules_count(again), 3);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
  eg_rules_destroy(rules);
  eg_rules_destroy(again);
}

static void expect_tests(const char *text) {
  eg_rules *rules = read_rules(text);
  eg_text failures;
  eg_rule_test_summary summary;
  egraph_allocator heap = eg_allocator_heap();
  eg_text_init(&failures, heap);
  assert_ok(eg_rules_run_tests(rules, 0, &heap, &failures, &summary));
  assert_string_equal(eg_text_of(&failures), "");
  assert_true(summary.run > 0 && summary.failed == 0);
  eg_text_deinit(&failures);
  eg_rules_destroy(rules);
}

static void operators_of_any_arity_match(void **state) {
  (void)state;
  expect_tests(
      HEADER POINTWISE
      "(test t (given (?c \"bool[2,3]\") (?x \"float32[2,3]\") (?y \"float32[2,3]\"))\n"
      "  (term (where (transpose :perm [1 0] ?c)\n"
      "          (clip :min 0.25 (transpose :perm [1 0] ?x)) (transpose :perm [1 0] "
      "?y)))\n"
      "  (equals (transpose :perm [1 0] (where ?c (clip :min 0.25 ?x) ?y)))\n"
      "  (differs (transpose :perm [1 0] (where ?c ?x ?y))))\n");
}

/// All that share an operand are joined, and every pair of them.
static void left_sides_are_joined(void **state) {
  (void)state;
  expect_tests(HEADER SHARE
               "(test t (given (?x \"float32[5,8]\") (?y \"float32[5,8]\") (?q weight "
               "\"float32[8,1]\")\n"
               "         (?k weight \"float32[8,2]\") (?v weight \"float32[8,3]\")\n"
               "         (?u weight \"float32[8,4]\"))\n"
               "  (term (matmul ?x ?q) (matmul ?x ?k) (matmul ?x ?v) (matmul ?x ?u) "
               "(matmul ?y ?u))\n"
               "  (equals (part :index 0 (split :axis 1 :sizes [1 2 3 4] (matmul ?x "
               "(concat :axis 1 ?q ?k ?v ?u))))\n"
               "          (part :index 1 (split :axis 1 :sizes [1 2 3 4] (matmul ?x "
               "(concat :axis 1 ?q ?k ?v ?u))))\n"
               "          (part :index 0 (split :axis 1 :sizes [3 4] (matmul ?x (concat "
               ":axis 1 ?v ?u))))\n"
               "          (part :index 1 (split :axis 1 :sizes [1 4] (matmul ?x (concat "
               ":axis 1 ?q ?u))))\n"
               "          (matmul ?y ?u))\n"
               "  (differs (matmul ?y ?q) (matmul ?y ?k) (matmul ?y ?v) (matmul ?y ?u)\n"
               "          (part :index 1 (split :axis 1 :sizes [4 4] (matmul ?y (concat "
               ":axis 1 ?u ?u))))))\n");
}

static void sequences_stand_anywhere(void **state) {
  (void)state;
  expect_tests(
      HEADER FLAT
      "(test t (given (?x \"float32[2]\") (?y \"float32[3]\") (?z \"float32[4]\"))\n"
      "  (term (concat :axis 0 ?x (concat :axis 0 ?y ?z ?x) ?z (concat :axis 0 ?y "
      "(concat "
      ":axis 0 ?x ?x))))\n"
      "  (equals (concat :axis 0 ?x ?y ?z ?x ?z ?y ?x ?x)))\n");
}

static void mistakes_have_their_messages(void **state) {
  (void)state;
#define FORM(parameters, lhs, rhs)                                                       \
  HEADER "(rule r (source \"s\") " parameters " (lhs " lhs ") (rhs " rhs "))"
  static const struct {
    const char *text, *message;
  } cases[] = {
      {FORM("(operators ?f unry)", "(?f ?x)", "?x"), "did you mean 'unary'?"},
      {FORM("(operators ?f)", "(?f ?x)", "?x"), "malformed; write (operators ?f unary)"},
      {FORM("(operators f unary)", "(f ?x)", "?x"), "malformed; write (operators"},
      {FORM("(operators ?f relu (without relu))", "(?f ?x)", "?x"),
       "no operator is left; write fewer after without"},
      {FORM("(operators ?f unary) (operators ?f binary)", "(?f ?x)", "?x"),
       "with a new name"},
      {FORM("(operators ?f unary)", "(relu ?x)", "(?f ?x)"),
       "the left side does not say what ?f is; write it there as an operator"},
      {FORM("(operators ?f unary)", "(relu ?f)", "(?f ?x)"),
       "?f is an operator; write (?f operand ...)"},
      {FORM("(operators ?f unary)", "(?f ?x ?y)", "?x"), "so many operands"},
      {FORM("", "(relu ?x)", "(concat :axis 0 ?x ?y...)"),
       "the left side does not say what ?y... is; write it there as operands"},
      {FORM("", "(concat :axis 0 (each (relu ?x)))", "?x"),
       "nothing in it says how often; write a sequence, as ?x..."},
      {FORM("", "(concat :axis 0 (each (each ?x...)))", "?x.1"),
       "malformed; write (each form), and none in another one"},
      {FORM("", "(each (relu ?x...)) (neg ?y)", "(each ?x...) ?y"),
       "(each ...) stands alone on both sides"},
      {FORM("(least 0 ?x...)", "(concat :axis 0 ?x...)", "?x.1"),
       "malformed; write (least 2 ?x...)"},
      {FORM("(least 2 ?y...)", "(concat :axis 0 ?x...)", "?x.1"),
       "the left side does not say what ?y... is"},
      {FORM("", "(concat :axis 0 ?a... ?b... ?c... ?d... ?e...)", "?a.1"),
       "at most 4 operator variables and lengths"},
      {FORM("", "(concat :axis ?a ?x...)", "(concat :axis (+ (count ?x...)) ?x...)"),
       "+ takes at least 2 arguments"},
      {FORM("", "(concat :axis 0 ?x...)", "?x.2"), "?x.2 is not bound"},
      {FORM("(operators ?f unary) (operators ?g unary) (operators ?h unary)",
            "(?f (?g (?h ?x)))", "(?f (?g (?h ?x)))"),
       "t.rules:2:1: rule r has more than 2000 choices of operators; split it"},
      {FORM("", "(concat :axis 0 ?x...)", "(partition :dim 0 (concat :axis 0 ?x...))"),
       "parallel operators stand in no rule with parameters"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_rules *rules;
    assert_ok(eg_rules_create_checked(NULL, &rules));
    assert_fails(eg_rules_parse(rules, "t.rules", cases[i].text, strlen(cases[i].text)),
                 EGRAPH_E_PARSE, cases[i].message);
    assert_int_equal(eg_rules_count(rules), 0);
    eg_rules_destroy(rules);
  }
}

/// Rules that were shipped one by one may stand in files of users.
static void a_case_that_is_shipped_is_known(void **state) {
  (void)state;
  static const struct {
    const char *rule, *known_as;
  } cases[] = {
      {"(lhs (gelu :approximate ?a (transpose :perm ?p ?x)))"
       " (rhs (transpose :perm ?p (gelu :approximate ?a ?x)))",
       "transpose-before-pointwise"},
      {"(lhs (relu (conv :strides ?s :pads ?p :dilations ?d :group ?g ?x ?w ?b)))"
       " (rhs (conv :strides ?s :pads ?p :dilations ?d :group ?g :act relu ?x ?w ?b))",
       "conv-relu"},
      {"(lhs (concat :axis ?a ?u (concat :axis ?a ?x ?y ?z)))"
       " (rhs (concat :axis ?a ?u ?x ?y ?z))",
       "concat-of-concat"}};
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  uint32_t count = eg_rules_count(rules), implied = eg_rules_implied_count(rules);
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    (void)snprintf(text, sizeof text, HEADER "(rule mine-%u (source \"s\") %s)", i,
                   cases[i].rule);
    assert_ok(eg_rules_parse(rules, "t.rules", text, strlen(text)));
    assert_int_equal(eg_rules_count(rules), count);
    assert_string_equal(eg_rules_implied_at(rules, implied + i)->known_as,
                        cases[i].known_as);
  }
  eg_rules_destroy(rules);
}

static void note_verdict(void *user, const char *rule, bool accepted,
                         const char *detail) {
  (void)rule;
  (void)accepted;
  eg_text *out = user;
  eg_text_clear(out);
  assert_ok(eg_text_append(out, detail));
}

/// A rule that fails for one operator, or for one number of operands, is refused by it.
static void verification_finds_the_case_that_fails(void **state) {
  (void)state;
  static const struct {
    const char *rule, *found;
  } cases[] = {{"(rule odd (source \"s\") (class exact) (operators ?f erf neg abs relu)"
                " (lhs (?f (neg ?x))) (rhs (neg (?f ?x))) (when (is-float ?x)))",
                "case odd:abs"},
               {"(rule few (source \"s\") (class exact) (least 2 ?x...)"
                " (lhs (concat :axis ?a ?x...)) (rhs (concat :axis ?a ?x.1 ?x.2)))",
                "case few:3: "},
               {"(rule pair (source \"s\") (class fast) (operators ?f neg sin)"
                " (operators ?g neg tanh) (lhs (?f (?g ?x))) (rhs (?g (?f ?x)))"
                " (when (is-float ?x)))",
                "case pair:sin:tanh: "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    (void)snprintf(text, sizeof text, HEADER "%s", cases[i].rule);
    for (uint64_t seed = 1; seed <= 3; seed++) {
      eg_rules *rules = read_rules(text);
      eg_text detail;
      uint32_t rejected;
      const eg_verify_options options = {.seed = seed, .instances = EG_VERIFY_INSTANCES};
      eg_text_init(&detail, eg_allocator_heap());
      assert_ok(eg_rules_verify(rules, &options, note_verdict, &detail, &rejected));
      assert_int_equal(rejected, 1);
      assert_non_null(strstr(eg_text_of(&detail), cases[i].found));
      eg_text_deinit(&detail);
      eg_rules_destroy(rules);
    }
  }
}

static egraph_status read_with(egraph_allocator alloc, void *user) {
  (void)user;
  static const char text[] = HEADER POINTWISE SHARE FLAT;
  eg_rules *rules;
  eg_rule_cases *list = NULL;
  uint32_t number;
  const eg_rule *rule;
  EG_TRY(eg_rules_create_checked(&alloc, &rules));
  egraph_status status = eg_rules_parse(rules, "t.rules", text, strlen(text));
  if (status == EGRAPH_OK) status = eg_rule_cases_create(alloc, rules, &list);
  if (status == EGRAPH_OK) status = eg_rule_cases_find(list, "share:3", &number, &rule);
  eg_rule_cases_destroy(list);
  eg_rules_destroy(rules);
  return status;
}

static void failing_allocations_lose_nothing(void **state) {
  (void)state;
  test_every_allocation_failing(read_with, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cases_are_rules),
      cmocka_unit_test(what_is_no_case_is_not_found),
      cmocka_unit_test(printing_and_reading_agree),
      cmocka_unit_test(operators_of_any_arity_match),
      cmocka_unit_test(left_sides_are_joined),
      cmocka_unit_test(sequences_stand_anywhere),
      cmocka_unit_test(mistakes_have_their_messages),
      cmocka_unit_test(a_case_that_is_shipped_is_known),
      cmocka_unit_test(verification_finds_the_case_that_fails),
      cmocka_unit_test(failing_allocations_lose_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
