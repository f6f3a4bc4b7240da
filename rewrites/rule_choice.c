// SPDX-License-Identifier: Apache-2.0
#include "rewrites/rule_choice.h"

#include <string.h>

#include "rewrites/rule_files.h"

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
  EG_TRY(eg_rules_create(&alloc, out));
  egraph_status status = copy_into(rules, alloc, *out);
  if (status == EGRAPH_OK) return EGRAPH_OK;
  eg_rules_destroy(*out);
  *out = NULL;
  return status;
}

static bool has_operator(const eg_rule *rule, eg_op op) {
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (!rule->terms[i].is_var && rule->terms[i].op == op) return true;
  return false;
}

bool eg_rule_is_related(const eg_rule *rule, const eg_rule *other) {
  static const eg_op always[] = {EG_OP_RELU, EG_OP_CONCAT, EG_OP_SPLIT, EG_OP_PART};
  for (uint32_t i = 0; i < other->term_count; i++) {
    bool is_found = other->terms[i].is_var || has_operator(rule, other->terms[i].op);
    for (size_t k = 0; k < sizeof always / sizeof *always; k++)
      is_found = is_found || other->terms[i].op == always[k];
    if (!is_found) return false;
  }
  return true;
}
