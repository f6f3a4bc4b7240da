// Constants that a rule binds, of special kinds: numbers of `splat?` operands, and of
// attributes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_SPECIAL_H
#define EG_REWRITES_INSTANCE_SPECIAL_H

#include "rewrites/lab/instances/instance_choose.h"

/// Whether the rule asks for the number of all elements of a leaf.
bool eg_special_is_constant(const eg_rule *rule, uint32_t var);
/// A number of the kind, of integers one at the ends of their range.
double eg_special_draw(eg_rng *rng, eg_special kind, egraph_dtype dtype);
/// The same for an attribute beside operands of this type: a float32, a bound no NaN, and
/// no bound of integers beyond them.
double eg_special_draw_attr(eg_rng *rng, eg_special kind, egraph_dtype dtype,
                            const char *name);
/// Draws the sign of a zero; another number is as it is.
double eg_special_zero(eg_rng *rng, double number);
bool eg_special_is(double number, eg_special kind, egraph_dtype dtype);
/// A bound that bounds nothing is none.
bool eg_special_is_of_attr(double number, eg_special kind, const char *name);

#endif
