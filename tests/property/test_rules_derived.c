// Rules are derived from others where they follow from them, by steps that are replayed.
// Of the planted wrong rules one or two may hold at the instances that were drawn.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/derive/derive.h"
#include "rewrites/lab/prove/prove.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/testing.h"

enum { EACH = 6, MOST_DERIVED = 2 }; // every sixth of 300 wrong rules

static eg_rules *load(const char *path) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  (void)eg_rules_set_verified(rules, false);
  assert_ok(eg_rules_load(rules, path));
  return rules;
}

/// The shipped rules, all on, are the axioms but for one.
typedef struct fixture {
  eg_rules *rules;
  bool is_axiom[1024];
  const bool *both_ways;
  eg_text names;
} fixture;

static void open_axioms(fixture *f, const char *without) {
  f->both_ways = NULL;
  eg_rules *shipped;
  assert_ok(eg_rules_create_checked(NULL, &shipped));
  assert_ok(eg_rules_add_builtin(shipped));
  assert_ok(eg_rules_copy_all_on(shipped, eg_allocator_heap(), &f->rules));
  eg_rules_destroy(shipped);
  assert_true(eg_rules_count(f->rules) <= 1024);
  for (uint32_t i = 0; i < eg_rules_count(f->rules); i++)
    f->is_axiom[i] = strcmp(eg_rule_name(f->rules, i), without) != 0;
  eg_text_init(&f->names, eg_allocator_heap());
}

static void close_axioms(fixture *f) {
  eg_text_deinit(&f->names);
  eg_rules_destroy(f->rules);
}

static eg_derivation_verdict derive(fixture *f, const eg_rule *rule) {
  const eg_axioms axioms = {
      .rules = f->rules, .is_axiom = f->is_axiom, .both_ways = f->both_ways};
  eg_derivation_verdict verdict;
  assert_ok(eg_rule_derive(&axioms, rule, eg_allocator_heap(), test_seed(1), &verdict,
                           &f->names));
  assert_true(verdict.is_derived == (verdict.reason[0] == '\0'));
  assert_true(verdict.is_derived ? verdict.instances > 0 : true);
  return verdict;
}

static void rules_follow_from_others(void **state) {
  (void)state;
  static const struct {
    const char *rule, *from;
  } cases[] = {{"matmul-sum-share-right", "matmul-over-left-add"},
               {"matmul-unflatten-batch", "reshape-reshape"},
               {"matmul-transposed", "matmul-of-vectors-swapped"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    open_axioms(&f, cases[i].rule);
    for (uint32_t k = 0; k < eg_rules_count(f.rules); k++) {
      if (strcmp(eg_rule_name(f.rules, k), cases[i].rule) != 0) continue;
      eg_derivation_verdict verdict = derive(&f, eg_rules_at(f.rules, k));
      assert_true(verdict.is_derived);
      assert_true(verdict.steps >= verdict.instances);
      assert_non_null(strstr(eg_text_of(&f.names), cases[i].from));
      assert_null(strstr(eg_text_of(&f.names), cases[i].rule));
    }
    close_axioms(&f);
  }
}

static void no_axioms_derive_nothing(void **state) {
  (void)state;
  fixture f;
  open_axioms(&f, "");
  memset(f.is_axiom, 0, sizeof f.is_axiom);
  for (uint32_t i = 0; i < eg_rules_count(f.rules); i += 20)
    assert_false(derive(&f, eg_rules_at(f.rules, i)).is_derived);
  close_axioms(&f);
}

static void planted_wrong_rules_are_hardly_derived(void **state) {
  (void)state;
  fixture f;
  open_axioms(&f, "");
  eg_rules *wrong = load(EG_SOURCE_DIR "/tests/data/wrong.rules");
  uint32_t derived = 0;
  for (uint32_t i = (uint32_t)(test_seed(1) % EACH); i < eg_rules_count(wrong);
       i += EACH) {
    if (!derive(&f, eg_rules_at(wrong, i)).is_derived) continue;
    print_message("'%s' holds at its instances, from %s\n", eg_rule_name(wrong, i),
                  eg_text_of(&f.names));
    derived++;
  }
  assert_true(derived <= MOST_DERIVED);
  eg_rules_destroy(wrong);
  close_axioms(&f);
}

/// x (a + b) becomes x a + x b in class associative, and not back: a sum that is NaN
/// would become infinite.
static void axioms_of_one_direction_are_taken_in_it(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-rules 1)"
      "(rule in (source \"t\") (lhs (mul ?x (add ?a ?b))) (rhs (add (mul ?x ?a) (mul ?x "
      "?b))))"
      "(rule out (source \"t\") (lhs (add (mul ?x ?a) (mul ?x ?b))) (rhs (mul ?x (add ?a "
      "?b))))"
      "(rule fast (source \"t\") (class fast)"
      " (lhs (add (mul ?a ?x) (mul ?b ?x))) (rhs (mul ?x (add ?a ?b))))"
      "(rule turn (source \"t\") (class exact) (lhs (mul ?x ?y)) (rhs (mul ?y ?x)))";
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  (void)eg_rules_set_verified(rules, false);
  assert_ok(eg_rules_parse(rules, "test", text, strlen(text)));
  fixture f = {.rules = rules};
  eg_text_init(&f.names, eg_allocator_heap());
  bool both_ways[4];
  for (uint32_t i = 0; i < 4; i++) {
    eg_proof_verdict proof;
    assert_ok(eg_rules_prove(rules, i, &proof));
    f.is_axiom[i] = proof.is_proved;
    both_ways[i] = proof.both_ways;
  }
  assert_true(f.is_axiom[0] && !both_ways[0] && !f.is_axiom[1]);
  assert_true(f.is_axiom[3] && both_ways[3]);
  f.is_axiom[2] = false;
  f.both_ways = both_ways;
  assert_false(derive(&f, eg_rules_at(rules, 1)).is_derived);
  assert_true(derive(&f, eg_rules_at(rules, 2)).is_derived);
  close_axioms(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_follow_from_others),
      cmocka_unit_test(no_axioms_derive_nothing),
      cmocka_unit_test(planted_wrong_rules_are_hardly_derived),
      cmocka_unit_test(axioms_of_one_direction_are_taken_in_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
