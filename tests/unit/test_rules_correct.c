// Pairs that are equal on a part of their result: the box in which they agree, the rules
// that are written of it, and pairs of which there are none.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/correct/correct.h"

#include "base/file.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "tests/testing.h"

typedef struct wanted {
  const char *rule, *detail; // NULL: corrected
  bool is_corrected, is_seen;
} wanted;

static void check_found(void *user, const eg_correction *found) {
  wanted *rows = user;
  for (wanted *row = rows; row->rule != NULL; row++) {
    if (strcmp(row->rule, found->rule) != 0) continue;
    row->is_seen = true;
    if (row->is_corrected != found->is_corrected ||
        strstr(found->detail, row->detail) == NULL)
      fail_msg("%s: %s, wanted %s", found->rule, found->detail, row->detail);
    assert_int_equal(found->rules != 0, found->is_corrected);
  }
}

static void correct_text(const char *text, uint64_t seed, wanted *rows, eg_text *out) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "pairs.rules", text, strlen(text)));
  assert_ok(eg_rules_correct(rules, seed, check_found, rows, out));
  for (wanted *row = rows; row->rule != NULL; row++)
    assert_true(row->is_seen);
  eg_rules_destroy(rules);
}

static void correct_file(const char *path, wanted *rows, eg_text *out) {
  char *text;
  size_t size;
  assert_ok(eg_file_read(eg_allocator_heap(), path, 1 << 20, &text, &size));
  correct_text(text, 1, rows, out);
  eg_free(eg_allocator_heap(), text, size + 1, 1);
}

static void assert_all_hold(const eg_text *text, uint32_t least) {
  eg_rules *rules;
  uint32_t rejected;
  const eg_verify_options options = {.seed = 77, .instances = 128};
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "out.rules", eg_text_of(text), text->chars.len));
  assert_true(eg_rules_count(rules) >= least);
  assert_ok(eg_rules_verify(rules, &options, NULL, NULL, &rejected));
  assert_int_equal(rejected, 0);
  eg_rules_destroy(rules);
}

static void pets_pairs_are_corrected(void **state) {
  (void)state;
  wanted rows[] = {
      {"images-side-by-side",
       "equal within dimension 3 from (at ?p 1) to (- (dim ?whole 3) (at ?p 3)), as",
       true, false},
      {"strided-pixels-of-tiles",
       "equal within dimension 2 from 0 to ?rows, dimension 3 from 0 to ?columns, as",
       true, false},
      {"dilated-conv-of-tiles",
       "dimension 2 from 0 to (- (+ (at ?p 0) ?kept-rows) ?reach-rows)", true, false},
      {"conv-transpose-of-inner-patches",
       "equal within dimension 2 from ?above to (- (dim ?whole 2) ?below), dimension 3 "
       "from ?before to (- (dim ?whole 3) ?behind), as",
       true, false},
      {"strided-conv-of-patches", "equal within dimension 2 from 0 to ", true, false},
      {NULL, NULL, false, false}};
  eg_text text;
  if (test_is_sanitized()) skip(); // it would take minutes; the pair below is corrected
  eg_text_init(&text, eg_allocator_heap());
  correct_file(EG_SOURCE_DIR "/tests/data/partial.rules", rows, &text);
  assert_all_hold(&text, 10);
  eg_text_deinit(&text);
}

static void what_is_no_correction_has_its_reason(void **state) {
  (void)state;
  wanted rows[] = {
      {"nowhere-equal", "the sides agree nowhere: there is nothing to correct", false,
       false},
      {"everywhere-equal", "the sides agree everywhere: it is a rule", false, false},
      {"no-box", "the sides agree on no box of more than half of the result", false,
       false},
      {"not-linear", "relu is neither linear in each operand nor data movement", false,
       false},
      {NULL, NULL, false, false}};
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  correct_file(EG_SOURCE_DIR "/tests/data/not_partial.rules", rows, &text);
  assert_null(strstr(eg_text_of(&text), "(rule"));
  eg_text_deinit(&text);
}

