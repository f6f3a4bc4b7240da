// Numbers of the field GF(p), p = 2^61 - 1, in which graphs are compared.
//
// Polynomial operators are exact there: two graphs of them that differ as polynomials of
// degree d agree on one random point with a probability of at most d / n where inputs are
// any of n numbers (Schwartz-Zippel). n is 2^50: for d <= 8 and 10^6 graphs, 5 * 10^11
// pairs, that is below 4 * 10^-3 for any pair at all, and a pair is compared again at
// other points before anything is made of it. Inputs are from -2^56 to 2^56 and multiples
// of 96, so that sums and quotients by 2, 3, 4, 6, 8 are what they are as integers. Other
// functions are keyed: any function with the few identities below, so that what two
// graphs have in common is what follows from these identities. Found is, besides what is
// polynomial:
//   the order of numbers   that of representatives from -(p-1)/2 to (p-1)/2: maximum and
//                          minimum form a lattice, neg turns it round, relu is the
//                          maximum with 0; sums of inputs, and inputs times or by small
//                          numbers, keep it. Not found: what products do to an order
//   exp, log               inverse to each other; exp(x + y) = exp x exp y of inputs. Not
//                          found: log(x y) = log x + log y
//   tanh, erf, sin, ...    odd; cos, cosh even; sigmoid x = (1 + tanh(x / 2)) / 2; gelu,
//                          silu, softplus, mish, softmax, norms by their definitions
//   sqrt                   of products the product; sqrt(x)^2 = x where x is a square
//   floor, ceil, round     idempotent and monotone
// An identity that holds at some signs only passes at a point whose signs fit, one of 2^n
// for n deciding elements.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_FIELD_H
#define EG_REWRITES_GENERATE_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/meaning.h"

#define EG_FIELD_P ((UINT64_C(1) << 61) - 1)
__extension__ typedef unsigned __int128 eg_field_wide;

/// The number of wide products that may be added before eg_field_fold.
enum { EG_FIELD_LAZY = 32 };

static inline uint64_t eg_field_add(uint64_t a, uint64_t b) {
  uint64_t sum = a + b;
  return sum >= EG_FIELD_P ? sum - EG_FIELD_P : sum;
}
static inline uint64_t eg_field_neg(uint64_t a) { return a == 0 ? 0 : EG_FIELD_P - a; }
static inline uint64_t eg_field_sub(uint64_t a, uint64_t b) {
  return a >= b ? a - b : a + EG_FIELD_P - b;
}
/// The same number below 2^68.
static inline eg_field_wide eg_field_fold(eg_field_wide a) {
  return (a & EG_FIELD_P) + (a >> 61);
}
static inline uint64_t eg_field_reduce(eg_field_wide a) {
  eg_field_wide folded = eg_field_fold(a);
  uint64_t low = (uint64_t)(folded & EG_FIELD_P) + (uint64_t)(folded >> 61);
  return low >= EG_FIELD_P ? low - EG_FIELD_P : low;
}
static inline uint64_t eg_field_mul(uint64_t a, uint64_t b) {
  return eg_field_reduce((eg_field_wide)a * b);
}
uint64_t eg_field_pow(uint64_t a, uint64_t exponent);
/// Euclid's algorithm for p and a, up to the first rest below `least`: a * *out_factor is
/// that rest.
int64_t eg_field_euclid(uint64_t a, int64_t least, int64_t *out_factor);
/// 1 / a; 0 of 0.
uint64_t eg_field_inverse(uint64_t a);
/// Representative from -(p-1)/2 to (p-1)/2.
static inline int64_t eg_field_signed(uint64_t a) {
  return a > EG_FIELD_P / 2 ? (int64_t)a - (int64_t)EG_FIELD_P : (int64_t)a;
}
static inline uint64_t eg_field_of_int(int64_t a) {
  int64_t rest = a % (int64_t)EG_FIELD_P;
  return rest < 0 ? (uint64_t)(rest + (int64_t)EG_FIELD_P) : (uint64_t)rest;
}
/// The quotient of integers that a double is: the one of least denominator, up to 2^24,
/// within two units in the last place (of float32 where `is_single`). False for others,
/// infinities and NaN: no number of the field stands for them.
bool eg_field_of_double(double value, bool is_single, uint64_t *out);

/// A pointwise operator as steps of the field: its element formula (ops/meaning.h) down
/// to operators that the field knows. Steps precede those that read them; the last one is
/// the value.
enum { EG_FIELD_STEPS = 48 };
typedef struct eg_field_step {
  eg_formula_kind kind; // NUMBER, OPERAND or CALL
  uint8_t which;        // OPERAND
  uint8_t kids[EG_FORMULA_OPERANDS];
  eg_op op;        // CALL
  uint64_t number; // NUMBER
} eg_field_step;
typedef struct eg_field_function {
  eg_op op;
  uint32_t count;
  uint64_t key; // of functions that keep a few identities
  const eg_field_step *steps;
  bool has_a, has_b;     // numeric attributes that are finite; of gelu: `approximate`
  double real_a, real_b; // their values
} eg_field_function;
/// Makes the function of an operator; its steps are in the arena. *out_known is false for
/// an operator that the field does not know, and for an attribute that no number of the
/// field equals. Fails with EGRAPH_E_MEMORY.
egraph_status eg_field_function_of(eg_arena *arena, const eg_attrs *attrs, uint64_t key,
                                   eg_field_function *out, bool *out_known);
uint64_t eg_field_apply(const eg_field_function *f, const uint64_t *operands);

/// a / b. Of 0 as divisor some number that depends on a and fits no identity.
uint64_t eg_field_divide(uint64_t a, uint64_t b);
/// a^b: of whole b within +-8 and of b = +-1/2 by products, quotients and roots; of
/// others some number that depends on both.
uint64_t eg_field_power(uint64_t a, uint64_t b);
/// Powers of a primitive root by the representative of the exponent, and their inverse
/// besides 0, of which the logarithm is some number.
uint64_t eg_field_exp(uint64_t x);
uint64_t eg_field_log(uint64_t x);
uint64_t eg_field_sqrt(uint64_t x);

#endif
