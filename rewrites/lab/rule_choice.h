// Which rules may help to show that a rule follows from others.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_CHOICE_H
#define EG_REWRITES_RULE_CHOICE_H

#include "rewrites/language/rules.h"

/// A copy of a set of rules, all of them switched on. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_copy_all_on(const eg_rules *rules, egraph_allocator alloc,
                                   eg_rules **out);
/// Whether `other`, or one of its cases, has only operators of `rule`, or `with_parts` of
/// those that take values apart and put them together. Others seldom help, and fill the
/// e-graph.
bool eg_rule_is_over(const eg_rule *rule, const eg_rule *other, bool with_parts);

#endif
