// Explanations of ground equations and of engines: exact steps, long chains, deep and
// exponential terms, the checker, states, allocations that fail.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/engine.h"
#include "egraph/explain_check.h"
#include "egraph/explain_log.h"
#include "tests/explain_classes.h"
#include "tests/testing.h"

static uint32_t term(eg_explainer *explainer, uint32_t op, uint32_t arity,
                     const uint32_t *children) {
  uint32_t id;
  eg_ground ground = {.op = op, .arity = arity, .children = children};
  assert_ok(eg_explainer_add(explainer, &ground, &id));
  return id;
}
static uint32_t leaf(eg_explainer *explainer, uint32_t op) {
  return term(explainer, op, 0, NULL);
}
static uint32_t f(eg_explainer *explainer, uint32_t child) {
  return term(explainer, 1000, 1, &child);
}
static uint32_t g(eg_explainer *explainer, uint32_t a, uint32_t b) {
  return term(explainer, 1001, 2, (uint32_t[]){a, b});
}

static eg_explainer *create(void) {
  eg_explainer *explainer;
  assert_ok(eg_explainer_create(NULL, &explainer));
  return explainer;
}

static void explain(eg_explainer *explainer, uint32_t a, uint32_t b,
                    eg_explanation *out) {
  eg_explanation_init(out, eg_allocator_heap());
  assert_ok(eg_explainer_explain(explainer, a, b, EG_EXPLAIN_MAX_WORDS, out));
}

static void assert_step(const eg_explanation *e, size_t index, uint32_t reason,
                        bool backward, uint32_t depth, const uint32_t *position) {
  const eg_step *step = &e->steps.data[index];
  assert_true(index < e->steps.len);
  assert_int_equal(step->reason, reason);
  assert_int_equal(step->backward, backward);
  assert_int_equal(step->depth, depth);
  for (uint32_t i = 0; i < depth; i++)
    assert_int_equal(e->positions.data[step->position + i], position[i]);
}

// ---- steps -----------------------------------------------------------------------

static void the_example_of_the_header_has_two_steps(void **state) {
  (void)state;
  eg_explainer *x = create();
  uint32_t a = leaf(x, 0), b = leaf(x, 1), c = leaf(x, 2), ffa = f(x, f(x, a));
  assert_ok(eg_explainer_state(x, a, b, 7));
  assert_ok(eg_explainer_state(x, f(x, b), c, 8));
  uint32_t fc = f(x, c);
  assert_true(eg_explainer_are_equal(x, ffa, fc));
  eg_explanation e;
  explain(x, ffa, fc, &e);
  assert_int_equal(e.steps.len, 2);
  assert_step(&e, 0, 7, false, 2, (uint32_t[]){0, 0});
  assert_step(&e, 1, 8, false, 1, (uint32_t[]){0});
  eg_explanation_deinit(&e);
  explain(x, fc, ffa, &e);
  assert_int_equal(e.steps.len, 2);
  assert_step(&e, 0, 8, true, 1, (uint32_t[]){0});
  assert_step(&e, 1, 7, true, 2, (uint32_t[]){0, 0});
  eg_explanation_deinit(&e);
  explain(x, fc, fc, &e);
  assert_int_equal(e.steps.len, 0);
  eg_explanation_deinit(&e);
  eg_explainer_destroy(x);
  eg_explainer_destroy(NULL);
}

static void what_is_not_equal_or_unknown_is_refused(void **state) {
  (void)state;
  eg_explainer *x = create();
  uint32_t a = leaf(x, 0), b = leaf(x, 1), none = 9, out;
  eg_explanation e;
  eg_explanation_init(&e, eg_allocator_heap());
  assert_fails(eg_explainer_explain(x, a, b, EG_EXPLAIN_MAX_WORDS, &e), EGRAPH_E_ARGUMENT,
               "not known to be equal");
  assert_fails(eg_explainer_explain(x, a, 5, EG_EXPLAIN_MAX_WORDS, &e), EGRAPH_E_ARGUMENT,
               "no term 5");
  assert_fails(eg_explainer_state(x, a, 5, 0), EGRAPH_E_ARGUMENT, "terms 0 and 5");
  assert_fails(eg_explainer_state(x, a, b, UINT32_MAX), EGRAPH_E_ARGUMENT, "reason");
  eg_ground bad = {.op = 3, .arity = 1, .children = &none};
  assert_fails(eg_explainer_add(x, &bad, &out), EGRAPH_E_ARGUMENT, "term 9 of 2");
  eg_explanation_deinit(&e);
  eg_explainer_destroy(x);
}

