// Numbers that a rule names beside an attribute's variable.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_NAMED_H
#define EG_REWRITES_INSTANCE_NAMED_H

#include "rewrites/lab/instances/instance_choose.h"
#include "rewrites/language/rule_ast.h"

// LARGEST_DIM: up to which operands have dimensions as large as the number.
enum { EG_NAMED_NUMBERS = 4, EG_NAMED_LARGEST_DIM = 130 };

/// The numbers that expressions and conditions of the rule put beside the value variable
/// of an attribute, but for small ones, which have classes of their own. At most
/// EG_NAMED_NUMBERS; returns how many.
uint32_t eg_named_numbers(const eg_rule *rule, uint32_t var, const eg_attr_info *info,
                          double *out);
/// Room for what is as large as the number, or a little larger.
void eg_named_prepare(double number, eg_verify_choice *choice);
/// The number (side 0), a whole one beside it, or one that is a little or much farther
/// away.
double eg_named_draw(double number, int64_t side, bool is_whole,
                     eg_verify_choice *choice);

#endif
