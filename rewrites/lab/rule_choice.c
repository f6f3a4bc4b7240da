// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_choice.h"

#include <string.h>

#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rule_schema.h"

static egraph_status copy_into(const eg_rules *rules, egraph_allocator alloc,
                               eg_rules *to) {
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = eg_rules_print(rules, &text);
  if (status == EGRAPH_OK)
    status = eg_rules_parse(to, "rules", eg_text_of(&text), strlen(eg_text_of(&text)));
  eg_text_deinit(&text);
  for (uint32_t i = 0; status == EGRAPH_OK && i < eg_rules_count(to); i++)
    status = eg_rules_enable(to, eg_rule_name(to, i), true);
  return status;
}

egraph_status eg_rules_copy_all_on(const eg_rules *rules, egraph_allocator alloc,
                                   eg_rules **out) {
  EG_TRY(eg_rules_create_checked(&alloc, out));
  egraph_status status = copy_into(rules, alloc, *out);
  if (status == EGRAPH_OK) return EGRAPH_OK;
  eg_rules_destroy(*out);
  *out = NULL;
  return status;
}

static bool may_use(const eg_rule *rule, eg_op op, bool with_parts) {
  static const eg_op parts[] = {EG_OP_RELU, EG_OP_CONCAT, EG_OP_SPLIT, EG_OP_PART};
  for (size_t i = 0; with_parts && i < sizeof parts / sizeof *parts; i++)
    if (op == parts[i]) return true;
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (!rule->terms[i].is_var && rule->terms[i].op == op) return true;
  return false;
}

/// An operator of a rule with parameters is one of several: one that may be used will do.
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
