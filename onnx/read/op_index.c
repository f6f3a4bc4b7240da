// Import of operators on single elements: triangles, one-hot, elements at indices, and
// operators that are built from these.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "onnx/read/build.h"

egraph_status eg_onnx_import_trilu(const eg_onnx_call *call) {
  int64_t k = 0;
  EG_ONNX_INT(upper, call, "upper", 1);
  EG_TRY(eg_onnx_const_int(call, 1, "the diagonal", true, &k));
  return eg_onnx_emit_first(
      call, 1, EG_LIST(TRILU, EG_INT(TRILU_UPPER, upper != 0), EG_INT(TRILU_K, k)));
}

egraph_status eg_onnx_import_one_hot(const eg_onnx_call *call) {
  int64_t axis;
  const double *depth;
  uint32_t count;
  bool present;
  EG_ONNX_TYPE(indices, call, 0);
  EG_TRY(eg_onnx_attr_axis(call, -1, indices.rank + 1, &axis));
  EG_TRY(eg_onnx_const_doubles(call, 1, &present, &depth, &count));
  if (!present || count != 1 || !(depth[0] >= 1 && depth[0] < 0x1p53))
    return EG_FAIL(EGRAPH_E_PARSE, "the depth is no positive scalar");
  eg_onnx_ref operands[2] = {eg_onnx_input(call, 0), eg_onnx_input(call, 2)};
  return eg_onnx_emit_on(call, operands, 2,
                         EG_LIST(ONE_HOT, EG_INT(ONE_HOT_DEPTH, (int64_t)depth[0]),
                                 EG_INT(ONE_HOT_AXIS, axis)));
}

// Emits 1 at the first maximum along an axis, 0 elsewhere.
static eg_ref hardmax(eg_onnx_builder *write, eg_ref x, int64_t axis) {
  const eg_type *type = eg_build_type(&write->b, x);
  egraph_dtype dtype = write->b.dtype;
  int64_t depth = type->dims[axis], one = 1;
  eg_attr_list first =
      EG_LIST(ARG_MAX, EG_INT(ARG_MAX_AXIS, axis), EG_INT(ARG_MAX_KEEPDIMS, 0));
  eg_attr_list hot =
      EG_LIST(ONE_HOT, EG_INT(ONE_HOT_DEPTH, depth), EG_INT(ONE_HOT_AXIS, axis));
  eg_ref off = eg_onnx_number(write, dtype, 0), on = eg_onnx_number(write, dtype, 1);
  off = eg_build_reshape(&write->b, off, 1, &one);
  on = eg_build_reshape(&write->b, on, 1, &one);
  eg_ref values = eg_onnx_concat(write, off, on, 0);
  eg_ref place = eg_onnx_write(write, first, &x, 1);
  return eg_onnx_write(write, hot, (const eg_ref[]){place, values}, 2);
}

// Imports Hardmax. Before opset 13 the input counts as a matrix: [dims before axis, dims
// from axis on].
egraph_status eg_onnx_import_hardmax(const eg_onnx_call *call) {
  int64_t axis;
  bool old;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_matrix_axis(call, "maximum", x.rank, &old, &axis));
  if (eg_type_elements(&x) == 0) return eg_onnx_decline("it has no element");
  EG_ONNX_BUILDER(write, call);
  eg_ref input = eg_onnx_operand(&write, 0);
  int64_t matrix[2] = {1, 1};
  for (uint32_t i = 0; i < x.rank; i++)
    matrix[i >= (uint32_t)axis] *= x.dims[i];
  // In a vector the position of the maximum would be a scalar, which OneHot does
  // not take.
  if (!old && x.rank > 1) return eg_onnx_finish(&write, 0, hardmax(&write, input, axis));
  eg_ref rows = eg_build_reshape(&write.b, input, 2, matrix);
  return eg_onnx_finish(
      &write, 0, eg_build_reshape(&write.b, hardmax(&write, rows, 1), x.rank, x.dims));
}

