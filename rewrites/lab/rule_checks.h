// Sets of rules whose texts are checked when they are read, and rules over the operators
// of another one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAB_RULE_CHECKS_H
#define EG_REWRITES_LAB_RULE_CHECKS_H

#include "rewrites/lab/basis/owned.h"

/// Creates a set that checks the rules of each text it reads: what they claim about
/// layouts, and, after eg_rules_set_verified, whether they hold. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_rules_create_checked(const egraph_allocator *alloc, eg_rules **out);

/// Reads a text into a checked set of its own. *out is NULL where it has no rule, or
/// cannot be read, which is the last error.
egraph_status eg_rules_try_text(egraph_allocator alloc, const char *file,
                                const eg_text *text, eg_rules **out);
/// A copy of a set of rules, all of them switched on. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_copy_all_on(const eg_rules *rules, egraph_allocator alloc,
                                   eg_rules **out);
/// True when `other`, or one of its cases, has only operators of `rule` or, `with_parts`,
/// operators that take values apart and put them together. Other rules seldom help, and
/// fill the e-graph.
bool eg_rule_is_over(const eg_rule *rule, const eg_rule *other, bool with_parts);

/// Adds that operators commute, as axioms: terms that were made have one order of
/// operands. Rules that are there already stay.
egraph_status eg_rules_add_commutativity(eg_rules *rules, const char *file);

#endif
