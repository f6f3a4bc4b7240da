// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rewrites/lab/claims/layout_check.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_schema.h"

typedef struct rejection {
  const eg_rules *rules;
  char message[EG_MESSAGE_BYTES]; // of the first error
} rejection;

static void note_rejection(void *user, const char *name, bool accepted,
                           const char *detail) {
  rejection *found = user;
  uint32_t rule;
  if (accepted || found->message[0] != '\0' || !eg_rules_find(found->rules, name, &rule))
    return;
  (void)snprintf(
      found->message, sizeof found->message,
      "%s:%" PRIu32
      ": rule %s does not hold: %s; correct it (egraph rules FILE --guards looks for a "
      "condition), declare another class, or trust it",
      eg_rule_file(found->rules, rule), eg_rule_line(found->rules, rule), name, detail);
}

static egraph_status run_tests(const eg_rules *rules, uint32_t first) {
  eg_rule_test_summary summary;
  egraph_allocator alloc = eg_rules_allocator(rules);
  EG_LOCAL(eg_text, failures, alloc);
  EG_TRY(eg_rules_run_tests(rules, first, &alloc, &failures, &summary));
  if (summary.failed == 0) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_PARSE, "%.*s", (int)strcspn(eg_text_of(&failures), "\n"),
                 eg_text_of(&failures));
}

static egraph_status check_hold(const eg_rules *rules, uint32_t first_rule,
                                uint32_t first_test) {
  const eg_verify_options options = {.seed = 1,
                                     .instances = EG_VERIFY_LOAD_INSTANCES,
                                     .first = first_rule,
                                     .is_loading = true};
  rejection found = {.rules = rules};
  EG_TRY(eg_rules_verify(rules, &options, note_rejection, &found, NULL));
  if (found.message[0] != '\0') return EG_FAIL(EGRAPH_E_PARSE, "%s", found.message);
  return run_tests(rules, first_test);
}

egraph_status eg_rules_create_checked(const egraph_allocator *alloc, eg_rules **out) {
  static const eg_rule_checks checks = {.layouts = eg_layout_check, .hold = check_hold};
  EG_TRY(eg_rules_create(alloc, out));
  eg_rules_set_checks(*out, &checks);
  return EGRAPH_OK;
}

egraph_status eg_rules_try_text(egraph_allocator alloc, const char *file,
                                const eg_text *text, eg_rules **out) {
  EG_TRY(eg_text_status(text));
  EG_TRY(eg_rules_create_checked(&alloc, out));
  egraph_status status = eg_rules_parse(*out, file, eg_text_of(text), text->chars.len);
  if (status == EGRAPH_OK && eg_rules_count(*out) != 0) return EGRAPH_OK;
  eg_rules_destroy(*out);
  *out = NULL;
  return status == EGRAPH_E_PARSE ? EGRAPH_OK : status;
}

// ---- copies and choices ---------------------------------------------------------------

egraph_status eg_rules_copy_all_on(const eg_rules *rules, egraph_allocator alloc,
                                   eg_rules **out) {
  EG_LOCAL(eg_rules_own, copy, alloc);
  EG_LOCAL(eg_text, text, alloc);
  *out = NULL;
  EG_TRY(eg_rules_create_checked(&alloc, &copy));
  EG_TRY(eg_rules_print(rules, &text));
  EG_TRY(eg_rules_parse(copy, "rules", eg_text_of(&text), text.chars.len));
  for (uint32_t i = 0; i < eg_rules_count(copy); i++)
    EG_TRY(eg_rules_enable(copy, eg_rule_name(copy, i), true));
  *out = copy;
  copy = NULL;
  return EGRAPH_OK;
}

static bool may_use(const eg_rule *rule, eg_op op, bool with_parts) {
  static const eg_op parts[] = {EG_OP_RELU, EG_OP_CONCAT, EG_OP_SPLIT, EG_OP_PART};
  for (size_t i = 0; with_parts && i < sizeof parts / sizeof *parts; i++)
    if (op == parts[i]) return true;
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (!rule->terms[i].is_var && rule->terms[i].op == op) return true;
  return false;
}

/// True when `rule` may use the operator at this spot of another rule. An operator
/// parameter is one of several operators: one usable operator is enough.
static bool may_use_spot(const eg_rule *rule, const eg_rule_schema *schema,
                         const eg_rule_spot *spot, bool with_parts) {
  if (spot->parameter == EG_RULE_NONE) return may_use(rule, spot->op, with_parts);
  const eg_rule_parameter *p = &schema->parameters[spot->parameter];
  for (uint32_t i = 0; i < p->operator_count; i++)
    if (may_use(rule, p->operators[i], with_parts)) return true;
  return false;
}

bool eg_rule_is_over(const eg_rule *rule, const eg_rule *other, bool with_parts) {
  const eg_rule_schema *schema = other->schema;
  for (uint32_t i = 0; schema != NULL && i < schema->spot_count; i++)
    if (!may_use_spot(rule, schema, &schema->spots[i], with_parts)) return false;
  for (uint32_t i = 0; schema == NULL && i < other->term_count; i++)
    if (!other->terms[i].is_var && !may_use(rule, other->terms[i].op, with_parts))
      return false;
  return true;
}

egraph_status eg_rules_add_commutativity(eg_rules *rules, const char *file) {
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const eg_op_info *info = eg_op_info_of((eg_op)op);
    char text[256];
    if ((info->flags & EG_OPF_COMMUTES) == 0) continue;
    int length =
        snprintf(text, sizeof text,
                 "(egraph-rules 1)\n(rule %s-commutes (source \"operator table\") "
                 "(lhs (%s ?x ?y)) (rhs (%s ?y ?x)))",
                 info->name, info->name, info->name);
    egraph_status status = eg_rules_parse(rules, file, text, (size_t)length);
    if (status != EGRAPH_E_PARSE) EG_TRY(status); // equal to a rule that is already there
  }
  return EGRAPH_OK;
}