// The tree of the union-find goes the long way round; the last equation is a short cut.
static void a_redundant_equation_shortens(void **state) {
  (void)state;
  enum { LEAVES = 30 };
  eg_explainer *x = create();
  uint32_t leaves[LEAVES];
  for (uint32_t i = 0; i < LEAVES; i++)
    leaves[i] = leaf(x, i);
  for (uint32_t i = 1; i < LEAVES; i++)
    assert_ok(eg_explainer_state(x, leaves[i - 1], leaves[i], i));
  eg_explanation e;
  explain(x, leaves[0], leaves[LEAVES - 1], &e);
  assert_int_equal(e.steps.len, LEAVES - 1);
  eg_explanation_deinit(&e);
  assert_ok(eg_explainer_state(x, leaves[LEAVES - 2], leaves[1], 500));
  explain(x, leaves[0], leaves[LEAVES - 1], &e);
  assert_int_equal(e.steps.len, 3);
  assert_step(&e, 1, 500, true, 0, NULL);
  eg_explanation_deinit(&e);
  eg_explainer_destroy(x);
}

static void an_explanation_below_does_not_use_what_it_proves(void **state) {
  (void)state;
  eg_explainer *x = create();
  uint32_t a = leaf(x, 0), b = leaf(x, 1), fa = f(x, a), fb = f(x, b);
  uint32_t gab = g(x, fa, fb), gba = g(x, fb, fa);
  assert_ok(eg_explainer_state(x, a, gab, 1));
  assert_ok(eg_explainer_state(x, b, gba, 2));
  assert_ok(eg_explainer_state(x, fa, fb, 3)); // so g(fa,fb) = g(fb,fa), and a = b
  assert_ok(eg_explainer_state(x, a, b, 4));   // later than the congruence
  eg_explanation e;
  explain(x, gab, gba, &e);
  assert_int_equal(e.steps.len, 2);
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(e.steps.data[i].reason, 3);
  eg_explanation_deinit(&e);
  explain(x, a, b, &e);
  assert_int_equal(e.steps.len, 1);
  assert_step(&e, 0, 4, false, 0, NULL);
  eg_explanation_deinit(&e);
  eg_explainer_destroy(x);
}

// ---- sizes -----------------------------------------------------------------------

static void a_chain_of_a_million_equations_is_explained(void **state) {
  (void)state;
  enum { LINKS = 1000000 };
  eg_explainer *x = create();
  uint32_t first = leaf(x, 0), last = first;
  for (uint32_t i = 1; i <= LINKS; i++) {
    uint32_t next = leaf(x, i);
    assert_ok(eg_explainer_state(x, last, next, i));
    last = next;
  }
  eg_explanation e;
  explain(x, first, last, &e);
  assert_int_equal(e.steps.len, LINKS);
  assert_int_equal(e.steps.data[LINKS - 1].reason, LINKS);
  eg_explanation_deinit(&e);
  eg_explainer_destroy(x);
}

static void a_deep_place_is_reached_without_recursion(void **state) {
  (void)state;
  enum { DEPTH = 200000 };
  eg_explainer *x = create();
  uint32_t a = leaf(x, 0), b = leaf(x, 1), over_a = a, over_b = b;
  for (uint32_t i = 0; i < DEPTH; i++) {
    over_a = f(x, over_a);
    over_b = f(x, over_b);
  }
  assert_ok(eg_explainer_state(x, b, a, 3));
  eg_explanation e;
  explain(x, over_a, over_b, &e);
  assert_int_equal(e.steps.len, 1);
  assert_int_equal(e.steps.data[0].depth, DEPTH);
  assert_true(e.steps.data[0].backward);
  eg_explanation_deinit(&e);
  eg_explainer_destroy(x);
}

