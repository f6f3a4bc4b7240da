// Numbers at which a rule's behaviour changes: numbers that the rule compares with the
// variable of an attribute, and special constants (infinities, NaN, extremes) that it
// binds as values of `splat?` operands or attributes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_NUMBERS_H
#define EG_REWRITES_INSTANCE_NUMBERS_H

#include "rewrites/lab/instances/instance_choose.h"
#include "rewrites/language/rule_ast.h"

// ---- numbers that a rule names --------------------------------------------------------

// LARGEST_DIM: the largest number of a rule for which operands get such a dimension.
enum { EG_NAMED_NUMBERS = 4, EG_NAMED_LARGEST_DIM = 130 };

/// Collects the numbers that expressions and conditions of the rule compare with the
/// value variable of an attribute, except small ones, which have classes of their own.
/// Returns how many, at most EG_NAMED_NUMBERS.
uint32_t eg_named_numbers(const eg_rule *rule, uint32_t var, const eg_attr_info *info,
                          double *out);
/// Lets the random choice draw dimensions as large as `number`, or a little larger.
void eg_named_prepare(double number, eg_verify_choice *choice);
/// Returns `number` (side 0), a whole number next to it, or one that is a little or much
/// farther away; below it for side -1, above it for side 1.
double eg_named_draw(double number, int64_t side, bool is_whole,
                     eg_verify_choice *choice);

// ---- special constants ----------------------------------------------------------------

/// True when the rule reads the number that all elements of a tensor variable have.
bool eg_special_is_constant(const eg_rule *rule, uint32_t var);
/// Draws a special number (infinite, NaN, extreme) of the kind; for integers, a number at
/// an end of their range.
double eg_special_draw(eg_rng *rng, eg_special kind, egraph_dtype dtype);
/// Draws a special number of the kind for an attribute next to operands of this type, as
/// float32; a bound is never NaN, and a bound of integers is within their range.
double eg_special_draw_attr(eg_rng *rng, eg_special kind, egraph_dtype dtype,
                            const char *name);
/// Draws the sign of a zero; returns any other number unchanged.
double eg_special_zero(eg_rng *rng, double number);
bool eg_special_is(double number, eg_special kind, egraph_dtype dtype);
/// Returns the same as eg_special_is, but false for a bound that excludes nothing, such
/// as a minimum of -inf.
bool eg_special_is_of_attr(double number, eg_special kind, const char *name);

#endif
