// Each loop is compiled for the instruction sets below, and one version is chosen when a
// program is built: the baseline of x86-64 has only vectors of four floats.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/pointwise.h"

#include <math.h>
#include <string.h>

#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/loop_nest.h"

// Computes erf as x P(x^2) / Q(x^2) on [-4, 4] (a rational minimax fit; the largest error
// is 4e-7; one unit in the last place of a float near 1 is 6e-8).
static inline float erf_of(float x) {
  x = x < -4.0f ? -4.0f : x > 4.0f ? 4.0f : x;
  float s = x * x;
  float p = -2.72614225801306e-10f;
  p = p * s + 2.77068142495902e-08f;
  p = p * s - 2.10102402082508e-06f;
  p = p * s - 5.69250639462346e-05f;
  p = p * s - 7.34990630326855e-04f;
  p = p * s - 2.95459980854025e-03f;
  p = p * s - 1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * s - 2.13374055278905e-04f;
  q = q * s - 1.68282697438203e-03f;
  q = q * s - 7.37332916720468e-03f;
  q = q * s - 1.42647390514189e-02f;
  return x * p / q;
}
static inline float floor_of(float x) { return floorf(x); }
static inline float ceil_of(float x) { return ceilf(x); }
static inline float sign_of(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }
static inline float relu_of(float x) { return x < 0 ? 0.0f : x; }
static inline float identity_of(float x) { return x; }
static inline float neg_of(float x) { return -x; }
static inline float square_of(float x) { return x * x; }
static inline float sqrt_of(float x) { return sqrtf(x); }
static inline float reciprocal_of(float x) { return 1.0f / x; }
static inline float rsqrt_of(float x) { return 1.0f / sqrtf(x); }

/// Computes (exp(r) - 1) / r for |r| <= ln(2) / 2.
static inline float slope_near_zero(float r) {
  float y = 1.0f / 720.0f;
  y = y * r + 1.0f / 120.0f;
  y = y * r + 1.0f / 24.0f;
  y = y * r + 1.0f / 6.0f;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  return y;
}

/// Computes exp(r) for |r| <= ln(2) / 2.
static inline float exp_near_zero(float r) { return slope_near_zero(r) * r + 1.0f; }

/// Computes exp(x) as 2^n exp(r) with |r| <= ln(2) / 2, within one or two units in the
/// last place. 2^n is a product of two factors, because it may be no normal number.
static inline float exp_of(float x) {
  const float magic = 12582912.0f; // 1.5 * 2^23: adding it rounds to a whole number
  float bounded = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x == x ? x : 0.0f;
  float n = bounded * 1.44269504f + magic - magic;
  float r = bounded - n * 0.693145752f - n * 1.42860677e-6f;
  float y = exp_near_zero(r);
  int32_t whole = (int32_t)n, half = whole >> 1;
  uint32_t first = (uint32_t)(half + 127) << 23;
  uint32_t second = (uint32_t)(whole - half + 127) << 23;
  float a, b;
  memcpy(&a, &first, sizeof a);
  memcpy(&b, &second, sizeof b);
  y = y * a * b;
  return x > 88.73f ? INFINITY : x == x ? y : x;
}

/// Computes log(m 2^k) = k ln(2) + log(m) with m in [sqrt(1/2), sqrt(2)), within one unit
/// in the last place. Powers of two are exact up to rounding, because T5 cuts its buckets
/// of distances there.
static inline float log_of(float x) {
  const float least = 1.17549435e-38f, scale = 8388608.0f; // 2^23
  float normal = x < least ? x * scale : x;
  uint32_t bits;
  memcpy(&bits, &normal, sizeof bits);
  int32_t shifted = (int32_t)(bits - 0x3f3504f3u); // bits of sqrt(1/2)
  float k = (float)(shifted >> 23) - (x < least ? 23.0f : 0.0f);
  uint32_t kept = (uint32_t)(shifted & 0x007fffff) + 0x3f3504f3;
  float m;
  memcpy(&m, &kept, sizeof m);
  float f = m - 1.0f, s = f / (2.0f + f), z = s * s;
  float p = 0.24279079f;
  p = p * z + 0.28498787f;
  p = p * z + 0.40000972f;
  p = p * z + 0.66666663f;
  float half = 0.5f * f * f;
  float y = s * (half + p * z) + k * 9.0580006e-6f - half + f + k * 0.69313812f;
  y = x == INFINITY ? x : y;
  y = x == 0.0f ? -INFINITY : y;
  return x >= 0.0f ? y : NAN;
}
/// Splits x = n ln(2) + r: 2^n goes to *power, r is returned. |x| <= 87; r of NaN is NaN.
static inline float reduce(float x, float *power) {
  const float magic = 12582912.0f;
  const uint32_t magic_bits = 0x4b400000;
  float shifted = x * 1.44269504f + magic;
  float n = shifted - magic;
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits - magic_bits + 127) << 23;
  memcpy(power, &bits, sizeof *power);
  return x - n * 0.693145752f - n * 1.42860677e-6f;
}

