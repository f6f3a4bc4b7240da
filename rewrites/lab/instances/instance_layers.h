// Operands of operators that few drawn shapes fit: all of a node, drawn together.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_LAYERS_H
#define EG_REWRITES_INSTANCE_LAYERS_H

#include "rewrites/lab/instances/instance_choose.h"
#include "rewrites/language/rule_ast.h"

/// Whether operands of the term are drawn together.
bool eg_is_layer(const eg_rule *rule, const eg_rule_term *term);
/// The slot of the equation, of an einsum; what a rule computes has no equation yet.
bool eg_equation_slot(const eg_rule_term *term, uint16_t *out);
/// Types of all operands of a term of such an operator, for `first` where that is known
/// (NULL: any), for attributes that are literals, and for the equation of the choice.
void eg_layer_operands(eg_verify_choice *choice, const eg_rule_term *term,
                       const eg_type *first, eg_type *out);

#endif
