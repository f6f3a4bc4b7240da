// Import of constants, shapes and reshapes.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/read/build.h"
#include "onnx/tensor.h"

// ---- constants ----------------------------------------------------------------------

/// Makes the result a scalar or list of these elements.
static egraph_status define_list(const eg_onnx_call *call, egraph_dtype dtype,
                                 const void *data, size_t count, uint32_t rank) {
  eg_type type = eg_type_of(dtype, rank, (const int64_t[]){(int64_t)count});
  return eg_onnx_define_result(call, 0, &type, data);
}

static egraph_status define_tensor(const eg_onnx_call *call,
                                   const Onnx__TensorProto *proto) {
  bool known;
  eg_type type;
  eg_buffer *buffer;
  eg_onnx_ref result = eg_onnx_output(call, 0);
  EG_TRY(eg_onnx_tensor_type(proto, &known, &type));
  if (!known) return eg_onnx_decline("the constant is of an element type we do not have");
  EG_TRY(eg_onnx_data_of(call->reader, proto, &type, &buffer));
  egraph_status status = EGRAPH_OK;
  if (result.id != EG_ONNX_NONE.id)
    status = eg_onnx_define_constant(call->reader, result, &type, buffer);
  eg_buffer_release(buffer);
  return status;
}

egraph_status eg_onnx_import_constant(const eg_onnx_call *call) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, "value");
  int64_t integer;
  double number;
  eg_ints ints;
  bool present;
  if (call->node->n_attribute != 1)
    return EG_FAIL(EGRAPH_E_PARSE, "a constant has exactly one value");
  if (attr != NULL && attr->t == NULL)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute 'value' is no tensor");
  if (attr != NULL) return define_tensor(call, attr->t);
  if (eg_onnx_attr(call, "value_int") != NULL) {
    EG_TRY(eg_onnx_attr_int(call, "value_int", 0, &integer));
    return define_list(call, EGRAPH_INT64, &integer, 1, 0);
  }
  if (eg_onnx_attr(call, "value_float") != NULL) {
    EG_TRY(eg_onnx_attr_float(call, "value_float", 0.0, &number));
    return define_list(call, EGRAPH_FLOAT32, &(float){(float)number}, 1, 0);
  }
  attr = eg_onnx_attr(call, "value_floats");
  if (attr != NULL)
    return define_list(call, EGRAPH_FLOAT32, attr->floats, attr->n_floats, 1);
  EG_TRY(eg_onnx_attr_ints(call, "value_ints", &present, &ints));
  return define_list(call, EGRAPH_INT64, ints.data, ints.len, 1);
}

// Reads the only element of attribute `value`; float32 zero without the attribute.
static egraph_status read_fill_value(const eg_onnx_call *call, egraph_dtype *out_dtype,
                                     double *out) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, "value");
  bool known;
  eg_type type;
  eg_buffer *buffer;
  *out_dtype = EGRAPH_FLOAT32;
  *out = 0.0;
  if (attr == NULL) return EGRAPH_OK;
  if (attr->t == NULL) return EG_FAIL(EGRAPH_E_PARSE, "attribute 'value' is no tensor");
  EG_TRY(eg_onnx_tensor_type(attr->t, &known, &type));
  if (!known) return eg_onnx_decline("the value is of an element type we do not have");
  if (eg_type_elements(&type) != 1)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute 'value' must have one element");
  EG_TRY(eg_onnx_tensor_data(call->reader->alloc, attr->t, &type, NULL, &buffer));
  if (buffer == NULL) return eg_onnx_decline("the value is in another file");
  eg_tensor tensor = {.type = type, .data = eg_buffer_writable(buffer)};
  *out_dtype = type.dtype;
  *out = eg_tensor_get_double(&tensor, 0);
  // Doubles beyond 2^53 do not represent every integer.
  bool exact = eg_dtype_is_float(type.dtype) ||
               (fabs(*out) < 0x1p63 && (int64_t)*out == eg_tensor_get_int(&tensor, 0));
  eg_buffer_release(buffer);
  return exact ? EGRAPH_OK : eg_onnx_decline("the value is too large");
}

