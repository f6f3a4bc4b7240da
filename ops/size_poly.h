// Polynomials with whole coefficients over numbered atoms, in structs of fixed size: sums
// of terms with different atoms, the largest first (by degree, then by the atoms).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_SIZE_POLY_H
#define EG_OPS_SIZE_POLY_H

#include <stdbool.h>
#include <stdint.h>

enum {
  EG_SIZE_POLY_TERMS = 40,
  EG_SIZE_POLY_DEGREE = 8,
  EG_SIZE_POLY_NO_ATOM = UINT16_MAX
};

typedef struct eg_size_monomial {
  int64_t coef;
  uint16_t atom[EG_SIZE_POLY_DEGREE]; // in ascending order, then EG_SIZE_POLY_NO_ATOM
} eg_size_monomial;

typedef struct eg_size_poly {
  uint32_t count;
  eg_size_monomial term[EG_SIZE_POLY_TERMS];
} eg_size_poly;

uint32_t eg_size_monomial_degree(const eg_size_monomial *m);
/// Compares two monomials; below 0: `a` comes first.
int eg_size_monomial_compare(const eg_size_monomial *a, const eg_size_monomial *b);

void eg_size_poly_constant(int64_t number, eg_size_poly *out);
void eg_size_poly_atom(uint16_t atom, eg_size_poly *out);
bool eg_size_poly_is_constant(const eg_size_poly *p, int64_t *out);
// Each returns false where coefficients overflow, or there are too many terms or degrees.
// `out` may be an operand.
/// Computes a + factor * b.
bool eg_size_poly_add(const eg_size_poly *a, const eg_size_poly *b, int64_t factor,
                      eg_size_poly *out);
bool eg_size_poly_mul(const eg_size_poly *a, const eg_size_poly *b, eg_size_poly *out);
/// Divides two polynomials; false where `b` does not divide `a` without remainder.
bool eg_size_poly_divide(const eg_size_poly *a, const eg_size_poly *b, eg_size_poly *out);
/// Reduces `a` by `b`, which is known to be zero: replaces every multiple of the first
/// term of `b` by the negated rest of `b`. A term that the first coefficient of `b` does
/// not divide stays.
bool eg_size_poly_reduce(const eg_size_poly *a, const eg_size_poly *b, eg_size_poly *out);
/// Returns the largest number that divides all coefficients of a polynomial; without
/// `with_constant`, all coefficients of terms with atoms.
int64_t eg_size_poly_content(const eg_size_poly *p, bool with_constant);
/// Splits p = with * atom + without; false where the atom (variable) has a power above 1.
bool eg_size_poly_split(const eg_size_poly *p, uint16_t atom, eg_size_poly *with,
                        eg_size_poly *without);

#endif
