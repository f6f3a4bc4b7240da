// An element of a tensor: an expression over elements of the variables, in normal form as
// far as the axioms of the rule's class lead.
//
//   fast: numbers of a commutative ring (reals; integers modulo 2^n), maxima and minima
//   of
//     a distributive lattice, division as a product with the reciprocal (reals only),
//     activations by their formulas; sums over indices outermost, of products
//   associative: of these, what holds of infinities and NaN, too (`eg_laws`)
//   exact: what keeps every bit: + and x commute, signs move out of products, x 1 = x
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PROOF_SCALAR_H
#define EG_REWRITES_PROOF_SCALAR_H

#include "ops/ops.h"
#include "rewrites/lab/prove/proof_work.h"

typedef enum eg_scalar_kind {
  EG_SCALAR_NUMBER,  // value; `which`: its marks
  EG_SCALAR_REAL,    // symbol `which`
  EG_SCALAR_SIZE,    // polynomial `which` as a number
  EG_SCALAR_KEY,     // `which` of the things that are no numbers: symbols, element types
  EG_SCALAR_READ,    // tensor variable `which` at the polynomials `kids`
  EG_SCALAR_FLAT,    // ... at the offset kids[0] in row-major order
  EG_SCALAR_CALL,    // operator `which` of the scalars `kids`
  EG_SCALAR_SUM,     // value + sum of factors[i] kids[i], none of them 0 or infinite;
                     // `which`: marks of its numbers
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

/// Marks of a number that was computed.
enum {
  EG_NUMBER_ROUNDED = 1, // floating point alone: it agrees with one that is 4e-15 apart
  EG_NUMBER_WRAPS = 2    // perhaps an integer: modulo 2^n, with no place in an order
};
typedef struct eg_number {
  double value;
  uint32_t marks;
} eg_number;

struct eg_scalar_node {
  eg_scalar_kind kind;
  eg_domain domain;   // CALL, SUM, PRODUCT, TOTAL, CHOICE: of what it was made
  bool is_finite;     // of weights, sizes and finite numbers alone
  bool is_of_weights; // of a weight, among others
  bool is_ordinary;   // no number in it is infinite or NaN
  bool is_tame; // of ordinary data it is not below the normal numbers, but perhaps 0
  uint32_t which;
  double value;
  uint32_t count;
  const uint32_t *kids;
  const double *factors; // SUM
  uint32_t next;         // of equal hash
};

static inline const eg_scalar_node *eg_scalar_at(const eg_proof *p, eg_scalar s) {
  assert(s < p->scalars.len);
  return p->scalars.data[s];
}
static inline bool eg_scalar_is_call(const eg_proof *p, eg_scalar s, eg_op op) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  return n->kind == EG_SCALAR_CALL && n->which == (uint32_t)op;
}
/// An operator, sum, product, fold or choice: its numbers are of a domain.
bool eg_scalar_is_compound(eg_scalar_kind kind);
bool eg_scalar_is_number(const eg_proof *p, eg_scalar s, double value);
/// Finite by its marks, or one over sizes that the facts show not to be 0.
bool eg_scalar_is_finite(eg_proof *p, eg_scalar s);
/// The same value, and in class exact the same zero; or within rounding of one another
/// where one of them was rounded.
bool eg_numbers_agree(const eg_proof *p, double a, double b, uint32_t marks);
/// Leave where the result is not in the range of numbers, or rounded and perhaps an
/// integer.
eg_number eg_number_add(eg_proof *p, eg_number a, eg_number b);
eg_number eg_number_mul(eg_proof *p, eg_number a, eg_number b);
eg_number eg_number_over(eg_proof *p, eg_number a, eg_number b);
/// Every floating-point type has it, and where it is a whole number every other one.
bool eg_number_is_plain(double value);