egraph_status eg_onnx_import_fill(const eg_onnx_call *call) {
  eg_ints shape;
  bool present;
  double value;
  egraph_dtype dtype;
  EG_TRY(eg_onnx_const_sizes(call, 0, &present, &shape));
  if (!present) return EG_FAIL(EGRAPH_E_PARSE, "the shape is absent");
  EG_TRY(read_fill_value(call, &dtype, &value));
  return eg_onnx_emit_first(call, 0,
                            EG_LIST(FILL, EG_DTYPE(FILL_DTYPE, dtype),
                                    EG_INTS(FILL_SHAPE, shape.data, shape.len),
                                    EG_FLOAT(FILL_VALUE, value)));
}

// Emits ones on diagonal k of [rows, columns], as a part of an identity matrix. In it,
// element [i + down, j + right] is on the diagonal if j - i is k.
static egraph_status emit_eye(const eg_onnx_call *call, egraph_dtype dtype, int64_t rows,
                              int64_t columns, int64_t k) {
  k = k < -rows ? -rows : k > columns ? columns : k;
  int64_t down = k > 0 ? k : 0, right = k > 0 ? 0 : -k;
  int64_t height = rows + down, width = columns + right;
  int64_t n = height > width ? height : width;
  const int64_t starts[2] = {down, right}, ends[2] = {height, width}, steps[2] = {1, 1};
  EG_ONNX_BUILDER(write, call);
  eg_ref eye = eg_onnx_write(
      &write, EG_LIST(EYE, EG_DTYPE(EYE_DTYPE, dtype), EG_INT(EYE_N, n)), NULL, 0);
  if (rows != n || columns != n) eye = eg_build_slice(&write.b, eye, starts, ends, steps);
  return eg_onnx_finish(&write, 0, eye);
}

egraph_status eg_onnx_import_eye(const eg_onnx_call *call) {
  egraph_dtype dtype;
  EG_ONNX_TYPE(like, call, 0);
  EG_ONNX_INT(diagonal, call, "k", 0);
  EG_ONNX_INT(number, call, "dtype", eg_dtype_onnx(like.dtype));
  if (like.rank != 2) return EG_FAIL(EGRAPH_E_PARSE, "the input must have rank 2");
  if (!eg_onnx_find_dtype(number, &dtype))
    return eg_onnx_decline("the element type is not supported");
  return emit_eye(call, dtype, like.dims[0], like.dims[1], diagonal);
}

// ---- ranges that are known ----------------------------------------------------------

enum { MOST_OF_A_RANGE = 1 << 20 };

// Counts the integers of a range: from start on, below (above) limit.
static uint64_t count_ints(int64_t start, int64_t limit, int64_t step) {
  bool up = step > 0;
  if (up ? start >= limit : start <= limit) return 0;
  uint64_t span =
      up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  return (span - 1) / (up ? (uint64_t)step : 0 - (uint64_t)step) + 1;
}

static egraph_status emit_int_range(const eg_onnx_call *call, egraph_dtype dtype) {
  int64_t bound[3];
  for (uint32_t i = 0; i < 3; i++)
    EG_TRY(eg_onnx_const_int(call, i, "a bound", false, &bound[i]));
  int64_t start = bound[0], step = bound[2];
  if (step == 0) return EG_FAIL(EGRAPH_E_PARSE, "the step is 0");
  uint64_t count = count_ints(start, bound[1], step);
  if (count > MOST_OF_A_RANGE) return eg_onnx_decline("the range is long");
  eg_type type = eg_type_of(dtype, 1, (const int64_t[]){(int64_t)count});
  eg_onnx_ref result = eg_onnx_output(call, 0);
  eg_tensor out;
  EG_TRY(eg_onnx_array(call, &type, &result, &out));
  for (uint64_t i = 0; i < count; i++)
    eg_tensor_set_int(&out, (int64_t)i, (int64_t)((uint64_t)start + i * (uint64_t)step));
  return EGRAPH_OK;
}

