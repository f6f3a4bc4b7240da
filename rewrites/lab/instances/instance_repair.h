// Repairs a drawn term: makes conditions of the rule hold (instance_repair.c) by giving
// expressions a required value (instance_solve.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_REPAIR_H
#define EG_REWRITES_INSTANCE_REPAIR_H

#include "rewrites/lab/instances/instance_draw_internal.h"

typedef struct repair {
  eg_verify_draws *draws;
  const eg_rule_term *term;
  uint64_t before; // variables bound before this term
} repair;

/// Gives the expression the value by changing one attribute or leaf (tensor) of the term.
bool eg_repair_solve(repair *r, uint32_t expr, const eg_rule_value *value);

/// Makes the expression have the list as its value; returns false when `data` is NULL.
bool eg_repair_solve_list(repair *r, uint32_t expr, const int64_t *data, uint32_t len);
/// Gives the expression the list as its value, with element number `at` replaced.
bool eg_repair_solve_element(repair *r, uint32_t expr, eg_ints list, uint32_t at,
                             int64_t element);
bool eg_repair_solve_int(repair *r, uint32_t expr, int64_t number);

bool eg_repair_value_of(repair *r, uint32_t expr, eg_rule_value *out);
bool eg_repair_int_of(repair *r, uint32_t expr, int64_t *out);
int64_t *eg_repair_copy(repair *r, eg_ints list, uint32_t len);
/// Combines numbers, lists, or a list and a number. Returns false when there is no exact
/// or finite result.
typedef enum arithmetic { PLUS, MINUS, TIMES, OVER } arithmetic;
bool eg_repair_combine(repair *r, arithmetic how, const eg_rule_value *a,
                       const eg_rule_value *b, eg_rule_value *out);
/// Returns the drawn tensor (leaf) that `expr` names, if the current term drew it,
/// else NULL.
eg_verify_leaf *eg_repair_leaf(repair *r, uint32_t expr, uint32_t *out_var);
/// Gives the drawn tensor that `expr` names (eg_repair_leaf) another type.
bool eg_repair_set_type(repair *r, uint32_t expr, const eg_type *type);
/// Returns the type of the tensor that `expr` names, or NULL.
const eg_type *eg_repair_type_of(repair *r, uint32_t expr);
uint32_t eg_repair_below(repair *r, uint32_t bound);

#endif
