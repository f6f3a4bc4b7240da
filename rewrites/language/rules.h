// A set of rewrite rules: finds rules, switches them on and off, reads files of
// rules, prints them; and makes the cases of rules with parameters. The grammar is
// in rewrites/rules/LANGUAGE.md.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULES_H
#define EG_REWRITES_RULES_H

#include "base/owner.h"
#include "base/text.h"
#include "rewrites/language/rule_ast.h"

typedef struct eg_rules eg_rules;

egraph_status eg_rules_create(const egraph_allocator *alloc, eg_rules **out);
void eg_rules_destroy(eg_rules *rules);
EG_HOLDER_DEFINE(eg_rules)
egraph_allocator eg_rules_allocator(const eg_rules *rules);
/// Returns the number of implied rules, which are verified and printed but never applied:
/// rules with parallel operators (rules/LANGUAGE.md) that, without those operators, have
/// the same term on both sides or equal another rule of the set; and rules of a user that
/// equal a shipped rule.
uint32_t eg_rules_implied_count(const eg_rules *rules);

/// Returns the number of rules, one per direction: a `both-ways` rule counts as two, the
/// second named "<name>-reversed".
uint32_t eg_rules_count(const eg_rules *rules);
const char *eg_rule_name(const eg_rules *rules, uint32_t rule);
const char *eg_rule_file(const eg_rules *rules, uint32_t rule);
uint32_t eg_rule_line(const eg_rules *rules, uint32_t rule);
bool eg_rules_find(const eg_rules *rules, const char *name, uint32_t *out_rule);
/// Return a rule, borrowed until the rules are destroyed.
const eg_rule *eg_rules_at(const eg_rules *rules, uint32_t rule);
const eg_rule *eg_rules_implied_at(const eg_rules *rules, uint32_t rule);
uint32_t eg_rules_test_count(const eg_rules *rules);
const eg_rule_test *eg_rules_test_at(const eg_rules *rules, uint32_t test);
/// True when the rule is called `name`, is the reverse of a rule called `name`, or is in
/// the file with the stem `name`.
bool eg_rule_answers_to(const eg_rule *rule, const char *name);
/// Switches rules on or off for saturation: `name` is a rule (both directions), its
/// second direction, or the stem of a file (all its rules). Fails with EGRAPH_E_ARGUMENT
/// when the name is unknown.
egraph_status eg_rules_enable(eg_rules *rules, const char *name, bool on);
/// Appends the canonical text of all rules; parsed and printed again, it is the same.
egraph_status eg_rules_print(const eg_rules *rules, eg_text *out);

/// The checks of rules that a user adds; rewrites/lab/rule_checks.h has them.
typedef struct eg_rule_checks {
  /// Checks the layouts that a rule with parallel operators states.
  egraph_status (*layouts)(const egraph_allocator *alloc, const eg_rule *rule);
  /// Checks that rules and tests from numbers first_rule and first_test on hold.
  egraph_status (*hold)(const eg_rules *rules, uint32_t first_rule, uint32_t first_test);
} eg_rule_checks;
/// Sets the checks of rules, which are borrowed. Without checks (NULL, the initial value)
/// only shipped texts may have parallel operators, and no rule is verified.
void eg_rules_set_checks(eg_rules *rules, const eg_rule_checks *checks);
/// Sets if texts that are read from now on are verified: a few instances of each rule and
/// all tests, in milliseconds a rule. Initially false; without checks it must stay false.
/// Returns the previous value.
bool eg_rules_set_verified(eg_rules *rules, bool verified);
/// Adds the rules of a text. Fails with EGRAPH_E_PARSE "file:line:col: what; remedy" (a
/// failed verification includes the counterexample) and then adds no rule.
egraph_status eg_rules_parse(eg_rules *rules, const char *file, const char *text,
                             size_t size);
egraph_status eg_rules_load(eg_rules *rules, const char *path);
/// Adds the rule files shipped with the library (embedded at build time). Switches rules
/// of explore-*.rules off: they only make variants.
egraph_status eg_rules_add_builtin(eg_rules *rules);

/// The cases of rules with parameters of a set; each is read when it is first needed.
typedef struct eg_rule_cases eg_rule_cases;
egraph_status eg_rule_cases_create(egraph_allocator alloc, const eg_rules *rules,
                                   eg_rule_cases **out);
void eg_rule_cases_destroy(eg_rule_cases *cases); // NULL is allowed
size_t eg_rule_cases_bytes(const eg_rule_cases *cases);
/// Returns the case of a rule of the set for these values of its parameters, called
/// "NAME:relu:3"; for a rule without parameters, the rule itself. The case lives as long
/// as `cases`. *out is NULL when the case would be malformed. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rule_cases_get(eg_rule_cases *cases, uint32_t rule,
                                const uint32_t *values, const eg_rule **out);
/// Finds a rule of the set, or a case of one, by name; *out_rule is the rule's number in
/// the set. *out is NULL when there is none.
egraph_status eg_rule_cases_find(eg_rule_cases *cases, const char *name,
                                 uint32_t *out_rule, const eg_rule **out);

#endif
