// The verifier refuses rules that do not hold (tests/data/wrong*.rules), accepts ones
// that hold under narrow conditions (tests/data/narrow.rules, true_*.rules), and
// says the same of mutants of shipped rules with nearly every seed. EG_TEST_SCALE=10
// takes 20 seeds and 500 mutants; EG_TEST_MUTANTS=1 prints those that are accepted.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "base/sexpr.h"
#include "rewrites/lab/prove/prove.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_forms.h"
#include "tests/testing.h"

enum {
  SEEDS = 2,
  NARROW_SEEDS = 1,
  MUTANTS = 50,
  MORE_SEEDS = 3,
  SELDOM_SEEDS = 20,
  WRONG = 300,
  NARROW = 100
};

typedef struct verdicts {
  uint32_t accepted, rejected;
  uint32_t slipped; // accepted with one seed, refused with another
  bool expected;
  bool is_loud; // about others than the expected ones
  char last[512];
} verdicts;

static void note(void *user, const char *rule, bool accepted, const char *detail) {
  verdicts *found = user;
  *(accepted ? &found->accepted : &found->rejected) += 1;
  (void)snprintf(found->last, sizeof found->last, "%s", detail);
  if (found->is_loud && accepted != found->expected) printf("%s: %s\n", rule, detail);
}

static verdicts verify(const eg_rules *rules, uint64_t seed, bool expected) {
  verdicts found = {.expected = expected, .is_loud = true};
  const eg_verify_options options = {.seed = seed, .instances = EG_VERIFY_INSTANCES};
  assert_ok(eg_rules_verify(rules, &options, note, &found, NULL));
  return found;
}

static eg_rules *load(const char *path) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  (void)eg_rules_set_verified(rules, false);
  assert_ok(eg_rules_load(rules, path));
  return rules;
}

static void planted_wrong_rules_are_refused(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/wrong.rules");
  uint64_t first = test_seed(1);
  for (uint64_t seed = first; seed < first + test_rounds(SEEDS); seed++)
    assert_int_equal(verify(rules, seed, false).rejected, WRONG);
  eg_rules_destroy(rules);
}

static void all_are_refused(const char *path) {
  eg_rules *rules = load(path);
  uint64_t first = test_seed(1);
  for (uint64_t seed = first; seed < first + test_rounds(SEEDS); seed++)
    assert_int_equal(verify(rules, seed, false).accepted, 0);
  eg_rules_destroy(rules);
}

/// Every seed draws the classes that show it.
static void wrong_rules_are_refused_beyond_small_sizes(void **state) {
  (void)state;
  all_are_refused(EG_SOURCE_DIR "/tests/data/wrong_large.rules");
}

/// Rules that are wrong in few places, or by little.
static void wrong_rules_are_refused_wherever_they_hide(void **state) {
  (void)state;
  all_are_refused(EG_SOURCE_DIR "/tests/data/wrong_hidden.rules");
}

/// Of numbers beyond small ones, of bits, and of slices that go back.
static void wrong_rules_are_refused_for_few_values(void **state) {
  (void)state;
  all_are_refused(EG_SOURCE_DIR "/tests/data/wrong_values.rules");
}

/// Of constants that are infinite or at the ends of their range, borders of conditions,
/// masks, clips, casts and quantization.
static void wrong_rules_are_refused_for_special_constants(void **state) {
  (void)state;
  all_are_refused(EG_SOURCE_DIR "/tests/data/wrong_constants.rules");
}

/// They err in the sign of a zero, 16 bits, axes, borders, ties, rounding of integers.
static void wrong_rules_are_refused_at_edges(void **state) {
  (void)state;
  all_are_refused(EG_SOURCE_DIR "/tests/data/wrong_edges.rules");
}

/// Of kinds that a few seeds of a hundred accepted.
static void wrong_rules_are_refused_by_every_seed(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/wrong_seldom.rules");
  for (uint64_t seed = 1; seed <= SELDOM_SEEDS; seed++)
    assert_int_equal(verify(rules, seed, false).accepted, 0);
  eg_rules_destroy(rules);
}

static void all_are_accepted(const char *path) {
  eg_rules *rules = load(path);
  uint64_t first = test_seed(1);
  for (uint64_t seed = first; seed < first + test_rounds(NARROW_SEEDS); seed++)
    assert_int_equal(verify(rules, seed, true).rejected, 0);
  eg_rules_destroy(rules);
}

