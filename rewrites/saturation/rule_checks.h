// Checks of a left side, made as early as the search allows: when a pattern has
// several roots, a condition on the first keeps all combinations with the others
// from being tried.
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

/// What is to be done at one step of the search.
typedef struct eg_rule_step {
  uint32_t term; // whose node was matched
  bool is_below; // it is an operand of another term
  uint32_t first_check, check_count;
} eg_rule_step;

typedef struct eg_rule_checks {
  eg_rule_step *steps; // [step_count]
  uint32_t step_count;
  eg_rule_check *checks; // grouped by step
  uint32_t *bound_at;    // per variable: the step that binds it
} eg_rule_checks;

/// Plans the checks of a rule for the order in which the matcher works. Memory
/// comes from the arena.
egraph_status eg_rule_checks_plan(const eg_rule *rule, const eg_matcher *matcher,
                                  eg_arena *arena, eg_rule_checks *out);
/// Binds what step `step` has matched and makes its checks; the steps before it must have
/// passed. After the last step every variable of the left side and every value is bound,
/// and the match fits. `marks` ([step_count], zero at first) belongs to the search, as
/// env does.
bool eg_rule_checks_pass(const eg_rule_checks *checks, eg_rule_env *env, uint32_t *marks,
                         uint32_t step, const eg_match *so_far);

#endif
