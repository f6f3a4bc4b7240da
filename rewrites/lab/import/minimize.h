// The smallest subset found of a set of rules that implies the others.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_MINIMIZE_H
#define EG_REWRITES_MINIMIZE_H

#include "rewrites/language/rules.h"

/// Appends the rule file of those that are kept; `report` (may be NULL) is told of each
/// rule once, in order. Rules with parallel operators are kept. Equal sets, equal
/// answers. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_minimize(egraph_allocator alloc, const eg_rules *rules,
                                void (*report)(void *user, const egraph_rule_need *need),
                                void *user, eg_text *out);

#endif
