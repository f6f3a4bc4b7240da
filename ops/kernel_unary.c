// Pointwise operators with one operand. One formula per operator and kind of element: the
// float table is instantiated for float and double through <tgmath.h>, the integer table
// for int64 and uint64. Comparisons pass NaN on, as numpy's minimum and maximum do.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>
#include <tgmath.h>

#include "ops/kernel_math.h"
#include "ops/kernels.h"
#include "ops/meaning.h"

// Each row: operator, and its formula over `x` of type T and the parameters p and q.
#define FLOAT_LIST(X)                                                                    \
  X(RELU, x < 0 ? 0 : x)                                                                 \
  X(LOG, log(x))                                                                         \
  X(SQRT, sqrt(x))                                                                       \
  X(RSQRT, 1 / sqrt(x))                                                                  \
  X(RECIPROCAL, 1 / x)                                                                   \
  X(SQUARE, x *x)                                                                        \
  X(NEG, -x)                                                                             \
  X(ABS, fabs(x))                                                                        \
  X(SIGN, x > 0 ? 1 : x < 0 ? -1 : x)                                                    \
  X(FLOOR, floor(x))                                                                     \
  X(CEIL, ceil(x))                                                                       \
  X(ROUND, nearbyint(x))                                                                 \
  X(SIN, sin(x))                                                                         \
  X(COS, cos(x))                                                                         \
  X(TAN, tan(x))                                                                         \
  X(ASIN, asin(x))                                                                       \
  X(ACOS, acos(x))                                                                       \
  X(ATAN, atan(x))                                                                       \
  X(SINH, sinh(x))                                                                       \
  X(COSH, cosh(x))                                                                       \
  X(ASINH, asinh(x))                                                                     \
  X(ACOSH, acosh(x))                                                                     \
  X(ATANH, atanh(x))                                                                     \
  X(SOFTSIGN, x / (1 + fabs(x)))                                                         \
  X(HARD_SWISH, x *clamp_unit(x / 6 + (T)0.5))                                           \
  X(HARD_SIGMOID, clamp_unit(p *x + q))                                                  \
  X(LEAKY_RELU, x < 0 ? p * x : x)                                                       \
  X(CLIP, x<p ? (p < q ? p : q) : x> q ? q : x)

// Formulas over x of type double, with exp, expm1, tanh, erf and log1p. float64 rows use
// the functions of libm, float32 rows the vectorizable functions of kernel_math.h.
#define SMOOTH_LIST(X)                                                                   \
  X(SIGMOID, 1 / (1 + F(exp)(-x)))                                                       \
  X(TANH, F(tanh)(x))                                                                    \
  X(EXP, F(exp)(x))                                                                      \
  X(ERF, F(erf)(x))                                                                      \
  X(SILU, x / (1 + F(exp)(-x)))                                                          \
  X(SWISH, x / (1 + F(exp)(-p * x)))                                                     \
  X(SOFTPLUS, (x > 0 ? x : 0) + F(log1p)(F(exp)(x > 0 ? -x : x)))                        \
  X(MISH, x *F(tanh)((x > 0 ? x : 0) + F(log1p)(F(exp)(x > 0 ? -x : x))))                \
  X(ELU, x < 0 ? p * F(expm1)(x) : x)                                                    \
  X(SELU, q *(x > 0 ? x : p * F(expm1)(x)))                                              \
  X(CELU, x < 0 ? p * F(expm1)(x / p) : x)
#define GELU_LIST(X)                                                                     \
  X(GELU_ERF, x / 2 * (1 + F(erf)(x * SQRT_HALF)))                                       \
  X(GELU_TANH, x / 2 * (1 + F(tanh)(gelu_inner(x))))

#define INT_LIST(X)                                                                      \
  X(RELU, x < 0 ? 0 : x)                                                                 \
  X(SQUARE, (uint64_t)x *(uint64_t)x)                                                    \
  X(NEG, 0 - (uint64_t)x)                                                                \
  X(ABS, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)                                          \
  X(SIGN, x > 0 ? 1 : x < 0 ? -1 : 0)                                                    \
  X(BITWISE_NOT, ~x)                                                                     \
  X(CLIP, x<p ? (p < q ? p : q) : x> q ? q : x)

#define SQRT_HALF 0.70710678118654752440
#define TANH_SCALE 0.79788456080286535588 // sqrt(2 / pi)
#define TANH_CUBIC 0.044715

