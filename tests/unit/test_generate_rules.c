// Rules made by machine: what is kept, files that verify, runs that go on, state files of
// others.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "tests/testing.h"

#include "include/egraph.h"
#include "rewrites/lab/generate/generate.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rules.h"

static const char FAMILY_FILE[] = "test_generate_rules.family";
static const char STATE_FILE[] = "test_generate_rules.state";

static void write_file(const char *path, const char *text) {
  assert_ok(eg_file_write(path, text, strlen(text)));
}

static void read_file(const char *path, char **out) {
  size_t size;
  assert_ok(eg_file_read(eg_allocator_heap(), path, 1 << 24, out, &size));
}

static void free_file(char *text) {
  eg_free(eg_allocator_heap(), text, strlen(text) + 1, 1);
}

/// Few terms, of which many are equal.
static void write_family(void) {
  write_file(FAMILY_FILE, "(egraph-families 1) (family tiny (about \"of a test\")"
                          " (inputs (x 2 \"float32[2,3]\"))"
                          " (operators (add) (neg) (abs) (max) (min)"
                          " (transpose :perm [1 0]) (concat :axis 1)))");
}

static egraph_generate_options tiny(void) {
  egraph_generate_options options = egraph_generate_options_default();
  options.family = FAMILY_FILE;
  options.alone = true;
  return options;
}

static char *generate(const egraph_generate_options *options,
                      egraph_generate_report *report) {
  char *text = NULL;
  assert_ok(egraph_rules_generate(NULL, options, &text, report));
  return text;
}

static void on_verified(void *user, const char *rule, bool accepted, const char *detail) {
  (void)user;
  if (!accepted) fail_msg("%s: %s", rule, detail);
}

/// The rules that were made are as many as the report says, and the verifier takes all.
static void assert_accepted(const char *text, uint64_t seed,
                            const egraph_generate_report *report) {
  egraph_rules *rules;
  uint32_t rejected;
  assert_ok(egraph_rules_create(NULL, &rules));
  egraph_rules_trust(rules, true);
  assert_ok(egraph_rules_add_text(rules, "made.rules", text));
  assert_ok(egraph_rules_verify(rules, seed, on_verified, NULL, &rejected));
  assert_int_equal(rejected, 0);
  assert_int_equal(egraph_rules_count(rules), report->rules + report->both_ways);
  egraph_rules_destroy(rules);
}

static void a_file_of_rules_verifies_and_has_known_ones(void **state) {
  (void)state;
  write_family();
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  char *text = generate(&options, &report);
  assert_true(report.is_complete);
  assert_int_equal(report.judged, report.candidates);
  assert_int_equal(report.candidates, report.implied + report.refused + report.minimized +
                                          report.rules + report.merged);
  assert_true(report.rules >= 20);
  // The axis is lifted where the rule holds for all, the operator where it is any.
  static const char parts[] = "(operators ?f neg abs)\n"
                              "  (lhs (concat :axis ?v1 (?f ?x1) (?f ?x1)))\n"
                              "  (rhs (?f (concat :axis ?v1 ?x1 ?x1)))";
  static const char *const known[] = {
      "(lhs (neg (neg ?x1)))\n  (rhs ?x1))",
      "(rhs ?x1)\n  (when (perm-identity (perm-compose ?v1 ?v2)))", parts};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(text, known[i]) == NULL) fail_msg("no rule %s in\n%s", known[i], text);
  assert_accepted(text, 7, &report);
  egraph_string_free(NULL, text);
}

