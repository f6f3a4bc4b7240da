// Rules written once for several values: what is read in their place, and what is
// refused.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rules.h"
#include "tests/testing.h"

/// Expands `text` and prints its forms with a blank between them.
static egraph_status expand(egraph_allocator alloc, const char *text, eg_text *out) {
  eg_arena arena;
  eg_sexpr parsed, expanded;
  eg_arena_init(&arena, alloc);
  egraph_status status = eg_sexpr_parse(&arena, "t.rules", text, strlen(text), &parsed);
  if (status == EGRAPH_OK) status = eg_rule_expand(&arena, "t.rules", &parsed, &expanded);
  for (uint32_t i = 0; status == EGRAPH_OK && i < expanded.count; i++) {
    if (i != 0) status = eg_text_append(out, " ");
    if (status == EGRAPH_OK) status = eg_sexpr_print(out, &expanded.children[i]);
  }
  eg_arena_deinit(&arena);
  return status;
}

static void values_take_the_place_of_names(void **state) {
  (void)state;
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"(a) (b $x)", "(a) (b $x)"}, // outside of for a name is a word
      {"(for $x (a b) (r $x) s)", "(r a) s (r b) s"},
      {"(for $x () (r $x))", ""},
      {"(for $x (a \"b c\") (r-$x-$x $x \"to $x\"))",
       "(r-a-a a \"to a\") (r-b c-b c \"b c\" \"to b c\")"},
      {"(for $x ((p :k v) ()) ($x y $x))", "(p :k v y p :k v) (y)"},
      {"(for $x ([1 0]) (t :perm $x [$x]))", "(t :perm [1 0] [[1 0]])"},
      {"(for ($x $y) ((a ()) (b (?c ?d))) (r $x $y))", "(r a) (r b ?c ?d)"},
      {"(for $x (a b) (for $y (c $x) (r $x$y)))", "(r ac) (r aa) (r bc) (r bb)"},
      {"(for $x (a) (for $x (b $x) (r $x)) (r $x))", "(r b) (r a) (r a)"},
      {"(for $xs (a) (for $x (b) (r $xs $x)))", "(r a b)"},
      {"(for $x (a) (list (for b)))",
       "(list (for b))"}, // only forms of the file are loops
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(expand(eg_allocator_heap(), cases[i].text, &text));
    assert_string_equal(eg_text_of(&text), cases[i].expected);
    eg_text_deinit(&text);
  }
}

static void malformed_loops_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"(for)", "t.rules:1:1: malformed; write (for $name"},
      {"(for $x (a))", "malformed"},
      {"(for x (a) (r))", "malformed"},
      {"(for $x a (r))", "malformed"},
      {"(for $ (a) (r))", "malformed"},
      {"(for $x-y (a) (r))", "malformed"},
      {"(for () (()) (r))", "malformed"},
      {"(for ($x y) ((a b)) (r))", "malformed"},
      {"(for [$x] ((a)) (r))", "malformed"},
      {"(for ($x $y) (a) (r))",
       "t.rules:1:15: for has 2 names; write a list of 2 values"},
      {"(for ($x $y) ((a)) (r))", "write a list of 2 values"},
      {"(for $x (a)\n (r $y))", "t.rules:2:5: no for binds $y; write (for $y (value"},
      {"(for $x (a) (r $))", "no for binds $"},
      {"(for ($a $b $c $d $e $f $g $h $i $j $k $l $m $n $o $p $q) () (r))", "at most 16"},
      {"(for $x ((a b)) (r-$x))", "$x is a list; only a word can be part of a word"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_fails(expand(eg_allocator_heap(), cases[i].text, &text), EGRAPH_E_PARSE,
                 cases[i].message);
    eg_text_deinit(&text);
  }
}

