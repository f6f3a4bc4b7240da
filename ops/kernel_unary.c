// Pointwise operators of one operand. One formula per operator and kind of element: the
// float table is instantiated for float and double through <tgmath.h>, the integer table
// for int64 and uint64. NaN goes through comparisons as numpy's minimum and maximum let
// it through. SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>
#include <tgmath.h>

#include "ops/kernels.h"

// Formulas over `x` of type T, and the parameters p and q.
#define FLOAT_LIST(X)                                                                    \
  X(RELU, x < 0 ? 0 : x)                                                                 \
  X(SIGMOID, 1 / (1 + exp(-x)))                                                          \
  X(TANH, tanh(x))                                                                       \
  X(EXP, exp(x))                                                                         \
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
  X(ERF, erf(x))                                                                         \
  X(GELU, x / 2 * (1 + (p != 0 ? tanh(gelu_inner(x)) : erf(x * (T)SQRT_HALF))))          \
  X(SILU, x / (1 + exp(-x)))                                                             \
  X(SOFTPLUS, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))                                \
  X(SOFTSIGN, x / (1 + fabs(x)))                                                         \
  X(HARD_SWISH, x *clamp_unit(x / 6 + (T)0.5))                                           \
  X(HARD_SIGMOID, clamp_unit(p *x + q))                                                  \
  X(LEAKY_RELU, x < 0 ? p * x : x)                                                       \
  X(ELU, x < 0 ? p * expm1(x) : x)                                                       \
  X(SELU, q *(x > 0 ? x : p * expm1(x)))                                                 \
  X(CELU, x < 0 ? p * expm1(x / p) : x)                                                  \
  X(CLIP, x<p ? (p < q ? p : q) : x> q ? q : x)

#define INT_LIST(X)                                                                      \
  X(RELU, x < 0 ? 0 : x)                                                                 \
  X(SQUARE, (uint64_t)x *(uint64_t)x)                                                    \
  X(NEG, 0 - (uint64_t)x)                                                                \
  X(ABS, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)                                          \
  X(SIGN, x > 0 ? 1 : x < 0 ? -1 : 0)                                                    \
  X(CLIP, x<p ? (p < q ? p : q) : x> q ? q : x)

#define SQRT_HALF 0.70710678118654752440
#define TANH_SCALE 0.79788456080286535588 // sqrt(2 / pi)
#define TANH_CUBIC 0.044715

#define clamp_unit(y) ((y) < 0 ? 0 : (y) > 1 ? 1 : (y))
#define gelu_inner(y) ((T)TANH_SCALE * ((y) + (T)TANH_CUBIC * (y) * (y) * (y)))

#define ROW(id, formula)                                                                 \
  static void PASTE(id)(const void *from, void *to, size_t count,                        \
                        const double params[2]) {                                        \
    const T *in = from;                                                                  \
    T *out = to;                                                                         \
    T p = BOUND(params[0], true), q = BOUND(params[1], false);                           \
    (void)p, (void)q;                                                                    \
    for (size_t i = 0; i < count; i++) {                                                 \
      const T x = in[i];                                                                 \
      out[i] = (T)(formula);                                                             \
    }                                                                                    \
  }

#define BOUND(value, is_lower) ((T)(value))
#define T float
#define PASTE(id) id##_f32
FLOAT_LIST(ROW)
#undef PASTE
#undef T
#define T double
#define PASTE(id) id##_f64
FLOAT_LIST(ROW)
#undef PASTE
#undef T
#undef BOUND

// The integers within float bounds: [ceil(lower), floor(upper)], saturated.
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

#define BOUND bound_int
#define T int64_t
#define PASTE(id) id##_i64
INT_LIST(ROW)
#undef PASTE
#undef T
#undef BOUND

// Without a sign, relu, abs and sign are simpler; the shared formulas would compare with
// x < 0.
#define UINT_LIST(X)                                                                     \
  X(RELU, x)                                                                             \
  X(SQUARE, x *x)                                                                        \
  X(NEG, 0 - x)                                                                          \
  X(ABS, x)                                                                              \
  X(SIGN, x != 0)                                                                        \
  X(CLIP, x<p ? (p < q ? p : q) : x> q ? q : x)
#define BOUND bound_uint
#define T uint64_t
#define PASTE(id) id##_u64
UINT_LIST(ROW)
#undef PASTE
#undef T
#undef BOUND

eg_row_unary eg_row_unary_of(eg_op op, eg_wide wide) {
#define ROW_F32(id, formula) [EG_OP_##id] = id##_f32,
#define ROW_F64(id, formula) [EG_OP_##id] = id##_f64,
#define ROW_I64(id, formula) [EG_OP_##id] = id##_i64,
#define ROW_U64(id, formula) [EG_OP_##id] = id##_u64,
  static const eg_row_unary rows[EG_WIDE_COUNT][EG_OP_COUNT] = {
      [EG_WIDE_F32] = {FLOAT_LIST(ROW_F32)},
      [EG_WIDE_F64] = {FLOAT_LIST(ROW_F64)},
      [EG_WIDE_I64] = {INT_LIST(ROW_I64)},
      [EG_WIDE_U64] = {UINT_LIST(ROW_U64)}};
  return rows[wide][op];
}

void eg_row_unary_params(const eg_attrs *attrs, double out_params[2]) {
  out_params[0] = out_params[1] = 0.0;
  for (uint32_t i = 0; i < attrs->count && i < 2; i++) {
    const eg_attr *slot = &attrs->slots[i];
    out_params[i] = slot->kind == EG_ATTR_FLOAT ? slot->f : (double)slot->i;
  }
}

egraph_status eg_row_act_find(const eg_kernel_call *call, eg_act act, double alpha,
                              double beta, eg_wide wide, eg_row_act *out) {
#define ACT_OP(id, name, op) [id] = EG_OP_##op,
#define ACT_NAME(id, name, op) [id] = name,
  static const eg_op ops[EG_ACT_COUNT] = {EG_ACT_LIST(ACT_OP)};
  static const char *const names[EG_ACT_COUNT] = {EG_ACT_LIST(ACT_NAME)};
  assert(act < EG_ACT_COUNT);
  *out = (eg_row_act){.params = {alpha, beta}};
  if (act == EG_ACT_NONE) return EGRAPH_OK;
  if (ops[act] == EG_OP_GELU) out->params[0] = act == EG_ACT_GELU_TANH ? 1.0 : 0.0;
  out->row = eg_row_unary_of(ops[act], wide == EG_WIDE_F32 ? EG_WIDE_F64 : wide);
  if (out->row != NULL) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s: the activation %s has no meaning for integers",
                 eg_op_info_of(eg_kernel_op(call))->name, names[act]);
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
  eg_row_unary row = eg_row_unary_of(op, wide);
  if (row == NULL) return eg_kernel_refuse(call, from->type.dtype);
  double params[2];
  eg_row_unary_params(call->attrs, params);
  row(from->data, to->data, (size_t)eg_type_elements(&from->type), params);
  return EGRAPH_OK;
}
