// Guards that rules need, conditions that they do not need, and smallest sets.
// SPDX-License-Identifier: Apache-2.0
#include "include/egraph.h"
#include "rewrites/lab/guards/guards.h"
#include "rewrites/lab/import/implied.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/testing.h"

static eg_rules *read(const char *text) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "test", text, strlen(text)));
  return rules;
}

typedef struct finding {
  uint32_t count;
  eg_guard_outcome outcome;
  char guard[256], detail[512];
} finding;

static void note(void *user, const eg_guard_finding *found) {
  finding *out = user;
  out->count++;
  out->outcome = found->outcome;
  (void)snprintf(out->guard, sizeof out->guard, "%s", found->guard);
  (void)snprintf(out->detail, sizeof out->detail, "%s", found->detail);
}

static finding look_at(const char *rule) {
  char text[1024];
  finding found = {.count = 0};
  (void)snprintf(text, sizeof text, "(egraph-rules 1) %s", rule);
  eg_rules *rules = read(text);
  assert_ok(eg_guards_check(rules, 1, note, &found));
  eg_rules_destroy(rules);
  assert_int_equal(found.count, 1);
  return found;
}

#define RULE(class, lhs, rhs, when)                                                      \
  "(rule r (source \"test\") (class " class ") (lhs " lhs ") (rhs " rhs ")" when ")"

