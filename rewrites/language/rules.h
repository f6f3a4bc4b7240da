// A set of rewrite rules: what is in it, by number and by name; switching on and off;
// printing. rule_files.h fills it. The grammar stands in rewrites/rules/LANGUAGE.md.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULES_H
#define EG_REWRITES_RULES_H

#include "base/text.h"
#include "rewrites/language/rule_ast.h"

typedef struct eg_rules eg_rules;

egraph_status eg_rules_create(const egraph_allocator *alloc, eg_rules **out);
void eg_rules_destroy(eg_rules *rules);
egraph_allocator eg_rules_allocator(const eg_rules *rules);
/// Rules with parallel operators (rules/LANGUAGE.md) that say nothing but what layouts
/// imply: without those operators both sides are the same term, or the rule is one that
/// is there; and rules of a user that are shipped. They are verified and printed, and
/// nothing else is done with them.
uint32_t eg_rules_implied_count(const eg_rules *rules);

/// One entry per direction: a `both-ways` rule counts as two, the
/// second named "<name>-reversed".
uint32_t eg_rules_count(const eg_rules *rules);
const char *eg_rule_name(const eg_rules *rules, uint32_t rule);
const char *eg_rule_file(const eg_rules *rules, uint32_t rule);
uint32_t eg_rule_line(const eg_rules *rules, uint32_t rule);
bool eg_rules_find(const eg_rules *rules, const char *name, uint32_t *out_rule);
/// Borrowed until the rules are destroyed.
const eg_rule *eg_rules_at(const eg_rules *rules, uint32_t rule);
const eg_rule *eg_rules_implied_at(const eg_rules *rules, uint32_t rule);
uint32_t eg_rules_test_count(const eg_rules *rules);
const eg_rule_test *eg_rules_test_at(const eg_rules *rules, uint32_t test);
/// True when the rule is called `name`, is its reverse, or stands in the
/// file with that stem.
bool eg_rule_answers_to(const eg_rule *rule, const char *name);
/// Switches a rule on or off for saturation: both directions, or the second one by its
/// own name, or all rules of a file by its stem. EGRAPH_E_ARGUMENT when unknown.
egraph_status eg_rules_enable(eg_rules *rules, const char *name, bool on);
/// Canonical form; parse(print(rules)) prints identically.
egraph_status eg_rules_print(const eg_rules *rules, eg_text *out);
/// Appends an expression of a rule.
egraph_status eg_rule_print_expr(eg_text *text, const eg_rule *rule, uint32_t expr);

/// "exact" and so on; NULL for another number.
const char *eg_rule_class_name(egraph_math math);
/// False when there is none of that name.
bool eg_rule_class_find(const char *name, egraph_math *out);

#endif