// Computes a range in the precision of its dtype; in float32 for 16-bit types.
static egraph_status emit_float_range(const eg_onnx_call *call, egraph_dtype dtype) {
  double bound[3];
  for (uint32_t i = 0; i < 3; i++)
    EG_TRY(eg_onnx_const_double(call, i, "a bound", false, &bound[i]));
  double start = bound[0], step = bound[2], count = ceil((bound[1] - start) / step);
  if (!(count <= MOST_OF_A_RANGE))
    return eg_onnx_decline("the range is long, or no range");
  int64_t n = count > 0 ? (int64_t)count : 0;
  eg_type type = eg_type_of(dtype, 1, &n);
  eg_onnx_ref result = eg_onnx_output(call, 0);
  eg_tensor out;
  EG_TRY(eg_onnx_array(call, &type, &result, &out));
  for (int64_t i = 0; i < n; i++) {
    float offset = (float)i * (float)step;
    double value = dtype == EGRAPH_FLOAT64 ? start + (double)i * step
                                           : (double)((float)start + offset);
    eg_tensor_set_double(&out, i, value);
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_range(const eg_onnx_call *call) {
  EG_ONNX_TYPE(type, call, 0);
  EG_ONNX_INT(stash, call, "stash_type", 1);
  if (stash != 1) return eg_onnx_decline("the range is not computed in float32");
  return eg_dtype_is_float(type.dtype) ? emit_float_range(call, type.dtype)
                                       : emit_int_range(call, type.dtype);
}

// ---- shapes: known, unless a dimension is open ---------------------------------------

egraph_status eg_onnx_import_shape(const eg_onnx_call *call) {
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_INT(start, call, "start", 0);
  EG_ONNX_INT(end, call, "end", INT64_MAX);
  start = eg_onnx_clamp(start < 0 ? start + x.rank : start, 0, x.rank);
  end = eg_onnx_clamp(end < 0 ? end + x.rank : end, 0, x.rank);
  if (end > start && eg_size_any_open(x.dims + start, (uint32_t)(end - start)))
    return eg_onnx_emit_node(
        call, EG_LIST(SHAPE, EG_INT(SHAPE_START, start), EG_INT(SHAPE_END, end)));
  return define_list(call, EGRAPH_INT64, x.dims + start,
                     end > start ? (size_t)(end - start) : 0, 1);
}

egraph_status eg_onnx_import_size(const eg_onnx_call *call) {
  EG_ONNX_TYPE(x, call, 0);
  int64_t size = eg_type_elements(&x);
  if (eg_type_is_open(&x))
    return eg_onnx_emit_plain(call, EG_OP_SIZE, call->inputs, 1, eg_onnx_output(call, 0));
  return define_list(call, EGRAPH_INT64, &size, 1, 0);
}

// ---- reshapes -----------------------------------------------------------------------

/// Finds the element `open` of a shape, which is -1 in the file: the number of elements
/// divided by all other sizes. Divides by open sizes one by one, because a product of
/// open sizes is harder to prove different from 0.
static bool find_rest(int64_t elements, const int64_t *entries, uint32_t count,
                      uint32_t open, int64_t *out) {
  int64_t number = 1;
  for (uint32_t i = 0; i < count; i++) {
    if (i == open) continue;
    bool is_open = eg_size_is_open(entries[i]);
    if (is_open ? !eg_size_exact_div(elements, entries[i], &elements)
                : !eg_size_mul(number, entries[i], &number))
      return false;
  }
  return number != 0 && eg_size_exact_div(elements, number, out);
}

// Replaces 0 in a shape by the operand's dimension, and -1 by the remaining size.
static egraph_status resolve_shape(const eg_type *x, eg_ints shape, bool allow_zero,
                                   int64_t *out) {
  int64_t known = 1, elements = eg_type_elements(x);
  uint32_t open = UINT32_MAX;
  for (uint32_t i = 0; i < shape.len; i++) {
    out[i] = shape.data[i];
    if (out[i] == 0 && !allow_zero) {
      if (i >= x->rank)
        return EG_FAIL(EGRAPH_E_PARSE,
                       "shape entry %" PRIu32
                       " copies a dimension that the operand does not have",
                       i);
      out[i] = x->dims[i];
    }
    if (out[i] == -1 && open != UINT32_MAX)
      return EG_FAIL(EGRAPH_E_PARSE, "the shape has two entries -1");
    if (out[i] < -1)
      return EG_FAIL(EGRAPH_E_PARSE, "the shape has the entry %" PRId64, out[i]);
    if (out[i] == -1) {
      open = i;
      continue;
    }
    // An open size may be neither 0, which would copy a dimension, nor -1.
    if (eg_size_is_open(out[i]) && !eg_size_at_least(out[i], allow_zero ? 0 : 1))
      return eg_onnx_decline("an entry of the shape means something else at some sizes");
    if (!eg_size_mul(known, out[i], &known))
      return EG_FAIL(EGRAPH_E_PARSE, "the shape overflows");
  }
  if (open == UINT32_MAX) return EGRAPH_OK;
  if (!find_rest(elements, out, shape.len, open, &out[open]))
    return EG_FAIL(EGRAPH_E_PARSE, "%" PRId64 " elements do not fit into the shape",
                   elements);
  return EGRAPH_OK;
}

/// True when a tensor is a constant of the file, not computed from shapes.
static bool is_in_file(const eg_onnx_reader *r, eg_onnx_ref ref) {
  uint32_t producer = r->tensors.data[ref.id].producer;
  return producer == UINT32_MAX ||
         strcmp(r->nodes.data[producer].node->op_type, "Constant") == 0;
}

/// Changes a constant shape of the file for another batch (onnx/read/open.c). The
/// operand has one dimension that changed with the batch. In the shape, the size with as
/// many elements before it as before that dimension changes in the same way.
static egraph_status follow_batch(const eg_onnx_call *call, const eg_type *x,
                                  eg_ints shape, bool allow_zero, int64_t *dims,
                                  bool *out_followed) {
  const eg_onnx_import_options *o = &call->reader->options;
  const char *name = eg_onnx_tensor_at(call->reader, eg_onnx_input(call, 0))->name;
  eg_value value;
  *out_followed = false;
  if (o->as_in_file == NULL || !is_in_file(call->reader, eg_onnx_input(call, 1)) ||
      !eg_graph_find_value(o->as_in_file, name, &value))
    return EGRAPH_OK;
  const eg_type *old = &eg_graph_value(o->as_in_file, value)->type;
  uint32_t at = UINT32_MAX, followed = UINT32_MAX;
  int64_t before = 1;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (x->dims[i] == old->dims[i]) continue;
    if (at != UINT32_MAX)
      return EG_FAIL(EGRAPH_E_PARSE, "two dimensions of its operand follow the batch");
    at = i;
  }
  if (at == UINT32_MAX) return EGRAPH_OK;
  for (uint32_t i = 0; i < at; i++)
    before *= old->dims[i];
  EG_TRY(resolve_shape(old, shape, allow_zero, dims));
  int64_t prefix = 1;
  for (uint32_t i = 0; i < shape.len; prefix *= dims[i], i++) {
    if (prefix != before || dims[i] % old->dims[at] != 0) continue;
    if (followed == UINT32_MAX || dims[i] == old->dims[at]) followed = i;
    if (dims[i] == old->dims[at]) break;
  }
  if (followed == UINT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "no entry of its shape is where the batch is in its operand");
  dims[followed] = dims[followed] / old->dims[at] * x->dims[at];
  *out_followed = true;
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_reshape(const eg_onnx_call *call) {
  eg_ints shape;
  bool present;
  int64_t dims[EGRAPH_MAX_RANK];
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_const_sizes(call, 1, &present, &shape));
  EG_ONNX_INT(allow_zero, call, "allowzero", 0);
  if (!present) return EG_FAIL(EGRAPH_E_PARSE, "the shape is absent");
  if (shape.len > EGRAPH_MAX_RANK) return eg_onnx_decline("the rank is too large");
  bool followed;
  EG_TRY(follow_batch(call, &x, shape, allow_zero != 0, dims, &followed));
  if (!followed) EG_TRY(resolve_shape(&x, shape, allow_zero != 0, dims));
  return eg_onnx_emit_reshape(call, eg_onnx_input(call, 0), dims, shape.len,
                              eg_onnx_output(call, 0));
}

egraph_status eg_onnx_import_squeeze(const eg_onnx_call *call) {
  eg_ints axes;
  bool present;
  int64_t ones[EGRAPH_MAX_RANK];
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_ints(call, "axes", 1, &present, &axes));
  if (!present) {
    axes = (eg_ints){.data = ones, .len = 0};
    for (uint32_t i = 0; i < x.rank; i++) {
      if (x.dims[i] == 1)
        ones[axes.len++] = i;
      else if (!eg_size_differs(x.dims[i], 1))
        return eg_onnx_decline("1 may be a size of an open dimension");
    }
  }
  EG_TRY(eg_onnx_sorted_axes(call, axes, x.rank, &axes));
  return eg_onnx_emit_first(call, 1,
                            EG_LIST(SQUEEZE, EG_INTS(SQUEEZE_AXES, axes.data, axes.len)));
}