static void an_exponential_explanation_is_refused_clearly(void **state) {
  (void)state;
  eg_explainer *x = create();
  uint32_t a = leaf(x, 0), b = leaf(x, 1);
  assert_ok(eg_explainer_state(x, a, b, 3));
  eg_explanation e;
  for (uint32_t i = 1; i <= 60; i++) {
    a = g(x, a, a);
    b = g(x, b, b);
    if (i > 10) continue;
    explain(x, a, b, &e);
    assert_int_equal(e.steps.len, 1u << i);
    eg_explanation_deinit(&e);
  }
  eg_explanation_init(&e, eg_allocator_heap());
  assert_fails(eg_explainer_explain(x, a, b, 1 << 20, &e), EGRAPH_E_UNSUPPORTED,
               "more than 1048576 words");
  eg_explanation_deinit(&e);
  eg_explainer_destroy(x);
}

// ---- the checker -----------------------------------------------------------------

// Rule 0: g(?x, ?y) = g(?y, ?x). Rule 1: f(?x) = 2, a variable on one side only.
static bool two_rules(void *user, uint32_t reason, eg_equation *out) {
  static const eg_pattern_term terms[] = {
      {.kind = EG_PATTERN_VAR, .var = 0},
      {.kind = EG_PATTERN_VAR, .var = 1},
      {.kind = EG_PATTERN_NODE, .op = 1001, .arity = 2, .children = 0},
      {.kind = EG_PATTERN_NODE, .op = 1001, .arity = 2, .children = 2},
      {.kind = EG_PATTERN_NODE, .op = 1000, .arity = 1, .children = 4},
      {.kind = EG_PATTERN_NODE, .op = 2}};
  static const uint32_t children[] = {0, 1, 1, 0, 0};
  (void)user;
  *out = (eg_equation){.terms = terms, .children = children, .var_count = 2};
  out->left = reason == 0 ? 2 : 4;
  out->right = reason == 0 ? 3 : 5;
  return reason < 2;
}

// g(f(0), 1) = g(1, f(0)) = g(1, 2) = g(1, f(1)): the last step is backward.
static void make_explained(eg_explainer *x, eg_explanation *out) {
  uint32_t zero = leaf(x, 0), one = leaf(x, 1), two = leaf(x, 2);
  uint32_t f0 = f(x, zero), f1 = f(x, one), from = g(x, f0, one), to = g(x, one, f1);
  assert_ok(eg_explainer_state(x, from, g(x, one, f0), 0));
  assert_ok(eg_explainer_state(x, f0, two, 1));
  assert_ok(eg_explainer_state(x, f1, two, 1));
  explain(x, from, to, out);
}

