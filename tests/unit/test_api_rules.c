// Public functions of rewrite rules and plain expressions.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/api_kit.h"

static egraph_rules *fusion_rules(api_kit *kit) {
  egraph_rules *rules;
  assert_ok(egraph_rules_create(&kit->alloc, &rules));
  assert_ok(egraph_rules_add_text(rules, "mine.rules", api_fusion_rules));
  return rules;
}

static void rules_say_what_they_are(void **state) {
  egraph_rules *rules = fusion_rules(*state);
  assert_int_equal(egraph_rules_count(rules), 1);
  egraph_rule_info info = egraph_rules_at(rules, 0);
  assert_string_equal(info.name, "fuse");
  assert_string_equal(info.source, "test");
  assert_string_equal(info.file, "mine.rules");
  assert_int_equal(info.line, 2);
  egraph_rules_destroy(rules);
  egraph_rules_destroy(NULL);
}

static void the_shipped_rules_are_there_and_print_as_they_parse(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules, *again;
  char *text, *second;
  assert_ok(egraph_rules_create(&kit->alloc, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  assert_true(egraph_rules_count(rules) >= 100);
  assert_ok(egraph_rules_text(&kit->alloc, rules, &text));
  assert_ok(egraph_rules_create(&kit->alloc, &again));
  egraph_rules_trust(again, true); // the tests name rule files
  assert_ok(egraph_rules_add_text(again, "printed", text));
  assert_int_equal(egraph_rules_count(again), egraph_rules_count(rules));
  assert_ok(egraph_rules_text(&kit->alloc, again, &second));
  assert_string_equal(text, second);
  egraph_string_free(&kit->alloc, text);
  egraph_string_free(&kit->alloc, second);
  egraph_rules_destroy(again);
  egraph_rules_destroy(rules);
}

static void a_mistake_adds_nothing_of_its_file(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules = fusion_rules(kit);
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"", "mine2.rules"},
      {"(egraph-rules 2)\n", "mine2.rules:1:"},
      {"(egraph-rules 1)\n(rule good (source \"s\") (lhs (relu (relu ?x))) (rhs (relu "
       "?x)))\n(rule bad (source \"s\") (lhs (rellu ?x)) (rhs ?x))\n",
       "mine2.rules:3:"},
      {"(egraph-rules 1)\n(rule unbound (source \"s\") (lhs (relu ?x)) (rhs ?y))\n",
       "?y"},
      {"(egraph-rules 1)\n(rule fuse (source \"s\") (lhs (neg (neg ?x))) (rhs ?x))\n",
       "fuse"},
      {"(egraph-rules 1)\n(rule a (source \"s\") (lhs (neg (neg ?x)))\n", "mine2.rules:"},
      {"(egraph-rules 1)\n(rule a (lhs (neg (neg ?x))) (rhs ?x))\n", "source"},
      {"(egraph-rules 1)\n(rule a (source \"s\") (lhs (softmax :axes ?a ?x)) (rhs ?x))\n",
       "axes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_fails(egraph_rules_add_text(rules, "mine2.rules", cases[i].text),
                 EGRAPH_E_PARSE, cases[i].part);
    assert_int_equal(egraph_rules_count(rules), 1);
  }
  egraph_rules_destroy(rules);
}

static void rule_files_are_read(void **state) {
  api_kit *kit = *state;
  egraph_rules *rules;
  assert_ok(egraph_rules_create(&kit->alloc, &rules));
  assert_fails(egraph_rules_add_file(rules, "absent.rules"), EGRAPH_E_IO, "absent.rules");
  assert_fails(egraph_rules_add_file(rules, "."), EGRAPH_E_IO, ".");
  (void)snprintf(kit->path, sizeof kit->path, "test_api.rules");
  api_write_file(kit->path, api_fusion_rules, strlen(api_fusion_rules));
  assert_ok(egraph_rules_add_file(rules, kit->path));
  assert_int_equal(egraph_rules_count(rules), 1);
  egraph_rules_destroy(rules);
}

static void rules_and_files_are_switched_by_name(void **state) {
  egraph_rules *rules = fusion_rules(*state);
  assert_ok(egraph_rules_enable(rules, "fuse", false));
  assert_ok(egraph_rules_enable(rules, "mine", true));
  assert_fails(egraph_rules_enable(rules, "fusion", false), EGRAPH_E_ARGUMENT, "fusion");
  egraph_rules_destroy(rules);
}

