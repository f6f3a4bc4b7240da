// A match as it is kept until it is applied: the classes of the class variables, the
// classes of the roots, and the nodes whose attributes or class the rule names. Values
// are read again from the nodes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_MATCH_H
#define EG_REWRITES_RULE_MATCH_H

#include "egraph/pattern.h"
#include "rewrites/saturation/rule_eval.h"

/// True when a kept match must say which node this term matched; of explained e-graphs
/// all nodes are kept, because a node's attributes need not be those of the pattern.
bool eg_rule_match_keeps(const eg_rule_term *term, bool keeps_all);
/// Words of a kept match, at most pattern_var_count + root_count + pattern_term_count.
uint32_t eg_rule_match_words(const eg_rule *rule, bool keeps_all);
void eg_rule_match_pack(const eg_rule *rule, const eg_match *match, bool keeps_all,
                        uint32_t *out_words);
/// The class that a root matched.
eg_class eg_rule_match_root(const eg_rule *rule, const uint32_t *words, uint32_t root);
/// Binds env->vars from a kept match, then the lets that are values. False when the match
/// does not fit after all.
bool eg_rule_match_bind(eg_rule_env *env, const uint32_t *words);

#endif
