// Creates sets of rules that check the texts they read, and selects rules over the
// operators of another rule.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAB_RULE_CHECKS_H
#define EG_REWRITES_LAB_RULE_CHECKS_H

#include "rewrites/lab/basis/owned.h"

/// Creates a set of rules that checks the rules of each text it reads: their layouts and,
/// after eg_rules_set_verified, their values. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_create_checked(const egraph_allocator *alloc, eg_rules **out);

/// Reads a text into a new checked set. *out is NULL when the text has no rule or cannot
/// be read; the last error then says why.
egraph_status eg_rules_try_text(egraph_allocator alloc, const char *file,
                                const eg_text *text, eg_rules **out);
/// Copies a set of rules and switches all of them on. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_copy_all_on(const eg_rules *rules, egraph_allocator alloc,
                                   eg_rules **out);
/// True when `other`, or one of its cases, has only operators of `rule` or, `with_parts`,
/// operators that split and join tensors. Rules with other operators seldom help, and
/// fill the e-graph.
bool eg_rule_is_over(const eg_rule *rule, const eg_rule *other, bool with_parts);

/// Adds rules that say which operators commute, as axioms: generated terms use one order
/// of operands only. Does not add a rule that the set already has.
egraph_status eg_rules_add_commutativity(eg_rules *rules, const char *file);

#endif
