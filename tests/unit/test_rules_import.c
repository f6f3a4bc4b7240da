// Substitutions as they are published: files of every format made by hand, and the real
// ones where they are there.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/import.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
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
     "by layouts"},
    // (add (linear x w) (linear y w)) = (linear (add x y) w)
    {{{LINEAR, -1, -3, 0, 0}, {LINEAR, -2, -3, 0, 0}, {ADD, 0, 1, 0, 0}},
     {{ADD, -1, -2, 0, 0}, {LINEAR, 0, -3, 0, 0}},
     EG_IMPORT_TESTED,
     ""},
    // the same with other numbers of variables
    {{{LINEAR, -4, -1, 0, 0}, {LINEAR, -5, -1, 0, 0}, {ADD, 0, 1, 0, 0}},
     {{ADD, -4, -5, 0, 0}, {LINEAR, 0, -1, 0, 0}},
     EG_IMPORT_DUPLICATE,
     ""},
    // (part rows (part columns x)) = (part columns (part rows x)): on two axes
    {{{PART, -1, 0, DIM, 2}, {PART, 0, 0, DIM, 1}},
     {{PART, -1, 0, DIM, 1}, {PART, 0, 0, DIM, 2}},
     EG_IMPORT_IMPLIED,
     ""},
    // (relu (redu x)) = (redu (relu x)): wrong
    {{{REDU, -1, 0, 0, 0}, {RELU, 0, 0, 0, 0}},
     {{RELU, -1, 0, 0, 0}, {REDU, 0, 0, 0, 0}},
     EG_IMPORT_REFUTED,
     "result 0, element"},
    {{{REPL, -1, 0, DIM, 1}, {RELU, 0, 0, 0, 0}},
     {{RELU, -1, 0, 0, 0}},
     EG_IMPORT_REFUTED,
     "result 0: the left side is"},
    {{{PART, -1, 0, DIM, 0}, {RELU, 0, 0, 0, 0}},
     {{RELU, -1, 0, 0, 0}},
     EG_IMPORT_FOREIGN,
     "partitions or combines copies; of tiles it holds"},
    {{{CONCAT, -1, -2, AXIS, 0}},
     {{CONCAT, -2, -1, AXIS, 0}},
     EG_IMPORT_REFUTED,
     "result 0, element"},
    {{{RELU, -1, 0, 0, 0}},
     {{ADD, -1, -2, 0, 0}},
     EG_IMPORT_FOREIGN,
     "has a variable on the right side alone"},
    {{{RELU, -1, 0, 0, 0}},
     {{ADD, -1, -1, 0, 0}},
     EG_IMPORT_REFUTED,
     "result 0, element"},
    {{{3, -1, -2, 0, 0}}, {{RELU, -1, 0, 0, 0}}, EG_IMPORT_FOREIGN, "unknown operator"},
    {{{RELU, -1, -2, 0, 0}}, {{RELU, -1, 0, 0, 0}}, EG_IMPORT_FOREIGN, "unknown number"},
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
  if (outcome != cases[number].outcome || strstr(detail, cases[number].detail) == NULL)
    fail_msg("%u: %s '%s', wanted %s '%s'", number, eg_import_outcome_name(outcome),
             detail, eg_import_outcome_name(cases[number].outcome), cases[number].detail);
}

static void every_outcome_has_its_reason(void **state) {
  (void)state;
  bytes file;
  eg_rules *rules;
  uint32_t seen = 0, rule;
  write_cases(&file);
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_import(rules, path, check_case, &seen));
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
    assert_ok(eg_rules_create_checked(NULL, &rules));
    egraph_status status = eg_rules_import(rules, path, NULL, NULL);
    if (status != EGRAPH_OK)
      assert_fails(status, EGRAPH_E_PARSE, "this is no file of substitutions");
    eg_rules_destroy(rules);
  }
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_fails(eg_rules_import(rules, "/nonexistent/x.pb", NULL, NULL), EGRAPH_E_IO,
               "/nonexistent/x.pb");
  // An operand that stands behind its user.
  file.len = 0;
  const op_text loop[3] = {{RELU, 1, 0, 0, 0}}, good[3] = {{RELU, -1, 0, 0, 0}};
  put_rule(&file, loop, good);
  write_file(&file);
  assert_fails(eg_rules_import(rules, path, NULL, NULL), EGRAPH_E_PARSE,
               "this is no file of substitutions");
  eg_rules_destroy(rules);
}