#define clamp_unit(y) ((y) < 0 ? 0 : (y) > 1 ? 1 : (y))
#define gelu_inner(y) (TANH_SCALE * ((y) + TANH_CUBIC * (y) * (y) * (y)))

#define ROW(id, formula) ROW_IN(id, T, formula)
#define SMOOTH_ROW(id, formula) ROW_IN(id, double, formula)
#define ROW_IN(id, type, formula)                                                        \
  EG_KERNEL_CLONES static void PASTE(id)(const void *from, void *to, size_t count,       \
                                         const double params[2]) {                       \
    const T *in = from;                                                                  \
    T *out = to;                                                                         \
    const type p = BOUND(type, params[0], true), q = BOUND(type, params[1], false);      \
    (void)p, (void)q;                                                                    \
    for (size_t i = 0; i < count; i++) {                                                 \
      const type x = (type)in[i];                                                        \
      out[i] = (T)(formula);                                                             \
    }                                                                                    \
  }

#define BOUND(type, value, is_lower) ((type)(value))
#define T float
#define F(name) eg_math_##name
#define PASTE(id) id##_f32
FLOAT_LIST(ROW)
SMOOTH_LIST(SMOOTH_ROW)
GELU_LIST(SMOOTH_ROW)
#undef PASTE
#undef F
#undef T
#define T double
#define F(name) name
#define PASTE(id) id##_f64
FLOAT_LIST(ROW)
SMOOTH_LIST(SMOOTH_ROW)
GELU_LIST(SMOOTH_ROW)
#undef PASTE
#undef F
#undef T
#undef BOUND

// Computes gelu in the form that the attribute selects.
static void GELU_f32(const void *x, void *out, size_t count, const double params[2]) {
  (params[0] != 0 ? GELU_TANH_f32 : GELU_ERF_f32)(x, out, count, params);
}
static void GELU_f64(const void *x, void *out, size_t count, const double params[2]) {
  (params[0] != 0 ? GELU_TANH_f64 : GELU_ERF_f64)(x, out, count, params);
}

// Converts a float bound to an integer: ceil of a lower bound, floor of an upper
// bound, saturated.
static int64_t bound_int(double value, bool is_lower) {
  double whole = is_lower ? ceil(value) : floor(value);
  if (whole <= (double)INT64_MIN) return INT64_MIN;
  return whole >= (double)INT64_MAX ? INT64_MAX : (int64_t)whole;
}

static uint64_t bound_uint(double value, bool is_lower) {
  double whole = is_lower ? ceil(value) : floor(value);
  if (!(whole > 0.0)) return 0;
  return whole >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)whole;
}

#define BOUND(type, value, is_lower) bound_int(value, is_lower)
#define T int64_t
#define PASTE(id) id##_i64
INT_LIST(ROW)
#undef PASTE
#undef T
#undef BOUND

// Formulas for unsigned integers: relu, abs and sign need no comparison x < 0.
#define UINT_LIST(X)                                                                     \
  X(RELU, x)                                                                             \
  X(SQUARE, x *x)                                                                        \
  X(NEG, 0 - x)                                                                          \
  X(ABS, x)                                                                              \
  X(SIGN, x != 0)                                                                        \
  X(BITWISE_NOT, ~x)                                                                     \
  X(CLIP, x<p ? (p < q ? p : q) : x> q ? q : x)
#define BOUND(type, value, is_lower) bound_uint(value, is_lower)
#define T uint64_t
#define PASTE(id) id##_u64
UINT_LIST(ROW)
#undef PASTE
#undef T
#undef BOUND

/// Finds the unary function on contiguous elements; NULL: none for this element type.
static eg_row_unary row_unary_of(eg_op op, eg_wide wide) {
#define ROW_F32(id, formula) [EG_OP_##id] = id##_f32,
#define ROW_F64(id, formula) [EG_OP_##id] = id##_f64,
#define ROW_I64(id, formula) [EG_OP_##id] = id##_i64,
#define ROW_U64(id, formula) [EG_OP_##id] = id##_u64,
  static const eg_row_unary rows[EG_WIDE_COUNT][EG_OP_COUNT] = {
      [EG_WIDE_F32] = {FLOAT_LIST(ROW_F32) SMOOTH_LIST(ROW_F32)[EG_OP_GELU] = GELU_f32},
      [EG_WIDE_F64] = {FLOAT_LIST(ROW_F64) SMOOTH_LIST(ROW_F64)[EG_OP_GELU] = GELU_f64},
      [EG_WIDE_I64] = {INT_LIST(ROW_I64)},
      [EG_WIDE_U64] = {UINT_LIST(ROW_U64)}};
  return rows[wide][op];
}

