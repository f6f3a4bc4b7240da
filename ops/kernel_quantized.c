// Kernels on quantized numbers. Products subtract the zero points and then run the
// kernels of plain products on 64-bit integers; a result that is quantized again is
// scaled in float32, with the operations of ONNX Runtime. Conversion to integers
// saturates (eg_tensor_convert).
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "ops/kernels.h"
#include "ops/quantized.h"

// ---- to quantize, and back ----------------------------------------------------------

/// A scale and zero point along an axis: those of element [outer, axis, inner] are at (o
/// * o_step + a / block) * inner_step + i * i_step.
typedef struct scales {
  const double *scale, *zero;
  eg_axis_view view;
  int64_t block, o_step, inner_step, i_step;
} scales;

static scales scales_of(const eg_kernel_call *call, const double *scale,
                        const double *zero) {
  const eg_type *x = &call->inputs[0].type, *type = &call->inputs[1].type;
  int64_t axis = eg_kernel_slot(call, 0)->i, block = eg_kernel_slot(call, 1)->i;
  bool is_scalar = block == 0 && (type->rank == 0 || type->dims[0] == 1);
  scales s = {.scale = scale, .zero = zero, .block = 1};
  if (is_scalar) {
    s.view = (eg_axis_view){.outer = 1, .size = 1, .inner = eg_type_elements(x)};
    return s;
  }
  s.view = eg_axis_view_of(x, axis);
  s.inner_step = 1;
  if (block == 0) return s;
  s.block = block;
  s.o_step = eg_axis_view_of(type, axis).size;
  s.inner_step = s.view.inner;
  s.i_step = 1;
  return s;
}

static int64_t scale_place(const scales *s, int64_t o, int64_t a, int64_t i) {
  return (o * s->o_step + a / s->block) * s->inner_step + i * s->i_step;
}

static double quantize(double x, double scale, double zero) {
  return (double)nearbyintf((float)x / (float)scale) + zero;
}

static double dequantize(double q, double scale, double zero) {
  return (double)((float)(q - zero) * (float)scale);
}

egraph_status eg_kernel_quantize(const eg_kernel_call *call) {
  eg_arena *arena = call->scratch;
  bool back = eg_kernel_op(call) == EG_OP_DEQUANTIZE_LINEAR;
  const double *x, *scale, *zero;
  double *y, *out,
      (*const convert)(double, double, double) = back ? dequantize : quantize;
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[0], &x));
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[1], &scale));
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[2], &zero));
  EG_NEW(arena, (size_t)eg_type_elements(&call->outputs[0].type), y);
  out = y;
  scales s = scales_of(call, scale, zero);
  for (int64_t o = 0; o < s.view.outer; o++)
    for (int64_t a = 0; a < s.view.size; a++)
      for (int64_t i = 0; i < s.view.inner; i++) {
        int64_t at = scale_place(&s, o, a, i);
        *out++ = convert(*x++, s.scale[at], s.zero[at]);
      }
  eg_kernel_store_doubles(y, &call->outputs[0]);
  return EGRAPH_OK;
}

egraph_status eg_kernel_dynamic_quantize(const eg_kernel_call *call) {
  int64_t count = eg_type_elements(&call->inputs[0].type);
  uint8_t *y = call->outputs[0].data;
  const double *x;
  float low = 0.0f, high = 0.0f;
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[0], &x));
  for (int64_t i = 0; i < count; i++) {
    low = fminf(low, (float)x[i]);
    high = fmaxf(high, (float)x[i]);
  }
  float scale = high == low ? 1.0f : (high - low) / 255.0f;
  float zero = nearbyintf(fminf(fmaxf(-low / scale, 0.0f), 255.0f));
  for (int64_t i = 0; i < count; i++)
    y[i] = (uint8_t)fminf(fmaxf(nearbyintf((float)x[i] / scale) + zero, 0.0f), 255.0f);
  eg_tensor_set_double(&call->outputs[1], 0, (double)scale);
  eg_tensor_set_double(&call->outputs[2], 0, (double)zero);
  return EGRAPH_OK;
}

// ---- products -----------------------------------------------------------------------

/// A quantized product in progress: each step allocates a tensor in the scratch arena.
typedef struct work {
  const eg_kernel_call *call;
  eg_quantized_operands at;
} work;