// The border of this one is known: a pad of k in front, which the right side has as 0.
static void a_known_correction_is_found(void **state) {
  (void)state;
  wanted rows[] = {{"shifted", "equal within dimension 0 from 1 to", true, false},
                   {NULL, NULL, false, false}};
  rows[0].detail = "equal within dimension 0 from (at ?p 0) to (dim ?whole 0), as";
  eg_text text, again;
  eg_text_init(&text, eg_allocator_heap());
  eg_text_init(&again, eg_allocator_heap());
  const char *pair =
      "(egraph-rules 1)\n(rule shifted (source \"s\") (lhs (add (pad :pads ?p ?x) ?y)) "
      "(rhs (add (pad :pads ?p ?x) (slice :starts [0] :ends [(dim ?y 0)] :steps [1] (pad "
      ":pads ?p (slice :starts [(at ?p 0)] :ends [(dim ?y 0)] :steps [1] ?y))))) (when "
      "(= "
      "(rank ?x) 1) (same-shape ?y ?y) (= (rank ?y) 1) (= (dim ?y 0) (+ (+ (dim ?x 0) "
      "(at ?p 0)) (at ?p 1))) (> (at ?p 0) 0) (= (at ?p 1) 0)))";
  correct_text(pair, 3, rows, &text);
  assert_non_null(strstr(eg_text_of(&text), "(rule shifted-corrected"));
  correct_text(pair, 3, rows, &again); // equal seeds, equal texts
  assert_string_equal(eg_text_of(&text), eg_text_of(&again));
  assert_all_hold(&text, 1);
  eg_text_deinit(&again);
  eg_text_deinit(&text);
}

static void pairs_that_are_not_looked_at_say_why(void **state) {
  (void)state;
  wanted rows[] = {
      {"two", "it has several results; write one pair for each", false, false},
      {"open", "it has parameters; write out one case", false, false},
      {"typed", "its sides have different types", false, false},
      {"whole", "the corrected rule is refused", false, false},
      {NULL, NULL, false, false}};
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  correct_text(
      "(egraph-rules 1)\n"
      "(rule two (source \"s\") (lhs (neg ?x) (neg ?y)) (rhs ?x ?y) (when (!= ?x ?y)))\n"
      "(rule open (source \"s\") (lhs (concat :axis ?a ?x...)) (rhs (neg (concat :axis "
      "?a "
      "?x...))))\n"
      "(rule typed (source \"s\") (lhs (neg ?x)) (rhs (reshape :shape [(elements ?x)] "
      "?x)) (when (= (rank ?x) 2)))\n"
      // A name that corrected rules have, too.
      "(rule whole (source \"s\") (lhs (concat :axis 0 ?x (neg ?c0))) (rhs (concat :axis "
      "0 "
      "?x ?c0)) (when (= (rank ?x) 2) (> (dim ?x 0) (dim ?c0 0))))\n",
      1, rows, &text);
  assert_null(strstr(eg_text_of(&text), "(rule"));
  eg_text_deinit(&text);
}

// ---- memory ---------------------------------------------------------------------------

static egraph_status correct_some(egraph_allocator alloc, void *user) {
  (void)user;
  static const char pair[] =
      "(egraph-rules 1)\n(rule nothing (source \"s\") (lhs (neg ?x)) (rhs ?x) (when (= "
      "(rank ?x) 1) (> (dim ?x 0) 2)))";
  eg_rules *rules;
  eg_text text;
  EG_TRY(eg_rules_create_checked(&alloc, &rules));
  eg_text_init(&text, alloc);
  egraph_status status = eg_rules_parse(rules, "t", pair, strlen(pair));
  if (status == EGRAPH_OK) status = eg_rules_correct(rules, 1, NULL, NULL, &text);
  eg_text_deinit(&text);
  eg_rules_destroy(rules);
  return status;
}

static void correcting_survives_every_allocation_failing(void **state) {
  (void)state;
  test_every_allocation_failing(correct_some, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pets_pairs_are_corrected),
      cmocka_unit_test(what_is_no_correction_has_its_reason),
      cmocka_unit_test(a_known_correction_is_found),
      cmocka_unit_test(pairs_that_are_not_looked_at_say_why),
      cmocka_unit_test(correcting_survives_every_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
