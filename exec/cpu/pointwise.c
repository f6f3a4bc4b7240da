// Each loop is compiled for the instruction sets below and picked when a program is
// built: the baseline of x86-64 has vectors of four floats only.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/pointwise.h"

#include <math.h>

#include "exec/cpu/loop_nest.h"

typedef void (*row_function)(const float *x, const float *operand, float *y,
                             int64_t count);

// erf as x P(x^2) / Q(x^2) on [-4, 4] (a rational minimax fit; the largest error is 4e-7,
// one unit in the last place of float near 1 is 6e-8).
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
static inline float sign_of(float x) { return (float)(x > 0) - (float)(x < 0); }
static inline float softsign_of(float x) { return x / (1.0f + fabsf(x)); }

#if defined(__x86_64__) && defined(__GNUC__)
#define EG_ROW_TARGETS(ROW)                                                              \
  ROW(baseline, )                                                                        \
  ROW(avx2, __attribute__((target("avx2,fma"))))                                         \
  ROW(avx512, __attribute__((target("avx512f,avx512vl,avx512dq"))))
static uint32_t row_target(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return 2;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
}
#else
#define EG_ROW_TARGETS(ROW) ROW(baseline, ) ROW(wide, ) ROW(wider, )
static uint32_t row_target(void) { return 0; }
#endif

#define EG_UNARY_ROW(function, suffix, attribute)                                        \
  attribute static void function##_##suffix(const float *x, const float *operand,        \
                                            float *y, int64_t count) {                   \
    (void)operand;                                                                       \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = function(x[i]);                                                             \
  }
#define EG_ERF_ROW(suffix, attribute) EG_UNARY_ROW(erf_of, suffix, attribute)
#define EG_FLOOR_ROW(suffix, attribute) EG_UNARY_ROW(floor_of, suffix, attribute)
#define EG_CEIL_ROW(suffix, attribute) EG_UNARY_ROW(ceil_of, suffix, attribute)
#define EG_SIGN_ROW(suffix, attribute) EG_UNARY_ROW(sign_of, suffix, attribute)
#define EG_SOFTSIGN_ROW(suffix, attribute) EG_UNARY_ROW(softsign_of, suffix, attribute)
EG_ROW_TARGETS(EG_ERF_ROW)
EG_ROW_TARGETS(EG_FLOOR_ROW)
EG_ROW_TARGETS(EG_CEIL_ROW)
EG_ROW_TARGETS(EG_SIGN_ROW)
EG_ROW_TARGETS(EG_SOFTSIGN_ROW)

// pow with one exponent. The exponents that normalizations are written with need no pow.
#define EG_POW_SCALAR_ROW(suffix, attribute)                                             \
  attribute static void pow_scalar_##suffix(const float *x, const float *operand,        \
                                            float *y, int64_t count) {                   \
    float e = *operand;                                                                  \
    if (e == 2.0f)                                                                       \
      for (int64_t i = 0; i < count; i++)                                                \
        y[i] = x[i] * x[i];                                                              \
    else if (e == 3.0f)                                                                  \
      for (int64_t i = 0; i < count; i++)                                                \
        y[i] = x[i] * x[i] * x[i];                                                       \
    else if (e == -1.0f)                                                                 \
      for (int64_t i = 0; i < count; i++)                                                \
        y[i] = 1.0f / x[i];                                                              \
    else                                                                                 \
      for (int64_t i = 0; i < count; i++)                                                \
        y[i] = powf(x[i], e);                                                            \
  }
EG_ROW_TARGETS(EG_POW_SCALAR_ROW)

static void pow_each(const float *x, const float *operand, float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    y[i] = powf(x[i], operand[i]);
}

#define EG_ROW_NAMES(suffix, attribute) EG_ROW_NAME(suffix),
#define EG_ROW_NAME(suffix) erf_of_##suffix
static const row_function erf_rows[] = {EG_ROW_TARGETS(EG_ROW_NAMES)};
#undef EG_ROW_NAME
#define EG_ROW_NAME(suffix) floor_of_##suffix
static const row_function floor_rows[] = {EG_ROW_TARGETS(EG_ROW_NAMES)};
#undef EG_ROW_NAME
#define EG_ROW_NAME(suffix) ceil_of_##suffix
static const row_function ceil_rows[] = {EG_ROW_TARGETS(EG_ROW_NAMES)};
#undef EG_ROW_NAME
#define EG_ROW_NAME(suffix) sign_of_##suffix
static const row_function sign_rows[] = {EG_ROW_TARGETS(EG_ROW_NAMES)};
#undef EG_ROW_NAME
#define EG_ROW_NAME(suffix) softsign_of_##suffix
static const row_function softsign_rows[] = {EG_ROW_TARGETS(EG_ROW_NAMES)};
#undef EG_ROW_NAME
#define EG_ROW_NAME(suffix) pow_scalar_##suffix
static const row_function pow_scalar_rows[] = {EG_ROW_TARGETS(EG_ROW_NAMES)};
#undef EG_ROW_NAME

typedef struct row_payload {
  row_function function;
  int64_t count;
} row_payload;

static egraph_status run_row(const void *payload, void *const *addresses) {
  const row_payload *row = payload;
  row->function(addresses[1], addresses[2], addresses[0], row->count);
  return EGRAPH_OK;
}

static egraph_status add_row(eg_cpu_builder *builder, row_function function,
                             eg_place second) {
  const eg_type *type = &builder->spec->inputs[0];
  row_payload *payload;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *payload, &payload));
  payload->function = function;
  payload->count = (int64_t)(eg_type_bytes(type) / sizeof(float));
  if (eg_cpu_may_overlay(builder, 0)) builder->overlay = 0;
  builder->kernel = "vector loop";
  eg_place places[] = {eg_place_result(0), eg_cpu_read(builder, 0), second};
  return eg_cpu_add_function(builder, &builder->run, run_row, payload, places, 3);
}

static bool is_float_like_result(const eg_node_spec *spec) {
  return spec->inputs[0].dtype == EGRAPH_FLOAT32 &&
         eg_type_same(&spec->inputs[0], &spec->results[0]);
}

static egraph_status no_kernel(const eg_cpu_builder *builder) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: no kernel for these operands",
                 eg_op_info_of((eg_op)builder->spec->attrs->op)->name);
}

static const row_function *unary_rows_of(eg_op op) {
  if (op == EG_OP_ERF) return erf_rows;
  if (op == EG_OP_FLOOR) return floor_rows;
  if (op == EG_OP_CEIL) return ceil_rows;
  if (op == EG_OP_SIGN) return sign_rows;
  if (op == EG_OP_SOFTSIGN) return softsign_rows;
  return NULL;
}

egraph_status eg_cpu_pointwise(eg_cpu_builder *builder) {
  const row_function *rows = unary_rows_of((eg_op)builder->spec->attrs->op);
  if (rows == NULL || !is_float_like_result(builder->spec)) return no_kernel(builder);
  return add_row(builder, rows[row_target()], eg_place_operand(0));
}

egraph_status eg_cpu_pow(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *exponent = &spec->inputs[1];
  if (!is_float_like_result(spec) || exponent->dtype != EGRAPH_FLOAT32 ||
      eg_type_has_padding(&spec->inputs[0]))
    return no_kernel(builder);
  if (eg_type_elements(exponent) == 1)
    return add_row(builder, pow_scalar_rows[row_target()], eg_cpu_read(builder, 1));
  if (!eg_type_same(&spec->inputs[0], exponent)) return no_kernel(builder);
  return add_row(builder, pow_each, eg_cpu_read(builder, 1));
}