/// Computes 1 / (1 + exp(-x)). Below -87 the result is 1.6e-38, as it would be no normal
/// number. The bounds keep NaN. The result is zero where the reference's exponential, in
/// float64, overflows: an infinite recurrent state times anything else is infinity.
static inline float sigmoid_of(float x) {
  float bounded = x < -87.0f ? -87.0f : x > 87.0f ? 87.0f : x;
  float power, r = reduce(-bounded, &power);
  float y = 1.0f / (1.0f + exp_near_zero(r) * power);
  return x < -709.7f ? 0.0f : y;
}

/// Uses exp(2 x) - 1 instead of exp(2 x), so that small numbers keep their digits.
static inline float tanh_of(float x) {
  float bounded = x < -10.0f ? -10.0f : x > 10.0f ? 10.0f : x;
  float power, r = reduce(2.0f * bounded, &power);
  float e = slope_near_zero(r) * r * power + (power - 1.0f);
  return e / (e + 2.0f);
}

static inline float silu_of(float x) { return x * sigmoid_of(x); }
static inline float softsign_of(float x) { return x / (1.0f + fabsf(x)); }
static inline float gelu_of(float x) {
  return 0.5f * x * (1.0f + erf_of(x * 0.70710678118654752f));
}

// Each row: operator, function.
#define EG_UNARY_LIST(X)                                                                 \
  X(ERF, erf_of)                                                                         \
  X(FLOOR, floor_of)                                                                     \
  X(CEIL, ceil_of)                                                                       \
  X(SIGN, sign_of)                                                                       \
  X(IDENTITY, identity_of)                                                               \
  X(NEG, neg_of)                                                                         \
  X(ABS, fabsf)                                                                          \
  X(SQUARE, square_of)                                                                   \
  X(SQRT, sqrt_of)                                                                       \
  X(RECIPROCAL, reciprocal_of)                                                           \
  X(SIN, sinf)                                                                           \
  X(COS, cosf)                                                                           \
  X(SINH, sinhf)                                                                         \
  X(COSH, coshf)                                                                         \
  X(RELU, relu_of)                                                                       \
  X(EXP, exp_of)                                                                         \
  X(LOG, log_of)                                                                         \
  X(TANH, tanh_of)                                                                       \
  X(SIGMOID, sigmoid_of)                                                                 \
  X(SILU, silu_of)                                                                       \
  X(RSQRT, rsqrt_of)                                                                     \
  X(SOFTSIGN, softsign_of)                                                               \
  X(GELU, gelu_of)

#if defined(__x86_64__) && defined(__GNUC__)
#define EG_INLINE inline __attribute__((always_inline)) // so that it has the target
#define EG_AVX2 __attribute__((target("avx2,fma")))
#define EG_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq")))
static uint32_t row_target(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return 2;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
}
#else
#define EG_INLINE inline
#define EG_AVX2
#define EG_AVX512
static uint32_t row_target(void) { return 0; }
#endif
// Defines a function for each target: FUNCTION(..., suffix). EG_TARGETS lists them.
#define EG_FOR_TARGETS(FUNCTION, ...)                                                    \
  FUNCTION(__VA_ARGS__, baseline)                                                        \
  EG_AVX2 FUNCTION(__VA_ARGS__, avx2)                                                    \
  EG_AVX512 FUNCTION(__VA_ARGS__, avx512)
