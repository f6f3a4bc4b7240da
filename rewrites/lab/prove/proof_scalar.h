// An element of a tensor: an expression over elements of the variables, in a normal form
// under the axioms of the rule's class.
//
//   fast: numbers of a commutative ring (reals; integers modulo 2^n), maxima and
//     minima of a distributive lattice, division as a product with the reciprocal (reals
//     only), activations by their formulas; sums over indices outermost, of products
//   associative: the axioms of these that also hold for infinities and NaN (`eg_laws`)
//   exact: axioms that keep every bit: + and x commute, signs move out of products,
//     x 1 = x
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PROOF_SCALAR_H
#define EG_REWRITES_PROOF_SCALAR_H

#include "ops/ops.h"
#include "rewrites/lab/prove/proof_work.h"

typedef enum eg_scalar_kind {
  EG_SCALAR_NUMBER, // value; `which` has its marks
  EG_SCALAR_REAL,   // symbol `which`
  EG_SCALAR_SIZE,   // polynomial number `which` as a scalar
  EG_SCALAR_KEY,    // no number: symbol or element type number `which`
  EG_SCALAR_READ,   // tensor variable `which` at the polynomials `kids`
  EG_SCALAR_FLAT,   // the same at offset kids[0] in row-major order
  EG_SCALAR_CALL,   // operator `which` on the scalars `kids`
  // `value` + the sum of factors[i] kids[i]; no factor is 0 or infinite. `which` has
  // marks that say how these numbers were computed.
  EG_SCALAR_SUM,
  EG_SCALAR_PRODUCT, // product of kids, ascending
  EG_SCALAR_TOTAL, // fold `which` of kids[2] over symbol kids[0] below polynomial kids[1]
  EG_SCALAR_CHOICE // kids[1] where polynomial kids[0] >= 0, else kids[2]
} eg_scalar_kind;

typedef enum eg_fold {
  EG_FOLD_SUM,
  EG_FOLD_MAX,
  EG_FOLD_MIN,
  EG_FOLD_PRODUCT,
  EG_FOLD_WIDE // a sum of integers in a wider type, which does not wrap: no ring laws
} eg_fold;

/// Marks that say how a number was computed, and whether it is finite.
enum {
  EG_NUMBER_ROUNDED = 1, // floating point only; numbers within 4e-15 are equal to it
  EG_NUMBER_WRAPS = 2    // may be an integer modulo 2^n, which has no place in an order
};
typedef struct eg_number {
  double value;
  uint32_t marks;
} eg_number;

struct eg_scalar_node {
  eg_scalar_kind kind;
  eg_domain domain;   // CALL, SUM, PRODUCT, TOTAL, CHOICE: domain of its numbers
  bool is_finite;     // computed from weights, sizes and finite numbers only
  bool is_of_weights; // computed from a weight and perhaps others
  bool is_ordinary;   // contains no number that is infinite or NaN
  bool is_tame;       // never a subnormal number for ordinary data, but may be 0
  uint32_t which;
  double value;
  uint32_t count;
  const uint32_t *kids;
  const double *factors; // SUM: factors
  uint32_t next;         // next node with the same hash
};

static inline const eg_scalar_node *eg_scalar_at(const eg_proof *p, eg_scalar s) {
  assert(s < p->scalars.len);
  return p->scalars.data[s];
}
static inline bool eg_scalar_is_call(const eg_proof *p, eg_scalar s, eg_op op) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  return n->kind == EG_SCALAR_CALL && n->which == (uint32_t)op;
}
/// True for an operator, sum, product, fold or choice, which has a domain (eg_domain).
bool eg_scalar_is_compound(eg_scalar_kind kind);
bool eg_scalar_is_number(const eg_proof *p, eg_scalar s, double value);
/// True when the scalar is finite by its marks, or is one divided by sizes that are
/// nonzero by the known facts.
bool eg_scalar_is_finite(eg_proof *p, eg_scalar s);
/// True when a and b are the same value (in class exact, zeros also have the same sign),
/// or when they agree within rounding and one of them was rounded.
bool eg_numbers_agree(const eg_proof *p, double a, double b, uint32_t marks);
/// Compute a number. They give up the proof when the result is out of range, or is
/// rounded and may be an integer.
eg_number eg_number_add(eg_proof *p, eg_number a, eg_number b);
eg_number eg_number_mul(eg_proof *p, eg_number a, eg_number b);
eg_number eg_number_over(eg_proof *p, eg_number a, eg_number b);
/// True when every floating-point type represents the value and, if it is whole, every
/// other type does, too.
bool eg_number_is_plain(double value);