static egraph_status run_step(const work *w, const eg_attrs *attrs,
                              const eg_tensor *inputs, uint32_t count, eg_tensor *out) {
  eg_type types[3];
  for (uint32_t i = 0; i < count; i++)
    types[i] = inputs[i].type;
  EG_TRY(eg_op_infer(attrs, types, count, &out->type));
  EG_TRY(eg_arena_alloc(w->call->scratch, eg_type_bytes(&out->type) + 1, 1, &out->data));
  eg_kernel_call call = {.attrs = attrs,
                         .inputs = inputs,
                         .input_count = count,
                         .outputs = out,
                         .output_count = 1,
                         .alloc = w->call->alloc};
  return eg_op_run(&call);
}

static egraph_status binary(const work *w, eg_op op, eg_tensor a, eg_tensor b,
                            eg_tensor *out) {
  eg_attrs attrs = {.op = (uint16_t)op};
  return run_step(w, &attrs, (const eg_tensor[]){a, b}, 2, out);
}

static egraph_status cast(const work *w, eg_tensor x, egraph_dtype dtype,
                          eg_tensor *out) {
  eg_attr to = {.kind = EG_ATTR_DTYPE, .i = (int64_t)dtype};
  eg_attrs attrs = {.op = EG_OP_CAST, .count = 1, .slots = &to};
  return run_step(w, &attrs, &x, 1, out);
}

/// Converts operand `of` to int64 and subtracts its zero point.
static egraph_status less_zero(const work *w, int of, int zero, bool is_weight,
                               eg_tensor *out) {
  eg_tensor shift;
  EG_TRY(cast(w, w->call->inputs[of], EGRAPH_INT64, out));
  if (zero == EG_NO_OPERAND) return EGRAPH_OK;
  EG_TRY(cast(w, w->call->inputs[zero], EGRAPH_INT64, &shift));
  shift.type = eg_quantized_view(w->call->attrs, &shift.type, &out->type, is_weight);
  return binary(w, EG_OP_SUB, *out, shift, out);
}

static egraph_status sum_products(const work *w, eg_tensor *out) {
  eg_attr slots[EG_QUANTIZED_SLOTS];
  eg_attrs plain = eg_quantized_product(w->call->attrs, slots);
  eg_tensor operands[3];
  uint32_t count = 2;
  EG_TRY(less_zero(w, w->at.x, w->at.x_zero, false, &operands[0]));
  EG_TRY(less_zero(w, w->at.w, w->at.w_zero, true, &operands[1]));
  if (w->at.bias != EG_NO_OPERAND)
    EG_TRY(cast(w, w->call->inputs[w->at.bias], EGRAPH_INT64, &operands[count++]));
  return run_step(w, &plain, operands, count, out);
}

static egraph_status float_view(const work *w, int operand, const eg_type *result,
                                bool is_weight, eg_tensor *out) {
  EG_TRY(cast(w, w->call->inputs[operand], EGRAPH_FLOAT32, out));
  out->type = eg_quantized_result_view(w->call->attrs, &out->type, result, is_weight);
  return EGRAPH_OK;
}

/// Quantizes the sums of a product again: computes round(sum * (x scale * w scale / y
/// scale)) + y zero point.
static egraph_status quantize_again(const work *w, eg_tensor *inout) {
  const eg_type *result = &w->call->outputs[0].type;
  eg_attrs round = {.op = EG_OP_ROUND};
  eg_tensor scale, other, zero;
  EG_TRY(float_view(w, w->at.x_scale, result, false, &scale));
  EG_TRY(float_view(w, w->at.w_scale, result, true, &other));
  EG_TRY(binary(w, EG_OP_MUL, scale, other, &scale));
  EG_TRY(float_view(w, w->at.y_scale, result, false, &other));
  EG_TRY(binary(w, EG_OP_DIV, scale, other, &scale));
  EG_TRY(cast(w, *inout, EGRAPH_FLOAT32, inout));
  EG_TRY(binary(w, EG_OP_MUL, *inout, scale, inout));
  EG_TRY(run_step(w, &round, &(eg_tensor){inout->type, inout->data}, 1, inout));
  EG_TRY(float_view(w, w->at.y_zero, result, false, &zero));
  return binary(w, EG_OP_ADD, *inout, zero, inout);
}

egraph_status eg_kernel_quantized_product(const eg_kernel_call *call) {
  eg_tensor sum;
  work w = {.call = call, .at = eg_quantized_operands_of(call->attrs, call->input_count)};
  EG_TRY(sum_products(&w, &sum));
  if (w.at.y_scale != EG_NO_OPERAND) EG_TRY(quantize_again(&w, &sum));
  eg_tensor_convert(&sum, &call->outputs[0]);
  return EGRAPH_OK;
}
