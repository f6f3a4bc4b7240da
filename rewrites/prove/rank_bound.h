// How many ranks have to be looked at: the number of axes beyond which a rule cannot fail
// without failing with one axis less (README.md, "Ranks").
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RANK_BOUND_H
#define EG_REWRITES_RANK_BOUND_H

#include "rewrites/language/rule_ast.h"

/// The length that a list of axes has wherever the rule applies, or EG_RULE_NONE.
uint32_t eg_known_length(const eg_rule *rule, const eg_rule_slot *slot);
/// A rank that is enough; EGRAPH_MAX_RANK, all that there are, where nothing is known.
uint32_t eg_rank_bound(const eg_rule *rule);

#endif
