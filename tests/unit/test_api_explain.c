// Public explanations of plain terms.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/text_replay.h"
#include "tests/unit/api_kit.h"

#define HEAD "(egraph-rules 1 symbolic)\n"

static const char sums[] =
    HEAD "(rule comm (lhs (+ ?a ?b)) (rhs (+ ?b ?a)))\n"
         "(rule assoc (lhs (+ ?a (+ ?b ?c))) (rhs (+ (+ ?a ?b) ?c)) both-ways)\n"
         "(rule zero (lhs (* ?a 0)) (rhs 0))\n";

enum { MAX_STEPS = 64 };

typedef struct noted_step {
  char rule[32], before[256], after[256];
  bool backward;
  uint32_t position[8], depth;
} noted_step;

typedef struct notes {
  noted_step steps[MAX_STEPS];
  uint32_t count, stop_at;
} notes;

static bool note_step(void *user, const egraph_terms_step *step) {
  notes *n = user;
  assert_true(n->count < MAX_STEPS && step->depth <= 8);
  noted_step *out = &n->steps[n->count++];
  *out = (noted_step){.backward = step->backward, .depth = step->depth};
  (void)snprintf(out->rule, sizeof out->rule, "%s",
                 step->rule == NULL ? "(united)" : step->rule);
  (void)snprintf(out->before, sizeof out->before, "%s", step->before);
  (void)snprintf(out->after, sizeof out->after, "%s", step->after);
  if (step->depth != 0)
    memcpy(out->position, step->position, step->depth * sizeof *step->position);
  return n->count == n->stop_at;
}

static egraph_terms *create(const api_kit *kit, const char *rules) {
  egraph_terms *terms;
  assert_ok(egraph_terms_create(&kit->alloc, &terms));
  assert_ok(egraph_terms_keep_explanations(terms));
  assert_ok(egraph_terms_add_rule_text(terms, "rules", rules));
  return terms;
}

static egraph_class add(egraph_terms *terms, const char *text) {
  egraph_class class;
  assert_ok(egraph_terms_add(terms, "t", text, &class));
  return class;
}

static void saturate(egraph_terms *terms) {
  egraph_terms_options options = egraph_terms_options_default();
  options.scheduler = "simple";
  options.time_limit = INFINITY;
  assert_ok(egraph_terms_saturate(terms, &options, NULL));
}

static void explain(egraph_terms *terms, const char *from, const char *to, notes *out) {
  uint64_t count = 0;
  *out = (notes){.count = 0};
  assert_ok(egraph_terms_explain(terms, from, to, note_step, out, &count));
  assert_int_equal(count, out->count);
  if (count == 0) return;
  assert_string_equal(out->steps[0].before, from);
  assert_string_equal(out->steps[count - 1].after, to);
  for (uint64_t i = 1; i < count; i++)
    assert_string_equal(out->steps[i].before, out->steps[i - 1].after);
}

// ---- steps -----------------------------------------------------------------------

static void a_rule_is_named_with_its_place(void **state) {
  egraph_terms *terms = create(*state, sums);
  (void)add(terms, "(f (* (+ x y) 0) (+ u v))");
  saturate(terms);
  notes n;
  explain(terms, "(f (* (+ x y) 0) (+ u v))", "(f 0 (+ v u))", &n);
  assert_int_equal(n.count, 2);
  for (uint32_t i = 0; i < 2; i++) {
    const noted_step *step = &n.steps[i];
    bool is_zero = strcmp(step->rule, "zero") == 0;
    assert_int_equal(step->depth, 1);
    assert_int_equal(step->position[0], is_zero ? 0 : 1);
    if (is_zero) assert_false(step->backward);
    if (!is_zero) assert_string_equal(step->rule, "comm");
  }
  explain(terms, "(f 0 0)", "(f 0 0)", &n);
  assert_int_equal(n.count, 0);
  egraph_terms_destroy(terms);
}