#define EG_TARGETS(name)                                                                 \
  { name##_baseline, name##_avx2, name##_avx512 }

#define EG_UNARY_ROW(function, suffix)                                                   \
  static void function##_##suffix(const float *x, const float *operand, float *y,        \
                                  int64_t count) {                                       \
    (void)operand;                                                                       \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = function(x[i]);                                                             \
  }
#define EG_UNARY_ROWS(OP, function) EG_FOR_TARGETS(EG_UNARY_ROW, function)
EG_UNARY_LIST(EG_UNARY_ROWS)

// Functions with two attributes of the operator, to which `operand` points.
#define EG_PARAMETER_LIST(X)                                                             \
  X(CLIP, x[i]<p ? (p < q ? p : q) : x[i]> q ? q : x[i])                                 \
  X(HARD_SIGMOID, p *x[i] + q < 0 ? 0.0f : p * x[i] + q > 1 ? 1.0f : p * x[i] + q)       \
  X(SWISH, x[i] * sigmoid_of(p * x[i]))
#define EG_PARAMETER_ROW(OP, formula, suffix)                                            \
  static void OP##_##suffix(const float *x, const float *operand, float *y,              \
                            int64_t count) {                                             \
    const float p = operand[0], q = operand[1];                                          \
    (void)q;                                                                             \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = (formula);                                                                  \
  }
#define EG_PARAMETER_ROWS(OP, formula) EG_FOR_TARGETS(EG_PARAMETER_ROW, OP, formula)
EG_PARAMETER_LIST(EG_PARAMETER_ROWS)

// ---- rows of a tensor, each normalized --------------------------------------------

static EG_INLINE float max_of(const float *x, int64_t count) {
  float most = -INFINITY;
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < count; i++)
    most = x[i] > most ? x[i] : most;
  return most;
}

static EG_INLINE float sum_of_row(const float *x, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; i++)
    sum += x[i];
  return sum;
}

/// Computes exp_of for x <= 0 and NaN; results below the normal numbers are zero.
static inline float exp_below_zero(float x) {
  const float least = -87.33f;
  float power, r = reduce(x, &power);
  float y = exp_near_zero(r);
  return x < least ? 0.0f : y * power;
}
EG_FOR_TARGETS(EG_UNARY_ROW, exp_below_zero)

// A row becomes NaN where it has NaN, an infinity, or only negative infinity: the
// difference from the largest element is NaN somewhere, and so is the sum. Exponentials
// are computed for all rows at once, because rows are short.
#define EG_SOFTMAX_ROWS(name, suffix)                                                    \
  static void name##_##suffix(const float *x, const float *operand, float *y,            \
                              int64_t count) {                                           \
    int64_t length = (int64_t)*operand;                                                  \
    for (int64_t at = 0; at < count; at += length) {                                     \
      const float most = max_of(x + at, length);                                         \
      for (int64_t i = at; i < at + length; i++)                                         \
        y[i] = x[i] - most;                                                              \
    }                                                                                    \
    exp_below_zero_##suffix(y, NULL, y, count);                                          \
    for (int64_t at = 0; at < count; at += length) {                                     \
      const float factor = 1.0f / sum_of_row(y + at, length);                            \
      for (int64_t i = at; i < at + length; i++)                                         \
        y[i] *= factor;                                                                  \
    }                                                                                    \
  }
EG_FOR_TARGETS(EG_SOFTMAX_ROWS, softmax)

eg_row eg_softmax_row_of(int64_t length) {
  static const eg_row_function targets[] = EG_TARGETS(softmax);
  return (eg_row){.function = targets[row_target()], .parameters = {(float)length}};
}

// ---- columns, each normalized ------------------------------------------------------

static EG_INLINE int64_t columns_at(const eg_columns *c, int64_t row) {
  return row + 1 < c->rows ? c->width : c->last;
}

/// Adds up, or takes the maximum of, the elements of a row that belong to one logical
/// column: all of them get the result.
static EG_INLINE void join_columns(const eg_columns *c, float *values, bool adds) {
  for (int64_t i = c->period; i < c->width; i++) {
    float *first = values + i % c->period;
    *first = adds ? *first + values[i] : *first < values[i] ? values[i] : *first;
  }
  for (int64_t i = c->period; i < c->width; i++)
    values[i] = values[i - c->period];
}