egraph_status eg_onnx_import_unsqueeze(const eg_onnx_call *call) {
  eg_ints axes;
  bool present;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_ints(call, "axes", 1, &present, &axes));
  if (!present) return EG_FAIL(EGRAPH_E_PARSE, "the axes are absent");
  if (axes.len > EGRAPH_MAX_RANK - x.rank)
    return eg_onnx_decline("the rank is too large");
  EG_TRY(eg_onnx_sorted_axes(call, axes, x.rank + axes.len, &axes));
  return eg_onnx_emit_first(
      call, 1, EG_LIST(UNSQUEEZE, EG_INTS(UNSQUEEZE_AXES, axes.data, axes.len)));
}

egraph_status eg_onnx_import_flatten(const eg_onnx_call *call) {
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_INT(axis, call, "axis", 1);
  if (axis != (int64_t)x.rank) EG_TRY(eg_onnx_axis(axis, x.rank, &axis));
  return eg_onnx_emit_node(call, EG_LIST(FLATTEN, EG_INT(FLATTEN_AXIS, axis)));
}

// ---- depth and space: a reshape to six dimensions, a transpose, a reshape back ------

static egraph_status emit_shuffle(const eg_onnx_call *call, const int64_t *split,
                                  const int64_t *perm, const int64_t *joined) {
  eg_onnx_ref apart, moved;
  eg_attr_list list = EG_LIST(TRANSPOSE, EG_INTS(TRANSPOSE_PERM, perm, 6));
  EG_TRY(eg_onnx_fresh(call, &apart));
  EG_TRY(eg_onnx_emit_reshape(call, eg_onnx_input(call, 0), split, 6, apart));
  EG_TRY(eg_onnx_emit_fresh(call, list, &apart, 1, &moved));
  return eg_onnx_emit_reshape(call, moved, joined, 4, eg_onnx_output(call, 0));
}