static void sums_are_turned_around_step_by_step(void **state) {
  static forest trees;
  egraph_terms *terms = create(*state, sums);
  (void)add(terms, "(+ x1 (+ x2 (+ x3 (+ x4 x5))))");
  saturate(terms);
  notes n;
  explain(terms, "(+ x1 (+ x2 (+ x3 (+ x4 x5))))", "(+ (+ (+ x5 x4) (+ x2 x1)) x3)", &n);
  assert_true(n.count > 2);
  for (uint32_t i = 0; i < n.count; i++) {
    const noted_step *step = &n.steps[i];
    trees.used = 0;
    const tree *before = tree_of(&trees, step->before);
    const tree *after = tree_of(&trees, step->after);
    tree_go_down(&before, &after, step->position, step->depth);
    bool is_comm = strcmp(step->rule, "comm") == 0;
    bool reversed = strcmp(step->rule, "assoc-reversed") == 0;
    const tree *lhs = tree_of(&trees, is_comm ? "(+ ?a ?b)" : "(+ ?a (+ ?b ?c))");
    const tree *rhs = tree_of(&trees, is_comm ? "(+ ?b ?a)" : "(+ (+ ?a ?b) ?c)");
    bool back = step->backward != reversed;
    assert_true(tree_is_instance(lhs, rhs, back ? after : before, back ? before : after));
  }
  egraph_terms_destroy(terms);
}

static void unions_of_the_caller_have_no_rule(void **state) {
  egraph_terms *terms = create(*state, sums);
  egraph_class a = add(terms, "(+ a b)"), c = add(terms, "c");
  (void)add(terms, "(g (+ b a))");
  assert_ok(egraph_terms_unite(terms, c, a, NULL));
  saturate(terms);
  notes n;
  explain(terms, "(g (+ b a))", "(g c)", &n);
  assert_int_equal(n.count, 2);
  assert_string_equal(n.steps[0].rule, "comm");
  assert_string_equal(n.steps[1].rule, "(united)");
  assert_true(n.steps[1].backward);
  // Terms that were never added, over symbols that are new.
  explain(terms, "(new (new (+ a b)))", "(new (new c))", &n);
  assert_int_equal(n.count, 1);
  n = (notes){.stop_at = 1};
  uint64_t count;
  assert_ok(egraph_terms_explain(terms, "(g (+ b a))", "(g c)", note_step, &n, &count));
  assert_int_equal(n.count, 1);
  assert_int_equal(count, 2);
  assert_ok(egraph_terms_explain(terms, "(g (+ b a))", "(g c)", NULL, NULL, NULL));
  egraph_terms_destroy(terms);
}

static void what_cannot_be_explained_is_refused(void **state) {
  api_kit *kit = *state;
  egraph_terms *terms;
  uint64_t count = 7;
  assert_ok(egraph_terms_create(&kit->alloc, &terms));
  (void)add(terms, "a");
  assert_fails(egraph_terms_explain(terms, "a", "a", NULL, NULL, &count),
               EGRAPH_E_ARGUMENT, "no explanations are kept");
  assert_fails(egraph_terms_keep_explanations(terms), EGRAPH_E_ARGUMENT,
               "from the beginning");
  egraph_terms_destroy(terms);
  terms = create(kit, sums);
  (void)add(terms, "(+ a b)");
  saturate(terms);
  assert_fails(egraph_terms_explain(terms, "a", "b", NULL, NULL, &count),
               EGRAPH_E_ARGUMENT, "not known to be equal");
  assert_fails(egraph_terms_explain(terms, "(a", "b", NULL, NULL, &count), EGRAPH_E_PARSE,
               "from:1");
  assert_fails(egraph_terms_explain(terms, "a", "?x", NULL, NULL, &count), EGRAPH_E_PARSE,
               "to:1");
  assert_fails(egraph_terms_explain(terms, "a", "a b", NULL, NULL, &count),
               EGRAPH_E_PARSE, "one term");
  assert_int_equal(count, 7);
  egraph_terms_destroy(terms);
}

// ---- states ----------------------------------------------------------------------