static EG_INLINE void largest_of_columns(const float *x, const eg_columns *c,
                                         float *most) {
  for (int64_t i = 0; i < c->width; i++)
    most[i] = -INFINITY;
  for (int64_t r = 0; r < c->rows; r++, x += c->stride) {
    int64_t count = columns_at(c, r);
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
      most[i] = x[i] > most[i] ? x[i] : most[i];
  }
  join_columns(c, most, false);
}

/// Computes y = exp(x - most), and the sums of y. Sums of a few rows are added up first,
/// because the error grows with the number of terms.
static EG_INLINE void exponents_of_columns(const float *x, float *y, const eg_columns *c,
                                           const float *most, float *sums) {
  enum { SOME_ROWS = 64 };
  float some[EG_MOST_COLUMNS] = {0};
  memset(sums, 0, (size_t)c->width * sizeof *sums);
  for (int64_t r = 0; r < c->rows; r++, x += c->stride, y += c->stride) {
    int64_t count = columns_at(c, r);
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
      float e = exp_below_zero(x[i] - most[i]);
      y[i] = e;
      some[i] += e;
    }
    if ((r + 1) % SOME_ROWS != 0 && r + 1 != c->rows) continue;
    for (int64_t i = 0; i < c->width; i++) {
      sums[i] += some[i];
      some[i] = 0;
    }
  }
  join_columns(c, sums, true);
}

// Columns become NaN under the same conditions as rows above.
#define EG_SOFTMAX_COLUMNS(suffix, target)                                               \
  target static void softmax_columns_##suffix(const float *x, float *y,                  \
                                              const eg_columns *c) {                     \
    float most[EG_MOST_COLUMNS], factors[EG_MOST_COLUMNS];                               \
    largest_of_columns(x, c, most);                                                      \
    exponents_of_columns(x, y, c, most, factors);                                        \
    for (int64_t i = 0; i < c->width; i++)                                               \
      factors[i] = 1.0f / factors[i];                                                    \
    for (int64_t r = 0; r < c->rows; r++, y += c->stride) {                              \
      int64_t count = columns_at(c, r);                                                  \
      for (int64_t i = 0; i < count; i++)                                                \
        y[i] *= factors[i];                                                              \
    }                                                                                    \
  }                                                                                      \
  target static void log_softmax_columns_##suffix(const float *x, float *y,              \
                                                  const eg_columns *c) {                 \
    float most[EG_MOST_COLUMNS], sums[EG_MOST_COLUMNS];                                  \
    largest_of_columns(x, c, most);                                                      \
    exponents_of_columns(x, y, c, most, sums);                                           \
    for (int64_t i = 0; i < c->width; i++)                                               \
      sums[i] = logf(sums[i]);                                                           \
    for (int64_t r = 0; r < c->rows; r++, x += c->stride, y += c->stride) {              \
      int64_t count = columns_at(c, r);                                                  \
      for (int64_t i = 0; i < count; i++)                                                \
        y[i] = x[i] - most[i] - sums[i];                                                 \
    }                                                                                    \
  }
EG_SOFTMAX_COLUMNS(baseline, )
EG_SOFTMAX_COLUMNS(avx2, EG_AVX2)
EG_SOFTMAX_COLUMNS(avx512, EG_AVX512)

eg_column_function eg_softmax_columns_of(bool is_log) {
  static const eg_column_function targets[2][3] = {EG_TARGETS(softmax_columns),
                                                   EG_TARGETS(log_softmax_columns)};
  return targets[is_log][row_target()];
}

// ---- cells of recurrent layers -------------------------------------------------------

static EG_INLINE void rnn_cell(const eg_cell *cell) {
  const float *sums = cell->sums;
  float *next = cell->next;
#pragma omp simd
  for (int64_t i = 0; i < cell->units; i++)
    next[i] = tanh_of(sums[i]);
}

