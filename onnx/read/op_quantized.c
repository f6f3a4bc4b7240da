// Import of operators on quantized numbers. An absent zero point becomes zeros, in the
// element type that the result then has. (Convolutions: read/op_window.c.)
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "onnx/read/op.h"

egraph_status eg_onnx_emit_zeros(const eg_onnx_call *call, const eg_type *type,
                                 eg_onnx_ref *out) {
  eg_attr_list list = EG_LIST(FILL, EG_DTYPE(FILL_DTYPE, type->dtype),
                              EG_INTS(FILL_SHAPE, type->dims, type->rank));
  return eg_onnx_emit_fresh(call, list, NULL, 0, out);
}

static bool is_scalar(const eg_type *type) {
  return type->rank == 0 || (type->rank == 1 && type->dims[0] == 1);
}

// Reads axis and block size. With one scale the axis has no effect, and is set to 1.
static egraph_status read_axis(const eg_onnx_call *call, const eg_type *x,
                               const eg_type *scale, int64_t *axis, int64_t *block) {
  EG_TRY(eg_onnx_attr_int(call, "axis", 1, axis));
  EG_TRY(eg_onnx_attr_int(call, "block_size", 0, block));
  if (*block == 0 && is_scalar(scale)) {
    *axis = 1;
    return EGRAPH_OK;
  }
  return eg_onnx_axis(*axis, x->rank, axis);
}

/// Reads an element type from an attribute; `usual` if it is absent or 0.
static egraph_status read_dtype(const eg_onnx_call *call, const char *name,
                                egraph_dtype usual, egraph_dtype *out) {
  int64_t number;
  *out = usual;
  EG_TRY(eg_onnx_attr_int(call, name, 0, &number));
  if (number == 0) return EGRAPH_OK;
  if (number > 0 && number < INT32_MAX && eg_dtype_from_onnx((int)number, out))
    return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "attribute '%s' is element type %" PRId64, name,
                 number);
}

/// Gives a single zero point the shape of its single scale: files mix scalars with lists
/// of one element.
static egraph_status match_scale(const eg_onnx_call *call, const eg_type *scale,
                                 eg_onnx_ref *zero) {
  EG_ONNX_TYPE(type, call, 2);
  if (type.rank == scale->rank || !is_scalar(&type) || !is_scalar(scale))
    return EGRAPH_OK;
  eg_onnx_ref operand = *zero;
  EG_TRY(eg_onnx_fresh(call, zero));
  return eg_onnx_emit_reshape(call, operand, scale->dims, scale->rank, *zero);
}

// Emits an operator on x, scale and zero point; an absent zero point becomes zeros
// of `dtype`.
static egraph_status emit_linear(const eg_onnx_call *call, egraph_dtype dtype) {
  int64_t axis, block;
  eg_onnx_ref operands[3];
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(scale, call, 1);
  EG_TRY(read_axis(call, &x, &scale, &axis, &block));
  for (uint32_t i = 0; i < 3; i++)
    operands[i] = eg_onnx_input(call, i);
  if (operands[2].id == EG_ONNX_NONE.id) {
    eg_type zero = scale;
    zero.dtype = dtype;
    EG_TRY(eg_onnx_emit_zeros(call, &zero, &operands[2]));
  } else {
    EG_TRY(match_scale(call, &scale, &operands[2]));
  }
  return eg_onnx_emit_on(
      call, operands, 3,
      call->op == EG_OP_DEQUANTIZE_LINEAR
          ? EG_LIST(DEQUANTIZE_LINEAR, EG_INT(DEQUANTIZE_LINEAR_AXIS, axis),
                    EG_INT(DEQUANTIZE_LINEAR_BLOCK_SIZE, block))
          : EG_LIST(QUANTIZE_LINEAR, EG_INT(QUANTIZE_LINEAR_AXIS, axis),
                    EG_INT(QUANTIZE_LINEAR_BLOCK_SIZE, block)));
}

egraph_status eg_onnx_import_quantize(const eg_onnx_call *call) {
  egraph_dtype dtype, precision;
  EG_ONNX_TYPE(scale, call, 1);
  EG_TRY(read_dtype(call, "output_dtype", EGRAPH_UINT8, &dtype));
  EG_TRY(read_dtype(call, "precision", EGRAPH_FLOAT32, &precision));
  if (precision != EGRAPH_FLOAT32)
    return eg_onnx_decline("it divides in less than 32 bits");
  return emit_linear(call, dtype);
}

egraph_status eg_onnx_import_dequantize(const eg_onnx_call *call) {
  egraph_dtype dtype;
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(scale, call, 1);
  EG_TRY(read_dtype(call, "output_dtype", scale.dtype, &dtype));
  if (dtype != scale.dtype)
    return eg_onnx_decline("the result has another element type than the scale");
  return emit_linear(call, x.dtype);
}

egraph_status eg_onnx_emit_integers(const eg_onnx_call *call, eg_attr_list list) {
  eg_onnx_ref operands[4];
  uint32_t count = 0;
  for (uint32_t i = 0; i < 4; i++) {
    operands[i] = eg_onnx_input(call, i);
    if (operands[i].id != EG_ONNX_NONE.id) count = i + 1;
  }
  if (count == 4 && operands[2].id == EG_ONNX_NONE.id) {
    eg_type type;
    EG_TRY(eg_onnx_input_type(call, 0, &type));
    type.rank = 0;
    EG_TRY(eg_onnx_emit_zeros(call, &type, &operands[2]));
  }
  return eg_onnx_emit_on(call, operands, count, list);
}

// Checks that scales and zero points are scalars or vectors; declines those of higher
// rank, with one per row of each matrix.
static egraph_status check_vectors(const eg_onnx_call *call, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    bool is_factor = call->op == EG_OP_MATMUL_INTEGER ? i < 2 : i == 0 || i == 3;
    eg_type type;
    if (is_factor || eg_onnx_input(call, i).id == EG_ONNX_NONE.id) continue;
    EG_TRY(eg_onnx_input_type(call, i, &type));
    if (type.rank > 1) return eg_onnx_decline("a scale or zero point is no vector");
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_matmul_integer(const eg_onnx_call *call) {
  EG_TRY(check_vectors(call, 4));
  return eg_onnx_emit_integers(call, eg_onnx_list(call->op, NULL, 0));
}

egraph_status eg_onnx_import_qlinear_matmul(const eg_onnx_call *call) {
  EG_TRY(check_vectors(call, 8));
  return eg_onnx_emit_node(call, eg_onnx_list(call->op, NULL, 0));
}