static void explanations_go_back_with_the_graph(void **state) {
  egraph_terms *terms = create(*state, sums);
  (void)add(terms, "(+ a b)");
  assert_ok(egraph_terms_push(terms));
  saturate(terms);
  notes n;
  explain(terms, "(+ a b)", "(+ b a)", &n);
  assert_int_equal(n.count, 1);
  assert_ok(egraph_terms_pop(terms));
  assert_fails(egraph_terms_explain(terms, "(+ a b)", "(+ b a)", NULL, NULL, NULL),
               EGRAPH_E_ARGUMENT, "not known to be equal");
  (void)add(terms, "(* c 0)");
  saturate(terms);
  explain(terms, "(+ (* c 0) 0)", "(+ 0 0)", &n);
  assert_int_equal(n.count, 1);
  assert_string_equal(n.steps[0].rule, "zero");
  egraph_terms_destroy(terms);
}

static void an_iteration_taken_back_leaves_no_trace(void **state) {
  egraph_terms *terms = create(*state, sums);
  (void)add(terms, "(+ x1 (+ x2 (+ x3 (+ x4 (+ x5 x6)))))");
  egraph_terms_options options = egraph_terms_options_default();
  egraph_terms_report report;
  options.node_limit = 60;
  options.rollback = true;
  options.scheduler = "simple";
  assert_ok(egraph_terms_saturate(terms, &options, &report));
  assert_string_equal(report.stop, "node-limit");
  saturate(terms);
  notes n;
  explain(terms, "(+ x1 (+ x2 (+ x3 (+ x4 (+ x5 x6)))))",
          "(+ (+ (+ (+ (+ x6 x5) x4) x3) x2) x1)", &n);
  assert_true(n.count >= 5);
  egraph_terms_destroy(terms);
}

// The e-graph with explanations has the same classes as the one without.
static void explanations_change_nothing_else(void **state) {
  api_kit *kit = *state;
  egraph_terms *with = create(kit, sums), *without;
  assert_ok(egraph_terms_create(&kit->alloc, &without));
  assert_ok(egraph_terms_add_rule_text(without, "rules", sums));
  (void)add(with, "(+ x1 (+ x2 (+ x3 (+ x4 (* x5 0)))))");
  (void)add(without, "(+ x1 (+ x2 (+ x3 (+ x4 (* x5 0)))))");
  saturate(with);
  saturate(without);
  egraph_terms_info a = egraph_terms_info_of(with), b = egraph_terms_info_of(without);
  assert_int_equal(a.nodes, b.nodes);
  assert_int_equal(a.classes, b.classes);
  assert_true(a.bytes > b.bytes && a.bytes < 2 * b.bytes);
  assert_ok(egraph_terms_check(with));
  egraph_terms_destroy(with);
  egraph_terms_destroy(without);
}

// ---- allocations -----------------------------------------------------------------

static egraph_status work(egraph_terms *terms) {
  egraph_class a, b;
  uint64_t count;
  egraph_terms_options options = egraph_terms_options_default();
  options.iteration_limit = 2;
  EG_TRY(egraph_terms_keep_explanations(terms));
  EG_TRY(egraph_terms_add_rule_text(terms, "rules", sums));
  EG_TRY(egraph_terms_add(terms, "t", "(+ (* x 0) (+ b c))", &a));
  EG_TRY(egraph_terms_add(terms, "t", "d", &b));
  EG_TRY(egraph_terms_unite(terms, a, b, NULL));
  EG_TRY(egraph_terms_saturate(terms, &options, NULL));
  notes n = {.count = 0};
  return egraph_terms_explain(terms, "(f d)", "(f (+ (+ c b) 0))", note_step, &n, &count);
}

static egraph_status body(egraph_allocator alloc, void *user) {
  (void)user;
  egraph_terms *terms;
  EG_TRY(egraph_terms_create(&alloc, &terms));
  egraph_status status = work(terms);
  egraph_terms_destroy(terms);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(body, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {api_test(a_rule_is_named_with_its_place),
                                     api_test(sums_are_turned_around_step_by_step),
                                     api_test(unions_of_the_caller_have_no_rule),
                                     api_test(what_cannot_be_explained_is_refused),
                                     api_test(explanations_go_back_with_the_graph),
                                     api_test(an_iteration_taken_back_leaves_no_trace),
                                     api_test(explanations_change_nothing_else),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
