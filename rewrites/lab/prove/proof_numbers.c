// Arithmetic of constants: exact, or marked as rounded.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "rewrites/lab/prove/proof_scalar.h"

// Below LEAST the remainder of a product may be lost itself.
enum { SMALLEST_INTEGER = 127 }; // the largest that every integer type has
static const double TOLERANCE = 4e-15, LEAST = 1e-290;

bool eg_numbers_agree(const eg_proof *p, double a, double b, uint32_t marks) {
  if (isnan(a) && isnan(b)) return true;
  if (a == b) return !p->is_exact || signbit(a) == signbit(b);
  if ((marks & EG_NUMBER_ROUNDED) == 0 || !isfinite(a) || !isfinite(b)) return false;
  return fabs(a - b) <= fmax(fabs(a), fabs(b)) * TOLERANCE;
}

bool eg_number_is_plain(double value) {
  if (value == 0 || !isfinite(value)) return true;
  int exponent; // bfloat16 has 8 bits, the range of float16 is the smallest
  double bits = ldexp(frexp(fabs(value), &exponent), 8);
  return bits == floor(bits) && exponent > -14 && exponent <= 15;
}

static eg_number settled(eg_proof *p, double value, bool is_exact, uint32_t marks) {
  if (!isfinite(value) || (value != 0 && fabs(value) < LEAST))
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "constants that leave the range of numbers");
  if (!is_exact) marks |= EG_NUMBER_ROUNDED;
  if (p->domain != EG_DOMAIN_REAL) {
    if (!is_exact || value != floor(value))
      eg_proof_leave(p, EG_PROOF_GIVEN_UP, "constants that integers do not have");
    if (value < 0 || value > SMALLEST_INTEGER) marks |= EG_NUMBER_WRAPS;
  }
  return (eg_number){.value = value, .marks = marks};
}

// What is left of a + b is b less the part of it that went into the sum, and so for a.
static bool is_exact_sum(double a, double b, double sum) {
  double part = sum - a;
  return (a - (sum - part)) + (b - part) == 0;
}

eg_number eg_number_add(eg_proof *p, eg_number a, eg_number b) {
  double sum = a.value + b.value;
  uint32_t marks = a.marks | b.marks;
  if (!isfinite(a.value) || !isfinite(b.value))
    return (eg_number){.value = sum, .marks = marks};
  return settled(p, sum, is_exact_sum(a.value, b.value, sum), marks);
}

eg_number eg_number_mul(eg_proof *p, eg_number a, eg_number b) {
  double product = a.value * b.value;
  uint32_t marks = a.marks | b.marks;
  if (!isfinite(a.value) || !isfinite(b.value))
    return (eg_number){.value = product, .marks = marks};
  if (product == 0 && a.value != 0 && b.value != 0)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "constants that leave the range of numbers");
  return settled(p, product, fma(a.value, b.value, -product) == 0, marks);
}

eg_number eg_number_over(eg_proof *p, eg_number a, eg_number b) {
  double quotient = a.value / b.value;
  uint32_t marks = a.marks | b.marks;
  if (!isfinite(a.value) || !isfinite(b.value))
    return (eg_number){.value = quotient, .marks = marks};
  if (b.value == 0 || (quotient == 0 && a.value != 0))
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "constants that leave the range of numbers");
  return settled(p, quotient, fma(quotient, b.value, -a.value) == 0, marks);
}