static EG_INLINE void lstm_cell_of(const eg_cell *cell, bool is_coupled) {
  const int64_t n = cell->units;
  const float *in = cell->sums, *out = in + n, *forget = in + 2 * n, *new = in + 3 * n;
  float *c = cell->c, *next = cell->next;
#pragma omp simd
  for (int64_t i = 0; i < n; i++) {
    float taken = sigmoid_of(in[i]);
    float kept = is_coupled ? 1.0f - taken : sigmoid_of(forget[i]);
    float state = kept * c[i] + taken * tanh_of(new[i]);
    c[i] = state;
    next[i] = sigmoid_of(out[i]) * tanh_of(state);
  }
}
static EG_INLINE void lstm_cell(const eg_cell *cell) { lstm_cell_of(cell, false); }
static EG_INLINE void coupled_cell(const eg_cell *cell) { lstm_cell_of(cell, true); }

static EG_INLINE void reset_cell(const eg_cell *cell) {
  const float *reset = cell->sums + cell->units, *h = cell->h;
  float *from_h = cell->from_h;
#pragma omp simd
  for (int64_t i = 0; i < cell->units; i++)
    from_h[i] = sigmoid_of(reset[i]) * h[i];
}

static EG_INLINE void gru_cell_of(const eg_cell *cell, bool is_linear) {
  const int64_t n = cell->units;
  const float *update = cell->sums, *reset = update + n, *new = update + 2 * n;
  const float *h = cell->h, *from_h = cell->from_h;
  float *next = cell->next;
#pragma omp simd
  for (int64_t i = 0; i < n; i++) {
    float kept = sigmoid_of(update[i]);
    float sum = is_linear ? new[i] + sigmoid_of(reset[i]) * from_h[i] : new[i];
    next[i] = (1.0f - kept) * tanh_of(sum) + kept * h[i];
  }
}
static EG_INLINE void gru_cell(const eg_cell *cell) { gru_cell_of(cell, false); }
static EG_INLINE void linear_cell(const eg_cell *cell) { gru_cell_of(cell, true); }

// Each row: kind of recurrent cell, function.
#define EG_CELL_LIST(X)                                                                  \
  X(RNN, rnn_cell)                                                                       \
  X(LSTM, lstm_cell)                                                                     \
  X(LSTM_COUPLED, coupled_cell)                                                          \
  X(GRU, gru_cell)                                                                       \
  X(GRU_RESET, reset_cell)                                                               \
  X(GRU_LINEAR, linear_cell)
#define EG_CELL_ROW(function, suffix)                                                    \
  static void function##_##suffix(const eg_cell *cell) { function(cell); }
#define EG_CELL_ROWS(KIND, function) EG_FOR_TARGETS(EG_CELL_ROW, function)
EG_CELL_LIST(EG_CELL_ROWS)

eg_cell_function eg_cell_function_of(eg_cell_kind kind) {
#define EG_CELL_ENTRY(KIND, function) [EG_CELL_##KIND] = EG_TARGETS(function),
  static const eg_cell_function cells[][3] = {EG_CELL_LIST(EG_CELL_ENTRY)};
  return cells[kind][row_target()];
}

// ---- the table of rows -----------------------------------------------------------

typedef struct unary_row {
  eg_op op;
  eg_row_function targets[3];
} unary_row;
#define EG_UNARY_ENTRY(OP, function) {EG_OP_##OP, EG_TARGETS(function)},
#define EG_PARAMETER_ENTRY(OP, formula) {EG_OP_##OP, EG_TARGETS(OP)},
static const unary_row unary_rows[] = {EG_UNARY_LIST(EG_UNARY_ENTRY)
                                           EG_PARAMETER_LIST(EG_PARAMETER_ENTRY)};

eg_row_function eg_row_function_of(eg_op op) {
  for (size_t i = 0; i < sizeof unary_rows / sizeof unary_rows[0]; i++)
    if (unary_rows[i].op == op) return unary_rows[i].targets[row_target()];
  return NULL;
}

