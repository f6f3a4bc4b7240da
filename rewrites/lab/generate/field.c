// Odd and even functions are made of keyed permutations of the field; exp and log are
// powers of a primitive root. A function that is defined by others is computed so.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/field.h"

#include <assert.h>
#include <math.h>

#include "base/hash.h"

enum { MAX_DENOMINATOR = 1 << 24, INTEGER_BITS = 20 };

uint64_t eg_field_pow(uint64_t a, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = eg_field_mul(result, a);
    a = eg_field_mul(a, a);
  }
  return result;
}

// Extended Euclid: half the time of a power.
uint64_t eg_field_inverse(uint64_t a) {
  int64_t r0 = (int64_t)EG_FIELD_P, r1 = (int64_t)a, t0 = 0, t1 = 1;
  while (r1 != 0) {
    int64_t q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;
    r0 = r1;
    r1 = r;
    t0 = t1;
    t1 = t;
  }
  return a == 0 ? 0 : eg_field_of_int(t0);
}

// p = 3 mod 4: a root of a square, and of any product the product of this of its factors.
uint64_t eg_field_sqrt(uint64_t x) { return eg_field_pow(x, (EG_FIELD_P + 1) / 4); }

// ---- constants ------------------------------------------------------------------

/// Continued fraction of a number in [0, 2^31).
static bool to_quotient(double value, double tolerance, int64_t *out_n, int64_t *out_d) {
  double rest = value;
  int64_t n0 = 0, n1 = 1, d0 = 1, d1 = 0;
  for (int step = 0; step < 40; step++) {
    double whole = floor(rest);
    if (whole > 0x1p31) return false;
    int64_t n = (int64_t)whole * n1 + n0, d = (int64_t)whole * d1 + d0;
    if (d > MAX_DENOMINATOR || n > (INT64_C(1) << 50)) return false;
    n0 = n1;
    n1 = n;
    d0 = d1;
    d1 = d;
    if (fabs((double)n / (double)d - value) <= tolerance * value) {
      *out_n = n;
      *out_d = d;
      return true;
    }
    if (rest - whole == 0) return false;
    rest = 1 / (rest - whole);
  }
  return false;
}

bool eg_field_of_double(double value, bool is_single, uint64_t *out) {
  int64_t n, d;
  double size = fabs(value);
  if (!isfinite(value) || size >= 0x1p31) return false;
  if (!to_quotient(size, is_single ? 0x1p-22 : 0x1p-51, &n, &d)) return false;
  uint64_t quotient =
      eg_field_mul(eg_field_of_int(n), eg_field_inverse(eg_field_of_int(d)));
  *out = value < 0 ? eg_field_neg(quotient) : quotient;
  return true;
}

// ---- keyed functions ------------------------------------------------------------

// Multipliers mod 2^61.
#define MULTIPLIER_1 UINT64_C(0x1f58476d1ce4e5b9)
#define MULTIPLIER_2 UINT64_C(0x14d049bb133111eb)
static uint64_t turn(uint64_t x) { return x ^ (x >> 31); } // its own inverse on 61 bits

static uint64_t permute(uint64_t key, uint64_t x) {
  x = (x ^ key) & EG_FIELD_P;
  x = turn(turn(x) * MULTIPLIER_1 & EG_FIELD_P);
  return turn(x * MULTIPLIER_2 & EG_FIELD_P);
}
// 2^61 - 1 itself is no element: whoever is sent there goes on until it is back.
static uint64_t any(uint64_t key, uint64_t x) {
  do
    x = permute(key, x);
  while (x == EG_FIELD_P);
  return x;
}

// ---- powers of 37, of which every number but 0 is one ----------------------------

static const uint64_t ROOT = 37, ORDER = EG_FIELD_P - 1;

uint64_t eg_field_exp(uint64_t x) {
  int64_t exponent = eg_field_signed(x);
  return eg_field_pow(ROOT,
                      exponent < 0 ? (uint64_t)exponent + ORDER : (uint64_t)exponent);
}

