// Matches of left sides: the checks that the search makes as early as possible, and the
// form of matches until they are applied. When a pattern has several roots, a condition
// on the first root rules out all combinations with the others.
//
//   step 0 matches (conv ... ?x ?w)   ?x ?w and the attributes are bound,
//                                     (weight-only ?w) is checked
//   step 1 matches (conv ... ?x ?v)   ?v is bound, equal attributes and (before ?w ?v)
//                                     are checked
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_CHECKS_H
#define EG_REWRITES_RULE_CHECKS_H

#include "egraph/pattern.h"
#include "rewrites/saturation/rule_eval.h"

typedef enum eg_rule_check_kind {
  EG_RULE_CHECK_LET,      // index: let, which must have a value
  EG_RULE_CHECK_SLOT,     // term, index: attribute with an expression, must be equal
  EG_RULE_CHECK_CONDITION // index: expression, must hold
} eg_rule_check_kind;

typedef struct eg_rule_check {
  eg_rule_check_kind kind;
  uint32_t term, index;
} eg_rule_check;

/// The checks that follow one step of the pattern search.
typedef struct eg_rule_step {
  uint32_t term; // the term whose node was matched
  bool is_below; // another term has it as an operand
  uint32_t first_check, check_count;
} eg_rule_step;

typedef struct eg_rule_steps {
  eg_rule_step *steps; // [step_count]
  uint32_t step_count;
  eg_rule_check *checks; // grouped by step
  uint32_t *bound_at;    // [variable] the step that binds it
} eg_rule_steps;

/// Plans the checks of a rule for the order in which the matcher works. Memory
/// comes from the arena.
egraph_status eg_rule_steps_plan(const eg_rule *rule, const eg_matcher *matcher,
                                 eg_arena *arena, eg_rule_steps *out);
/// Binds the variables that step `step` of the search has matched, and makes its checks;
/// the steps before must have passed. After the last step every variable of the left side
/// and every value is bound, and the match fits. `marks` ([step_count], zero at first)
/// and `env` belong to the search.
bool eg_rule_steps_pass(const eg_rule_steps *checks, eg_rule_env *env, uint32_t *marks,
                        uint32_t step, const eg_match *so_far);

// ---- kept matches ---------------------------------------------------------------
//
// A kept match has the classes of the class variables, the classes of the roots, and the
// nodes whose attributes or class the rule names. Values are read again from the nodes.

/// Returns a match's words, <= pattern_var_count + root_count + pattern_term_count.
uint32_t eg_rule_match_words(const eg_rule *rule, bool keeps_all);
void eg_rule_match_pack(const eg_rule *rule, const eg_match *match, bool keeps_all,
                        uint32_t *out_words);
/// Returns the class that a root of the left side matched, from the words of a match.
eg_class eg_rule_match_root(const eg_rule *rule, const uint32_t *words, uint32_t root);
/// Binds env->vars to a stored match, then the values of `let`. Returns false when the
/// match no longer fits.
bool eg_rule_match_bind(eg_rule_env *env, const uint32_t *words);

#endif