// Imports Compress with a known condition as a gather of the elements where it is true.
egraph_status eg_onnx_import_compress(const eg_onnx_call *call) {
  eg_ints condition;
  bool present, has_axis = eg_onnx_attr(call, "axis") != NULL;
  int64_t *places;
  uint32_t count = 0;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_const_ints(call, 1, &present, &condition));
  EG_ONNX_INT(axis, call, "axis", 0);
  if (!present) return EG_FAIL(EGRAPH_E_PARSE, "the condition is absent");
  if (has_axis) EG_TRY(eg_onnx_axis(axis, x.rank, &axis));
  EG_NEW(&call->reader->arena, condition.len, places);
  for (uint32_t i = 0; i < condition.len; i++)
    if (condition.data[i] != 0) places[count++] = i;
  eg_onnx_ref indices;
  EG_ONNX_BUILDER(write, call);
  EG_TRY(eg_onnx_constant_list(call, places, count, &indices));
  int64_t all = eg_type_elements(&x);
  eg_ref data = eg_onnx_operand(&write, 0);
  if (!has_axis) data = eg_build_reshape(&write.b, data, 1, &all);
  eg_ref taken = eg_onnx_write(&write, EG_LIST(GATHER, EG_INT(GATHER_AXIS, axis)),
                               (const eg_ref[]){data, {indices.id}}, 2);
  return eg_onnx_finish(&write, 0, taken);
}

// Writes an update [batch, .., length, ..] into a cache, from a start index per batch on.
egraph_status eg_onnx_import_tensor_scatter(const eg_onnx_call *call) {
  eg_type starts = {.rank = 1};
  EG_ONNX_TYPE(cache, call, 0);
  EG_ONNX_TYPE(update, call, 1);
  EG_ONNX_INT(axis, call, "axis", -2);
  EG_ONNX_STRING(mode, call, "mode", "linear");
  EG_TRY(eg_onnx_axis(axis, cache.rank, &axis));
  EG_ONNX_BUILDER(write, call);
  eg_ref first = eg_onnx_operand(&write, 2);
  if (eg_ref_exists(first)) EG_TRY(eg_onnx_input_type(call, 2, &starts));
  if (axis == 0 || update.rank != cache.rank || starts.rank != 1 ||
      (eg_ref_exists(first) && starts.dims[0] != cache.dims[0]))
    return EG_FAIL(EGRAPH_E_PARSE, "cache, update and indices do not fit together");
  bool circular = strcmp(mode, "circular") == 0;
  eg_ref places =
      eg_onnx_count_along(&write, cache.rank, (uint32_t)axis, 0, update.dims[axis]);
  if (eg_ref_exists(first)) {
    int64_t dims[EGRAPH_MAX_RANK];
    for (uint32_t i = 0; i < cache.rank; i++)
      dims[i] = i == 0 ? cache.dims[0] : 1;
    eg_ref start = eg_build_reshape(&write.b, first, cache.rank, dims);
    places = EG_BUILD(&write.b, EG_OP_ADD, places, start);
  }
  eg_ref size = eg_onnx_whole(&write, cache.dims[axis]);
  if (circular) places = EG_BUILD(&write.b, EG_OP_MOD, places, size);
  places = eg_build_expand(&write.b, places, &update);
  eg_attr_list list = EG_LIST(SCATTER_ELEMENTS, EG_INT(SCATTER_ELEMENTS_AXIS, axis));
  eg_ref operands[3] = {eg_onnx_operand(&write, 0), places, eg_onnx_operand(&write, 1)};
  return eg_onnx_finish(&write, 0, eg_onnx_write(&write, list, operands, 3));
}

// Cuts each axis around its middle to the requested size, or pads it with zeros.
egraph_status eg_onnx_import_center_crop_pad(const eg_onnx_call *call) {
  eg_ints shape, axes;
  bool present, has_axes;
  int64_t begins[EGRAPH_MAX_RANK] = {0}, ends[EGRAPH_MAX_RANK] = {0};
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_const_ints(call, 1, &present, &shape));
  EG_TRY(eg_onnx_attr_ints(call, "axes", &has_axes, &axes));
  if (!present || shape.len != (has_axes ? axes.len : x.rank))
    return EG_FAIL(EGRAPH_E_PARSE, "shape and axes differ in length");
  EG_ONNX_BUILDER(write, call);
  eg_ref y = eg_onnx_operand(&write, 0);
  for (uint32_t i = 0; i < shape.len; i++) {
    int64_t axis = i, wanted = shape.data[i];
    if (has_axes) EG_TRY(eg_onnx_axis(axes.data[i], x.rank, &axis));
    int64_t size = x.dims[axis];
    if (wanted < 0) return EG_FAIL(EGRAPH_E_PARSE, "the shape has a negative entry");
    if (wanted < size)
      y = eg_onnx_range_of(&write, y, (uint32_t)axis, (size - wanted) / 2,
                           (size - wanted) / 2 + wanted, 1);
    else
      begins[axis] = (wanted - size) / 2;
    if (wanted > size) ends[axis] = wanted - size - begins[axis];
  }
  return eg_onnx_finish(&write, 0, eg_build_pad(&write.b, y, begins, ends));
}
