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

/// Whether a condition says that a tensor variable is a number.
bool eg_has_rank_zero(const eg_rule *rule, uint32_t var);
/// Whether permutations carry every axis to one axis of each term (rank_perms.c).
bool eg_perms_are_plain(const eg_rule *rule);
/// How many axes that windows slide over are enough, of a rule with this number of paths
/// to variables and of pads; EGRAPH_MAX_RANK: it is not known (rank_windows.c).
uint32_t eg_window_bound(const eg_rule *rule, uint32_t paths, uint32_t pads);
/// The term that a variable stands for (by let or as), or the term itself.
uint32_t eg_term_meant(const eg_rule *rule, uint32_t term);

#endif