/// Pohlig and Hellman's: modulo each of the coprime factors of the order, put together.
uint64_t eg_field_log(uint64_t x) {
  static const uint64_t FACTORS[] = {2, 9, 25, 7, 11, 13, 31, 41, 61, 151, 331, 1321};
  const uint64_t no_value = UINT64_C(0x1b873593cc9e2d);
  uint64_t log = 0;
  if (x == 0) return any(no_value, 0);
  for (size_t i = 0; i < sizeof FACTORS / sizeof *FACTORS; i++) {
    uint64_t factor = FACTORS[i], rest = ORDER / factor, inverse = 1, digit = 0;
    uint64_t root = eg_field_pow(ROOT, rest), power = eg_field_pow(x, rest);
    while (rest % factor * inverse % factor != 1)
      inverse++;
    for (uint64_t at = 1; at != power; at = eg_field_mul(at, root))
      digit++;
    log = (log + digit * inverse % factor * rest) % ORDER;
  }
  return log > ORDER / 2 ? log + 1 : log; // as the exponent: ORDER is 0, and P too
}

// What has no value must not be equal to anything: such a rule would be about nothing.
uint64_t eg_field_divide(uint64_t a, uint64_t b) {
  const uint64_t no_value = UINT64_C(0x5bd1e995c0ffee);
  return b == 0 ? any(no_value, a) : eg_field_mul(a, eg_field_inverse(b));
}

uint64_t eg_field_power(uint64_t a, uint64_t b) {
  const uint64_t no_value = UINT64_C(0x2545f4914f6cdd), one_half = (EG_FIELD_P + 1) / 2;
  int64_t whole = eg_field_signed(b);
  if (whole >= 0 && whole <= 8) return eg_field_pow(a, (uint64_t)whole);
  if (whole < 0 && whole >= -8)
    return eg_field_divide(1, eg_field_pow(a, (uint64_t)-whole));
  if (b == one_half) return eg_field_sqrt(a);
  if (b == eg_field_neg(one_half)) return eg_field_divide(1, eg_field_sqrt(a));
  return any(eg_hash_combine(no_value, b), a);
}

static uint64_t operator_key(uint64_t key, eg_op op) {
  return eg_hash_combine(key, (uint64_t)op + 1);
}
static uint64_t odd(uint64_t key, eg_op op, uint64_t x) {
  uint64_t k = operator_key(key, op);
  return eg_field_sub(any(k, x), any(k, eg_field_neg(x)));
}
static uint64_t even(uint64_t key, eg_op op, uint64_t x) {
  uint64_t k = operator_key(key, op);
  return eg_field_add(any(k, x), any(k, eg_field_neg(x)));
}
static uint64_t half(uint64_t x) { return (x & 1) != 0 ? (x + EG_FIELD_P) / 2 : x / 2; }
static bool is_negative(uint64_t x) { return x > EG_FIELD_P / 2; }
static uint64_t larger(uint64_t x, uint64_t y) {
  return eg_field_signed(x) >= eg_field_signed(y) ? x : y;
}
static uint64_t smaller(uint64_t x, uint64_t y) {
  return eg_field_signed(x) <= eg_field_signed(y) ? x : y;
}

static uint64_t tanh_of(uint64_t key, uint64_t x) { return odd(key, EG_OP_TANH, x); }
static uint64_t sigmoid(uint64_t key, uint64_t x) {
  return half(eg_field_add(1, tanh_of(key, half(x))));
}
static uint64_t softplus(uint64_t x) {
  return eg_field_log(eg_field_add(1, eg_field_exp(x)));
}
// x (1 + erf(x / sqrt 2)) / 2; the root of 2 is 2^31, whose square is 2^62 = 2.
static uint64_t gelu(uint64_t key, uint64_t x) {
  uint64_t inner = eg_field_mul(x, eg_field_inverse(UINT64_C(1) << 31));
  return eg_field_mul(x, half(eg_field_add(1, odd(key, EG_OP_ERF, inner))));
}
// Any function with that attribute: a formula of tanh whose constants are decimal.
static uint64_t gelu_tanh(uint64_t key, uint64_t x) {
  return eg_field_mul(x, half(eg_field_add(1, odd(key, EG_OP_GELU, x))));
}
/// Whole numbers of the order are multiples of 2^20.
static uint64_t floor_of(uint64_t x) {
  int64_t unit = INT64_C(1) << INTEGER_BITS, value = eg_field_signed(x);
  int64_t rest = ((value % unit) + unit) % unit;
  return eg_field_of_int(value - rest);
}
static uint64_t round_of(uint64_t x) {
  int64_t unit = INT64_C(1) << INTEGER_BITS, value = eg_field_signed(x);
  int64_t size = value < 0 ? -value : value, whole = (size + unit / 2) / unit * unit;
  return eg_field_of_int(value < 0 ? -whole : whole);
}
static uint64_t clip(const eg_field_function *f, uint64_t x) {
  if (f->has_a) x = larger(x, f->a);
  return f->has_b ? smaller(x, f->b) : x;
}
static uint64_t hard_sigmoid(uint64_t alpha, uint64_t beta, uint64_t x) {
  return larger(0, smaller(1, eg_field_add(eg_field_mul(alpha, x), beta)));
}