typedef struct verdicts {
  uint32_t accepted, rejected;
  char detail[256];
} verdicts;

static void note_verdict(void *user, const char *rule, bool accepted,
                         const char *detail) {
  verdicts *v = user;
  *(accepted ? &v->accepted : &v->rejected) += 1;
  if (!accepted) (void)snprintf(v->detail, sizeof v->detail, "%s: %s", rule, detail);
}

static const char wrong_rule[] =
    "(egraph-rules 1)\n"
    "(rule wrong (source \"nobody\") (lhs (relu (neg ?x))) (rhs (neg (relu ?x))))\n";

static void a_wrong_rule_is_rejected_with_a_reason(void **state) {
  egraph_rules *rules = fusion_rules(*state);
  uint32_t rejected = 9;
  assert_ok(egraph_rules_verify(rules, 1, NULL, NULL, &rejected));
  assert_int_equal(rejected, 0);
  egraph_rules_trust(rules, true);
  assert_ok(egraph_rules_add_text(rules, "wrong.rules", wrong_rule));
  verdicts v = {.accepted = 0};
  assert_ok(egraph_rules_verify(rules, 1, note_verdict, &v, &rejected));
  assert_int_equal(rejected, 1);
  assert_int_equal(v.accepted, 1);
  assert_int_equal(v.rejected, 1);
  assert_non_null(strstr(v.detail, "wrong"));
  egraph_rules_destroy(rules);
}

static void rules_are_verified_when_they_are_added(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {wrong_rule, "t.rules:2: rule wrong does not hold: result 0, element "},
      {"(egraph-rules 1)\n(rule gone (source \"s\") (lhs (cos (sub ?x ?x)))\n"
       " (rhs (cos (fill :dtype (dtype ?x) :shape (shape ?x) :value 0.0))))\n",
       "t.rules:2: rule gone does not hold: its sides differ as only class fast allows, "
       "but it claims class associative, "},
      {"(egraph-rules 1)\n(rule sum (source \"s\") (class exact)\n"
       " (lhs (cos (add (add ?x ?y) ?z))) (rhs (cos (add ?x (add ?y ?z)))))\n",
       "t.rules:2: rule sum does not hold: its sides differ as only class associative "
       "allows, but it claims class exact, "},
      {"(egraph-rules 1)\n(rule even (source \"s\") (class exact) (lhs (cos (neg ?x)))"
       " (rhs (cos ?x)))\n(test odd (given (?x \"float32[2]\")) (term (cos (neg ?x)))"
       " (equals (neg (cos ?x))))\n",
       "t.rules:3: test odd: "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    egraph_rules *rules = fusion_rules(*state);
    uint32_t count = egraph_rules_count(rules);
    assert_fails(egraph_rules_add_text(rules, "t.rules", cases[i].text), EGRAPH_E_PARSE,
                 cases[i].message);
    assert_int_equal(egraph_rules_count(rules), count);
    egraph_rules_destroy(rules);
  }
}

static void classes_are_named(void **state) {
  (void)state;
  egraph_math math;
  for (int i = EGRAPH_MATH_EXACT; i <= EGRAPH_MATH_FAST; i++) {
    assert_true(egraph_math_find(egraph_math_name((egraph_math)i), &math));
    assert_int_equal(math, i);
  }
  assert_false(egraph_math_find("loose", &math));
  assert_null(egraph_math_name((egraph_math)7));
}

// ---- plain expressions -----------------------------------------------------------

static const char ring[] =
    "(egraph-rules 1 symbolic)\n"
    "(rule commute (source \"ring\") (lhs (* ?a ?b)) (rhs (* ?b ?a)))\n"
    "(rule one (source \"ring\") (lhs (* ?a 1)) (rhs ?a))\n"
    "(rule zero (source \"ring\") (lhs (+ ?a 0)) (rhs ?a))\n";