static void the_checker_refuses_what_was_changed(void **state) {
  (void)state;
  eg_explainer *x = create();
  eg_check_rules rules = {.equation = two_rules};
  eg_explanation e;
  make_explained(x, &e);
  assert_int_equal(e.steps.len, 3);
  assert_ok(eg_explanation_check(&e, &rules));
  for (size_t i = 0; i < e.steps.len; i++) {
    eg_step *step = &e.steps.data[i], kept = *step;
    step->reason = !step->reason;
    assert_fails(eg_explanation_check(&e, &rules), EGRAPH_E_INTERNAL, "instance");
    step->reason = 2;
    assert_fails(eg_explanation_check(&e, &rules), EGRAPH_E_INTERNAL, "instance");
    *step = kept;
    if (step->reason == 1) { // the other equation reads the same in both directions
      step->backward = !step->backward;
      assert_fails(eg_explanation_check(&e, &rules), EGRAPH_E_INTERNAL, "instance");
      *step = kept;
    }
    step->after = step->before;
    assert_fails(eg_explanation_check(&e, &rules), EGRAPH_E_INTERNAL, "wrong");
    *step = kept;
    step->before = e.to;
    assert_fails(eg_explanation_check(&e, &rules), EGRAPH_E_INTERNAL, "go on");
    *step = kept;
    for (uint32_t k = 0; k < step->depth; k++) {
      uint32_t *child = &e.positions.data[step->position + k], right = *child;
      *child = 0;
      assert_fails(eg_explanation_check(&e, &rules), EGRAPH_E_INTERNAL, "beside");
      *child = 9;
      assert_fails(eg_explanation_check(&e, &rules), EGRAPH_E_INTERNAL, "child 9 of 2");
      *child = right;
    }
  }
  assert_ok(eg_explanation_check(&e, &rules));
  e.steps.len--;
  assert_fails(eg_explanation_check(&e, &rules), EGRAPH_E_INTERNAL, "does not end");
  eg_explanation_deinit(&e);
  eg_explainer_destroy(x);
}

// ---- engines ---------------------------------------------------------------------

static eg_class add(eg_engine *engine, uint32_t op, uint32_t arity,
                    const eg_class *children) {
  eg_class class;
  eg_term node = {.op = op, .arity = arity, .children = children};
  assert_ok(eg_engine_add(engine, &node, EG_REASON_SEED, &class));
  return class;
}

static void unite(eg_engine *engine, eg_class a, eg_class b, uint32_t reason) {
  bool changed;
  assert_ok(eg_engine_unite(engine, a, b, reason, &changed));
}

static void assert_engine_steps(const eg_engine *engine, eg_class a, eg_class b,
                                size_t steps) {
  eg_explanation e;
  eg_explanation_init(&e, eg_allocator_heap());
  assert_ok(explain_classes(engine, a, b, &e));
  assert_int_equal(e.steps.len, steps);
  eg_explanation_deinit(&e);
}

static void assert_engine_refuses(const eg_engine *engine, eg_class a, eg_class b,
                                  const char *part) {
  eg_explanation e;
  eg_explanation_init(&e, eg_allocator_heap());
  assert_fails(explain_classes(engine, a, b, &e), EGRAPH_E_ARGUMENT, part);
  eg_explanation_deinit(&e);
}

static void unions_of_an_engine_are_explained(void **state) {
  const bool *record = *state;
  eg_engine *engine;
  eg_engine_options options = {.record = record != NULL};
  assert_ok(eg_engine_create(NULL, &options, &engine));
  assert_false(eg_engine_has_log(engine));
  assert_ok(eg_engine_start_log(engine, 0));
  eg_class a = add(engine, 0, 0, NULL), b = add(engine, 1, 0, NULL);
  eg_class fa = add(engine, 5, 1, &a), fb = add(engine, 5, 1, &b);
  eg_class c = add(engine, 2, 0, NULL);
  eg_term leaf_of_c = {.op = 3};
  bool changed;
  assert_ok(eg_engine_add_to(engine, &leaf_of_c, c, 4, &changed));
  unite(engine, a, b, 1);
  unite(engine, a, b, 2); // changes nothing
  assert_engine_steps(engine, a, b, 1);
  assert_ok(eg_engine_rebuild(engine));
  assert_engine_steps(engine, fa, fb, 1);
  eg_class d = add(engine, 3, 0, NULL);
  assert_true(eg_class_same(eg_engine_find(engine, d), eg_engine_find(engine, c)));
  assert_engine_refuses(engine, a, c, "not known to be equal");
  assert_ok(eg_engine_push(engine));
  unite(engine, fa, c, 3);
  assert_engine_steps(engine, fb, c, 2);
  assert_ok(eg_engine_pop(engine));
  assert_engine_refuses(engine, fb, c, "not known to be equal");
  assert_engine_refuses(engine, a, (eg_class){99}, "class 99");
  assert_ok(eg_engine_rebuild(engine));
  assert_ok(eg_engine_prune(engine, NULL, NULL, NULL));
  assert_engine_steps(engine, fa, fb, 1);
  assert_int_equal(eg_engine_logged_count(engine), 2);
  assert_ok(eg_engine_check(engine));
  assert_fails(eg_engine_start_log(engine, 0), EGRAPH_E_ARGUMENT, "from the beginning");
  eg_engine_destroy(engine);
}