// Functions of two operands: x is the first one (in R... the second one). The other
// operand has one element for each of x, or one for all. Truth is 0 and 1.
#define EG_BINARY_LIST(X)                                                                \
  X(ADD, ADD, 0, a + b)                                                                  \
  X(SUB, SUB, 0, a - b)                                                                  \
  X(MUL, MUL, 0, a *b)                                                                   \
  X(DIV, DIV, 0, a / b)                                                                  \
  X(RADD, ADD, 1, b + a)                                                                 \
  X(RSUB, SUB, 1, b - a)                                                                 \
  X(RMUL, MUL, 1, b *a)                                                                  \
  X(RDIV, DIV, 1, b / a)                                                                 \
  X(MAX, MAX, 0, a > b || a != a ? a : b)                                                \
  X(RMAX, MAX, 1, b > a || b != b ? b : a)                                               \
  X(MIN, MIN, 0, a < b || a != a ? a : b)                                                \
  X(RMIN, MIN, 1, b < a || b != b ? b : a)                                               \
  X(GREATER, GREATER, 0, (float)(a > b))                                                 \
  X(RGREATER, GREATER, 1, (float)(b > a))                                                \
  X(LESS, LESS, 0, (float)(a < b))                                                       \
  X(RLESS, LESS, 1, (float)(b < a))                                                      \
  X(EQUAL, EQUAL, 0, (float)(a == b))                                                    \
  X(REQUAL, EQUAL, 1, (float)(a == b))                                                   \
  X(AND, AND, 0, a *b)                                                                   \
  X(RAND, AND, 1, a *b)
#define EG_EACH_ROW(id, formula, suffix)                                                 \
  static void id##_each_##suffix(const float *x, const float *operand, float *y,         \
                                 int64_t count) {                                        \
    for (int64_t i = 0; i < count; i++) {                                                \
      const float a = x[i], b = operand[i];                                              \
      y[i] = formula;                                                                    \
    }                                                                                    \
  }
#define EG_ONE_ROW(id, formula, suffix)                                                  \
  static void id##_one_##suffix(const float *x, const float *operand, float *y,          \
                                int64_t count) {                                         \
    const float b = *operand;                                                            \
    for (int64_t i = 0; i < count; i++) {                                                \
      const float a = x[i];                                                              \
      y[i] = formula;                                                                    \
    }                                                                                    \
  }
#define EG_BINARY_ROWS(id, OP, place, formula)                                           \
  EG_FOR_TARGETS(EG_EACH_ROW, id, formula)                                               \
  EG_FOR_TARGETS(EG_ONE_ROW, id, formula)
EG_BINARY_LIST(EG_BINARY_ROWS)

typedef struct binary_row {
  eg_op op;
  uint32_t place; // operand number of x
  eg_row_function each[3], one[3];
} binary_row;
#define EG_BINARY_ENTRY(id, OP, place, formula)                                          \
  {EG_OP_##OP, place, EG_TARGETS(id##_each), EG_TARGETS(id##_one)},
static const binary_row binary_rows[] = {EG_BINARY_LIST(EG_BINARY_ENTRY)};

eg_row_function eg_binary_row_of(eg_op op, uint32_t place, bool is_one) {
  for (size_t i = 0; i < sizeof binary_rows / sizeof binary_rows[0]; i++)
    if (binary_rows[i].op == op && binary_rows[i].place == place)
      return (is_one ? binary_rows[i].one : binary_rows[i].each)[row_target()];
  return NULL;
}

// Chooses by a condition; each of the two choices has one element for all, or for each.
#define EG_CHOOSE_ROW(name, a, b, suffix)                                                \
  static void name##_##suffix(const float *condition, const float *x, const float *y,    \
                              float *to, int64_t count) {                                \
    for (int64_t i = 0; i < count; i++)                                                  \
      to[i] = condition[i] != 0 ? x[a] : y[b];                                           \
  }
EG_FOR_TARGETS(EG_CHOOSE_ROW, choose_one_one, 0, 0)
EG_FOR_TARGETS(EG_CHOOSE_ROW, choose_each_one, i, 0)
EG_FOR_TARGETS(EG_CHOOSE_ROW, choose_one_each, 0, i)
EG_FOR_TARGETS(EG_CHOOSE_ROW, choose_each_each, i, i)

eg_choose_function eg_choose_row_of(bool x_is_one, bool y_is_one) {
  static const eg_choose_function targets[2][2][3] = {
      {EG_TARGETS(choose_each_each), EG_TARGETS(choose_each_one)},
      {EG_TARGETS(choose_one_each), EG_TARGETS(choose_one_one)}};
  return targets[x_is_one][y_is_one][row_target()];
}

