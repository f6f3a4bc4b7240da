// What an element of a tensor is: an expression over elements of the variables, in one
// form as far as the axioms of the rule's class lead.
//
//   associative, fast: numbers of a commutative ring (reals; integers modulo 2^n), maxima
//   and
//     minima of a distributive lattice, division as a product with the reciprocal (reals
//     only), activations by their formulas; sums over indices outermost, of products
//   exact: what keeps every bit: + and x commute, signs move out of products, x 1 = x
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PROOF_SCALAR_H
#define EG_REWRITES_PROOF_SCALAR_H

#include "ops/ops.h"
#include "rewrites/prove/proof_work.h"

typedef enum eg_scalar_kind {
  EG_SCALAR_NUMBER, // value
  EG_SCALAR_REAL,   // symbol `which`
  EG_SCALAR_SIZE,   // polynomial `which` as a number
  EG_SCALAR_KEY,    // `which` of the things that are no numbers: symbols, element types
  EG_SCALAR_READ,   // tensor variable `which` at the polynomials `kids`
  EG_SCALAR_FLAT,   // ... at the offset kids[0] in row-major order
  EG_SCALAR_CALL, // operator `which` of the scalars `kids`; value 1: perhaps of integers
  EG_SCALAR_SUM,  // value + sum of factors[i] kids[i]
  EG_SCALAR_PRODUCT, // of kids, ascending
  EG_SCALAR_TOTAL, // fold `which` over symbol kids[0] from 0 below polynomial kids[1] of
                   // kids[2]
  EG_SCALAR_CHOICE // kids[1] where polynomial kids[0] >= 0, else kids[2]
} eg_scalar_kind;

typedef enum eg_fold {
  EG_FOLD_SUM,
  EG_FOLD_MAX,
  EG_FOLD_MIN,
  EG_FOLD_PRODUCT,
  EG_FOLD_WIDE // a sum of integers that does not wrap where they do: no law of rings
} eg_fold;

struct eg_scalar_node {
  eg_scalar_kind kind;
  uint32_t which;
  double value;
  uint32_t count;
  const uint32_t *kids;
  const double *factors; // SUM
  uint32_t next;         // of equal hash
};

static inline const eg_scalar_node *eg_scalar_at(const eg_proof *p, eg_scalar s) {
  return p->scalars.data[s];
}
bool eg_scalar_is_number(const eg_proof *p, eg_scalar s, double value);
/// Equal, or within rounding of one another.
bool eg_numbers_agree(double a, double b);

eg_scalar eg_scalar_make(eg_proof *p, eg_scalar_node node); // as it is; lists are copied
eg_scalar eg_scalar_number(eg_proof *p, double value);
eg_scalar eg_scalar_real(eg_proof *p); // a new one
eg_scalar eg_scalar_size(eg_proof *p, eg_poly size);
eg_scalar eg_scalar_key(eg_proof *p, uint32_t key);
eg_scalar eg_scalar_read(eg_proof *p, uint32_t tensor, const eg_poly *at, uint32_t rank);

/// The first symbol for the index of a fold that is not in use around it, nor in a or b
/// (EG_PROOF_NONE: nothing): folds that are nested alike have one number.
uint32_t eg_scalar_index(eg_proof *p, eg_scalar a, eg_scalar b);

// Of numbers; `is_real`: known to be floating point.
eg_scalar eg_scalar_add(eg_proof *p, eg_scalar a, eg_scalar b);
eg_scalar eg_scalar_scale(eg_proof *p, eg_scalar a, double factor);
eg_scalar eg_scalar_neg(eg_proof *p, eg_scalar a);
eg_scalar eg_scalar_mul(eg_proof *p, eg_scalar a, eg_scalar b);
eg_scalar eg_scalar_total(eg_proof *p, eg_fold fold, uint32_t symbol, eg_poly size,
                          eg_scalar body);
eg_scalar eg_scalar_choice(eg_proof *p, eg_poly condition, eg_scalar yes, eg_scalar no);
/// An operator of op_table.def on numbers; kids: operands, then numeric attributes, then
/// keys.
eg_scalar eg_scalar_call(eg_proof *p, eg_op op, const eg_scalar *kids, uint32_t count,
                         bool is_real);
/// A CALL as it is, its operands in order where they may change places.
eg_scalar eg_scalar_opaque(eg_proof *p, eg_op op, const eg_scalar *kids, uint32_t count);
/// Maximum or minimum in a lattice (EG_OP_MAX, EG_OP_MIN).
eg_scalar eg_scalar_extreme(eg_proof *p, eg_op op, eg_scalar a, eg_scalar b);
bool eg_scalar_not_above(eg_proof *p, eg_scalar low, eg_scalar high);

bool eg_scalar_has(const eg_proof *p, eg_scalar s, uint32_t symbol);
/// The same with what the facts say.
eg_scalar eg_scalar_simple(eg_proof *p, eg_scalar s);
/// The same with a symbol replaced.
eg_scalar eg_scalar_rename(eg_proof *p, eg_scalar s, uint32_t symbol, eg_poly by);

/// True only if both are the same number by the facts and the axioms.
bool eg_scalar_equal(eg_proof *p, eg_scalar a, eg_scalar b);

#endif