/// 40 loops of two values in one another would make 2^40 forms.
static void loops_in_loops_are_bounded(void **state) {
  (void)state;
  for (int is_empty = 0; is_empty < 2; is_empty++) {
    eg_text text, out;
    eg_text_init(&text, eg_allocator_heap());
    eg_text_init(&out, eg_allocator_heap());
    for (int i = 0; i < 40; i++)
      assert_ok(eg_text_append(&text, "(for $x (a b) "));
    assert_ok(eg_text_append(&text, is_empty ? "(for $x () (r))" : "(r)"));
    for (int i = 0; i < 40; i++)
      assert_ok(eg_text_append(&text, ")"));
    assert_fails(expand(eg_allocator_heap(), eg_text_of(&text), &out), EGRAPH_E_PARSE,
                 "write fewer");
    eg_text_deinit(&text);
    eg_text_deinit(&out);
  }
}

/// Every value is made of the one before it twice, as a list or as a word.
static void values_that_double_are_bounded(void **state) {
  (void)state;
  for (int f = 0; f < 2; f++) {
    eg_text text, out;
    eg_text_init(&text, eg_allocator_heap());
    eg_text_init(&out, eg_allocator_heap());
    assert_ok(eg_text_append(&text, f == 0 ? "(for $a ([x y])" : "(for $a (x)"));
    for (char c = 'b'; c <= 'z'; c++) {
      assert_ok(eg_text_printf(&text, " (for $%c ", c));
      assert_ok(
          eg_text_printf(&text, f == 0 ? "([$%c $%c])" : "(\"$%c-$%c\")", c - 1, c - 1));
    }
    assert_ok(eg_text_append(&text, " (r $z)"));
    for (char c = 'a'; c <= 'z'; c++)
      assert_ok(eg_text_append(&text, ")"));
    assert_fails(expand(eg_allocator_heap(), eg_text_of(&text), &out), EGRAPH_E_PARSE,
                 f == 0 ? "write fewer" : "more than 4096 characters");
    eg_text_deinit(&text);
    eg_text_deinit(&out);
  }
}

/// A value within a value within a value: deeper than the text itself.
static void nesting_is_bounded(void **state) {
  (void)state;
  eg_text text, out;
  eg_text_init(&text, eg_allocator_heap());
  eg_text_init(&out, eg_allocator_heap());
  assert_ok(
      eg_text_append(&text, "(for $a (([[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]))"));
  for (char c = 'b'; c < 'q'; c++)
    assert_ok(eg_text_printf(
        &text, " (for $%c (([[[[[[[[[[[[[[[[[[[[$%c]]]]]]]]]]]]]]]]]]]]))", c, c - 1));
  assert_ok(eg_text_append(&text, " (r $p)"));
  for (char c = 'a'; c < 'q'; c++)
    assert_ok(eg_text_append(&text, ")"));
  assert_fails(expand(eg_allocator_heap(), eg_text_of(&text), &out), EGRAPH_E_PARSE,
               "deeper than 200");
  eg_text_deinit(&text);
  eg_text_deinit(&out);
}

static void rules_of_a_loop_have_its_line(void **state) {
  (void)state;
  static const char *text = "(egraph-rules 1)\n"
                            "(for $f (relu tanh)\n"
                            "  (rule twice-$f (source \"s\") (class exact)\n"
                            "    (lhs ($f (neg (neg ?x)))) (rhs ($f ?x))))\n";
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "t.rules", text, strlen(text)));
  assert_int_equal(eg_rules_count(rules), 2);
  assert_string_equal(eg_rule_name(rules, 1), "twice-tanh");
  assert_int_equal(eg_rule_line(rules, 1), 3);
  eg_rules_destroy(rules);
}

static egraph_status expand_once(egraph_allocator alloc, void *user) {
  (void)user;
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = expand(
      alloc, "(for ($x $y) ((a (b)) (c ())) (for $z ($x d) (r-$z [$y] \"$x\")))", &text);
  eg_text_deinit(&text);
  return status;
}

static void failing_allocations_lose_nothing(void **state) {
  (void)state;
  test_every_allocation_failing(expand_once, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_take_the_place_of_names),
      cmocka_unit_test(malformed_loops_are_refused),
      cmocka_unit_test(loops_in_loops_are_bounded),
      cmocka_unit_test(values_that_double_are_bounded),
      cmocka_unit_test(nesting_is_bounded),
      cmocka_unit_test(rules_of_a_loop_have_its_line),
      cmocka_unit_test(failing_allocations_lose_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