// Numbers of a row: the sum is computed in float64; the largest and the least are NaN
// where an element is.
#define EG_SUM_ROW(name, suffix)                                                         \
  static void name##_##suffix(const float *x, const float *operand, float *y,            \
                              int64_t count) {                                           \
    double sum = 0;                                                                      \
    _Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < count; i++) sum +=    \
        (double)x[i];                                                                    \
    *y = (float)(sum * (double)*operand);                                                \
  }
#define EG_LARGEST_ROW(name, sign, suffix)                                               \
  static void name##_##suffix(const float *x, const float *operand, float *y,            \
                              int64_t count) {                                           \
    float most = -INFINITY, spoilt = 0;                                                  \
    (void)operand;                                                                       \
    _Pragma("omp simd reduction(max : most, spoilt)") for (int64_t i = 0; i < count;     \
                                                           i++) {                        \
      most = sign x[i] > most ? sign x[i] : most;                                        \
      spoilt = x[i] != x[i] ? 1.0f : spoilt;                                             \
    }                                                                                    \
    *y = spoilt != 0 ? NAN : sign most;                                                  \
  }
EG_FOR_TARGETS(EG_SUM_ROW, sum_row)
EG_FOR_TARGETS(EG_LARGEST_ROW, max_row, )
EG_FOR_TARGETS(EG_LARGEST_ROW, min_row, -)

eg_row eg_reduction_row_of(eg_op op, int64_t length) {
  static const struct {
    eg_op op;
    eg_row_function targets[3];
  } rows[] = {{EG_OP_REDUCE_SUM, EG_TARGETS(sum_row)},
              {EG_OP_REDUCE_MEAN, EG_TARGETS(sum_row)},
              {EG_OP_REDUCE_MAX, EG_TARGETS(max_row)},
              {EG_OP_REDUCE_MIN, EG_TARGETS(min_row)}};
  const float factor = op == EG_OP_REDUCE_MEAN ? 1.0f / (float)length : 1.0f;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op) return (eg_row){rows[i].targets[row_target()], {factor}};
  return (eg_row){.function = NULL};
}

/// Computes pow(x, 0.5), which unlike the root of -0 and of -infinity is +0 and infinity.
static inline float root_of(float x) {
  return x == -INFINITY ? INFINITY : sqrtf(x + 0.0f);
}

// Exponents that need no call of pow: those common in normalizations and activations, and
// those of the gradients of these powers.
#define EG_POWER_LIST(X)                                                                 \
  X(2.0f, x[i] * x[i])                                                                   \
  X(1.0f, x[i])                                                                          \
  X(3.0f, x[i] * x[i] * x[i])                                                            \
  X(-1.0f, 1.0f / x[i])                                                                  \
  X(0.5f, root_of(x[i]))                                                                 \
  X(-0.5f, 1.0f / root_of(x[i]))
#define EG_POWER_LOOP(exponent, formula)                                                 \
  if (e == exponent) {                                                                   \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = formula;                                                                    \
    return;                                                                              \
  }
#define EG_POW_ROW(name, suffix)                                                         \
  static void name##_##suffix(const float *x, const float *operand, float *y,            \
                              int64_t count) {                                           \
    const float e = *operand;                                                            \
    EG_POWER_LIST(EG_POWER_LOOP)                                                         \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = powf(x[i], e);                                                              \
  }
EG_FOR_TARGETS(EG_POW_ROW, pow)
static const eg_row_function pow_rows[] = EG_TARGETS(pow);

static void pow_each(const float *x, const float *operand, float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    y[i] = powf(x[i], operand[i]);
}

eg_row_function eg_pow_row_of(bool is_one) {
  return is_one ? pow_rows[row_target()] : pow_each;
}

typedef struct row_payload {
  eg_row row;
  int64_t count;
  bool is_pair; // the function's second operand has an element for each of the first
  uint32_t threads;
} row_payload;

enum { PART = 8192, LINE = 16 }; // elements of a part; of a cache line

typedef struct shared_row {
  const row_payload *payload;
  const float *x, *operand;
  float *y;
} shared_row;

