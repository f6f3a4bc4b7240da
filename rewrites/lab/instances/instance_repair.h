// One repair of a term, for instance_repair*.c: values that an expression should have are
// passed down to its operands until a variable gets one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_REPAIR_H
#define EG_REWRITES_INSTANCE_REPAIR_H

#include "rewrites/lab/instances/instance_draw_internal.h"

typedef struct repair {
  eg_verify_draws *draws;
  const eg_rule_term *term;
  uint64_t before; // variables bound before this term
} repair;

typedef bool solver(repair *r, const eg_rule_expr *call, const eg_rule_value *value);

/// Gives the expression that value, by one attribute or one leaf of the term.
bool eg_repair_solve(repair *r, uint32_t expr, const eg_rule_value *value);

bool eg_repair_value_of(repair *r, uint32_t expr, eg_rule_value *out);
bool eg_repair_int_of(repair *r, uint32_t expr, int64_t *out);
int64_t *eg_repair_copy(repair *r, eg_ints list, uint32_t len);
eg_rule_value eg_repair_list(const int64_t *data, uint32_t len);
/// Gives a leaf that the term has drawn another rank.
bool eg_repair_set_rank(repair *r, uint32_t var, int64_t rank);

typedef enum arithmetic { PLUS, MINUS, TIMES, OVER } arithmetic;
/// False: no exact result.
bool eg_repair_combine(arithmetic how, int64_t a, int64_t b, int64_t *out);

// ---- of lists (instance_repair_lists.c) ---------------------------------------------

solver eg_solve_at, eg_solve_take, eg_solve_drop, eg_solve_list, eg_solve_sum,
    eg_solve_product, eg_solve_len, eg_solve_index_of, eg_solve_reverse, eg_solve_set_at,
    eg_solve_perm_inverse, eg_solve_perm_apply, eg_solve_perm_compose;
/// A permutation that has the numbers in which `list` differs from `perm`, as far as one
/// can; NULL: `perm` is none.
const int64_t *eg_repair_perm(repair *r, eg_ints perm, eg_ints list);

#endif