static void guards_are_found(void **state) {
  (void)state;
  static const struct {
    const char *rule, *guard;
  } cases[] = {
      {RULE("fast", "(mul ?x ?k)", "?x", "(when (splat-is ?k 1.0))"),
       "(broadcasts-to ?k ?x)"},
      {RULE("fast", "(transpose :perm ?p ?x)", "?x", ""), "(perm-identity ?p)"},
      {RULE("fast",
            "(max-pool :kernel_shape [1 1] :strides ?s :pads [0 0 0 0] :dilations ?d ?x)",
            "?x", ""),
       "(all-equal ?s 1)"},
      {RULE("fast", "(add (matmul ?x ?y) (matmul ?x ?z))", "(matmul ?x (add ?y ?z))", ""),
       "(= (dim ?y -2) (dim ?z -2))"},
      {RULE("fast", "(concat :axis ?i (softmax :axis ?a ?x) (softmax :axis ?a ?y))",
            "(softmax :axis ?a (concat :axis ?i ?x ?y))", ""),
       "(!= (axis ?x ?i) (axis ?x ?a))"},
      {RULE("exact", "(as ?r (mul ?x (expand :shape ?s ?y)))", "(mul ?x ?y)", ""),
       "(= (shape ?r) (broadcast-shape ?x ?y))"},
      {RULE("exact", "(reduce-mean :axes ?a :keepdims ?k ?x)", "(global-average-pool ?x)",
            "(when (>= (rank ?x) 4) (is-float ?x) (= ?k 1))"),
       "(= ?a (range 2 (rank ?x)))"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    finding found = look_at(cases[i].rule);
    assert_int_equal(found.outcome, EG_GUARD_HOLDS_IF);
    assert_string_equal(found.guard, cases[i].guard);
  }
}

/// Vectors have no last dimension but one: another condition stands for them.
static void a_guard_may_have_alternatives(void **state) {
  (void)state;
  eg_rules *rules = read("(egraph-rules 1) " RULE(
      "fast", "(add (matmul ?x ?y) (matmul ?x ?z))", "(matmul ?x (add ?y ?z))", ""));
  static const char *const wanted[] = {"(= (dim ?y -2) (dim ?z -2))",
                                       "(or (= (dim ?y -2) (dim ?z -2)) "};
  for (uint32_t others = 0; others < 2; others++) {
    const eg_guard_search how = {.seed = 1, .share = 512, .others = others};
    bool found;
    eg_text guard;
    eg_text_init(&guard, eg_allocator_heap());
    assert_ok(
        eg_guard_find(eg_allocator_heap(), eg_rules_at(rules, 0), &how, &guard, &found));
    assert_true(found);
    if (strncmp(eg_text_of(&guard), wanted[others], strlen(wanted[others])) != 0)
      fail_msg("%s", eg_text_of(&guard));
    eg_text_deinit(&guard);
  }
  eg_rules_destroy(rules);
}

static void what_no_condition_saves_is_refuted(void **state) {
  (void)state;
  finding found = look_at(RULE("fast", "(exp ?x)", "(sin ?x)", ""));
  assert_int_equal(found.outcome, EG_GUARD_REFUTED);
  assert_non_null(strstr(found.detail, "result 0, element "));
}

static void conditions_that_are_too_strong_are_told(void **state) {
  (void)state;
  finding found =
      look_at(RULE("exact", "(relu (relu ?x))", "(relu ?x)", "(when (= (rank ?x) 2))"));
  assert_int_equal(found.outcome, EG_GUARD_WEAKER);
  assert_string_equal(found.detail, "(= (rank ?x) 2) is not needed");
  found = look_at(RULE("fast", "(transpose :perm ?p ?x)", "?x",
                       "(when (perm-identity ?p) (= (rank ?x) 2))"));
  assert_int_equal(found.outcome, EG_GUARD_WEAKER);
  assert_string_equal(found.detail, "(= (rank ?x) 2) is not needed");
  found =
      look_at(RULE("fast", "(transpose :perm ?p ?x)", "?x", "(when (perm-identity ?p))"));
  assert_int_equal(found.outcome, EG_GUARD_HOLDS);
  assert_string_equal(found.detail, "");
  // A condition that only steers a search is no guard.
  found = look_at(RULE("exact", "(add ?x ?y)", "(add ?y ?x)", "(when (before ?x ?y))"));
  assert_int_equal(found.outcome, EG_GUARD_HOLDS);
}

// Its conditions are counted by elements of the sequence, those of the form are not.
static void a_rule_with_parameters_is_looked_at_in_its_first_case(void **state) {
  (void)state;
  finding found = look_at("(rule r (source \"test\") (class exact) (least 2 ?x...)"
                          "  (lhs (concat :axis ?a (each (neg ?x...))))"
                          "  (rhs (neg (concat :axis ?a ?x...)))"
                          "  (when (each (= (rank ?x...) 2)) (each (is-float ?x...))))");
  assert_int_equal(found.outcome, EG_GUARD_WEAKER);
  assert_string_equal(
      found.detail,
      "its first case: (= (rank ?x.1) 2) is not needed; (= (rank ?x.2) 2) "
      "is not needed; (is-float ?x.1) is not needed; (is-float ?x.2) is not "
      "needed");
}

static void outcomes_have_names(void **state) {
  (void)state;
  assert_string_equal(eg_guard_outcome_name(EG_GUARD_HOLDS), "holds");
  assert_string_equal(eg_guard_outcome_name(EG_GUARD_WEAKER), "weaker");
  assert_string_equal(eg_guard_outcome_name(EG_GUARD_HOLDS_IF), "holds-if");
  assert_string_equal(eg_guard_outcome_name(EG_GUARD_REFUTED), "refuted");
}

// ---- smallest sets --------------------------------------------------------------------

#define SET                                                                              \
  "(egraph-rules 1)"                                                                     \
  "(rule four (source \"x\") (class exact) (lhs (neg (neg (neg (neg ?x))))) (rhs ?x))"   \
  "(rule two (source \"x\") (class exact) (lhs (neg (neg ?x))) (rhs ?x))"                \
  "(rule other (source \"x\") (class exact) (lhs (relu (relu ?x))) (rhs (relu ?x)))"

static void on_need(void *user, const egraph_rule_need *need) {
  eg_text *text = user;
  assert_ok(eg_text_printf(text, "%s %d %s;", need->rule, need->is_kept, need->by));
}

static void implied_rules_are_left_out(void **state) {
  (void)state;
  eg_rules *rules = read(SET);
  eg_text told, kept;
  eg_text_init(&told, eg_allocator_heap());
  eg_text_init(&kept, eg_allocator_heap());
  assert_ok(eg_rules_minimize(eg_allocator_heap(), rules, on_need, &told, &kept));
  assert_string_equal(eg_text_of(&told), "four 0 two;two 1 ;other 1 ;");
  assert_null(strstr(eg_text_of(&kept), "four"));
  eg_rules *small = read(eg_text_of(&kept));
  assert_int_equal(eg_rules_count(small), 2);
  eg_rules_destroy(small);
  eg_rules_destroy(rules);
  eg_text_deinit(&told);
  eg_text_deinit(&kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(guards_are_found),
      cmocka_unit_test(a_guard_may_have_alternatives),
      cmocka_unit_test(what_no_condition_saves_is_refuted),
      cmocka_unit_test(conditions_that_are_too_strong_are_told),
      cmocka_unit_test(a_rule_with_parameters_is_looked_at_in_its_first_case),
      cmocka_unit_test(outcomes_have_names),
      cmocka_unit_test(implied_rules_are_left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