static void terms_become_as_small_as_the_rules_allow(void **state) {
  api_kit *kit = *state;
  static const struct {
    const char *term, *smallest;
    uint32_t limit;
  } cases[] = {{"(* a 1)", "a", 100},
               {"(* 1 (+ x 0))", "x", 100},
               {"(+ (* 1 (* y 1)) (f 1))", "(+ y (f 1))", 100},
               {"a", "a", 100},
               {"(* a 1)", "(* a 1)", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text;
    assert_ok(egraph_expression_simplify(&kit->alloc, ring, cases[i].term, cases[i].limit,
                                         &text));
    assert_string_equal(text, cases[i].smallest);
    egraph_string_free(&kit->alloc, text);
  }
}

static void growing_rules_end_at_the_node_limit(void **state) {
  api_kit *kit = *state;
  char *text;
  assert_ok(egraph_expression_simplify(
      &kit->alloc,
      "(egraph-rules 1 symbolic)\n(rule grow (source \"s\") (lhs (f ?x)) (rhs (f (g "
      "?x))))\n",
      "(f a)", 500, &text));
  assert_string_equal(text, "(f a)");
  egraph_string_free(&kit->alloc, text);
}

static void mistakes_in_expressions_are_named(void **state) {
  api_kit *kit = *state;
  char *text = NULL;
  static const struct {
    const char *rules, *term, *part;
  } cases[] = {
      {"(egraph-rules 1)\n", "a", "symbolic"},
      {"", "a", "symbolic"},
      {ring, "", "one term"},
      {ring, "a b", "one term"},
      {ring, "(* a", "term:1:"},
      {ring, "(* ?a 1)", "term:1:"},
      {"(egraph-rules 1 symbolic)\n(rule r (source \"s\") (lhs (f ?x)) (rhs ?y))\n", "a",
       "?y"},
      {"(egraph-rules 1 symbolic)\n(test t)\n", "a", "unknown form"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_fails(egraph_expression_simplify(&kit->alloc, cases[i].rules, cases[i].term,
                                            100, &text),
                 EGRAPH_E_PARSE, cases[i].part);
  assert_null(text);
}

static void a_term_may_be_very_deep(void **state) {
  api_kit *kit = *state;
  enum { DEPTH = 20000 };
  char *term = malloc(3 * DEPTH + 2 * DEPTH), *text = NULL;
  size_t n = 0;
  for (int i = 0; i < DEPTH; i++)
    memcpy(term + n, "(f ", 3), n += 3;
  term[n++] = 'a';
  memset(term + n, ')', DEPTH), n += DEPTH;
  term[n] = '\0';
  egraph_status status =
      egraph_expression_simplify(&kit->alloc, ring, term, 100000, &text);
  // Either it is done, or the reader says that it is too deep; it must not crash.
  if (status == EGRAPH_OK)
    assert_string_equal(text, term);
  else
    assert_int_equal(status, EGRAPH_E_PARSE);
  egraph_string_free(&kit->alloc, text);
  free(term);
}

static egraph_status simplify_and_verify(egraph_allocator alloc, void *user) {
  (void)user;
  char *text = NULL;
  egraph_status status =
      egraph_expression_simplify(&alloc, ring, "(* 1 (+ x 0))", 50, &text);
  egraph_string_free(&alloc, text);
  egraph_rules *rules = NULL;
  uint32_t rejected;
  if (status == EGRAPH_OK) status = egraph_rules_create(&alloc, &rules);
  if (status == EGRAPH_OK) egraph_rules_trust(rules, true); // verified below
  if (status == EGRAPH_OK)
    status = egraph_rules_add_text(
        rules, "t",
        "(egraph-rules 1)\n(rule a (source \"s\") (lhs (neg (neg ?x))) (rhs ?x))\n");
  if (status == EGRAPH_OK) status = egraph_rules_verify(rules, 1, NULL, NULL, &rejected);
  text = NULL;
  if (status == EGRAPH_OK) status = egraph_rules_text(&alloc, rules, &text);
  egraph_string_free(&alloc, text);
  egraph_rules_destroy(rules);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(simplify_and_verify, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(rules_say_what_they_are),
      api_test(the_shipped_rules_are_there_and_print_as_they_parse),
      api_test(a_mistake_adds_nothing_of_its_file),
      api_test(rule_files_are_read),
      api_test(rules_and_files_are_switched_by_name),
      api_test(a_wrong_rule_is_rejected_with_a_reason),
      api_test(rules_are_verified_when_they_are_added),
      api_test(classes_are_named),
      api_test(terms_become_as_small_as_the_rules_allow),
      api_test(growing_rules_end_at_the_node_limit),
      api_test(mistakes_in_expressions_are_named),
      api_test(a_term_may_be_very_deep),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
