// Row functions of pointwise operators with two operands, both contiguous
// (kernel_broadcast.c first repeats a broadcast element into a strip). Integers wrap; a
// division by zero gives 0.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <tgmath.h>

#include "ops/kernels.h"

// Formulas over x and y of type T; p is the first attribute: fmod of mod, 1 for a shift
// to the right.
#define FLOAT_LIST(X)                                                                    \
  X(ADD, x + y)                                                                          \
  X(SUB, x - y)                                                                          \
  X(MUL, x *y)                                                                           \
  X(DIV, x / y)                                                                          \
  X(MAX, x > y || x != x ? x : y)                                                        \
  X(MIN, x < y || x != x ? x : y)                                                        \
  X(MOD, p != 0 ? fmod(x, y) : floor_mod(x, y))                                          \
  X(PRELU, x < 0 ? x * y : x)

#define INT_LIST(X)                                                                      \
  X(ADD, (uint64_t)x + (uint64_t)y)                                                      \
  X(SUB, (uint64_t)x - (uint64_t)y)                                                      \
  X(MUL, (uint64_t)x *(uint64_t)y)                                                       \
  X(DIV, int_div(x, y))                                                                  \
  X(POW, int_pow(x, y))                                                                  \
  X(MAX, x > y ? x : y)                                                                  \
  X(MIN, x < y ? x : y)                                                                  \
  X(MOD, p != 0 ? int_rem(x, y) : int_mod(x, y))                                         \
  X(BITWISE_AND, x &y)                                                                   \
  X(BITWISE_OR, x | y)                                                                   \
  X(BITWISE_XOR, x ^ y)                                                                  \
  X(BIT_SHIFT, int_shift(x, y, p != 0))                                                  \
  X(PRELU, x < 0 ? (uint64_t)x * (uint64_t)y : (uint64_t)x)

#define UINT_LIST(X)                                                                     \
  X(ADD, x + y)                                                                          \
  X(SUB, x - y)                                                                          \
  X(MUL, x *y)                                                                           \
  X(DIV, y == 0 ? 0 : x / y)                                                             \
  X(POW, uint_pow(x, y))                                                                 \
  X(MAX, x > y ? x : y)                                                                  \
  X(MIN, x < y ? x : y)                                                                  \
  X(MOD, y == 0 ? 0 : x % y)                                                             \
  X(BITWISE_AND, x &y)                                                                   \
  X(BITWISE_OR, x | y)                                                                   \
  X(BITWISE_XOR, x ^ y)                                                                  \
  X(BIT_SHIFT, y > 63 ? 0 : p != 0 ? x >> y : x << y)                                    \
  X(PRELU, ((void)y, x))

#define COMPARE_LIST(X)                                                                  \
  X(EQUAL, x == y)                                                                       \
  X(GREATER, x > y)                                                                      \
  X(LESS, x < y)                                                                         \
  X(GREATER_OR_EQUAL, x >= y)                                                            \
  X(LESS_OR_EQUAL, x <= y)

#define LOGIC_LIST(X)                                                                    \
  X(AND, x != 0 && y != 0)                                                               \
  X(OR, x != 0 || y != 0)                                                                \
  X(XOR, (x != 0) != (y != 0))

// Returns the remainder with the sign of the divisor, as in Python.
static double floor_mod(double x, double y) {
  double rest = fmod(x, y);
  if (rest == 0.0) return copysign(0.0, y);
  return rest != 0.0 && (rest < 0.0) != (y < 0.0) ? rest + y : rest;
}

// Divides; INT64_MIN / -1 does not fit and wraps to INT64_MIN.
static int64_t int_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static int64_t int_rem(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }

static int64_t int_mod(int64_t x, int64_t y) {
  int64_t rest = int_rem(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// Shifts. Narrower integers are shifted as int64 and then narrowed, which gives the
// same bits.
static int64_t int_shift(int64_t x, int64_t y, bool is_right) {
  if (y < 0 || y > 63) return is_right && x < 0 ? -1 : 0;
  if (!is_right) return (int64_t)((uint64_t)x << y);
  return x >= 0 ? x >> y : ~(~x >> y);
}

static uint64_t uint_pow(uint64_t x, uint64_t y) {
  uint64_t power = 1;
  for (; y != 0; y >>= 1, x *= x)
    if ((y & 1) != 0) power *= x;
  return power;
}

// Computes a power. A negative exponent gives the truncated reciprocal: 0 unless the base
// is 1 or -1.
static int64_t int_pow(int64_t x, int64_t y) {
  if (y >= 0) return (int64_t)uint_pow((uint64_t)x, (uint64_t)y);
  if (x == 1) return 1;
  return x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0;
}

#define ROW_OUT(id, result, formula)                                                     \
  EG_KERNEL_CLONES static void PASTE(id)(const void *a, const void *b, void *to,         \
                                         size_t count, const double params[2]) {         \
    const T *in_a = a, *in_b = b;                                                        \
    result *out = to;                                                                    \
    const double p = params[0];                                                          \
    (void)p;                                                                             \
    for (size_t i = 0; i < count; i++) {                                                 \
      const T x = in_a[i], y = in_b[i];                                                  \
      out[i] = (result)(formula);                                                        \
    }                                                                                    \
  }
#define ROW(id, formula) ROW_OUT(id, T, formula)
#define ROW_BOOL(id, formula) ROW_OUT(id, uint8_t, formula)

// Computes pow. If the exponent is the same in the whole row, as after broadcasting,
// cheap exponents need no call of pow. The square root differs from pow at -inf and -0,
// hence the extra terms.
#define POW_ROW(name, type)                                                              \
  EG_KERNEL_CLONES static void name(const void *a, const void *b, void *to,              \
                                    size_t count, const double params[2]) {              \
    const type *x = a, *y = b;                                                           \
    type *out = to;                                                                      \
    size_t same = 1;                                                                     \
    (void)params;                                                                        \
    while (same < count && y[same] == y[0])                                              \
      same++;                                                                            \
    const type e = count != 0 && same >= count ? y[0] : 0;                               \
    if (e == 2) {                                                                        \
      for (size_t i = 0; i < count; i++)                                                 \
        out[i] = x[i] * x[i];                                                            \
    } else if (e == 1) {                                                                 \
      memmove(out, x, count * sizeof *x);                                                \
    } else if (2 * e == 1) {                                                             \
      for (size_t i = 0; i < count; i++)                                                 \
        out[i] = x[i] == -(type)INFINITY ? (type)INFINITY : sqrt(x[i]) + 0;              \
    } else {                                                                             \
      for (size_t i = 0; i < count; i++)                                                 \
        out[i] = pow(x[i], y[i]);                                                        \
    }                                                                                    \
  }
POW_ROW(POW_f32, float)
POW_ROW(POW_f64, double)

#define T float
#define PASTE(id) id##_f32
FLOAT_LIST(ROW)
COMPARE_LIST(ROW_BOOL)
#undef PASTE
#undef T
#define T double
#define PASTE(id) id##_f64
FLOAT_LIST(ROW)
COMPARE_LIST(ROW_BOOL)
#undef PASTE
#undef T
#define T int64_t
#define PASTE(id) id##_i64
INT_LIST(ROW)
COMPARE_LIST(ROW_BOOL)
#undef PASTE
#undef T
#define T uint64_t
#define PASTE(id) id##_u64
UINT_LIST(ROW)
COMPARE_LIST(ROW_BOOL)
#undef PASTE
#undef T
#define T uint8_t
#define PASTE(id) id##_bool
LOGIC_LIST(ROW)
#undef PASTE
#undef T

eg_row_binary eg_row_binary_of(eg_op op, eg_wide wide) {
#define ROW_F32(id, formula) [EG_OP_##id] = id##_f32,
#define ROW_F64(id, formula) [EG_OP_##id] = id##_f64,
#define ROW_I64(id, formula) [EG_OP_##id] = id##_i64,
#define ROW_U64(id, formula) [EG_OP_##id] = id##_u64,
  static const eg_row_binary rows[EG_WIDE_COUNT][EG_OP_COUNT] = {
      [EG_WIDE_F32] = {FLOAT_LIST(ROW_F32) COMPARE_LIST(ROW_F32)[EG_OP_POW] = POW_f32},
      [EG_WIDE_F64] = {FLOAT_LIST(ROW_F64) COMPARE_LIST(ROW_F64)[EG_OP_POW] = POW_f64},
      [EG_WIDE_I64] = {INT_LIST(ROW_I64) COMPARE_LIST(ROW_I64)},
      [EG_WIDE_U64] = {UINT_LIST(ROW_U64) COMPARE_LIST(ROW_U64)}};
  return rows[wide][op];
}

eg_row_binary eg_row_logic_of(eg_op op) {
#define ROW_LOGIC(id, formula) [EG_OP_##id] = id##_bool,
  static const eg_row_binary rows[EG_OP_COUNT] = {LOGIC_LIST(ROW_LOGIC)};
  return rows[op];
}