static egraph_status read_block(const eg_onnx_call *call, eg_type *out_x, int64_t *out,
                                bool *out_by_channel) {
  EG_TRY(eg_onnx_input_type(call, 0, out_x));
  EG_TRY(eg_onnx_attr_int(call, "blocksize", 0, out));
  EG_ONNX_STRING(mode, call, "mode", "DCR");
  if (out_x->rank != 4) return EG_FAIL(EGRAPH_E_PARSE, "the input must have rank 4");
  if (*out < 1 || *out > INT16_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "the block size is %" PRId64, *out);
  for (uint32_t i = 0; i < 4; i++)
    if (!eg_size_is_open(out_x->dims[i]) && out_x->dims[i] > INT32_MAX)
      return EG_FAIL(EGRAPH_E_PARSE, "the input is too large");
  *out_by_channel = strcmp(mode, "CRD") == 0;
  if (*out_by_channel || strcmp(mode, "DCR") == 0) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_PARSE, "attribute 'mode' is '%.40s'", mode);
}

egraph_status eg_onnx_import_depth_to_space(const eg_onnx_call *call) {
  eg_type x;
  int64_t b;
  bool by_channel;
  EG_TRY(read_block(call, &x, &b, &by_channel));
  int64_t n = x.dims[0], h = x.dims[2], w = x.dims[3], c, high, wide;
  if (!eg_size_exact_div(x.dims[1], b * b, &c))
    return EG_FAIL(EGRAPH_E_PARSE, "the channels are no multiple of the block");
  if (!eg_size_mul(h, b, &high) || !eg_size_mul(w, b, &wide))
    return eg_onnx_decline("a size has no expression");
  const int64_t joined[4] = {n, c, high, wide};
  if (by_channel)
    return emit_shuffle(call, (const int64_t[]){n, c, b, b, h, w},
                        (const int64_t[]){0, 1, 4, 2, 5, 3}, joined);
  return emit_shuffle(call, (const int64_t[]){n, b, b, c, h, w},
                      (const int64_t[]){0, 3, 4, 1, 5, 2}, joined);
}

egraph_status eg_onnx_import_space_to_depth(const eg_onnx_call *call) {
  eg_type x;
  int64_t b;
  bool by_channel;
  EG_TRY(read_block(call, &x, &b, &by_channel));
  int64_t n = x.dims[0], c = x.dims[1], h, w, deep;
  if (!eg_size_exact_div(x.dims[2], b, &h) || !eg_size_exact_div(x.dims[3], b, &w))
    return EG_FAIL(EGRAPH_E_PARSE, "height and width are no multiples of the block");
  if (!eg_size_mul(c, b * b, &deep)) return eg_onnx_decline("a size has no expression");
  return emit_shuffle(call, (const int64_t[]){n, c, h, b, w, b},
                      by_channel ? (const int64_t[]){0, 1, 3, 5, 2, 4}
                                 : (const int64_t[]){0, 3, 5, 1, 2, 4},
                      (const int64_t[]){n, deep, h, w});
}