static void own_reasons_stay_out_of_the_log(void **state) {
  (void)state;
  eg_engine *engine;
  assert_ok(eg_engine_create(NULL, NULL, &engine));
  eg_class a = add(engine, 0, 0, NULL);
  assert_engine_refuses(engine, a, a, "no explanations are kept");
  eg_engine_destroy(engine);
  assert_ok(eg_engine_create(NULL, NULL, &engine));
  assert_ok(eg_engine_start_log(engine, 10));
  a = add(engine, 0, 0, NULL);
  eg_class b = add(engine, 1, 0, NULL), c = add(engine, 2, 0, NULL);
  unite(engine, a, b, 9);
  assert_engine_refuses(engine, a, b, "not known to be equal");
  unite(engine, a, c, 10);
  assert_engine_steps(engine, a, c, 1);
  uint32_t words[] = {4, 5, 6};
  size_t count;
  assert_ok(eg_engine_note(engine, words, 3));
  eg_engine_forget_notes(engine, 1);
  assert_int_equal(eg_engine_notes(engine, &count)[1], 5);
  assert_int_equal(count, 2);
  eg_engine_destroy(engine);
}

// ---- allocations -----------------------------------------------------------------

static egraph_status add_some(eg_engine *engine, eg_class *out) {
  for (uint32_t i = 0; i < 12; i++) {
    eg_term node = {.op = i < 6 ? i : 9, .arity = i < 6 ? 0 : 1, .children = out + i - 6};
    if (i < 6) node.children = NULL;
    EG_TRY(eg_engine_add(engine, &node, EG_REASON_SEED, &out[i]));
  }
  return EGRAPH_OK;
}

static egraph_status explain_on(eg_engine *engine, eg_explanation *out) {
  eg_class classes[12];
  bool changed;
  EG_TRY(eg_engine_start_log(engine, 0));
  EG_TRY(add_some(engine, classes));
  for (uint32_t i = 1; i < 6; i++)
    EG_TRY(eg_engine_unite(engine, classes[i - 1], classes[i], i, &changed));
  EG_TRY(eg_engine_rebuild(engine));
  EG_TRY(explain_classes(engine, classes[6], classes[11], out));
  assert_int_equal(out->steps.len, 5);
  return EGRAPH_OK;
}

static egraph_status engine_body(egraph_allocator alloc, void *user) {
  (void)user;
  eg_engine *engine;
  EG_TRY(eg_engine_create(&alloc, NULL, &engine));
  eg_explanation e;
  eg_explanation_init(&e, alloc);
  egraph_status status = explain_on(engine, &e);
  eg_explanation_deinit(&e);
  eg_engine_destroy(engine);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(engine_body, NULL);
}

int main(void) {
  static bool record = true;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_example_of_the_header_has_two_steps),
      cmocka_unit_test(what_is_not_equal_or_unknown_is_refused),
      cmocka_unit_test(a_redundant_equation_shortens),
      cmocka_unit_test(an_explanation_below_does_not_use_what_it_proves),
      cmocka_unit_test(a_chain_of_a_million_equations_is_explained),
      cmocka_unit_test(a_deep_place_is_reached_without_recursion),
      cmocka_unit_test(an_exponential_explanation_is_refused_clearly),
      cmocka_unit_test(the_checker_refuses_what_was_changed),
      cmocka_unit_test(unions_of_an_engine_are_explained),
      cmocka_unit_test_prestate(unions_of_an_engine_are_explained, &record),
      cmocka_unit_test(own_reasons_stay_out_of_the_log),
      cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