eg_scalar eg_scalar_make(eg_proof *p, eg_scalar_node node); // as it is; lists are copied
eg_scalar eg_scalar_number(eg_proof *p, double value);
eg_scalar eg_scalar_marked(eg_proof *p, eg_number number);
eg_scalar eg_scalar_rounded(eg_proof *p, double value); // an irrational one, rounded
eg_scalar eg_scalar_real(eg_proof *p);                  // a new one
eg_scalar eg_scalar_size(eg_proof *p, eg_poly size);
eg_scalar eg_scalar_key(eg_proof *p, uint32_t key);
eg_scalar eg_scalar_read(eg_proof *p, uint32_t tensor, const eg_poly *at, uint32_t rank);

/// The first symbol for the index of a fold that is neither in use nor part of a or b
/// (EG_PROOF_NONE: nothing), so that folds that are nested alike are one scalar.
uint32_t eg_scalar_index(eg_proof *p, eg_scalar a, eg_scalar b);

eg_scalar eg_scalar_add(eg_proof *p, eg_scalar a, eg_scalar b);
eg_scalar eg_scalar_scale(eg_proof *p, eg_scalar a, double factor);
eg_scalar eg_scalar_times(eg_proof *p, eg_scalar a, eg_number factor);
eg_scalar eg_scalar_neg(eg_proof *p, eg_scalar a);
eg_scalar eg_scalar_mul(eg_proof *p, eg_scalar a, eg_scalar b);
/// A product as it is, its factors in order.
eg_scalar eg_scalar_factors(eg_proof *p, eg_scalar a, eg_scalar b);
/// The sum of a function of the terms of a sum (1 for its constant), with their factors.
eg_scalar eg_scalar_each(eg_proof *p, eg_scalar sum,
                         eg_scalar (*of)(eg_proof *p, eg_scalar kid, const void *with),
                         const void *with);
/// A sum without the number that is in front of all of its terms, which is *out.
eg_scalar eg_scalar_primitive(eg_proof *p, eg_scalar sum, eg_number *out);
eg_scalar eg_scalar_total(eg_proof *p, eg_fold fold, uint32_t symbol, eg_poly size,
                          eg_scalar body);
eg_scalar eg_scalar_choice(eg_proof *p, eg_poly condition, eg_scalar yes, eg_scalar no);
/// An operator of op_table.def on numbers; kids: operands, then numeric attributes, then
/// keys.
eg_scalar eg_scalar_call(eg_proof *p, eg_op op, const eg_scalar *kids, uint32_t count,
                         eg_domain domain);
/// True when the operator turns an infinity into a finite number: comparisons, casts.
bool eg_op_hides_infinity(eg_op op);
/// A CALL as it is, its operands in order where they may change places.
eg_scalar eg_scalar_opaque(eg_proof *p, eg_op op, const eg_scalar *kids, uint32_t count);
/// Members of a maximum or minimum; of another scalar itself.
enum { EG_MOST_MEMBERS = 16 };
typedef struct eg_members {
  eg_scalar list[EG_MOST_MEMBERS];
  uint32_t count;
} eg_members;
eg_members eg_scalar_members(const eg_proof *p, eg_op op, eg_scalar s);
eg_scalar eg_scalar_join(eg_proof *p, eg_op op, const eg_members *m);
/// True for a number whose place in the order every type keeps.
bool eg_scalar_is_bound(const eg_proof *p, eg_scalar s, double *out);
/// True when no number is NaN: integers; class fast, which ignores NaN.
bool eg_is_without_nan(const eg_proof *p);
/// Maximum or minimum in a lattice (EG_OP_MAX, EG_OP_MIN).
eg_scalar eg_scalar_extreme(eg_proof *p, eg_op op, eg_scalar a, eg_scalar b);
bool eg_scalar_not_above(eg_proof *p, eg_scalar low, eg_scalar high);

bool eg_scalar_has(const eg_proof *p, eg_scalar s, uint32_t symbol);
/// The scalar simplified by the facts.
eg_scalar eg_scalar_simple(eg_proof *p, eg_scalar s);
/// The scalar with a symbol replaced.
eg_scalar eg_scalar_rename(eg_proof *p, eg_scalar s, uint32_t symbol, eg_poly by);

/// True only if both are the same number by the facts and the axioms.
bool eg_scalar_equal(eg_proof *p, eg_scalar a, eg_scalar b);

#endif