void eg_row_params(const eg_attrs *attrs, double out_params[2]) {
  out_params[0] = out_params[1] = 0.0;
  for (uint32_t i = 0; i < attrs->count && i < 2; i++) {
    const eg_attr *slot = &attrs->slots[i];
    out_params[i] = slot->kind == EG_ATTR_FLOAT ? slot->f : (double)slot->i;
  }
}

egraph_status eg_row_act_find(const eg_kernel_call *call, eg_wide wide, eg_row_act *out) {
#define ACT_NAME(id, name, op) [id] = name,
  static const char *const names[EG_ACT_COUNT] = {EG_ACT_LIST(ACT_NAME)};
#undef ACT_NAME
  const eg_fused_act fused = eg_fused_act_of(call->attrs);
  assert(fused.act < EG_ACT_COUNT);
  *out = (eg_row_act){.row = NULL};
  if (fused.act == EG_ACT_NONE) return EGRAPH_OK;
  eg_attr slots[2];
  const eg_attrs attrs = eg_act_attrs(fused.act, fused.alpha, fused.beta, slots);
  eg_row_params(&attrs, out->params);
  out->row = row_unary_of((eg_op)attrs.op, wide == EG_WIDE_F32 ? EG_WIDE_F64 : wide);
  if (out->row != NULL) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s: the activation %s has no meaning for integers",
                 eg_op_info_of(eg_kernel_op(call))->name, names[fused.act]);
}

static egraph_status not_row(const eg_tensor *from, const eg_tensor *to) {
  const uint8_t *in = from->data;
  uint8_t *out = to->data;
  size_t count = (size_t)eg_type_elements(&from->type);
  for (size_t i = 0; i < count; i++)
    out[i] = in[i] == 0;
  return EGRAPH_OK;
}

egraph_status eg_kernel_unary(const eg_kernel_call *call) {
  const eg_tensor *from = &call->inputs[0], *to = &call->outputs[0];
  eg_op op = eg_kernel_op(call);
  if (op == EG_OP_CAST || op == EG_OP_IDENTITY) {
    eg_tensor_convert(from, to);
    return EGRAPH_OK;
  }
  if (op == EG_OP_NOT && from->type.dtype == EGRAPH_BOOL) return not_row(from, to);
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(from->type.dtype, &wide))
    return eg_kernel_refuse(call, from->type.dtype);
  eg_row_unary row = row_unary_of(op, wide);
  if (row == NULL) return eg_kernel_refuse(call, from->type.dtype);
  double params[2];
  eg_row_params(call->attrs, params);
  row(from->data, to->data, (size_t)eg_type_elements(&from->type), params);
  return EGRAPH_OK;
}

// ---- NaN and infinities -------------------------------------------------------------

#define CLASSIFY(name, type)                                                             \
  static void name(eg_op op, const type *x, uint8_t *out, size_t count,                  \
                   const double params[2]) {                                             \
    bool negative = params[0] != 0, positive = params[1] != 0;                           \
    for (size_t i = 0; i < count; i++)                                                   \
      out[i] = op == EG_OP_IS_NAN ? x[i] != x[i]                                         \
                                  : isinf(x[i]) && (x[i] > 0 ? positive : negative);     \
  }
CLASSIFY(classify_f32, float)
CLASSIFY(classify_f64, double)

egraph_status eg_kernel_classify(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0];
  uint8_t *out = call->outputs[0].data;
  size_t count = (size_t)eg_type_elements(&x->type);
  double params[2];
  eg_row_params(call->attrs, params);
  EG_KERNEL_FLOATS(call, x->type.dtype, classify, eg_kernel_op(call), x->data, out, count,
                   params);
  return EGRAPH_OK;
}

egraph_status eg_kernel_bit_cast(const eg_kernel_call *call) {
  size_t bytes = eg_type_bytes(&call->outputs[0].type);
  if (bytes != 0) memmove(call->outputs[0].data, call->inputs[0].data, bytes);
  return EGRAPH_OK;
}