static egraph_status import_some(egraph_allocator alloc, void *user) {
  (void)user;
  eg_rules *rules;
  EG_TRY(eg_rules_create_checked(&alloc, &rules));
  egraph_status status = eg_rules_import(rules, path, NULL, NULL);
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

// ---- texts ----------------------------------------------------------------------------

#define CONV(act, x, w) "conv2d(1,1,0," #act ",input_" #x ",input_" #w ")"
#define MEAN(h, w, x) "poolavg(" #h "," #w ",1,1,0," x ")"

typedef struct text_case {
  const char *text;
  eg_import_outcome outcome;
  const char *detail;
} text_case;

static const text_case texts[] = {
    {MEAN(3, 1, MEAN(1, 3, "input_7")) "==" MEAN(3, 3, "input_7"), EG_IMPORT_TESTED, ""},
    {MEAN(3, 3, "input_2") "==" MEAN(3, 1, MEAN(1, 3, "input_2")), EG_IMPORT_DUPLICATE,
     "of 0"},
    {"tanh(" MEAN(3, 1, MEAN(1, 3, CONV(0, 7, 10))) ")==tanh(" MEAN(3, 3,
                                                                    CONV(0, 7, 10)) ")",
     EG_IMPORT_TESTED, "any dilation, any activation"},
    // Groups come from shapes: the sum of two convolutions is one only without groups.
    {MEAN(3, 1, MEAN(1, 3, "ewadd(" CONV(0, 7, 10) "," CONV(0, 8, 11) ")")) "==" MEAN(
         3, 3, "conv2d(1,1,0,0,concat(1,input_7,input_8),concat(1,input_10,input_11))"),
     EG_IMPORT_GUARDED, "(= group 1)"},
    // Convolutions side by side: of as many channels in each group.
    {"concat(1," CONV(0, 7, 10) "," CONV(0, 8,
                                         11) ")==conv2d(1,1,0,0,concat(1,input_7,"
                                             "input_8),concat(0,input_10,input_11))",
     EG_IMPORT_IMPLIED, "holds if (= (* (dim ?x10 0) ?g1) (* (dim ?x11 0) ?g0))"},
    // An even kernel in the middle of a larger one is not where it was.
    {CONV(0, 7, 10) "==conv2d(1,1,0,0,input_7,enlarge(3,3,input_10))", EG_IMPORT_IMPLIED,
     "conv-enlarge; holds if (odd (dim ?x10 2)) (odd (dim ?x10 3))"},
    {"relu(" CONV(0, 7, 10) ")==" CONV(2, 7, 10), EG_IMPORT_IMPLIED,
     "on by default: conv-relu"},
    {"matmul(matmul(input_1,input_4),input_5)==matmul(input_1,matmul(input_4,input_5))",
     EG_IMPORT_IMPLIED, "with explore rules: matmul-assoc"},
    {"relu(input_1)==tanh(input_1)", EG_IMPORT_REFUTED, "result 0, element"},
    // The same up to the laws of sums, and with other names.
    {"tanh(ewadd(input_3,ewadd(input_1,input_2)))==relu(ewadd(input_2,input_1))",
     EG_IMPORT_REFUTED, "result 0, element"},
    {"relu(ewadd(input_5,input_4))==tanh(ewadd(ewadd(input_5,input_6),input_4))",
     EG_IMPORT_DUPLICATE, "of 9"},
    {"relu(dropout(input_1))==relu(input_1)", EG_IMPORT_FOREIGN,
     "dropout is no operator of a rule over tensors"},
    {"relu(matmul(input_1,input_7))==relu(" CONV(0, 7, 1) ")", EG_IMPORT_FOREIGN,
     "has a tensor of two ranks"},
    {"poolavg(3,3,1,1,0,input_7)==conv2d(1,1,0,0,input_7,Cpool(3,3))", EG_IMPORT_IMPLIED,
     "with explore rules: average-pool-as-conv"},
    {"matmul(input_1,Imatmul)==relu(input_1)", EG_IMPORT_REFUTED, "result 0, element"},
    {"relu(ewadd(input_1,input_2))==relu(ewadd(input_1,input_3))", EG_IMPORT_FOREIGN,
     "has a variable on the right side alone"},
};
enum { TEXTS = sizeof texts / sizeof *texts };

static void write_text(const char *text) {
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_true(fputs(text, out) >= 0);
  assert_int_equal(fclose(out), 0);
}

static void check_text(void *user, uint32_t number, eg_import_outcome outcome,
                       const char *detail) {
  uint32_t *seen = user;
  assert_int_equal(number, (*seen)++);
  if (outcome != texts[number].outcome || strstr(detail, texts[number].detail) == NULL)
    fail_msg("%u: %s '%s', wanted %s '%s'", number, eg_import_outcome_name(outcome),
             detail, eg_import_outcome_name(texts[number].outcome), texts[number].detail);
}

static void every_verdict_of_a_text_has_its_reason(void **state) {
  (void)state;
  eg_text all;
  eg_rules *rules;
  uint32_t seen = 0, rule, rejected;
  eg_text_init(&all, eg_allocator_heap());
  for (size_t i = 0; i < TEXTS; i++)
    assert_ok(eg_text_append(&all, texts[i].text));
  write_text(eg_text_of(&all));
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_import(rules, path, check_text, &seen));
  assert_int_equal(seen, TEXTS);
  assert_int_equal(eg_rules_count(rules), 3);
  assert_true(eg_rules_find(rules, "tensat-test-rules-import-0", &rule));
  assert_string_equal(eg_rules_at(rules, rule)->source,
                      "Tensat (MLSys'21), test_rules_import.pb, substitution 0");
  const eg_verify_options options = {.seed = 9, .instances = EG_VERIFY_INSTANCES};
  assert_ok(eg_rules_verify(rules, &options, NULL, NULL, &rejected));
  assert_int_equal(rejected, 0);
  eg_rules_destroy(rules);
  eg_text_deinit(&all);
}

