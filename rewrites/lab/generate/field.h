// Numbers of the field GF(p), p = 2^61 - 1, in which graphs are compared.
//
// Polynomial operators are exact there: two graphs of them that differ as polynomials of
// degree d agree on one random point with a probability of at most d / n where inputs
// are any of n numbers (Schwartz-Zippel). n is 2^50: for d <= 8 and 10^6 graphs, 5 *
// 10^11 pairs, that is below 4 * 10^-3 for any pair at all, and a pair is compared again
// at other points before it is used. Inputs are from -2^56 to 2^56 and multiples of 96,
// so that sums and quotients by 2, 3, 4, 6, 8 are what they are as integers. Other
// functions are keyed: arbitrary functions that satisfy only the identities below, so
// two graphs agree only if these identities imply it. Besides polynomial equalities,
// these are found:
//   the order of numbers   the order of representatives from -(p-1)/2 to (p-1)/2:
//                          maximum and minimum form a lattice, neg reverses it, relu is
//                          the maximum with 0; sums of inputs, and inputs times or by
//                          small numbers, keep it. Not found: the order of products
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

/// The largest number of products of two field elements to add before eg_field_fold.
enum { EG_FIELD_LAZY = 32 };

static inline uint64_t eg_field_add(uint64_t a, uint64_t b) {
  uint64_t sum = a + b;
  return sum >= EG_FIELD_P ? sum - EG_FIELD_P : sum;
}
static inline uint64_t eg_field_neg(uint64_t a) { return a == 0 ? 0 : EG_FIELD_P - a; }
static inline uint64_t eg_field_sub(uint64_t a, uint64_t b) {
  return a >= b ? a - b : a + EG_FIELD_P - b;
}
/// Reduces a number modulo p to below 2^68.
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
/// Runs Euclid's algorithm for p and a up to the first remainder below `least` and
/// returns it: a * *out_factor is that remainder modulo p.
int64_t eg_field_euclid(uint64_t a, int64_t least, int64_t *out_factor);
/// Returns 1 / a, and 0 for a = 0.
uint64_t eg_field_inverse(uint64_t a);
/// Returns the integer from -(p-1)/2 to (p-1)/2 that is equal to a modulo p.
static inline int64_t eg_field_signed(uint64_t a) {
  return a > EG_FIELD_P / 2 ? (int64_t)a - (int64_t)EG_FIELD_P : (int64_t)a;
}
static inline uint64_t eg_field_of_int(int64_t a) {
  int64_t rest = a % (int64_t)EG_FIELD_P;
  return rest < 0 ? (uint64_t)(rest + (int64_t)EG_FIELD_P) : (uint64_t)rest;
}
/// Finds, as a number of the field, the quotient of integers that a double
/// approximates: the quotient with the least denominator, up to 2^24, within two units
/// in the last place (of float32 when `is_single`). Returns false for other numbers,
/// infinities and NaN.
bool eg_field_of_double(double value, bool is_single, uint64_t *out);

/// A pointwise operator as a list of steps: its element formula (ops/meaning.h), expanded
/// to operators that the field has. A step comes after the steps that it reads; the last
/// step gives the value.
enum { EG_FIELD_STEPS = 48 };
typedef struct eg_field_step {
  eg_formula_kind kind; // NUMBER, OPERAND or CALL
  uint8_t which;        // OPERAND: its number
  uint8_t kids[EG_FORMULA_OPERANDS];
  eg_op op;        // CALL: the operator
  uint64_t number; // NUMBER: the number
} eg_field_step;
typedef struct eg_field_function {
  eg_op op;
  uint32_t count;
  uint64_t key; // key of functions that satisfy only a few identities
  const eg_field_step *steps;
  bool has_a, has_b;     // numeric attributes are finite; gelu: `approximate` is set
  double real_a, real_b; // values of these attributes
} eg_field_function;
/// Makes the function of a pointwise operator over GF(p); its steps are in the arena.
/// *out_known is false for an operator that the field does not have, and for an attribute
/// that no number of the field equals. Fails with EGRAPH_E_MEMORY.
egraph_status eg_field_function_of(eg_arena *arena, const eg_attrs *attrs, uint64_t key,
                                   eg_field_function *out, bool *out_known);
uint64_t eg_field_apply(const eg_field_function *f, const uint64_t *operands);

/// Returns a^b. Uses products, quotients and roots for whole b within +-8 and for b =
/// +-1/2; for other b, returns a number that depends on both.
uint64_t eg_field_power(uint64_t a, uint64_t b);
/// eg_field_exp returns a power of a primitive root; its exponent is x as a signed
/// integer. eg_field_log is the inverse, and an arbitrary number for 0.
uint64_t eg_field_exp(uint64_t x);
uint64_t eg_field_log(uint64_t x);
uint64_t eg_field_sqrt(uint64_t x);

#endif
