// What the verifier draws is told from rules that are made of the table of operators: one
// for each attribute that the right side sets to its default, and one for each pair of
// operands that it exchanges. Nearly all of them are wrong; those that hold are listed.
// A rule that is true of every operator finds instances of it.
// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>

#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "tests/testing.h"

enum { INSTANCES = 64 };

typedef struct known_rule {
  eg_op op;
  const char *attr; // or "": operands
  const char *why;
} known_rule;

static const known_rule KNOWN[] = {
    {EG_OP_GEMM, "beta", "nothing is added"},
    {EG_OP_CONV, "group", "the weight fits one number of groups"},
    {EG_OP_CONV_TRANSPOSE, "group", "the bias fits one number of groups"},
    {EG_OP_CONV_INTEGER, "group", "the weight fits one number of groups"},
    {EG_OP_QLINEAR_CONV, "group", "the weight fits one number of groups"},
    {EG_OP_CONV, "algorithm", "is of how it is computed"},
    {EG_OP_CONV_TRANSPOSE, "algorithm", "is of how it is computed"},
    {EG_OP_CONV_GRAD_WEIGHT, "algorithm", "is of how it is computed"},
    {EG_OP_QUANTIZE_LINEAR, "block_size", "the scale fits one size"},
    {EG_OP_DEQUANTIZE_LINEAR, "block_size", "the scale fits one size"},
    {EG_OP_LAYER_NORM, "axis", "the scale fits one axis"},
    {EG_OP_RMS_NORM, "axis", "the scale fits one axis"},
    {EG_OP_LAYER_NORM_GRAD, "axis", "the scale fits one axis"},
    {EG_OP_RMS_NORM_GRAD, "axis", "the scale fits one axis"},
    {EG_OP_ATTENTION_GRAD, "safe", "counts where a sum is -inf"},
    {EG_OP_RESIZE, "roi", "the coordinates that read it ask for it"},
    {EG_OP_REVERSE_SEQUENCE, "time_axis", "the axes differ, and the lengths fit one"},
    {EG_OP_REVERSE_SEQUENCE, "batch_axis", "the axes differ, and the lengths fit one"},
    {EG_OP_MAX_POOL_INDICES, "storage_order", "is of the indices, which are result 1"},
    {EG_OP_MAX_POOL_GRAD, "ceil_mode", "the cotangent fits one mode, or both are one"},
    {EG_OP_AVERAGE_POOL_GRAD, "ceil_mode", "the cotangent fits one mode"},
    {EG_OP_MATMUL, "", "two addends"},
};
enum { KNOWN_RULES = sizeof KNOWN / sizeof *KNOWN };

typedef struct verdicts {
  eg_text text;
  eg_op op; // of the rules in the text
  uint64_t seed;
  uint32_t written, accepted, refused;
  bool was_seen[KNOWN_RULES];
} verdicts;

// ---- terms ----------------------------------------------------------------------------

/// Under sanitizers some operators are enough: rules of the others take the same way. A
/// body fits one number of operands, so no rule for all bodies has instances.
static bool has_values(eg_op op) {
  if (test_is_sanitized() && op % 4 != 0) return false;
  return op != EG_OP_INPUT && op != EG_OP_WEIGHT && op != EG_OP_OPAQUE &&
         op != EG_OP_FUSED && op != EG_OP_IDENTITY && op != EG_OP_PART &&
         eg_op_info_of(op)->results != 0;
}

static void write_variable(eg_text *text, const char *name) {
  assert_ok(eg_text_append(text, "?"));
  for (; *name != '\0'; name++)
    assert_ok(
        eg_text_printf(text, "%c", *name == '_' ? '-' : tolower((unsigned char)*name)));
}

/// All attributes are variables but for `slot`; operands `at` and the next one change
/// places.
static void write_term(eg_text *text, eg_op op, uint32_t operands, int slot, int at) {
  const eg_op_info *info = eg_op_info_of(op);
  bool is_part = info->results > 1;
  if (is_part) assert_ok(eg_text_append(text, "(part :index 0 "));
  assert_ok(eg_text_printf(text, "(%s", info->name));
  for (int i = 0; i < info->attr_count; i++) {
    assert_ok(eg_text_printf(text, " :%s ", info->attrs[i].name));
    bool is_text = info->attrs[i].kind == EG_ATTR_STRING;
    if (i != slot)
      write_variable(text, info->attrs[i].name);
    else
      assert_ok(
          eg_text_printf(text, is_text ? "\"%s\"" : "%s", info->attrs[i].default_text));
  }
  for (int i = 0; i < (int)operands; i++)
    assert_ok(eg_text_printf(text, " ?x%d", i == at ? at + 1 : i == at + 1 ? at : i));
  assert_ok(eg_text_append(text, is_part ? "))" : ")"));
}