static void note_outcome(void *user, uint32_t number, eg_import_outcome outcome,
                         const char *detail) {
  eg_text *out = user;
  (void)detail;
  assert_ok(eg_text_printf(out, "%u %s;", number, eg_import_outcome_name(outcome)));
}

static void import_text(const char *text, eg_text *out) {
  eg_rules *rules;
  eg_text_clear(out);
  write_text(text);
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_import(rules, path, note_outcome, out));
  eg_rules_destroy(rules);
}

static void two_lines_are_a_rule_of_two_results(void **state) {
  (void)state;
  eg_text out;
  eg_text_init(&out, eg_allocator_heap());
  // With variables of the other line: pairs.
  import_text(
      "(matmul 0 ?input_1 ?input_4)=>(split_0 (split 1 (matmul 0 ?input_1 (concat 1 "
      "2 ?input_4 ?input_5))))\n(matmul 0 ?input_1 ?input_5)=>(split_1 (split 1 "
      "(matmul 0 ?input_1 (concat 1 2 ?input_4 ?input_5))))\n",
      &out);
  assert_string_equal(eg_text_of(&out), "0 implied;");
  // The halves exchanged: wrong.
  import_text(
      "(matmul 0 ?input_1 ?input_4)=>(split_1 (split 1 (matmul 0 ?input_1 (concat 1 "
      "2 ?input_4 ?input_5))))\n(matmul 0 ?input_1 ?input_5)=>(split_0 (split 1 "
      "(matmul 0 ?input_1 (concat 1 2 ?input_4 ?input_5))))\n",
      &out);
  assert_string_equal(eg_text_of(&out), "0 refuted;");
  // Without: rules of one result each.
  import_text("(relu (concat 0 2 ?input_1 ?input_2))=>(concat 0 2 (relu ?input_1) (relu "
              "?input_2))\n(ewadd ?input_1 ?input_2)=>(ewmul ?input_1 ?input_2)",
              &out);
  assert_string_equal(eg_text_of(&out), "0 implied;1 refuted;");
  eg_text_deinit(&out);
}

