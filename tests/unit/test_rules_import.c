// Unity's substitutions as they are published: files made by hand, and the real one where
// it is there.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/unity/unity_import.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "rewrites/verify/verify.h"
#include "tests/testing.h"

// ---- files by hand --------------------------------------------------------------------

typedef struct bytes {
  unsigned char data[2048];
  size_t len;
} bytes;

static void put_varint(bytes *to, uint64_t value) {
  for (; value > 127; value >>= 7)
    to->data[to->len++] = (unsigned char)(value | 128);
  to->data[to->len++] = (unsigned char)value;
}

static void put_number(bytes *to, unsigned field, int64_t value) {
  put_varint(to, field << 3);
  put_varint(to, (uint64_t)value);
}

static void put_message(bytes *to, unsigned field, const bytes *message) {
  put_varint(to, field << 3 | 2);
  put_varint(to, message->len);
  memcpy(to->data + to->len, message->data, message->len);
  to->len += message->len;
}

static void put_pair(bytes *to, unsigned field, int64_t first, int64_t second) {
  bytes pair = {.len = 0};
  put_number(&pair, 1, first);
  put_number(&pair, 2, second);
  put_message(to, field, &pair);
}

/// An operator as "kind operand operand / key value ...": numbers as in the file.
typedef struct op_text {
  int kind, a, b, key, value; // b, key: 0 for none
} op_text;

static void put_op(bytes *rule, unsigned field, op_text op) {
  bytes message = {.len = 0};
  put_number(&message, 1, op.kind);
  put_pair(&message, 2, op.a, 0);
  if (op.b != 0) put_pair(&message, 2, op.b, 0);
  if (op.key != 0) put_pair(&message, 3, op.key, op.value);
  put_message(rule, field, &message);
}

static void put_result(bytes *rule, int64_t left, int64_t right) {
  bytes message = {.len = 0};
  put_number(&message, 1, left);
  put_number(&message, 2, right);
  put_number(&message, 3, 0);
  put_number(&message, 4, 0);
  put_message(rule, 3, &message);
}

/// Sides of at most three operators, kind 0 ends one; the last one is the result.
static void put_rule(bytes *file, const op_text left[3], const op_text right[3]) {
  bytes rule = {.len = 0};
  int64_t count[2] = {0, 0};
  for (; count[0] < 3 && left[count[0]].kind != 0; count[0]++)
    put_op(&rule, 1, left[count[0]]);
  for (; count[1] < 3 && right[count[1]].kind != 0; count[1]++)
    put_op(&rule, 2, right[count[1]]);
  put_result(&rule, count[0] - 1, count[1] - 1);
  put_message(file, 1, &rule);
}

enum { LINEAR = 5, RELU = 8, ADD = 16, PART = 26, COMB = 27, REPL = 28, REDU = 29 };
enum { DIM = 15, AXIS = 11, CONCAT = 12 };

typedef struct case_of {
  op_text left[3], right[3];
  eg_import_outcome outcome;
  const char *detail;
} case_of;

static const case_of cases[] = {
    // (linear (part rows x) (repl w)) = (part rows (linear x w))
    {{{PART, -1, 0, DIM, 1}, {REPL, -2, 0, 0, 0}, {LINEAR, 0, 1, 0, 0}},
     {{LINEAR, -1, -2, 0, 0}, {PART, 0, 0, DIM, 1}},
     EG_IMPORT_IMPLIED,
     ""},
    // (add (linear x w) (linear y w)) = (linear (add x y) w)
    {{{LINEAR, -1, -3, 0, 0}, {LINEAR, -2, -3, 0, 0}, {ADD, 0, 1, 0, 0}},
     {{ADD, -1, -2, 0, 0}, {LINEAR, 0, -3, 0, 0}},
     EG_IMPORT_ADDED,
     ""},
    // the same with other numbers of variables
    {{{LINEAR, -4, -1, 0, 0}, {LINEAR, -5, -1, 0, 0}, {ADD, 0, 1, 0, 0}},
     {{ADD, -4, -5, 0, 0}, {LINEAR, 0, -1, 0, 0}},
     EG_IMPORT_KNOWN,
     ""},
    // (part rows (part columns x)) = (part columns (part rows x)): on two axes
    {{{PART, -1, 0, DIM, 2}, {PART, 0, 0, DIM, 1}},
     {{PART, -1, 0, DIM, 1}, {PART, 0, 0, DIM, 2}},
     EG_IMPORT_IMPLIED,
     ""},
    // (relu (redu x)) = (redu (relu x)): wrong
    {{{REDU, -1, 0, 0, 0}, {RELU, 0, 0, 0, 0}},
     {{RELU, -1, 0, 0, 0}, {REDU, 0, 0, 0, 0}},
     EG_IMPORT_REFUSED,
     "relu cannot be computed from operands that are partial sums"},
    {{{REPL, -1, 0, DIM, 1}, {RELU, 0, 0, 0, 0}},
     {{RELU, -1, 0, 0, 0}},
     EG_IMPORT_REFUSED,
     "which are tiles"},
    {{{PART, -1, 0, DIM, 0}, {RELU, 0, 0, 0, 0}},
     {{RELU, -1, 0, 0, 0}},
     EG_IMPORT_REFUSED,
     "partitions or combines copies"},
    {{{CONCAT, -1, -2, AXIS, 0}},
     {{CONCAT, -2, -1, AXIS, 0}},
     EG_IMPORT_REFUSED,
     "concatenates or splits copies"},
    {{{RELU, -1, 0, 0, 0}},
     {{ADD, -1, -2, 0, 0}},
     EG_IMPORT_REFUSED,
     "has a variable on the right side alone"},
    {{{RELU, -1, 0, 0, 0}},
     {{ADD, -1, -1, 0, 0}},
     EG_IMPORT_REFUSED,
     "its sides differ in value"},
    {{{3, -1, -2, 0, 0}}, {{RELU, -1, 0, 0, 0}}, EG_IMPORT_REFUSED, "unknown operator"},
    {{{RELU, -1, -2, 0, 0}}, {{RELU, -1, 0, 0, 0}}, EG_IMPORT_REFUSED, "unknown number"},
};
enum { CASES = sizeof cases / sizeof *cases };