eg_scalar eg_scalar_make(eg_proof *p, eg_scalar_node node); // copies lists
eg_scalar eg_scalar_number(eg_proof *p, double value);
eg_scalar eg_scalar_marked(eg_proof *p, eg_number number);
eg_scalar eg_scalar_rounded(eg_proof *p, double value); // an irrational number, rounded
eg_scalar eg_scalar_real(eg_proof *p);                  // a new real symbol
eg_scalar eg_scalar_size(eg_proof *p, eg_poly size);
eg_scalar eg_scalar_key(eg_proof *p, uint32_t key);
eg_scalar eg_scalar_read(eg_proof *p, uint32_t tensor, const eg_poly *at, uint32_t rank);

/// Returns the first symbol for the index of a fold that is neither in use nor a part
/// of a or b (EG_PROOF_NONE: no scalar). Folds with the same nesting therefore become
/// one scalar.
uint32_t eg_scalar_index(eg_proof *p, eg_scalar a, eg_scalar b);

eg_scalar eg_scalar_add(eg_proof *p, eg_scalar a, eg_scalar b);
eg_scalar eg_scalar_scale(eg_proof *p, eg_scalar a, double factor);
eg_scalar eg_scalar_times(eg_proof *p, eg_scalar a, eg_number factor);
eg_scalar eg_scalar_neg(eg_proof *p, eg_scalar a);
eg_scalar eg_scalar_mul(eg_proof *p, eg_scalar a, eg_scalar b);
/// Makes a product without further rewriting, its factors in order.
eg_scalar eg_scalar_factors(eg_proof *p, eg_scalar a, eg_scalar b);
eg_scalar eg_scalar_total(eg_proof *p, eg_fold fold, uint32_t symbol, eg_poly size,
                          eg_scalar body);
eg_scalar eg_scalar_choice(eg_proof *p, eg_poly condition, eg_scalar yes, eg_scalar no);
/// Applies an operator of op_table.def to scalars. kids: the operands, then the
/// attributes in the order of the table. An attribute whose value is a word or an element
/// type is a key (eg_scalar_key).
eg_scalar eg_scalar_call(eg_proof *p, eg_op op, const eg_scalar *kids, uint32_t count,
                         eg_domain domain);
/// True when the operator turns an infinity into a finite number: comparisons, casts.
bool eg_op_hides_infinity(eg_op op);
/// Makes an operator call without rewriting; sorts the operands if the operator commutes.
eg_scalar eg_scalar_opaque(eg_proof *p, eg_op op, const eg_scalar *kids, uint32_t count);
/// The operands of a (nested) maximum or minimum; another scalar is its own only member.
enum { EG_MOST_MEMBERS = 16 };
typedef struct eg_members {
  eg_scalar list[EG_MOST_MEMBERS];
  uint32_t count;
} eg_members;
eg_members eg_scalar_members(const eg_proof *p, eg_op op, eg_scalar s);
eg_scalar eg_scalar_join(eg_proof *p, eg_op op, const eg_members *m);
/// True for a number whose position in the order is the same in every element type.
bool eg_scalar_is_bound(const eg_proof *p, eg_scalar s, double *out);
/// True when no number can be NaN: for integers, and in class fast, which ignores NaN.
bool eg_is_without_nan(const eg_proof *p);
/// Computes a maximum or minimum (EG_OP_MAX, EG_OP_MIN) with the laws of a lattice.
eg_scalar eg_scalar_extreme(eg_proof *p, eg_op op, eg_scalar a, eg_scalar b);
bool eg_scalar_not_above(eg_proof *p, eg_scalar low, eg_scalar high);

bool eg_scalar_has(const eg_proof *p, eg_scalar s, uint32_t symbol);
/// Simplifies the scalar by the known facts.
eg_scalar eg_scalar_simple(eg_proof *p, eg_scalar s);
/// Replaces a symbol in the scalar by the polynomial `by`.
eg_scalar eg_scalar_rename(eg_proof *p, eg_scalar s, uint32_t symbol, eg_poly by);

/// True only if both are proved to be the same number by the facts and the axioms.
bool eg_scalar_equal(eg_proof *p, eg_scalar a, eg_scalar b);

#endif
