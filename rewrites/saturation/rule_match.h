// Left sides: lowering to the engine's patterns, and what the engine does not check
// (attributes, types, conditions).
//
// A match is kept as a few words: the classes of the class variables, the classes of the
// roots, and the nodes whose attributes or class the rule names. Values are read again
// from the nodes when the match is applied.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_MATCH_H
#define EG_REWRITES_RULE_MATCH_H

#include "egraph/pattern.h"
#include "rewrites/saturation/rule_eval.h"

/// The pattern of a left side; its arrays come from the arena. Guards are term indices.
egraph_status eg_rule_pattern(const eg_rule *rule, eg_arena *arena, eg_pattern *out);
/// Decides a guard: literal attributes of one term.
bool eg_rule_accepts(const eg_rule *rule, uint32_t guard, const eg_attrs *attrs);

/// Words of a kept match, at most pattern_var_count + root_count + pattern_term_count.
uint32_t eg_rule_match_words(const eg_rule *rule);
void eg_rule_pack(const eg_rule *rule, const eg_match *match, uint32_t *out_words);
/// The class that root i matched.
eg_class eg_rule_packed_root(const eg_rule *rule, const uint32_t *words, uint32_t root);
/// Binds env->vars from a packed match, then the lets that are values. False when the
/// match does not fit after all.
bool eg_rule_bind(eg_rule_env *env, const uint32_t *words);

#endif