static uint64_t elu(uint64_t a, uint64_t x) {
  return eg_field_mul(a, eg_field_sub(eg_field_exp(x), 1));
}

uint64_t eg_field_apply(const eg_field_function *f, uint64_t x) {
  uint64_t key = f->key;
#define EG_APPLY(OP, value)                                                              \
  if (f->op == EG_OP_##OP) return value;
  EG_APPLY(IDENTITY, x)
  EG_APPLY(RELU, is_negative(x) ? 0 : x)
  EG_APPLY(NEG, eg_field_neg(x))
  EG_APPLY(SQUARE, eg_field_mul(x, x))
  EG_APPLY(ABS, is_negative(x) ? eg_field_neg(x) : x)
  EG_APPLY(SIGN, x == 0 ? 0 : is_negative(x) ? EG_FIELD_P - 1 : 1)
  EG_APPLY(EXP, eg_field_exp(x))
  EG_APPLY(LOG, eg_field_log(x))
  EG_APPLY(RECIPROCAL, eg_field_divide(1, x))
  EG_APPLY(SQRT, eg_field_sqrt(x))
  EG_APPLY(RSQRT, eg_field_divide(1, eg_field_sqrt(x)))
  EG_APPLY(TANH, tanh_of(key, x))
  EG_APPLY(SIGMOID, sigmoid(key, x))
  EG_APPLY(SILU, eg_field_mul(x, sigmoid(key, x)))
  EG_APPLY(SOFTPLUS, softplus(x))
  EG_APPLY(MISH, eg_field_mul(x, tanh_of(key, softplus(x))))
  EG_APPLY(GELU, (f->has_a ? gelu_tanh : gelu)(key, x))
  EG_APPLY(ERF, odd(key, EG_OP_ERF, x))
  EG_APPLY(SIN, odd(key, EG_OP_SIN, x))
  EG_APPLY(SINH, odd(key, EG_OP_SINH, x))
  EG_APPLY(ASINH, odd(key, EG_OP_ASINH, x))
  EG_APPLY(ATAN, odd(key, EG_OP_ATAN, x))
  EG_APPLY(COS, even(key, EG_OP_COS, x))
  EG_APPLY(COSH, even(key, EG_OP_COSH, x))
  EG_APPLY(TAN, eg_field_mul(odd(key, EG_OP_SIN, x),
                             eg_field_inverse(even(key, EG_OP_COS, x))))
  EG_APPLY(FLOOR, floor_of(x))
  EG_APPLY(CEIL, eg_field_neg(floor_of(eg_field_neg(x))))
  EG_APPLY(ROUND, round_of(x))
  EG_APPLY(NOT, eg_field_sub(1, x))
  EG_APPLY(CLIP, clip(f, x))
  EG_APPLY(LEAKY_RELU, is_negative(x) ? eg_field_mul(f->a, x) : x)
  EG_APPLY(ELU, is_negative(x) ? elu(f->a, x) : x)
  EG_APPLY(CELU, is_negative(x) ? elu(f->a, eg_field_divide(x, f->a)) : x)
  EG_APPLY(HARD_SIGMOID, hard_sigmoid(f->a, f->b, x))
  EG_APPLY(HARD_SWISH, eg_field_mul(x, hard_sigmoid(f->a, f->b, x)))
  EG_APPLY(SOFTSIGN, eg_field_mul(x, eg_field_inverse(eg_field_add(
                                         1, is_negative(x) ? eg_field_neg(x) : x))))
#undef EG_APPLY
  assert(false);
  return 0;
}

/// Operators that eg_field_apply knows, besides those with constants.
static const eg_op PLAIN_FUNCTIONS[] = {
    EG_OP_IDENTITY, EG_OP_RELU,  EG_OP_NEG,     EG_OP_SQUARE,     EG_OP_ABS,
    EG_OP_SIGN,     EG_OP_EXP,   EG_OP_LOG,     EG_OP_RECIPROCAL, EG_OP_SQRT,
    EG_OP_RSQRT,    EG_OP_TANH,  EG_OP_SIGMOID, EG_OP_SILU,       EG_OP_SOFTPLUS,
    EG_OP_MISH,     EG_OP_ERF,   EG_OP_SIN,     EG_OP_SINH,       EG_OP_ASINH,
    EG_OP_ATAN,     EG_OP_COS,   EG_OP_COSH,    EG_OP_TAN,        EG_OP_FLOOR,
    EG_OP_CEIL,     EG_OP_ROUND, EG_OP_NOT,     EG_OP_SOFTSIGN};

static bool set_constants(eg_field_function *f, double a, double b) {
  f->real_a = a;
  f->real_b = b;
  return eg_field_of_double(a, true, &f->a) && eg_field_of_double(b, true, &f->b);
}

static bool set_bounds(eg_field_function *f, double low, double high) {
  f->has_a = !(isinf(low) && low < 0);
  f->has_b = !(isinf(high) && high > 0);
  f->real_a = low;
  f->real_b = high;
  return (!f->has_a || eg_field_of_double(low, true, &f->a)) &&
         (!f->has_b || eg_field_of_double(high, true, &f->b));
}

static double real_of(const eg_attrs *attrs, eg_attr_slot slot) {
  return eg_attr_at(attrs, slot)->f;
}

bool eg_field_function_of(const eg_attrs *attrs, uint64_t key, eg_field_function *out) {
  *out = (eg_field_function){.op = (eg_op)attrs->op, .key = key};
  for (size_t i = 0; i < sizeof PLAIN_FUNCTIONS / sizeof *PLAIN_FUNCTIONS; i++)
    if (PLAIN_FUNCTIONS[i] == out->op) return true;
  if (out->op == EG_OP_GELU) {
    out->has_a = eg_attr_at(attrs, EG_A_GELU_APPROXIMATE)->i != 0;
    return true;
  }
  if (out->op == EG_OP_CLIP)
    return set_bounds(out, real_of(attrs, EG_A_CLIP_MIN), real_of(attrs, EG_A_CLIP_MAX));
  if (out->op == EG_OP_LEAKY_RELU)
    return set_constants(out, real_of(attrs, EG_A_LEAKY_RELU_ALPHA), 0);
  if (out->op == EG_OP_ELU) return set_constants(out, real_of(attrs, EG_A_ELU_ALPHA), 0);
  if (out->op == EG_OP_CELU)
    return set_constants(out, real_of(attrs, EG_A_CELU_ALPHA), 0);
  if (out->op == EG_OP_HARD_SIGMOID)
    return set_constants(out, real_of(attrs, EG_A_HARD_SIGMOID_ALPHA),
                         real_of(attrs, EG_A_HARD_SIGMOID_BETA));
  return out->op == EG_OP_HARD_SWISH && set_constants(out, 1.0 / 6, 0.5);
}

bool eg_field_activation(eg_act act, double alpha, double beta, uint64_t key,
                         eg_field_function *out) {
#define EG_ACT_OP(id, name, op) EG_OP_##op,
  static const eg_op OPS[] = {EG_ACT_LIST(EG_ACT_OP)};
#undef EG_ACT_OP
  assert(act < EG_ACT_COUNT);
  *out = (eg_field_function){.op = OPS[act], .key = key};
  out->has_a = act == EG_ACT_GELU_TANH;
  if (act == EG_ACT_CLIP) return set_bounds(out, alpha, beta);
  if (act == EG_ACT_HARDSWISH) return set_constants(out, 1.0 / 6, 0.5);
  return (act != EG_ACT_LEAKY_RELU && act != EG_ACT_ELU) || set_constants(out, alpha, 0);
}