/// Computes cache lines [begin, end) of the array; the last line may be shorter.
static void run_row_lines(const void *user, int64_t begin, int64_t end) {
  const shared_row *s = user;
  const row_payload *p = s->payload;
  int64_t at = begin * LINE, until = end * LINE < p->count ? end * LINE : p->count;
  const float *operand = p->is_pair ? s->operand + at : s->operand;
  p->row.function(s->x + at, operand, s->y + at, until - at);
}

static egraph_status share_row(const row_payload *p, const shared_row *shared) {
  int64_t lines = (p->count + LINE - 1) / LINE;
  eg_parts_each(lines, eg_parts_size(lines, PART / LINE, p->threads), p->threads,
                run_row_lines, shared);
  return EGRAPH_OK;
}

// Runs a loop; addresses: result, operand, and the function's operand unless it is known.
static egraph_status run_row(const void *payload, void *const *addresses) {
  const row_payload *p = payload;
  return share_row(p, &(shared_row){p, addresses[1], p->row.parameters, addresses[0]});
}
static egraph_status run_row_of_two(const void *payload, void *const *addresses) {
  const row_payload *p = payload;
  return share_row(p, &(shared_row){p, addresses[1], addresses[2], addresses[0]});
}

static egraph_status add_row_stage(eg_cpu_builder *builder, const eg_row *row,
                                   int64_t count, bool is_pair, const eg_place *places,
                                   uint32_t place_count) {
  row_payload *payload;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *payload, &payload));
  *payload = (row_payload){
      .row = *row, .count = count, .is_pair = is_pair, .threads = eg_omp_threads()};
  if (builder->kernel == NULL) builder->kernel = "vector loop";
  return eg_cpu_add_function(builder, &builder->run,
                             place_count == 2 ? run_row : run_row_of_two, payload, places,
                             place_count);
}

egraph_status eg_cpu_add_row(eg_cpu_builder *builder, const eg_row *row, int64_t count,
                             eg_place from, eg_place to) {
  return add_row_stage(builder, row, count, false, (eg_place[]){to, from}, 2);
}

static int64_t count_floats(const eg_cpu_builder *builder) {
  return (int64_t)(eg_type_bytes(&builder->spec->inputs[0]) / sizeof(float));
}

static bool is_float_like_result(const eg_node_spec *spec) {
  return spec->inputs[0].dtype == EGRAPH_FLOAT32 &&
         eg_type_same(&spec->inputs[0], &spec->results[0]);
}

eg_row eg_row_of(const eg_attrs *attrs) {
  eg_row row = {.function = eg_row_function_of((eg_op)attrs->op)};
  for (uint16_t i = 0; i < attrs->count && i < 2; i++)
    row.parameters[i] = (float)attrs->slots[i].f;
  return row;
}

bool eg_row_keeps_zero(const eg_row *row) {
  float x = 0, y = 0;
  row->function(&x, row->parameters, &y, 1);
  return y == 0;
}

egraph_status eg_cpu_pointwise(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_row row = eg_row_of(spec->attrs);
  if (row.function == NULL || !is_float_like_result(spec) ||
      (eg_type_has_padding(&spec->inputs[0]) && !eg_row_keeps_zero(&row)))
    return eg_cpu_refuse(builder, "no kernel for these operands");
  if (eg_cpu_may_overlay(builder, 0)) builder->overlay = 0;
  return eg_cpu_add_row(builder, &row, count_floats(builder), eg_cpu_read(builder, 0),
                        eg_place_result(0));
}

egraph_status eg_cpu_pow(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *exponent = &spec->inputs[1];
  if (!is_float_like_result(spec) || exponent->dtype != EGRAPH_FLOAT32 ||
      eg_type_has_padding(&spec->inputs[0]))
    return eg_cpu_refuse(builder, "no kernel for these operands");
  bool is_one = eg_type_elements(exponent) == 1;
  if (!is_one && !eg_type_same(&spec->inputs[0], exponent))
    return eg_cpu_refuse(builder, "no kernel for these operands");
  if (eg_cpu_may_overlay(builder, 0)) builder->overlay = 0;
  eg_row row = {.function = eg_pow_row_of(is_one)};
  eg_place places[] = {eg_place_result(0), eg_cpu_read(builder, 0),
                       eg_cpu_read(builder, 1)};
  return add_row_stage(builder, &row, count_floats(builder), !is_one, places, 3);
}
