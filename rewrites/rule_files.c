// A text is read completely before any of its rules is kept, so a failure adds none.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/rule_files.h"

#include <assert.h>
#include <string.h>

#include "rewrites/builtin_rules.h"
#include "rewrites/language/rule_for.h"
#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/language/rules_internal.h"

enum { MAX_FILE_BYTES = 16 << 20 };

void eg_rules_set_checks(eg_rules *rules, const eg_rule_checks *checks) {
  rules->checks = checks;
}

bool eg_rules_set_verified(eg_rules *rules, bool verified) {
  assert(!verified || rules->checks != NULL);
  bool before = rules->is_verified;
  rules->is_verified = verified;
  return before;
}

// ---- reading --------------------------------------------------------------------

static egraph_status check_layouts(const eg_rules *rules, const eg_rule *rule,
                                   const eg_sexpr *form) {
  if (rule->move_count == 0 || rules->is_builtin) return EGRAPH_OK;
  if (rules->checks != NULL) return rules->checks->layouts(&rules->alloc, rule);
  return eg_sexpr_fail(
      rule->file, form,
      "nothing here checks what a rule with parallel operators claims of "
      "layouts; link the rule laboratory, or leave the rule out");
}

static egraph_status read_rule(eg_rules *rules, const eg_rule_source_text *from,
                               const eg_sexpr *form) {
  eg_rule rule, reverse;
  EG_TRY(eg_rule_read(from, form, false, &rule));
  EG_TRY(check_layouts(rules, &rule, form));
  if (rule.implied) return eg_rules_add_implied(rules, &rule, form);
  if (rule.schema != NULL && !rules->is_builtin)
    EG_TRY(eg_rule_cases_check(&rule, rules->alloc));
  if (rule.both_ways) EG_TRY(eg_rule_read(from, form, true, &reverse));
  const char *name;
  EG_TRY(eg_rules_is_known(rules, &rule, &rule.known_as));
  name = rule.known_as;
  if (name != NULL && rule.both_ways) EG_TRY(eg_rules_is_known(rules, &reverse, &name));
  if (name != NULL) return eg_rules_add_implied(rules, &rule, form);
  rule.known_as = NULL;
  EG_TRY(eg_rules_add(rules, &rule, form));
  return rule.both_ways ? eg_rules_add(rules, &reverse, form) : EGRAPH_OK;
}

static egraph_status read_test(eg_rules *rules, const eg_rule_source_text *from,
                               const eg_sexpr *form) {
  eg_rule_test test;
  EG_TRY(eg_rule_test_read(from, form, &test));
  return eg_rules_add_test(rules, &test, form);
}

static egraph_status check_header(const char *file, const eg_sexpr *text) {
  eg_sexpr start = {.line = 1, .column = 1};
  const eg_sexpr *header = text->count > 0 ? &text->children[0] : &start;
  if (text->count == 0 || !eg_sexpr_is_form(header, "egraph-rules"))
    return eg_sexpr_fail(file, header,
                         "a rule file begins with (egraph-rules 1); put that first");
  if (header->count == 3 && eg_sexpr_is_atom(&header->children[2], "symbolic"))
    return eg_sexpr_fail(file, header,
                         "these are rules over plain symbols, not over tensor operators");
  if (header->count == 2 && eg_sexpr_is_atom(&header->children[1], "1")) return EGRAPH_OK;
  return eg_sexpr_fail(file, header,
                       "this version of rule files is unknown; only (egraph-rules 1) is");
}

static egraph_status read_forms(eg_rules *rules, const eg_rule_source_text *from,
                                const eg_sexpr *text) {
  eg_sexpr forms;
  EG_TRY(check_header(from->file, text));
  EG_TRY(eg_rule_expand(from->arena, from->file, text, &forms));
  for (uint32_t i = 1; i < forms.count; i++) {
    const eg_sexpr *form = &forms.children[i];
    if (eg_sexpr_is_form(form, "rule"))
      EG_TRY(read_rule(rules, from, form));
    else if (eg_sexpr_is_form(form, "test"))
      EG_TRY(read_test(rules, from, form));
    else
      return eg_sexpr_fail(
          from->file, form,
          "unknown form; write (rule name ...), (test name ...) or (for $name "
          "(value ...) form ...)");
  }
  return EGRAPH_OK;
}

// ---- the whole ----------------------------------------------------------------------

egraph_status eg_rules_parse(eg_rules *rules, const char *file, const char *text,
                             size_t size) {
  eg_rule_source_text from = {.arena = &rules->arena, .scratch = rules->alloc};
  EG_TRY(eg_arena_string(&rules->arena, file, strlen(file), &from.file));
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(&rules->arena, from.file, text, size, &forms));
  eg_rules_mark before = eg_rules_mark_of(rules);
  rules->switched.len = 0;
  egraph_status status = read_forms(rules, &from, &forms);
  if (status == EGRAPH_OK && rules->is_verified && !rules->is_builtin)
    status = rules->checks->hold(rules, (uint32_t)before.rules, (uint32_t)before.tests);
  if (status != EGRAPH_OK) eg_rules_shrink(rules, before);
  return status;
}

egraph_status eg_rules_load(eg_rules *rules, const char *path) {
  char *text;
  size_t size;
  EG_TRY(eg_file_read(rules->alloc, path, MAX_FILE_BYTES, &text, &size));
  egraph_status status = eg_rules_parse(rules, path, text, size);
  eg_free(rules->alloc, text, size + 1, 1);
  return status;
}

// Rules that only make variants, without a chance of gain by themselves.
static bool is_exploring(const eg_rule *rule) {
  return strncmp(rule->file, "explore-", strlen("explore-")) == 0;
}

static egraph_status parse_builtin(eg_rules *rules) {
  for (size_t i = 0; i < eg_builtin_rule_file_count; i++) {
    const eg_builtin_rule_file *file = &eg_builtin_rule_files[i];
    EG_TRY(eg_rules_parse(rules, file->name, (const char *)file->text, file->size));
  }
  return EGRAPH_OK;
}

egraph_status eg_rules_add_builtin(eg_rules *rules) {
  eg_rules_mark before = eg_rules_mark_of(rules);
  rules->is_builtin = true;
  egraph_status status = parse_builtin(rules);
  rules->is_builtin = false;
  if (status != EGRAPH_OK) {
    eg_rules_shrink(rules, before);
    return status;
  }
  for (size_t i = before.rules; i < rules->rules.list.len; i++)
    if (is_exploring(rules->rules.list.data[i]))
      rules->rules.list.data[i]->enabled = false;
  return EGRAPH_OK;
}
