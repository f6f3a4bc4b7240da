// One repair of a term: conditions (instance_repair.c), and expressions that should have
// a value (instance_solve.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_REPAIR_H
#define EG_REWRITES_INSTANCE_REPAIR_H

#include "rewrites/lab/instances/instance_draw_internal.h"

typedef struct repair {
  eg_verify_draws *draws;
  const eg_rule_term *term;
  uint64_t before; // variables bound before this term
} repair;

/// Gives the expression that value, by one attribute or one leaf of the term.
bool eg_repair_solve(repair *r, uint32_t expr, const eg_rule_value *value);

/// The same for a list; false when `data` is NULL.
bool eg_repair_solve_list(repair *r, uint32_t expr, const int64_t *data, uint32_t len);
/// Solves for the list with another element at a place.
bool eg_repair_solve_element(repair *r, uint32_t expr, eg_ints list, uint32_t at,
                             int64_t element);
bool eg_repair_solve_int(repair *r, uint32_t expr, int64_t number);

bool eg_repair_value_of(repair *r, uint32_t expr, eg_rule_value *out);
bool eg_repair_int_of(repair *r, uint32_t expr, int64_t *out);
int64_t *eg_repair_copy(repair *r, eg_ints list, uint32_t len);
eg_rule_value eg_repair_list(const int64_t *data, uint32_t len);
/// Combines numbers, lists, or a list and a number. False: no exact or finite result.
typedef enum arithmetic { PLUS, MINUS, TIMES, OVER } arithmetic;
bool eg_repair_combine(repair *r, arithmetic how, const eg_rule_value *a,
                       const eg_rule_value *b, eg_rule_value *out);
/// The leaf of a class variable that this term has drawn and `expr` names, or NULL.
eg_verify_leaf *eg_repair_leaf(repair *r, uint32_t expr, uint32_t *out_var);
/// Gives such a leaf another type.
bool eg_repair_set_type(repair *r, uint32_t expr, const eg_type *type);
/// The type of the tensor that `expr` names, or NULL.
const eg_type *eg_repair_type_of(repair *r, uint32_t expr);
uint32_t eg_repair_below(repair *r, uint32_t bound);

#endif