static void true_rules_of_constants_are_accepted(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/true_constants.rules");
  uint64_t first = test_seed(1);
  for (uint64_t seed = first; seed < first + test_rounds(NARROW_SEEDS); seed++)
    assert_int_equal(verify(rules, seed, true).accepted, NARROW);
  eg_rules_destroy(rules);
}

static void their_true_neighbours_are_accepted(void **state) {
  (void)state;
  all_are_accepted(EG_SOURCE_DIR "/tests/data/true_hidden.rules");
  all_are_accepted(EG_SOURCE_DIR "/tests/data/true_edges.rules");
}

static void narrow_rules_are_accepted(void **state) {
  (void)state;
  eg_rules *rules = load(EG_SOURCE_DIR "/tests/data/narrow.rules");
  uint64_t first = test_seed(1);
  for (uint64_t seed = first; seed < first + test_rounds(NARROW_SEEDS); seed++)
    assert_int_equal(verify(rules, seed, true).accepted, NARROW);
  eg_rules_destroy(rules);
}

// ---- mutants ------------------------------------------------------------------------

/// A search for the place with number `left`, which is changed.
typedef struct mutation {
  uint32_t left;
  bool done;
  char number[24];
} mutation;

static bool is_here(mutation *at) {
  if (at->done || at->left-- != 0) return false;
  at->done = true;
  return true;
}