typedef struct bad_text {
  const char *text, *message;
} bad_text;

static void a_text_that_is_wrong_is_refused_with_its_place(void **state) {
  (void)state;
  static const bad_text bad[] = {
      {"relu(input_1)==", "a term is missing here"},
      {"(relu ?input_1)=>\n(sin ?input_1)", "test_rules_import.pb:2: sin is no operator"},
      {"relu(input_1)==relu(input_1)relu(input_2)", "== or => is missing here"},
      {"relu(input_1)==relu(input_1,input_2)",
       "relu has 0 numbers and 2 operands; it takes"},
      {"conv2d(1,input_1,input_2)==relu(input_1)", "conv2d has 1 numbers and 2 operands"},
      {"relu(input_1)==relu(input_99999999)", "a number this large has no meaning"},
      {"relu(input_0)==relu(input_1)", "variables count from input_1"},
      {"relu(input_1)==7", "a side is a term, not a number"},
      {"relu(input_1)==split_0(1,2,input_1)", "split_0 and split_1 are written as"},
      {"relu(input_1)==split_0(relu(input_1))", "split_0 and split_1 take a split"},
      {"concat(input_1,0,input_2)==relu(input_1)", "numbers stand before operands"},
      {"relu(input_1 input_2)==relu(input_1)", "a comma or a bracket is missing here"},
      {"a_name_that_is_much_longer_than_any_operator(input_1)==relu(input_1)",
       "a name this long is that of no operator"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    eg_rules *rules;
    write_text(bad[i].text);
    assert_ok(eg_rules_create_checked(NULL, &rules));
    assert_fails(eg_rules_import(rules, path, NULL, NULL), EGRAPH_E_PARSE,
                 bad[i].message);
    assert_int_equal(eg_rules_count(rules), 0);
    eg_rules_destroy(rules);
  }
}

static void nested_terms_end_somewhere(void **state) {
  (void)state;
  eg_text text;
  eg_rules *rules;
  eg_text_init(&text, eg_allocator_heap());
  for (int i = 0; i < 100000; i++)
    assert_ok(eg_text_append(&text, "relu("));
  assert_ok(eg_text_append(&text, "=="));
  write_text(eg_text_of(&text));
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_fails(eg_rules_import(rules, path, NULL, NULL), EGRAPH_E_PARSE,
               "terms are nested too deep");
  eg_text_clear(&text);
  for (int i = 0; i < 30; i++) // more operators than are kept, fewer levels than allowed
    assert_ok(eg_text_append(&text, "relu("));
  assert_ok(
      eg_text_append(&text, "input_1))))))))))))))))))))))))))))))==relu(input_1)"));
  eg_text seen;
  eg_text_init(&seen, eg_allocator_heap());
  import_text(eg_text_of(&text), &seen);
  assert_string_equal(eg_text_of(&seen), "0 not-convertible;");
  eg_text_deinit(&seen);
  eg_text_deinit(&text);
  eg_rules_destroy(rules);
}

// ---- JSON -----------------------------------------------------------------------------

#define JSON_OP(type, inputs)                                                            \
  "{\"_t\":\"Operator\",\"type\":\"" type "\",\"input\":[" inputs "],\"para\":[]}"
#define JSON_TENSOR(op) "{\"_t\":\"Tensor\",\"opId\":" #op ",\"tsId\":0}"
#define JSON_MAP(l, r)                                                                   \
  "{\"_t\":\"MapOutput\",\"srcOpId\":" #l ",\"srcTsId\":0,\"dstOpId\":" #r               \
  ",\"dstTsId\":0}"
#define JSON_RULE(left, right, map)                                                      \
  "{\"_t\":\"Rule\",\"name\":\"taso_rule_0\",\"srcOp\":[" left "],\"dstOp\":[" right     \
  "],\"mappedOutput\":[" map "]}"
#define JSON_FILE(rules) "{\"_t\":\"RuleCollection\",\"rule\":[" rules "]}"

static void json_of_flexflow_is_read(void **state) {
  (void)state;
  eg_text out;
  eg_text_init(&out, eg_allocator_heap());
  import_text(
      JSON_FILE(JSON_RULE(
          JSON_OP("OP_EW_ADD", JSON_TENSOR(-1) "," JSON_TENSOR(-2)),
          JSON_OP("OP_EW_ADD", JSON_TENSOR(-2) "," JSON_TENSOR(-1)),
          JSON_MAP(
              0,
              0)) "," JSON_RULE(JSON_OP("OP_EW_ADD", JSON_TENSOR(-1) "," JSON_TENSOR(-2)),
                                JSON_OP("OP_EW_MUL", JSON_TENSOR(-2) "," JSON_TENSOR(-1)),
                                JSON_MAP(0, 0)) "," JSON_RULE(JSON_OP("OP_NEW",
                                                                      JSON_TENSOR(-1)),
                                                              JSON_OP("OP_RELU",
                                                                      JSON_TENSOR(-1)),
                                                              JSON_MAP(0, 0))),
      &out);
  assert_string_equal(eg_text_of(&out), "0 tested;1 refuted;2 not-convertible;");
  eg_text_deinit(&out);
}

static void json_that_is_wrong_is_refused_with_its_place(void **state) {
  (void)state;
  static const bad_text bad[] = {
      {"{\"rule\":3}", "at $.rule"},
      {"{\"_t\":\"RuleCollection\"}", "no key \"rule\""},
      {JSON_FILE(JSON_RULE(JSON_OP("OP_RELU", JSON_TENSOR(0)),
                           JSON_OP("OP_RELU", JSON_TENSOR(-1)), JSON_MAP(0, 0))),
       "an operand does not stand before the operator"},
      {JSON_FILE(JSON_RULE(JSON_OP("OP_RELU", JSON_TENSOR(-1)),
                           JSON_OP("OP_RELU", JSON_TENSOR(-1)), JSON_MAP(0, 7))),
       "a mapped output is that of no operator"},
      {JSON_FILE(JSON_RULE(JSON_OP("OP_RELU", JSON_TENSOR(-9999999999)),
                           JSON_OP("OP_RELU", JSON_TENSOR(-1)), JSON_MAP(0, 0))),
       "a number out of range"},
      {JSON_FILE("") "x", "test_rules_import.pb"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    eg_rules *rules;
    write_text(bad[i].text);
    assert_ok(eg_rules_create_checked(NULL, &rules));
    assert_fails(eg_rules_import(rules, path, NULL, NULL), EGRAPH_E_PARSE,
                 bad[i].message);
    eg_rules_destroy(rules);
  }
}

// ---- TASO's protocol buffers ----------------------------------------------------------

enum { MATMUL = 18, MUL = 17 };

static void protocol_buffers_of_taso_are_told_from_flexflows(void **state) {
  (void)state;
  bytes file = {.len = 0};
  eg_text out;
  eg_rules *rules;
  eg_text_init(&out, eg_allocator_heap());
  // (x y) z = x (y z); and one of operator 26, which is no partition here.
  put_rule(&file, (op_text[3]){{MATMUL, -1, -4, 0, 0}, {MATMUL, 0, -5, 0, 0}},
           (op_text[3]){{MATMUL, -4, -5, 0, 0}, {MATMUL, -1, 0, 0, 0}});
  // The second operator of the right side above takes the result of the first one as its
  // first operand in put_op's words; this is the rule x (y z) of the same.
  put_rule(&file, (op_text[3]){{PART, -1, 0, 0, 0}}, (op_text[3]){{RELU, -1, 0, 0, 0}});
  write_file(&file);
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_import(rules, path, note_outcome, &out));
  assert_non_null(strstr(eg_text_of(&out), "1 not-convertible;"));
  eg_rules_destroy(rules);
  eg_text_deinit(&out);
}

// ---- the published file ---------------------------------------------------------------

static void count_outcome(void *user, uint32_t number, eg_import_outcome outcome,
                          const char *detail) {
  (void)number;
  (void)detail;
  ((uint32_t *)user)[outcome]++;
}

typedef struct published {
  const char *name;
  uint32_t count[EG_IMPORT_OUTCOMES];       // tested, holds-if, implied, duplicate, ...
  uint32_t share_count[EG_IMPORT_OUTCOMES]; // of the share of a .pb file
} published_file;
enum { SHARE = 4 }; // every fourth substitution, where EG_TEST_SCALE is below 1

/// Writes every SHARE-th message of field 1, which the file consists of, to `path`.
static void write_share(const char *file) {
  char *data;
  size_t size, at = 0;
  assert_ok(eg_file_read(eg_allocator_heap(), file, (size_t)1 << 24, &data, &size));
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  for (uint32_t number = 0; at < size; number++) {
    size_t start = at, length = 0;
    assert_int_equal(data[at++], 1 << 3 | 2);
    for (unsigned shift = 0;; shift += 7) {
      unsigned char part = (unsigned char)data[at++];
      length |= (size_t)(part & 127) << shift;
      if (part < 128) break;
    }
    at += length;
    assert_true(at <= size);
    if (number % SHARE == 0)
      assert_int_equal(fwrite(data + start, 1, at - start, out), at - start);
  }
  assert_int_equal(fclose(out), 0);
  eg_free(eg_allocator_heap(), data, size + 1, 1);
}

static void import_published(const published_file *file) {
  char at[512];
  if (test_is_sanitized())
    skip(); // it would take a quarter of an hour; files made by hand are read
  uint32_t count[EG_IMPORT_OUTCOMES] = {0};
  eg_rules *rules;
  (void)snprintf(at, sizeof at, "%s/rules/%s", EG_DATA_DIR, file->name);
  if (access(at, R_OK) != 0) {
    print_message("no %s: skipped\n", at);
    skip();
  }
  bool is_share = test_rounds(SHARE) < SHARE && strstr(at, ".pb") != NULL;
  if (is_share) write_share(at);
  const uint32_t *wanted = is_share ? file->share_count : file->count;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_import(rules, is_share ? path : at, count_outcome, count));
  for (uint32_t i = 0; i < EG_IMPORT_OUTCOMES; i++)
    if (count[i] != wanted[i])
      fail_msg("%s: %u %s, wanted %u", file->name, count[i],
               eg_import_outcome_name((eg_import_outcome)i), wanted[i]);
  assert_int_equal(eg_rules_count(rules),
                   count[EG_IMPORT_TESTED] + count[EG_IMPORT_GUARDED]);
  eg_rules_destroy(rules);
}

