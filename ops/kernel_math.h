// Smooth functions for float32 rows, computed in double without branches or calls, so
// that compilers turn loops over them into vector code. Relative errors stay below 3e-10,
// far below half a unit in the last place of float32 (3e-8): after rounding the results
// are as good as libm's and often exact. NaN stays NaN, infinities have their limits;
// results beyond float32's range become infinite or zero when they are rounded.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_KERNEL_MATH_H
#define EG_OPS_KERNEL_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// Folds `term`, an expression over i in [0, count), into `total`, which starts as the
// neutral element of the operation. The fold goes through `lanes` partial results, so
// that no operation waits for the one before it and the loop can become vector code.
// Measured: 8 lanes stay in registers for sums; comparisons become vector code only when
// the lanes are too many to unroll, 32.
enum { EG_MATH_LANES = 8, EG_MATH_WIDE_LANES = 32 };
#define EG_MATH_FOLD(type, total, count, lanes, term, combine)                           \
  do {                                                                                   \
    type lanes_[lanes];                                                                  \
    int64_t at_ = 0;                                                                     \
    for (int64_t l = 0; l < (lanes); l++)                                                \
      lanes_[l] = (total);                                                               \
    for (; at_ + (lanes) <= (count); at_ += (lanes))                                     \
      for (int64_t l = 0; l < (lanes); l++) {                                            \
        const int64_t i = at_ + l;                                                       \
        const type x_ = (term), y_ = lanes_[l];                                          \
        lanes_[l] = combine(y_, x_);                                                     \
      }                                                                                  \
    for (int64_t i = at_; i < (count); i++) {                                            \
      const type x_ = (term), y_ = lanes_[0];                                            \
      lanes_[0] = combine(y_, x_);                                                       \
    }                                                                                    \
    (total) = lanes_[0];                                                                 \
    for (int64_t l = 1; l < (lanes) && l < (count); l++)                                 \
      (total) = combine((total), lanes_[l]);                                             \
  } while (0)
#define EG_MATH_ADD(y, x) ((y) + (x))
// The larger, or the smaller, of two numbers; NaN wins. They use `|`, because the branch
// of `||` would keep the loop from becoming vector code.
#define EG_MATH_LARGER(y, x) ((((x) > (y)) | ((x) != (x))) ? (x) : (y))
#define EG_MATH_SMALLER(y, x) ((((x) < (y)) | ((x) != (x))) ? (x) : (y))

static inline double eg_math_clamp(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

static inline double eg_math_abs(double x) { return x < 0.0 ? -x : x; }

// Computes exp(x) = 2^n (1 + q), with scale = 2^n and q = exp(r) - 1, |r| <= ln(2) / 2.
// Adding 1.5 * 2^52 rounds to the nearest integer n and leaves n in the low bits; the
// shift then moves n to the exponent.
typedef struct eg_math_power {
  double scale, q;
} eg_math_power;

static inline eg_math_power eg_math_power_of(double x) {
  const double magic = 6755399441055744.0;
  const double shifted = eg_math_clamp(x, -250.0, 250.0) * 1.4426950408889634 + magic;
  uint64_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  eg_math_power power;
  memcpy(&power.scale, &bits, sizeof bits);
  const double r =
      eg_math_clamp(x, -250.0, 250.0) - (shifted - magic) * 0.69314718055994531;
  // Taylor's polynomial, whose error vanishes with r, keeps expm1 exact near 0.
  double q = 1.0 / 40320.0;
  q = q * r + 1.0 / 5040.0;
  q = q * r + 1.0 / 720.0;
  q = q * r + 1.0 / 120.0;
  q = q * r + 1.0 / 24.0;
  q = q * r + 1.0 / 6.0;
  q = q * r + 0.5;
  q = q * r + 1.0;
  power.q = q * r;
  return power;
}

static inline double eg_math_exp(double x) {
  const eg_math_power power = eg_math_power_of(x);
  const double y = power.scale + power.scale * power.q;
  return x > 250.0 ? (double)INFINITY : x < -250.0 ? 0.0 : y;
}

static inline double eg_math_expm1(double x) {
  const eg_math_power power = eg_math_power_of(x);
  const double y = (power.scale - 1.0) + power.scale * power.q;
  return x > 250.0 ? (double)INFINITY : y; // the formula gives -1 at the other end
}

static inline double eg_math_tanh(double x) {
  const double twice = eg_math_expm1(2.0 * eg_math_clamp(x, -20.0, 20.0));
  return twice / (twice + 2.0);
}

/// Returns log(1 + y) for y in [0, 1], as 2 atanh(y / (2 + y)).
static inline double eg_math_log1p(double y) {
  const double s = y / (2.0 + y), z = s * s;
  double sum = 1.0 / 17.0;
  sum = sum * z + 1.0 / 15.0;
  sum = sum * z + 1.0 / 13.0;
  sum = sum * z + 1.0 / 11.0;
  sum = sum * z + 1.0 / 9.0;
  sum = sum * z + 1.0 / 7.0;
  sum = sum * z + 1.0 / 5.0;
  sum = sum * z + 1.0 / 3.0;
  return 2.0 * s * (sum * z + 1.0);
}

// Computes erf: for |x| <= 1 by a polynomial in x^2, above that by 1 - exp(-polynomial);
// both are fitted with a minimax criterion (errors 3.3e-11 and 2.1e-11). For |x| > 4, erf
// rounds to 1 in float32; for |x| > 6 this function returns exactly 1, so that 1 +
// erf(-infinity) is 0.
static inline double eg_math_erf(double x) {
  const double z = eg_math_clamp(x * x, 0.0, 1.0);
  double small = -9.6801346914643371e-06;
  small = small * z + 0.00011270543841274822;
  small = small * z - 0.00084847113529486163;
  small = small * z + 0.0052210748710921386;
  small = small * z - 0.026865445818813654;
  small = small * z + 0.1128378274715597;
  small = small * z - 0.37612638483806332;
  small = small * z + 1.128379167063158;
  const double t = eg_math_clamp(eg_math_abs(x), 1.0, 4.0);
  double large = 2.1686951710388654e-05;
  large = large * t - 0.00044133762853085912;
  large = large * t + 0.0042045683338263334;
  large = large * t - 0.02520827488670958;
  large = large * t + 0.10841860731677809;
  large = large * t + 0.63321986394399743;
  large = large * t + 1.1295784397066888;
  large = large * t - 0.00018804367215796759;
  const double far = eg_math_abs(x) > 6.0 ? 1.0 : -eg_math_expm1(-large);
  return eg_math_abs(x) <= 1.0 ? x * small : x < 0.0 ? -far : far;
}

#endif