/// Rules with known numbers: conditions on the left side, a fill on the right one.
static void constants_are_conditions_and_fills(void **state) {
  (void)state;
  write_file(FAMILY_FILE, "(egraph-families 1) (family numbers (about \"of a test\")"
                          " (inputs (x 2 \"float32[6]\"))"
                          " (constants (one \"float32[]\" 1) (two \"float32[]\" 2)"
                          " (minus \"float32[]\" -1) (zeros \"float32[6]\" 0))"
                          " (operators (add) (mul) (sub) (neg) (pow) (square)))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  options.operators = 1;
  char *text = generate(&options, &report);
  static const char *const known[] = {
      "(operators ?f mul pow)\n  (lhs (?f ?x1 ?x2))\n  (rhs ?x1)\n  (when (splat-is ?x2 "
      "1) (broadcasts-to ?x2 ?x1)",
      "(lhs (mul ?x1 ?x2))\n  (rhs (add ?x1 ?x1))\n  (when (splat-is ?x2 2)",
      "(lhs (pow ?x1 ?x2))\n  (rhs (mul ?x1 ?x1))\n  (when (splat-is ?x2 2)",
      "(lhs (sub ?x1 ?x1))\n  (rhs (fill :dtype (dtype ?x1) :shape (shape ?x1) :value "
      "0.0)"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(text, known[i]) == NULL) fail_msg("no rule %s in\n%s", known[i], text);
  assert_accepted(text, 11, &report);
  egraph_string_free(NULL, text);
}

/// What is the default of an attribute in the instance is lifted, too.
static void defaults_of_attributes_are_lifted(void **state) {
  (void)state;
  if (test_is_sanitized()) skip(); // over a minute; other families take the same way
  write_file(FAMILY_FILE, "(egraph-families 1) (family fused (about \"of a test\")"
                          " (inputs (a 1 \"float32[2,3]\") (b 1 \"float32[3,2]\"))"
                          " (operators (matmul :act (each none relu)) (relu)))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  char *text = generate(&options, &report);
  if (strstr(text, "(lhs (relu (matmul :transA ?v") == NULL)
    fail_msg("no fusion with any transposes in\n%s", text);
  egraph_string_free(NULL, text);
}

static void assert_has(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no %s in\n%s", part, text);
}

/// Attributes of the right side are expressions of those of the left, where all
/// instances say so; what holds for some values only has a condition.
static void attributes_are_computed_and_conditions_found(void **state) {
  (void)state;
  write_file(FAMILY_FILE,
             "(egraph-families 1) (family axes (about \"of a test\")"
             " (inputs (x 1 \"float32[2,3,4]\"))"
             " (operators (transpose :perm (each [0 1 2] [1 0 2] [0 2 1] [2 0 1] [1 2 0]"
             " [2 1 0])) (softmax :axis (each 0 1 2)) (reshape :shape (each [6 4] [8 3]))"
             " (flatten :axis (each 1 2))))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  char *text = generate(&options, &report);
  assert_has(text, "(lhs (transpose :perm ?v1 ?x1))\n  (rhs ?x1)\n  (when (perm-identity "
                   "?v1))");
  assert_has(text, "(lhs (transpose :perm ?v1 (transpose :perm ?v2 ?x1)))\n  (rhs "
                   "(transpose :perm (perm-apply ?v1 ?v2) ?x1))");
  assert_has(text, "(rhs (transpose :perm ?v2 (softmax :axis (at ?v2 ?v1) ?x1)))");
  assert_has(text,
             "(lhs (as ?t1 (flatten :axis ?v1 ?x1)))\n  (rhs (reshape :shape (shape "
             "?t1) ?x1))");
  assert_accepted(text, 5, &report);
  egraph_string_free(NULL, text);
}

/// Several conditions at once, an element type, and a default that two operators share.
static void conditions_come_together(void **state) {
  (void)state;
  write_file(FAMILY_FILE,
             "(egraph-families 1) (family parts (about \"of a test\")"
             " (inputs (x 1 \"float32[4,5]\") (z 1 \"float32[3,4,2]\"))"
             " (operators (slice :starts [0 0 0] :ends [3 4 2] :steps [1 1 1])"
             " (slice :starts [0 0] :ends [4 5] :steps [1 1]) (cast :to float32)"
             " (pad :pads (each [0 1 0 0] [1 0 0 2] [0 0 1 0] [1 1 0 2] [0 1 1 0]))))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  char *text = generate(&options, &report);
  assert_has(text, "(lhs (as ?t1 (slice :starts ?v1 :ends ?v2 :steps ?v3 ?x1)))\n  (rhs "
                   "?x1)\n  (when (same-shape ?x1 ?t1) (all-equal ?v1 0)");
  assert_has(text, "(lhs (cast :to ?v1 ?x1))\n  (rhs ?x1)\n  (when (= ?v1 (dtype ?x1)))");
  assert_has(text, "(lhs (pad :pads ?v1 :value ?v3 (pad :pads ?v4 :value ?v3 ?x1)))\n"
                   "  (rhs (pad :pads (+ ?v1 ?v4) :value ?v3 ?x1))");
  assert_accepted(text, 5, &report);
  egraph_string_free(NULL, text);
}

/// Where no expression fits all candidates of a shape, those that one fits make a rule:
/// slices of every second row are not slices of one.
static void candidates_that_do_not_fit_are_given_up(void **state) {
  (void)state;
  write_file(FAMILY_FILE,
             "(egraph-families 1) (family slices (about \"of a test\")"
             " (inputs (x 1 \"float32[9]\"))"
             " (operators (slice :starts (each [0] [1] [2]) :ends (each [5] [7])"
             " :steps (each [1] [2]))))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  options.candidates = 16;
  char *text = generate(&options, &report);
  assert_has(text,
             "(lhs (slice :starts ?v1 :ends ?v2 :steps ?v3 (slice :starts ?v4 :ends "
             "?v5 :steps ?v6 ?x1)))\n  (rhs (slice :starts (+ ?v1 ?v4) :ends (+ ?v2 "
             "?v4) :steps ?v3 ?x1))\n  (when (all-equal ?v6 1))");
  assert_accepted(text, 5, &report);
  egraph_string_free(NULL, text);
}

/// Inputs keep their order times a part of one; such a part is any number below one.
static void parts_of_numbers_are_leaks(void **state) {
  (void)state;
  write_file(FAMILY_FILE,
             "(egraph-families 1) (family leaks (about \"of a test\")"
             " (inputs (x 1 \"float32[6]\"))"
             " (constants (zero \"float32[]\" 0) (half \"float32[]\" 0.5)"
             " (quarter \"float32[]\" 0.25))"
             " (operators (max) (mul) (leaky-relu :alpha (each 0.25 0.5))))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  options.candidates = 16;
  char *text = generate(&options, &report);
  assert_has(text, "(lhs (max ?x1 (mul ?x1 ?x2)))\n  (rhs (leaky-relu :alpha (splat ?x2) "
                   "?x1))\n  (when (splat? ?x2) (broadcasts-to ?x2 ?x1)");
  assert_accepted(text, 5, &report);
  egraph_string_free(NULL, text);
}

/// Constants that operators make, and terms of them alone.
static void constants_that_are_made_are_moved(void **state) {
  (void)state;
  write_file(
      FAMILY_FILE,
      "(egraph-families 1) (family fills (about \"of a test\")"
      " (inputs (x 1 \"float32[2,3]\"))"
      " (operators (fill :shape (each [2 3] [3 2] [6] [1 3]) :value (each 0.5 2.0))"
      " (transpose :perm [1 0]) (reshape :shape (each [6] [3 2]))"
      " (slice :starts (each [0 0] [1 0]) :ends [2 3] :steps [1 1])))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  char *text = generate(&options, &report);
  assert_has(text, "(lhs (reshape :shape ?v1 (fill :dtype ?v2 :shape ?v3 :value ?v4)))\n"
                   "  (rhs (fill :dtype ?v2 :shape ?v1 :value ?v4))");
  assert_has(text, "(rhs (fill :dtype ?v4 :shape (shape ?t1) :value ?v6))");
  assert_accepted(text, 5, &report);
  egraph_string_free(NULL, text);
}

/// Bounds inside of bounds: conditions are looked for although the first candidate needs
/// none, and candidates from all of the list say what is computed.
static void bounds_are_computed_under_conditions(void **state) {
  (void)state;
  write_file(FAMILY_FILE,
             "(egraph-families 1) (family bounds (about \"of a test\")"
             " (elements 24) (inputs (x 1 \"float32[24]\"))"
             " (operators (relu) (clip :min (each 0.0 1.0 3.0) :max (each 4.0 5.0))"
             " (clip :min -1.0 :max 2.0) (clip :min -4.0 :max -1.0)"
             " (clip :min 0.0 :max 0.0) (clip :min 2.0 :max 2.0)))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  char *text = generate(&options, &report);
  assert_has(text, "(lhs (clip :min ?v1 :max ?v2 (clip :min ?v3 :max ?v4 ?x1)))\n"
                   "  (rhs (clip :min (");
  assert_has(text, "(lhs (relu (clip :min ?v1 :max ?v2 ?x1)))\n"
                   "  (rhs (clip :min (max ?v1 0.0) :max (max ?v2 0.0) ?x1)))");
  assert_accepted(text, 6, &report); // 1 to 2 % of rules are refuted by some seed
  egraph_string_free(NULL, text);
}

/// Normalization of groups of channels has a meaning in the field.
static void normalizations_of_groups_are_compared(void **state) {
  (void)state;
  if (test_is_sanitized()) skip(); // over a minute; other families take the same way
  write_file(FAMILY_FILE, "(egraph-families 1) (family norms (about \"of a test\")"
                          " (inputs (x 1 \"float32[2,4,3]\") (y 1 \"float32[1,2,5]\"))"
                          " (weights (s 2 \"float32[4]\") (t 2 \"float32[2]\"))"
                          " (operators (instance-normalization)"
                          " (group-normalization :num_groups (each 1 2 4))))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  options.operators = 1;
  char *text = generate(&options, &report);
  assert_has(text,
             "(lhs (group-normalization :num_groups ?v1 :epsilon ?v2 ?x1 ?x2 ?x3))\n"
             "  (rhs (instance-normalization :epsilon ?v2 ?x1 ?x2 ?x3))\n"
             "  (when (or (= ?v1 (dim ?x1 1)) ");
  assert_accepted(text, 5, &report);
  egraph_string_free(NULL, text);
}

/// Numbers of constants are lifted where candidates have several, into attributes and
/// other constants.
static void constants_of_several_numbers_are_lifted(void **state) {
  (void)state;
  write_file(FAMILY_FILE,
             "(egraph-families 1) (family numbers (about \"of a test\")"
             " (inputs (x 1 \"float32[6]\"))"
             " (constants (two \"float32[]\" 2) (three \"float32[]\" 3)"
             " (few \"float32[]\" -3) (minus \"float32[]\" -2))"
             " (operators (add) (sub) (max) (prelu)"
             " (clip :min (each 2.0 3.0) :max inf) (leaky-relu :alpha (each 2.0 3.0))))");
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  options.operators = 1;
  char *text = generate(&options, &report);
  static const char when[] = "\n  (when (splat? ?x2) (broadcasts-to ?x2 ?x1)";
  static const char *const rights[] = {
      "(clip :min (splat ?x2) ?x1))", "(leaky-relu :alpha (splat ?x2) ?x1))",
      "(add ?x1 (fill :dtype (dtype ?x1) :shape [] :value (- (splat ?x2)))))"};
  for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
    char part[160];
    (void)snprintf(part, sizeof part, "(rhs %s%s", rights[i], when);
    assert_has(text, part);
  }
  assert_accepted(text, 5, &report);
  egraph_string_free(NULL, text);
}

/// Rules of a file are known: what the first run made the second one leaves out.
static void rules_beside_are_left_out(void **state) {
  (void)state;
  if (test_is_sanitized()) skip(); // over a minute; other families take the same way
  static const char RULES_FILE[] = "test_generate_rules.rules";
  const char *beside[] = {RULES_FILE};
  write_family();
  egraph_generate_options options = tiny();
  egraph_generate_report first, second;
  char *text = generate(&options, &first);
  assert_true(first.merged > 0);
  write_file(RULES_FILE, text);
  egraph_string_free(NULL, text);
  options.beside = beside;
  options.beside_count = 1;
  text = generate(&options, &second);
  assert_int_equal(second.rules, 0);
  assert_int_equal(second.candidates, first.candidates);
  egraph_string_free(NULL, text);
  (void)remove(RULES_FILE);
  assert_fails(egraph_rules_generate(NULL, &options, &text, &second), EGRAPH_E_IO,
               RULES_FILE);
}

typedef struct found_counts {
  uint32_t found, constants, others;
} found_counts;

static void on_found(void *user, const egraph_rule_found *found) {
  found_counts *counts = user;
  counts->found += found->is_found;
  if (found->is_found) {
    assert_string_equal(found->reason, "");
    assert_true(found->by[0] != '\0' || strcmp(found->rule, "swap") == 0);
    return;
  }
  assert_string_equal(found->by, "");
  *(strcmp(found->reason, "constants") == 0 ? &counts->constants : &counts->others) += 1;
}

static egraph_rules *rules_of(const char *text) {
  egraph_rules *rules;
  assert_ok(egraph_rules_create(NULL, &rules));
  egraph_rules_trust(rules, true);
  assert_ok(egraph_rules_add_text(rules, "given.rules", text));
  return rules;
}

/// Found are rules that sets imply together, those that leave attributes open and those
/// of known numbers among them.
static void what_sets_find_again_is_counted(void **state) {
  (void)state;
  egraph_rules *of =
      rules_of("(egraph-rules 1)"
               "(rule four (source \"x\") (lhs (neg (neg (neg (neg ?x))))) (rhs ?x))"
               "(rule last (source \"x\") (lhs (reshape :shape ?s (reshape :shape _ ?x)))"
               " (rhs (reshape :shape ?s ?x)))"
               "(rule one (source \"x\") (lhs (mul ?x ?c)) (rhs ?x)"
               " (when (splat-is ?c 1.0) (broadcasts-to ?c ?x)))"
               "(rule none (source \"x\") (lhs (mul (neg ?x) ?c)) (rhs ?x)"
               " (when (splat-is ?c -1.0) (broadcasts-to ?c ?x)))"
               "(rule abs (source \"x\") (lhs (abs (abs ?x))) (rhs (abs ?x)))");
  egraph_rules *by[] = {
      rules_of("(egraph-rules 1)"
               "(rule a (source \"x\") (lhs (neg (neg ?x))) (rhs ?x))"
               "(rule b (source \"x\") (lhs (mul ?y ?k)) (rhs ?y)"
               " (when (splat-is ?k 1.0) (broadcasts-to ?k ?y)))"),
      rules_of("(egraph-rules 1)"
               "(rule a (source \"y\") (lhs (neg (neg ?x))) (rhs ?x))" // once more
               "(rule c (source \"x\") (lhs (reshape :shape ?s (reshape :shape ?t ?x)))"
               " (rhs (reshape :shape ?s ?x)))")};
  found_counts counts = {0};
  assert_ok(egraph_rules_found(NULL, of, (const egraph_rules *const *)by, 2, on_found,
                               &counts));
  assert_int_equal(counts.found, 3);
  assert_int_equal(counts.constants, 1);
  assert_int_equal(counts.others, 1);
  assert_fails(
      egraph_rules_found(NULL, of, (const egraph_rules *[]){NULL}, 1, NULL, NULL),
      EGRAPH_E_ARGUMENT, "by[0] is NULL");
  egraph_rules_destroy(of);
  for (int i = 0; i < 2; i++)
    egraph_rules_destroy(by[i]);
}

/// Rules over other operators, which fill the e-graph, do not hide what those over the
/// operators of a rule imply, cases of rules with parameters among them.
static void other_rules_do_not_hide_what_is_found(void **state) {
  (void)state;
  egraph_rules *of = rules_of("(egraph-rules 1) (rule deep (source \"x\")"
                              " (lhs (div (neg (neg (neg (neg (neg ?x))))) ?y))"
                              " (rhs (neg (neg (neg (neg (neg (div ?x ?y))))))))");
  egraph_rules *by =
      rules_of("(egraph-rules 1) (for $grow (abs relu square sign floor ceil)"
               " (rule $grow-div (source \"x\") (lhs (div ?x ?y)) (rhs (div ($grow ?x) "
               "($grow ?y)))))"
               "(rule any (source \"x\") (operators ?f mul div)"
               " (lhs (?f (neg ?x) ?y)) (rhs (neg (?f ?x ?y))))");
  found_counts counts = {0};
  assert_ok(egraph_rules_found(NULL, of, (const egraph_rules *const *)&by, 1, on_found,
                               &counts));
  assert_int_equal(counts.found, 1);
  egraph_rules_destroy(of);
  egraph_rules_destroy(by);
}

/// What shipped rules imply is left out.
static void shipped_rules_imply_theirs(void **state) {
  (void)state;
  write_family();
  egraph_generate_options options = tiny();
  egraph_generate_report alone, beside;
  egraph_string_free(NULL, generate(&options, &alone));
  options.alone = false;
  char *text = generate(&options, &beside);
  assert_true(beside.rules < alone.rules);
  assert_true(beside.implied > alone.implied);
  assert_null(strstr(text, "(lhs (neg (neg ?x1)))")); // algebra.rules has it
  egraph_string_free(NULL, text);
}

/// In parts, each by a run of its own, and in one: the same rules and counts.
static void a_run_that_was_ended_goes_on(void **state) {
  (void)state;
  write_family();
  (void)remove(STATE_FILE);
  egraph_generate_options options = tiny();
  egraph_generate_report whole, part = {.is_complete = false};
  char *wanted = generate(&options, &whole), *got = NULL;
  options.state = STATE_FILE;
  options.candidates = 1; // a batch
  options.threads = 2;
  int runs = 0;
  for (; !part.is_complete; runs++) {
    egraph_string_free(NULL, got);
    got = generate(&options, &part);
    assert_true(runs < 100);
  }
  assert_true(runs > 1);
  assert_string_equal(got, wanted);
  assert_int_equal(part.judged, whole.judged);
  assert_int_equal(part.implied, whole.implied);
  assert_int_equal(part.refused, whole.refused);
  assert_int_equal(part.pairs, whole.pairs);
  assert_int_equal(part.terms, whole.terms);
  egraph_string_free(NULL, got);
  got = generate(&options, &part); // nothing is left to do
  assert_string_equal(got, wanted);
  egraph_string_free(NULL, got);
  egraph_string_free(NULL, wanted);
}

static bool stop_at_once(void *user, const char *line) {
  (void)line;
  return ++*(int *)user > 4;
}

static void stopping_is_a_result(void **state) {
  (void)state;
  write_family();
  (void)remove(STATE_FILE);
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  int calls = 0;
  options.progress = stop_at_once;
  options.user = &calls;
  options.state = STATE_FILE;
  char *text = NULL;
  egraph_status status = egraph_rules_generate(NULL, &options, &text, &report);
  if (status == EGRAPH_OK) {
    assert_false(report.is_complete);
    assert_non_null(strstr(text, "(egraph-rules 1)"));
    egraph_string_free(NULL, text);
  } else {
    assert_int_equal(status, EGRAPH_E_CANCELLED); // among the terms
  }
}

// ---- state files of others ------------------------------------------------------

/// `text` with the first `from` replaced.
static char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  assert_non_null(at);
  size_t before = (size_t)(at - text), added = strlen(to);
  const char *rest = at + strlen(from);
  char *out = malloc(before + added + strlen(rest) + 1);
  assert_non_null(out);
  memcpy(out, text, before);
  memcpy(out + before, to, added);
  memcpy(out + before + added, rest, strlen(rest) + 1);
  return out;
}

static void state_files_are_not_trusted(void **state) {
  (void)state;
  write_family();
  (void)remove(STATE_FILE);
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  options.state = STATE_FILE;
  options.candidates = 1; // a batch
  egraph_string_free(NULL, generate(&options, &report));
  char *good = NULL, *out = NULL;
  read_file(STATE_FILE, &good);
  static const char *const changes[][3] = {
      {"(run tiny ", "(run other ", "the state of another run"},
      {"(egraph-generate 1)", "(egraph-rules 1)", "it is no whole state"},
      {"(counts ", "(counts x ", "it has other counts"},
      {"(next 16)", "(next 4000000)", "is beyond the candidates"},
      {"(next 16)", "(next -1)", "(next N) is a number"},
      {"(candidates\n (", "(candidates\n (18446744073709551615 7 1 0) (",
       "a candidate that is no pair of terms"},
      {"(candidates\n (", "(candidates\n (18446744073709551616 7 1 0) (",
       "a candidate is two terms"},
      {"(candidates\n (", "(candidates\n (18446744073709551615 7 1) (",
       "a candidate is two terms"},
      {"(candidates\n (", "(candidates\n ((", "malformed"},
      {"(rules\n (", "(rules\n (99 ", "a rule is its guard"},
      {"(neg (neg ?x1)", "(neg (abs ?x1)", "does not hold or stands there twice"},
      {"(lhs ", "(lhs (nothing ", "does not hold or stands there twice"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    char *bad = replaced(good, changes[i][0], changes[i][1]);
    write_file(STATE_FILE, bad);
    free(bad);
    egraph_status status = egraph_rules_generate(NULL, &options, &out, &report);
    assert_int_equal(status, EGRAPH_E_PARSE);
    if (strcmp(changes[i][2], "malformed") != 0 &&
        strstr(egraph_last_error(), changes[i][2]) == NULL)
      fail_msg("%zu: %s", i, egraph_last_error());
  }
  // Cut off anywhere it is no state.
  for (size_t length = 0; length < strlen(good) - 2; length += 1 + strlen(good) / 23) {
    assert_ok(eg_file_write(STATE_FILE, good, length));
    assert_int_equal(egraph_rules_generate(NULL, &options, &out, &report),
                     EGRAPH_E_PARSE);
  }
  free_file(good);
  (void)remove(STATE_FILE);
}

static void wrong_options_are_told(void **state) {
  (void)state;
  write_family();
  egraph_generate_options options = tiny();
  egraph_generate_report report;
  char *out;
  options.operators = 5;
  assert_fails(egraph_rules_generate(NULL, &options, &out, &report), EGRAPH_E_ARGUMENT,
               "operators: 5; it must be 1 to 4");
  options.operators = 2;
  options.byte_limit = 1000;
  assert_fails(egraph_rules_generate(NULL, &options, &out, &report), EGRAPH_E_ARGUMENT,
               "raise --byte-limit");
  options.byte_limit = 0;
  options.family = NULL;
  assert_fails(egraph_rules_generate(NULL, &options, &out, &report), EGRAPH_E_ARGUMENT,
               "no family is named");
  options.family = "nowhere.family";
  assert_fails(egraph_rules_generate(NULL, &options, &out, &report), EGRAPH_E_IO,
               "nowhere.family");
}

static egraph_status make_under(egraph_allocator alloc, void *user) {
  (void)user;
  const eg_generate_options options = {
      .family = FAMILY_FILE, .operators = 1, .seed = 1, .is_alone = true};
  eg_generate_report report;
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = eg_rules_generate(&alloc, &options, &text, &report);
  eg_text_deinit(&text);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  write_file(FAMILY_FILE,
             "(egraph-families 1) (family least (inputs (x 2 \"float32[2]\"))"
             " (operators (identity) (add) (sub)))");
  test_every_allocation_failing(make_under, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_of_rules_verifies_and_has_known_ones),
      cmocka_unit_test(constants_are_conditions_and_fills),
      cmocka_unit_test(defaults_of_attributes_are_lifted),
      cmocka_unit_test(attributes_are_computed_and_conditions_found),
      cmocka_unit_test(conditions_come_together),
      cmocka_unit_test(candidates_that_do_not_fit_are_given_up),
      cmocka_unit_test(parts_of_numbers_are_leaks),
      cmocka_unit_test(constants_that_are_made_are_moved),
      cmocka_unit_test(bounds_are_computed_under_conditions),
      cmocka_unit_test(normalizations_of_groups_are_compared),
      cmocka_unit_test(constants_of_several_numbers_are_lifted),
      cmocka_unit_test(rules_beside_are_left_out),
      cmocka_unit_test(what_sets_find_again_is_counted),
      cmocka_unit_test(other_rules_do_not_hide_what_is_found),
      cmocka_unit_test(shipped_rules_imply_theirs),
      cmocka_unit_test(a_run_that_was_ended_goes_on),
      cmocka_unit_test(stopping_is_a_result),
      cmocka_unit_test(state_files_are_not_trusted),
      cmocka_unit_test(wrong_options_are_told),
      cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