static void unitys_published_file_is_imported(void **state) {
  (void)state;
  // Refuted are 273, 420, 427, 436 and 444, which hold in no reading.
  import_published(&(published_file){
      "flexflow_graph_subst_3_v2.pb", {33, 6, 58, 65, 5, 473}, {13, 2, 15, 2, 3, 125}});
}

static void tasos_published_file_is_imported(void **state) {
  (void)state;
  import_published(&(published_file){
      "taso_graph_subst.pb", {0, 0, 84, 49, 0, 0}, {0, 0, 31, 3, 0, 0}});
}

static void tensats_published_files_are_imported(void **state) {
  (void)state;
  import_published(
      &(published_file){"tensat_converted_multi.txt", {0, 0, 10, 3, 0, 0}, {0}});
  import_published(&(published_file){"tensat_multi_rules.txt", {0, 0, 10, 3, 0, 0}, {0}});
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
      cmocka_unit_test(every_verdict_of_a_text_has_its_reason),
      cmocka_unit_test(two_lines_are_a_rule_of_two_results),
      cmocka_unit_test(a_text_that_is_wrong_is_refused_with_its_place),
      cmocka_unit_test(nested_terms_end_somewhere),
      cmocka_unit_test(json_of_flexflow_is_read),
      cmocka_unit_test(json_that_is_wrong_is_refused_with_its_place),
      cmocka_unit_test(protocol_buffers_of_taso_are_told_from_flexflows),
      cmocka_unit_test(unitys_published_file_is_imported),
      cmocka_unit_test(tasos_published_file_is_imported),
      cmocka_unit_test(tensats_published_files_are_imported),
  };
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