static void write_rule(verdicts *v, uint32_t operands, int slot, int at) {
  assert_ok(eg_text_printf(&v->text,
                           "(rule r%u (source \"table of operators\") (class fast) (lhs ",
                           (unsigned)v->written++));
  bool is_same = slot < 0 && at < 0;
  if (is_same) assert_ok(eg_text_append(&v->text, "(identity "));
  write_term(&v->text, v->op, operands, -1, -2);
  assert_ok(eg_text_append(&v->text, is_same ? ")) (rhs " : ") (rhs "));
  write_term(&v->text, v->op, operands, slot, at < 0 ? -2 : at);
  assert_ok(eg_text_append(&v->text, "))\n"));
}

// ---- verdicts -------------------------------------------------------------------------

static void note(void *user, const char *rule, bool accepted, const char *detail) {
  verdicts *v = user;
  (void)rule;
  *(accepted ? &v->accepted : &v->refused) += 1;
  // A rule without an instance tells nothing.
  if (strstr(detail, "no instance") != NULL) fail_msg("%s", eg_text_of(&v->text));
}

static void verify(verdicts *v) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  (void)eg_rules_set_verified(rules, false);
  assert_ok(eg_rules_parse(rules, "operators", eg_text_of(&v->text), v->text.chars.len));
  const eg_verify_options options = {.seed = v->seed, .instances = INSTANCES};
  v->accepted = v->refused = 0;
  assert_ok(eg_rules_verify(rules, &options, note, v, NULL));
  eg_rules_destroy(rules);
}

static void begin(verdicts *v) {
  eg_text_clear(&v->text);
  assert_ok(eg_text_append(&v->text, "(egraph-rules 1)\n"));
}

/// Accepted rules are known to hold.
static void judge(verdicts *v, const char *attr) {
  verify(v);
  if (v->accepted == 0) return;
  for (uint32_t i = 0; i < KNOWN_RULES; i++)
    if (KNOWN[i].op == v->op && strcmp(KNOWN[i].attr, attr) == 0) {
      v->was_seen[i] = true;
      return;
    }
  fail_msg("%s of %s does not count:\n%s", attr, eg_op_info_of(v->op)->name,
           eg_text_of(&v->text));
}

static uint32_t most_operands(const eg_op_info *info) {
  return info->max_inputs < 0 ? (uint32_t)info->min_inputs : (uint32_t)info->max_inputs;
}

static void open_verdicts(verdicts *v) {
  *v = (verdicts){.seed = test_seed(1)};
  eg_text_init(&v->text, eg_allocator_heap());
}

static void close_verdicts(verdicts *v, bool of_attributes) {
  for (uint32_t i = 0; i < KNOWN_RULES && !test_is_sanitized(); i++)
    if ((KNOWN[i].attr[0] != '\0') == of_attributes && !v->was_seen[i])
      fail_msg("row of %s, %s, is not needed", eg_op_info_of(KNOWN[i].op)->name,
               KNOWN[i].attr);
  eg_text_deinit(&v->text);
}

static void every_attribute_counts(void **state) {
  (void)state;
  verdicts v;
  open_verdicts(&v);
  for (v.op = 0; v.op < EG_OP_COUNT; v.op++) {
    const eg_op_info *info = eg_op_info_of(v.op);
    for (int slot = 0; has_values(v.op) && slot < info->attr_count; slot++) {
      if (info->attrs[slot].default_text[0] == '\0') continue;
      for (uint32_t n = (uint32_t)info->min_inputs; n <= most_operands(info); n++) {
        begin(&v);
        write_rule(&v, n, slot, -1);
        judge(&v, info->attrs[slot].name);
      }
    }
  }
  close_verdicts(&v, true);
}

static void operands_do_not_change_places(void **state) {
  (void)state;
  verdicts v;
  open_verdicts(&v);
  for (v.op = 0; v.op < EG_OP_COUNT; v.op++) {
    const eg_op_info *info = eg_op_info_of(v.op);
    bool commutes = (info->flags & EG_OPF_COMMUTES) != 0;
    uint32_t operands = most_operands(info);
    for (int at = 0; has_values(v.op) && !commutes && at + 1 < (int)operands; at++) {
      begin(&v);
      write_rule(&v, operands, -1, at);
      judge(&v, "");
    }
  }
  close_verdicts(&v, false);
}

static void every_operator_has_instances(void **state) {
  (void)state;
  verdicts v;
  open_verdicts(&v);
  for (v.op = 0; v.op < EG_OP_COUNT; v.op++) {
    const eg_op_info *info = eg_op_info_of(v.op);
    if (!has_values(v.op)) continue;
    begin(&v);
    for (uint32_t n = (uint32_t)info->min_inputs; n <= most_operands(info); n++)
      write_rule(&v, n, -1, -1);
    verify(&v);
    assert_int_equal(v.refused, 0);
  }
  eg_text_deinit(&v.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_attribute_counts),
      cmocka_unit_test(operands_do_not_change_places),
      cmocka_unit_test(every_operator_has_instances),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
