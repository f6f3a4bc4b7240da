// Reads files of rewrite rules into a set, and has them checked.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_FILES_H
#define EG_REWRITES_RULE_FILES_H

#include "rewrites/language/rules.h"

/// The checks of rules that are read and not shipped: rewrites/lab/rule_checks.h.
typedef struct eg_rule_checks {
  /// Of a rule with parallel operators: what it claims of layouts.
  egraph_status (*layouts)(const egraph_allocator *alloc, const eg_rule *rule);
  /// Of rules and tests, from these numbers on: whether they hold.
  egraph_status (*hold)(const eg_rules *rules, uint32_t first_rule, uint32_t first_test);
} eg_rule_checks;
/// Borrows the checks. Without them (NULL, at first) no text with parallel operators is
/// read but the shipped ones, and none is verified.
void eg_rules_set_checks(eg_rules *rules, const eg_rule_checks *checks);
/// Whether texts that are read from now on are verified, a few instances of each rule and
/// all tests, milliseconds a rule; there must be checks. False at first. Returns what it
/// was.
bool eg_rules_set_verified(eg_rules *rules, bool verified);
/// Adds the rules of a text. Fails with EGRAPH_E_PARSE "file:line:col: what; remedy",
/// verified ones with the counterexample, and then adds none of them.
egraph_status eg_rules_parse(eg_rules *rules, const char *file, const char *text,
                             size_t size);
egraph_status eg_rules_load(eg_rules *rules, const char *path);
/// The rule files shipped with the library (embedded at build time). Those called
/// explore-*.rules are switched off: they only make variants.
egraph_status eg_rules_add_builtin(eg_rules *rules);

#endif
