// Rules with parallel operators run on simulated ranks: the shipped ones forward and
// backward on 2, 3 and 4, and wrong ones are refused, with the numbers of the ranks where
// both sides can be run at all.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/layout_check.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_forms.h"
#include "tests/testing.h"

#define RULE(lhs, rhs, rest)                                                             \
  "(rule r (source \"s\") (lhs " lhs ") (rhs " rhs ") " rest ")"
#define CONV ":strides ?s :pads ?p :dilations ?i"

// ---- the shipped ones ---------------------------------------------------------------

typedef struct seen {
  uint32_t rules, without_gradient;
} seen;

static void check_evidence(void *user, const egraph_rule_evidence *evidence) {
  seen *all = user;
  if (evidence->rank_run_count == 0) return;
  all->rules++;
  all->without_gradient += evidence->no_backward != NULL;
  for (uint32_t i = 0; i < evidence->rank_run_count; i++) {
    const egraph_rank_runs *runs = &evidence->rank_runs[i];
    if (!evidence->is_accepted || runs->forward < 4 ||
        (runs->backward < 4 && evidence->no_backward == NULL))
      fail_msg("%s: %s", evidence->rule, evidence->detail);
    assert_int_equal(runs->ranks, 2 + i);
  }
}

static void shipped_rules_run_forward_and_backward(void **state) {
  (void)state;
  seen all = {0};
  eg_rules *rules;
  uint32_t rejected;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_load(rules, EG_SOURCE_DIR "/rewrites/rules/unity-parallel.rules"));
  const eg_verify_options options = {
      .seed = 1, .instances = 40, .evidence = check_evidence, .evidence_user = &all};
  assert_ok(eg_rules_verify(rules, &options, NULL, NULL, &rejected));
  assert_int_equal(rejected, 0);
  assert_int_equal(all.rules, 82);
  assert_int_equal(all.without_gradient, 3); // two of conv-grad-weight, adam-update
  eg_rules_destroy(rules);
}

// ---- wrong ones ---------------------------------------------------------------------

typedef struct wrong {
  const char *text, *message;
} wrong;

static const wrong planted[] = {
    // a reduce is missing: some rank has a partial sum
    {RULE("(matmul ?x ?w)", "(matmul (partition :dim 1 ?x) (partition :dim 0 ?w))",
          "(when (= (rank ?x) 2) (= (rank ?w) 2))"),
     " ranks right result 0, element "},
    {RULE("(reduce-sum :axes [0] ?x)", "(reduce-sum :axes [0] (partition :dim 0 ?x))",
          ""),
     " ranks right result 0, element "},
    {RULE("(reduce-max :axes [0] ?x)", "(reduce-max :axes [0] (partition :dim 0 ?x))",
          ""),
     " ranks right result 0, element "},
    {RULE("(conv " CONV " ?x ?w)",
          "(conv " CONV " (partition :dim 1 ?x) (partition :dim 1 ?w))", ""),
     " ranks right result 0, element "},
    {RULE("(matmul :transA 1 ?x ?g)",
          "(matmul :transA 1 (partition :dim 0 ?x) (partition :dim 0 ?g))",
          "(when (= (rank ?x) 2) (= (rank ?g) 2))"),
     " ranks right result 0, element "},
    {RULE("(reduce-sum :axes [1] (gather ?t ?i))",
          "(reduce-sum :axes [1] (gather (replicate ?t) (partition :dim 1 ?i)))",
          "(when (= (rank ?i) 2))"),
     " ranks right result 0, element "},
    // a partial sum is read as the whole
    {RULE("(neg (reduce ?x))", "(neg ?x)", ""), " ranks right result 0, element "},
    {RULE("(reduce :axis a (reduce :axis b (neg ?x)))", "(reduce :axis a (neg ?x))", ""),
     " ranks right result 0, element "},
    // zeros are read as copies
    {RULE("(neg ?x)", "(neg (replicate :others zero ?x))", ""),
     " ranks right result 0, element "},
    // the wrong axis
    {RULE("(partition :dim 0 (neg ?x))", "(partition :dim 1 (neg ?x))",
          "(when (= (rank ?x) 2))"),
     "ranks right result 0, "},
    {RULE("(transpose :perm [1 0] (partition :dim 0 ?x))",
          "(partition :dim 0 (transpose :perm [1 0] ?x))", ""),
     "ranks right result 0, "},
    {RULE("(relu (partition :dim 0 ?x))", "(relu ?x)", ""),
     "parts are of another size than those of the left side"},
    // another value on one device
    {RULE("(add ?x ?y)",
          "(combine :dim 0 (sub (partition :dim 0 ?x) (partition :dim 0 ?y)))",
          "(when (same-shape ?x ?y))"),
     " ranks right result 0, element "},
    {RULE("(matmul ?x ?w)",
          "(combine :dim 1 (matmul (replicate ?x) (partition :dim 1 (neg ?w))))",
          "(when (= (rank ?x) 2) (= (rank ?w) 2))"),
     " ranks right result 0, element "},
    // ranks would add twice: there is no layout in which they can run
    {RULE("(reduce (replicate ?x))", "?x", ""), "adding the copies would multiply it"},
    {RULE("(add (reduce ?x) ?y)", "(reduce (add ?x (replicate ?y)))", ""),
     "add cannot be computed from operands that are partial sums, whole"},
    {RULE("(matmul ?x ?w ?b)",
          "(reduce (matmul (partition :dim -1 ?x) (partition :dim -2 ?w) (replicate "
          "?b)))",
          "(when (= (rank ?w) 2))"),
     "matmul cannot be computed from operands that are split"},
    {RULE("(relu (reduce ?x))", "(reduce (relu ?x))", ""),
     "relu cannot be computed from operands that are partial sums"},
    {RULE("(conv " CONV " ?x ?w)",
          "(combine :dim 0 (conv " CONV " (partition :dim 1 ?x) "
          "(partition :dim 1 ?w)))",
          ""),
     "combine does not apply: (conv ...) is partial sums there"},
};

