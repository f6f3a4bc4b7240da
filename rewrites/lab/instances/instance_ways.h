// The outcomes ("ways") of an expression: a comparison with its sides below, at and above
// equality; a condition that holds or fails; a division with and without remainder. A
// rule that branches on an expression is compared on each way.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_WAYS_H
#define EG_REWRITES_INSTANCE_WAYS_H

#include "rewrites/lab/instances/instance_aims.h"
#include "rewrites/saturation/rule_eval.h"

typedef enum eg_way_kind {
  EG_WAY_NONE,
  EG_WAY_ORDER,    // order of two numbers: -1, 0, 1
  EG_WAY_TRUTH,    // truth value: 0, 1
  EG_WAY_REMAINDER // remainder; 0: none
} eg_way_kind;

eg_way_kind eg_way_kind_of(const eg_rule *rule, uint32_t expr);
/// Appends as classes the outcomes of expressions that the conditions of a rule allow.
egraph_status eg_instance_ways_of(const eg_rule *rule, eg_instance_aims *out);
/// True when the expression of `aim` has the outcome of `aim` with these variables, and
/// every `if` around the expression chooses the branch that contains it.
bool eg_way_is_gone(const eg_rule_env *env, const eg_instance_aim *aim);
/// True when `choice` is an `if` and one of its branches contains the expression; sets
/// *out_wanted to true when it is the first branch, to false when the second.
bool eg_way_leads_through(const eg_rule *rule, uint32_t expr, uint32_t choice,
                          bool *out_wanted);
/// Appends an outcome of an expression: "(len ?p) at 5" or "(odd ?k) true".
egraph_status eg_way_print(eg_text *text, const eg_rule *rule,
                           const eg_instance_aim *aim);
bool eg_same_expr(const eg_rule *rule, uint32_t a, uint32_t b);

/// Returns the rank that the conditions of a rule require if it is above the ranks
/// usually drawn, or 0.
uint32_t eg_rank_of_conditions(const eg_rule *rule);
/// Returns `rank`, or sometimes a rank for which a list of window sizes (rank - 2
/// numbers) or pads (two numbers per dimension) has `rank` numbers.
uint32_t eg_rank_beside(uint32_t rank, eg_verify_choice *choice);

#endif