static const char path[] = "test_rules_import.pb";

static void write_file(const bytes *file) {
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(file->data, 1, file->len, out), file->len);
  assert_int_equal(fclose(out), 0);
}

static void write_cases(bytes *file) {
  file->len = 0;
  for (size_t i = 0; i < CASES; i++)
    put_rule(file, cases[i].left, cases[i].right);
  write_file(file);
}

static void check_case(void *user, uint32_t number, eg_import_outcome outcome,
                       const char *detail) {
  uint32_t *seen = user;
  assert_int_equal(number, (*seen)++);
  assert_string_equal(eg_import_outcome_name(outcome),
                      eg_import_outcome_name(cases[number].outcome));
  if (strstr(detail, cases[number].detail) == NULL)
    fail_msg("%u: '%s', wanted '%s'", number, detail, cases[number].detail);
}

static void every_outcome_has_its_reason(void **state) {
  (void)state;
  bytes file;
  eg_rules *rules;
  uint32_t seen = 0, rule;
  write_cases(&file);
  assert_ok(eg_rules_create(NULL, &rules));
  assert_ok(eg_rules_import_unity(rules, path, check_case, &seen));
  assert_int_equal(seen, CASES);
  assert_int_equal(eg_rules_count(rules), 1);
  assert_int_equal(eg_rules_implied_count(rules), 2);
  assert_true(eg_rules_find(rules, "unity-1", &rule));
  eg_rules_destroy(rules);
}

static void a_file_that_is_cut_off_or_no_such_file_is_refused(void **state) {
  (void)state;
  bytes file, cut;
  write_cases(&file);
  for (size_t len = 1; len < 90; len++) { // within the first rules
    cut = file;
    cut.len = len;
    write_file(&cut);
    eg_rules *rules;
    assert_ok(eg_rules_create(NULL, &rules));
    egraph_status status = eg_rules_import_unity(rules, path, NULL, NULL);
    if (status != EGRAPH_OK)
      assert_fails(status, EGRAPH_E_PARSE, "this is no file of substitutions");
    eg_rules_destroy(rules);
  }
  eg_rules *rules;
  assert_ok(eg_rules_create(NULL, &rules));
  assert_fails(eg_rules_import_unity(rules, "/nonexistent/x.pb", NULL, NULL), EGRAPH_E_IO,
               "/nonexistent/x.pb");
  // An operand that stands behind its user.
  file.len = 0;
  const op_text loop[3] = {{RELU, 1, 0, 0, 0}}, good[3] = {{RELU, -1, 0, 0, 0}};
  put_rule(&file, loop, good);
  write_file(&file);
  assert_fails(eg_rules_import_unity(rules, path, NULL, NULL), EGRAPH_E_PARSE,
               "this is no file of substitutions");
  eg_rules_destroy(rules);
}

static egraph_status import_some(egraph_allocator alloc, void *user) {
  (void)user;
  eg_rules *rules;
  EG_TRY(eg_rules_create(&alloc, &rules));
  egraph_status status = eg_rules_import_unity(rules, path, NULL, NULL);
  eg_rules_destroy(rules);
  return status;
}

static void importing_survives_every_allocation_failing(void **state) {
  (void)state;
  bytes file = {.len = 0};
  put_rule(&file, cases[0].left, cases[0].right);
  put_rule(&file, cases[4].left, cases[4].right);
  write_file(&file);
  test_every_allocation_failing(import_some, NULL);
}

// ---- the published file ---------------------------------------------------------------

static void count_outcome(void *user, uint32_t number, eg_import_outcome outcome,
                          const char *detail) {
  (void)number;
  (void)detail;
  ((uint32_t *)user)[outcome]++;
}

static void the_published_file_is_imported(void **state) {
  (void)state;
  static const char published[] = EG_DATA_DIR "/rules/flexflow_graph_subst_3_v2.pb";
  if (access(published, R_OK) != 0) {
    print_message("no %s: skipped\n", published);
    skip();
  }
  uint32_t count[EG_IMPORT_OUTCOMES] = {0};
  eg_rules *rules;
  assert_ok(eg_rules_create(NULL, &rules));
  assert_ok(eg_rules_import_unity(rules, published, count_outcome, count));
  assert_int_equal(count[EG_IMPORT_ADDED], 63);
  assert_int_equal(count[EG_IMPORT_IMPLIED], 58);
  assert_int_equal(count[EG_IMPORT_KNOWN], 5);
  assert_int_equal(count[EG_IMPORT_REFUSED], 514);
  assert_int_equal(eg_rules_count(rules), 63);
  eg_rules_destroy(rules);
}

static int remove_file(void **state) {
  (void)state;
  (void)remove(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_outcome_has_its_reason),
      cmocka_unit_test(a_file_that_is_cut_off_or_no_such_file_is_refused),
      cmocka_unit_test(importing_survives_every_allocation_failing),
      cmocka_unit_test(the_published_file_is_imported),
  };
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