static const char *sibling(const char *op) {
  static const char *const pairs[][2] = {
      {"add", "sub"},      {"mul", "div"},
      {"max", "min"},      {"relu", "abs"},
      {"sigmoid", "tanh"}, {"reduce-sum", "reduce-mean"},
      {"sqrt", "exp"},     {"reduce-max", "reduce-min"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (int k = 0; k < 2; k++)
      if (strcmp(op, pairs[i][k]) == 0) return pairs[i][1 - k];
  return NULL;
}

static bool is_operand(const eg_sexpr *expr) {
  return expr->text == NULL || expr->text[0] == '?';
}

/// The first two operands of a term.
static void swap_operands(eg_sexpr *term, mutation *at) {
  eg_sexpr *found[2];
  uint32_t count = 0;
  for (uint32_t i = 1; i < term->count && count < 2; i++) {
    bool is_value =
        term->children[i - 1].text != NULL && term->children[i - 1].text[0] == ':';
    if (!is_value && is_operand(&term->children[i])) found[count++] = &term->children[i];
  }
  if (count < 2 || !is_here(at)) return;
  eg_sexpr kept = *found[0];
  *found[0] = *found[1];
  *found[1] = kept;
}

static void change_atom(eg_sexpr *atom, mutation *at) {
  const char *other = sibling(atom->text);
  char *end;
  long number = strtol(atom->text, &end, 10);
  bool is_number = end != atom->text && *end == '\0';
  if ((other == NULL && !is_number) || !is_here(at)) return;
  (void)snprintf(at->number, sizeof at->number, "%ld", number + 1);
  atom->text = is_number ? at->number : other;
}

static void mutate_term(eg_sexpr *expr, mutation *at) {
  if (at->done) return;
  if (expr->text != NULL) {
    change_atom(expr, at);
    return;
  }
  swap_operands(expr, at);
  for (uint32_t i = 0; i < expr->count; i++)
    mutate_term(&expr->children[i], at);
}

/// Right sides, lets and conditions; of conditions one may be dropped.
static bool mutate(eg_sexpr *rule, uint32_t place, mutation *at) {
  *at = (mutation){.left = place};
  for (uint32_t i = 2; i < rule->count && !at->done; i++) {
    eg_sexpr *form = &rule->children[i];
    bool is_when = eg_sexpr_is_form(form, "when");
    for (uint32_t k = 1; is_when && k < form->count && !at->done; k++)
      if (is_here(at)) form->children[k] = form->children[--form->count];
    if (is_when && form->count == 1) rule->count--, *form = rule->children[rule->count];
    if (is_when || eg_sexpr_is_form(form, "rhs") || eg_sexpr_is_form(form, "let"))
      for (uint32_t k = 1; k < form->count; k++)
        mutate_term(&form->children[k], at);
  }
  return at->done;
}

/// The mutants of a rule, from place 0 on; false: there is none there.
static bool mutant_of(const eg_rule *rule, uint32_t place, eg_text *out) {
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  eg_arena arena;
  eg_arena_init(&arena, eg_allocator_heap());
  eg_sexpr forms;
  mutation at;
  assert_ok(eg_rule_print(&text, rule));
  assert_ok(eg_sexpr_parse(&arena, "rule", eg_text_of(&text), strlen(eg_text_of(&text)),
                           &forms));
  bool found = mutate(&forms.children[0], place, &at);
  eg_text_clear(out);
  assert_ok(eg_text_append(out, "(egraph-rules 1) "));
  assert_ok(eg_sexpr_print(out, &forms.children[0]));
  eg_arena_deinit(&arena);
  eg_text_deinit(&text);
  return found;
}

/// `detail` (or NULL) becomes that of the last rule.
static bool is_accepted(const eg_rules *rules, uint64_t seed, char *detail) {
  verdicts found = {.expected = true};
  const eg_verify_options options = {.seed = seed, .instances = EG_VERIFY_INSTANCES};
  assert_ok(eg_rules_verify(rules, &options, note, &found, NULL));
  if (detail != NULL) memcpy(detail, found.last, sizeof found.last);
  return found.rejected == 0;
}

/// What numbers refute is not proved. (A class or a type that is refused is another
/// thing.)
static void prove_nothing_of(const eg_rules *rules, const char *detail) {
  if (strncmp(detail, "result ", strlen("result ")) != 0) return;
  eg_proof_verdict verdict;
  assert_ok(eg_rule_prove(eg_rules_at(rules, 0), eg_allocator_heap(), &verdict));
  if (eg_rules_count(rules) == 1) assert_false(verdict.is_proved);
}

/// An accepted mutant should be true: other seeds are asked, too.
static void judge_mutant(const char *text, verdicts *counts) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  (void)eg_rules_set_verified(rules, false);
  if (eg_rules_parse(rules, "mutant", text, strlen(text)) == EGRAPH_OK &&
      eg_rules_count(rules) != 0) {
    char detail[sizeof counts->last] = "";
    bool accepted = is_accepted(rules, 1, detail);
    if (!accepted) prove_nothing_of(rules, detail);
    *(accepted ? &counts->accepted : &counts->rejected) += 1;
    if (accepted && getenv("EG_TEST_MUTANTS") != NULL) printf("%s\n", text);
    bool agrees = true;
    for (uint64_t seed = 2; accepted && agrees && seed < 2 + MORE_SEEDS; seed++)
      agrees = is_accepted(rules, seed, NULL);
    counts->slipped += !agrees;
    if (!agrees) printf("slipped: %s\n", text);
  }
  eg_rules_destroy(rules);
}

static void mutants_are_judged_alike_with_nearly_every_seed(void **state) {
  (void)state;
  eg_rules *shipped;
  assert_ok(eg_rules_create_checked(NULL, &shipped));
  assert_ok(eg_rules_add_builtin(shipped));
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  eg_rng rng = {.state = test_seed(16)};
  verdicts counts = {.accepted = 0};
  size_t wanted = test_rounds(MUTANTS);
  while (counts.accepted + counts.rejected < wanted) {
    const eg_rule *rule =
        eg_rules_at(shipped, (uint32_t)eg_rng_below(&rng, eg_rules_count(shipped)));
    uint32_t place = (uint32_t)eg_rng_below(&rng, 24);
    if (rule->reversed || rule->move_count != 0 || !mutant_of(rule, place, &text))
      continue;
    judge_mutant(eg_text_of(&text), &counts);
  }
  printf("%u mutants refused, %u accepted, %u of these with some seeds only\n",
         counts.rejected, counts.accepted, counts.slipped);
  assert_true(50 * counts.slipped <= wanted);
  assert_true(4 * counts.rejected >= wanted); // some mutants are true
  eg_text_deinit(&text);
  eg_rules_destroy(shipped);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_wrong_rules_are_refused),
      cmocka_unit_test(wrong_rules_are_refused_beyond_small_sizes),
      cmocka_unit_test(wrong_rules_are_refused_wherever_they_hide),
      cmocka_unit_test(wrong_rules_are_refused_for_few_values),
      cmocka_unit_test(wrong_rules_are_refused_for_special_constants),
      cmocka_unit_test(wrong_rules_are_refused_at_edges),
      cmocka_unit_test(wrong_rules_are_refused_by_every_seed),
      cmocka_unit_test(true_rules_of_constants_are_accepted),
      cmocka_unit_test(their_true_neighbours_are_accepted),
      cmocka_unit_test(narrow_rules_are_accepted),
      cmocka_unit_test(mutants_are_judged_alike_with_nearly_every_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