static void check_planted(const wrong *one, uint64_t seed) {
  eg_arena arena;
  eg_sexpr forms;
  eg_rule rule;
  eg_text text;
  eg_rank_evidence ranks = {.count = 0};
  eg_layout_finding finding;
  eg_arena_init(&arena, eg_allocator_heap());
  eg_text_init(&text, eg_allocator_heap());
  eg_text_init(&ranks.no_backward, eg_allocator_heap());
  const eg_rule_source_text from = {
      .arena = &arena, .scratch = eg_allocator_heap(), .file = "t"};
  assert_ok(eg_sexpr_parse(&arena, "t", one->text, strlen(one->text), &forms));
  assert_ok(eg_rule_read(&from, &forms.children[0], false, &rule));
  assert_ok(eg_layout_verify(NULL, &rule, seed, &text, &ranks, &finding));
  if (finding.holds || strstr(eg_text_of(&text), one->message) == NULL)
    fail_msg("%s: %s, wanted %s", one->text, eg_text_of(&text), one->message);
  eg_text_deinit(&ranks.no_backward);
  eg_text_deinit(&text);
  eg_arena_deinit(&arena);
}

static void wrong_rules_are_refused_with_what_ranks_have(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof planted / sizeof *planted; i++)
    for (uint64_t seed = 1; seed <= 5; seed++)
      check_planted(&planted[i], seed);
}

// ---- memory -------------------------------------------------------------------------

static egraph_status verify_some(egraph_allocator alloc, void *user) {
  (void)user;
  static const char text[] =
      "(egraph-rules 1)\n" RULE("(matmul ?x ?w)",
                                "(reduce (matmul (partition :dim 1 :degree 2 ?x) "
                                "(partition :dim 0 ?w)))",
                                "(when (= (rank ?x) 2) (= (rank ?w) 2) (all-equal "
                                "(shape ?x) 2) (all-equal (shape ?w) 2))");
  eg_rules *rules;
  EG_TRY(eg_rules_create_checked(&alloc, &rules));
  egraph_status status = eg_rules_parse(rules, "t.rules", text, strlen(text));
  const eg_verify_options options = {.seed = 1, .instances = 1};
  if (status == EGRAPH_OK) status = eg_rules_verify(rules, &options, NULL, NULL, NULL);
  eg_rules_destroy(rules);
  return status;
}

static void running_survives_every_allocation_failing(void **state) {
  (void)state;
  test_every_allocation_failing(verify_some, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shipped_rules_run_forward_and_backward),
      cmocka_unit_test(wrong_rules_are_refused_with_what_ranks_have),
      cmocka_unit_test(running_survives_every_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
