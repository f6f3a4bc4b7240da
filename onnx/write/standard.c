// Writes nodes of standard ONNX in the chosen operator set: most with the same attribute
// names, some with lists that are operands in newer sets.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/write/writer.h"
#include "ops/resize.h"

typedef egraph_status (*standard_writer)(eg_onnx_body *body, const eg_onnx_item *item);

static const eg_op_info *info_of(const eg_onnx_item *item) {
  return eg_op_info_of((eg_op)item->attrs->op);
}

// Appends a node without attributes: its operands are the item's operands, then `extra`.
static egraph_status put_item(eg_onnx_body *body, const eg_onnx_item *item,
                              const char *const *extra, uint32_t extra_count,
                              Onnx__NodeProto **out) {
  bool has_indices = item->attrs->op == EG_OP_MAX_POOL_INDICES;
  const char *op_type = has_indices ? "MaxPool" : info_of(item)->onnx, **inputs;
  uint32_t count = item->input_count + extra_count;
  EG_NEW(&body->writer->arena, count, inputs);
  for (uint32_t i = 0; i < item->input_count; i++)
    inputs[i] = item->input_names[i];
  for (uint32_t i = 0; i < extra_count; i++)
    inputs[item->input_count + i] = extra[i];
  return eg_onnx_put_item(body, op_type, inputs, count, item, out);
}

static egraph_status put_slot(eg_onnx_body *body, Onnx__NodeProto *node,
                              const eg_onnx_item *item, uint32_t slot) {
  return eg_onnx_put_slot(body, node, &info_of(item)->attrs[slot],
                          &item->attrs->slots[slot]);
}

/// Appends the node with attributes [from, to) of our operator, under the same names.
static egraph_status write_slots(eg_onnx_body *body, const eg_onnx_item *item,
                                 const char *const *extra, uint32_t extra_count,
                                 uint32_t from, uint32_t to) {
  Onnx__NodeProto *node;
  EG_TRY(put_item(body, item, extra, extra_count, &node));
  for (uint32_t i = from; i < to; i++)
    EG_TRY(put_slot(body, node, item, i));
  return EGRAPH_OK;
}

static egraph_status write_same(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_op_info *op = info_of(item);
  if (op->onnx[0] == '\0')
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "ONNX has no operator for %s (%s), and nothing that means the same is "
                   "known; write a .egraph file",
                   op->name, item->result_names[0]);
  return write_slots(body, item, NULL, 0, 0, op->attr_count);
}

/// Fails if an attribute from number `count` on of our operator is not 0: these
/// attributes restrict an operator to a part of a tensor, which ONNX cannot do.
static egraph_status check_rest(const eg_onnx_item *item, uint16_t count) {
  const eg_op_info *op = info_of(item);
  for (uint16_t i = count; i < op->attr_count; i++)
    if (item->attrs->slots[i].i != 0)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "%s has attribute %s; ONNX has it for whole tensors only", op->name,
                     op->attrs[i].name);
  return EGRAPH_OK;
}

static egraph_status write_gather(eg_onnx_body *body, const eg_onnx_item *item) {
  EG_TRY(check_rest(item, 1));
  return write_slots(body, item, NULL, 0, 0, 1);
}

/// Writes a shape; up to set 14, where ONNX has no range, a part of it is a slice.
static egraph_status write_shape(eg_onnx_body *body, const eg_onnx_item *item) {
  enum { WITH_RANGE = 15, WITH_OPERANDS = 10 };
  int64_t start = eg_item_int(item, EG_A_SHAPE_START),
          end = eg_item_int(item, EG_A_SHAPE_END);
  bool is_whole = start == 0 && end == item->inputs[0].rank;
  const char *whole;
  Onnx__NodeProto *node;
  if (!is_whole && body->writer->opset < WITH_RANGE) {
    EG_TRY(eg_onnx_put(body, "Shape", item->input_names, 1, NULL, &whole, NULL));
    EG_TRY(eg_onnx_put(body, "Slice", &whole, 1, item->result_names[0], NULL, &node));
    EG_TRY(eg_onnx_put_list(body, node, "starts", WITH_OPERANDS, (eg_ints){&start, 1}));
    return eg_onnx_put_list(body, node, "ends", WITH_OPERANDS, (eg_ints){&end, 1});
  }
  EG_TRY(put_item(body, item, NULL, 0, &node));
  if (is_whole) return EGRAPH_OK;
  EG_TRY(eg_onnx_put_int(body, node, "start", start));
  return eg_onnx_put_int(body, node, "end", end);
}

/// Appends the node with a list of integers (eg_onnx_put_list).
static egraph_status write_with_list(eg_onnx_body *body, const eg_onnx_item *item,
                                     const char *name, int64_t since, eg_ints list,
                                     Onnx__NodeProto **out) {
  EG_TRY(put_item(body, item, NULL, 0, out));
  return eg_onnx_put_list(body, *out, name, since, list);
}

static egraph_status write_fill(eg_onnx_body *body, const eg_onnx_item *item) {
  egraph_dtype dtype = (egraph_dtype)eg_item_int(item, EG_A_FILL_DTYPE);
  eg_type one = eg_type_of(dtype, 1, (const int64_t[]){1});
  Onnx__NodeProto *node;
  Onnx__TensorProto *tensor;
  void *data;
  EG_TRY(eg_arena_alloc(&body->writer->arena, 1, eg_type_bytes(&one), &data));
  eg_tensor_set_double(&(eg_tensor){.type = one, .data = data}, 0,
                       eg_item_float(item, EG_A_FILL_VALUE));
  EG_TRY(write_with_list(body, item, "shape", 9, eg_item_ints(item, EG_A_FILL_SHAPE),
                         &node));
  EG_TRY(eg_onnx_tensor_message(&body->writer->arena, &one, data, &tensor));
  return eg_onnx_put_tensor(body, node, "value", tensor);
}

static egraph_status write_clip(eg_onnx_body *body, const eg_onnx_item *item) {
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_put_clip(body, item->input_names[0], item->inputs[0].dtype,
                          eg_item_float(item, EG_A_CLIP_MIN),
                          eg_item_float(item, EG_A_CLIP_MAX), item->result_names[0],
                          &node));
  eg_onnx_name_node(node, item);
  return EGRAPH_OK;
}

static egraph_status write_conv(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_ints strides = eg_item_ints(item, EG_A_CONV_STRIDES),
          pads = eg_item_ints(item, EG_A_CONV_PADS);
  eg_ints dilations = eg_item_ints(item, EG_A_CONV_DILATIONS);
  Onnx__NodeProto *node;
  EG_TRY(put_item(body, item, NULL, 0, &node));
  EG_TRY(eg_onnx_put_ints(body, node, "dilations", dilations.data, dilations.len));
  EG_TRY(eg_onnx_put_int(body, node, "group", eg_item_int(item, EG_A_CONV_GROUP)));
  EG_TRY(eg_onnx_put_ints(body, node, "pads", pads.data, pads.len));
  return eg_onnx_put_ints(body, node, "strides", strides.data, strides.len);
}

/// Writes all attributes of our operator except the last one, the algorithm.
static egraph_status write_conv_transpose(eg_onnx_body *body, const eg_onnx_item *item) {
  return write_slots(body, item, NULL, 0, 0, info_of(item)->attr_count - 1U);
}

static egraph_status write_matmul(eg_onnx_body *body, const eg_onnx_item *item) {
  return write_slots(body, item, NULL, 0, 0, 0);
}

/// Writes a reduction, whose first two attributes are axes and keepdims.
static egraph_status write_reduce(eg_onnx_body *body, const eg_onnx_item *item) {
  int64_t since = item->attrs->op == EG_OP_REDUCE_SUM ? 13 : 18;
  Onnx__NodeProto *node;
  EG_TRY(check_rest(item, 2));
  EG_TRY(write_with_list(body, item, "axes", since, item->attrs->slots[0].ints, &node));
  return eg_onnx_put_int(body, node, "keepdims", item->attrs->slots[1].i);
}

/// Fails: the operator set has the operator, but not this use of it.
static egraph_status refuse_set(const eg_onnx_body *body, const eg_onnx_item *item,
                                const char *why) {
  body->writer->is_faulty = true;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s of '%.200s' in operator set %" PRId64 ": %s",
                 info_of(item)->name, item->result_names[0], body->writer->opset, why);
}

/// Writes a softmax. Before set 13 it is over all dimensions from the axis on, so the
/// axis must be the last one.
static egraph_status write_softmax(eg_onnx_body *body, const eg_onnx_item *item) {
  bool is_last = item->attrs->slots[0].i + 1 == item->inputs[0].rank;
  if (body->writer->opset < 13 && !is_last)
    return refuse_set(body, item, "its axis is not the last one");
  return write_same(body, item);
}

/// Writes a remainder. Before operator set 28 it has the sign of the dividend in
/// floating point.
static egraph_status write_mod(eg_onnx_body *body, const eg_onnx_item *item) {
  bool is_new =
      eg_item_int(item, EG_A_MOD_FMOD) == 0 && eg_dtype_is_float(item->inputs[0].dtype);
  if (is_new && body->writer->opset < 28)
    return refuse_set(body, item, "it has the sign of the divisor");
  return write_same(body, item);
}

/// Writes only attributes that differ from their defaults, because old sets lack some.
static egraph_status write_unless_default(eg_onnx_body *body, const eg_onnx_item *item) {
  Onnx__NodeProto *node;
  EG_TRY(put_item(body, item, NULL, 0, &node));
  for (uint16_t i = 0; i < item->attrs->count; i++)
    if (item->attrs->slots[i].i != eg_attr_default((eg_op)item->attrs->op, i).i)
      EG_TRY(put_slot(body, node, item, i));
  return EGRAPH_OK;
}

/// Writes a scatter. Maxima and minima exist from operator set 18 on.
static egraph_status write_scatter(eg_onnx_body *body, const eg_onnx_item *item) {
  enum { SLOT_REDUCTION, MUL = 2 };
  if (item->attrs->slots[SLOT_REDUCTION].i > MUL && body->writer->opset < 18)
    return refuse_set(body, item, "there are no maxima and minima");
  return write_unless_default(body, item);
}

static egraph_status write_trilu(eg_onnx_body *body, const eg_onnx_item *item) {
  const char *k;
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_constant_scalar(body, EGRAPH_INT64,
                                 (double)eg_item_int(item, EG_A_TRILU_K), &k));
  EG_TRY(put_item(body, item, &k, 1, &node));
  return eg_onnx_put_int(body, node, "upper", eg_item_int(item, EG_A_TRILU_UPPER));
}

static egraph_status write_one_hot(eg_onnx_body *body, const eg_onnx_item *item) {
  const char *inputs[3] = {item->input_names[0], NULL, item->input_names[1]};
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_constant_scalar(
      body, EGRAPH_INT64, (double)eg_item_int(item, EG_A_ONE_HOT_DEPTH), &inputs[1]));
  EG_TRY(eg_onnx_put(body, "OneHot", inputs, 3, item->result_names[0], NULL, &node));
  eg_onnx_name_node(node, item);
  return eg_onnx_put_int(body, node, "axis", eg_item_int(item, EG_A_ONE_HOT_AXIS));
}

static egraph_status write_top_k(eg_onnx_body *body, const eg_onnx_item *item) {
  int64_t k = eg_item_int(item, EG_A_TOP_K_K);
  Onnx__NodeProto *node;
  EG_TRY(write_with_list(body, item, "k", 10, (eg_ints){.data = &k, .len = 1}, &node));
  EG_TRY(eg_onnx_put_int(body, node, "axis", eg_item_int(item, EG_A_TOP_K_AXIS)));
  EG_TRY(eg_onnx_put_int(body, node, "largest", eg_item_int(item, EG_A_TOP_K_LARGEST)));
  return eg_onnx_put_int(body, node, "sorted", eg_item_int(item, EG_A_TOP_K_SORTED));
}

/// Writes a running sum or product: axis (an operand), exclusive, reverse.
static egraph_status write_running(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_attr *slots = item->attrs->slots;
  const char *axis;
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_constant_scalar(body, EGRAPH_INT64, (double)slots[0].i, &axis));
  EG_TRY(put_item(body, item, &axis, 1, &node));
  if (slots[1].i != 0) EG_TRY(eg_onnx_put_int(body, node, "exclusive", slots[1].i));
  return slots[2].i != 0 ? eg_onnx_put_int(body, node, "reverse", slots[2].i) : EGRAPH_OK;
}

// Writes a reshape. A zero in our shape is a size; ONNX would copy a dimension.
static egraph_status write_reshape(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_ints shape = eg_item_ints(item, EG_A_RESHAPE_SHAPE);
  Onnx__NodeProto *node;
  bool zero = false;
  EG_TRY(write_with_list(body, item, "shape", 5, shape, &node));
  for (uint32_t i = 0; i < shape.len; i++)
    zero = zero || shape.data[i] == 0;
  return zero ? eg_onnx_put_int(body, node, "allowzero", 1) : EGRAPH_OK;
}

/// Writes an operator whose only attribute is a list of integers.
static egraph_status write_list(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_op op = (eg_op)item->attrs->op;
  int64_t since = op == EG_OP_EXPAND ? 8 : op == EG_OP_TILE ? 6 : 13;
  Onnx__NodeProto *node;
  return write_with_list(body, item, info_of(item)->attrs[0].name, since,
                         item->attrs->slots[0].ints, &node);
}

static egraph_status write_split(eg_onnx_body *body, const eg_onnx_item *item) {
  Onnx__NodeProto *node;
  EG_TRY(write_with_list(body, item, "split", 13, eg_item_ints(item, EG_A_SPLIT_SIZES),
                         &node));
  return eg_onnx_put_int(body, node, "axis", eg_item_int(item, EG_A_SPLIT_AXIS));
}

static egraph_status write_slice(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_ints starts = eg_item_ints(item, EG_A_SLICE_STARTS),
          ends = eg_item_ints(item, EG_A_SLICE_ENDS);
  eg_ints steps = eg_item_ints(item, EG_A_SLICE_STEPS);
  int64_t first[EGRAPH_MAX_RANK], last[EGRAPH_MAX_RANK], axes[EGRAPH_MAX_RANK];
  Onnx__NodeProto *node;
  assert(starts.len <= EGRAPH_MAX_RANK);
  for (uint32_t i = 0; i < starts.len; i++) {
    // In ONNX -1 counts from the end, so an end "before the first element" is written as
    // -1 - size. A slice that begins there is empty.
    bool is_empty = starts.data[i] < 0;
    first[i] = is_empty ? 0 : starts.data[i];
    int64_t size = item->inputs[0].dims[i];
    last[i] = ends.data[i];
    if (ends.data[i] < 0) last[i] = eg_size_is_open(size) ? -INT32_MAX : -1 - size;
    if (is_empty) last[i] = 0;
    axes[i] = i;
  }
  EG_TRY(put_item(body, item, NULL, 0, &node));
  EG_TRY(eg_onnx_put_list(body, node, "starts", 10, (eg_ints){first, starts.len}));
  EG_TRY(eg_onnx_put_list(body, node, "ends", 10, (eg_ints){last, starts.len}));
  EG_TRY(eg_onnx_put_list(body, node, "axes", 10, (eg_ints){axes, starts.len}));
  bool has_steps = false;
  for (uint32_t i = 0; i < steps.len; i++)
    has_steps = has_steps || steps.data[i] != 1;
  return has_steps || body->writer->opset >= 10
             ? eg_onnx_put_list(body, node, "steps", 10, steps)
             : EGRAPH_OK;
}

static egraph_status write_pad(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_attr_info *mode = &eg_op_info_of(EG_OP_PAD)->attrs[1];
  Onnx__NodeProto *node;
  assert(strcmp(mode->name, "mode") == 0);
  EG_TRY(eg_onnx_put_pad(body, item->input_names[0], item->inputs[0].dtype,
                         eg_item_ints(item, EG_A_PAD_PADS),
                         eg_item_float(item, EG_A_PAD_VALUE),
                         mode->symbols[eg_item_int(item, EG_A_PAD_MODE)],
                         item->result_names[0], NULL, &node));
  eg_onnx_name_node(node, item);
  return EGRAPH_OK;
}

/// True when ONNX computes size `to` from size `from` by the scale.
static bool is_scaled(int64_t from, double scale, int64_t to) {
  int64_t scaled;
  if (eg_size_is_open(from))
    return eg_resize_scaled_size(from, scale, &scaled) && scaled == to;
  return floorf((float)from * (float)scale) == (float)to;
}

/// Makes the operands roi, scales and sizes of a resize; "" for an absent operand.
static egraph_status resize_operands(eg_onnx_body *body, const eg_onnx_item *item,
                                     const char *out[3]) {
  eg_ints shape = eg_item_ints(item, EG_A_RESIZE_SHAPE);
  eg_floats scales = eg_attr_at(item->attrs, EG_A_RESIZE_SCALES)->floats;
  eg_floats roi = eg_attr_at(item->attrs, EG_A_RESIZE_ROI)->floats;
  out[0] = out[1] = out[2] = "";
  if (roi.len != 0) EG_TRY(eg_onnx_constant_floats(body, roi, &out[0]));
  if (scales.len == 0) return eg_onnx_constant_ints(body, shape.data, shape.len, &out[2]);
  for (uint32_t i = 0; i < scales.len; i++)
    if (!is_scaled(item->inputs[0].dims[i], scales.data[i], shape.data[i]))
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "resize of '%.200s': dimension %" PRIu32
                     " has another size than its "
                     "scale makes in ONNX",
                     item->result_names[0], i);
  return eg_onnx_constant_floats(body, scales, &out[1]);
}

/// Writes a symbol in the spelling of ONNX.
static egraph_status put_symbol(eg_onnx_body *body, Onnx__NodeProto *node,
                                const eg_onnx_item *item, eg_attr_slot slot,
                                const char *name) {
  const eg_attr *value = eg_attr_at(item->attrs, slot);
  const char *own = info_of(item)->attrs[value - item->attrs->slots].symbols[value->i];
  char *word;
  EG_NEW(&body->writer->arena, strlen(own) + 1, word);
  for (size_t i = 0; own[i] != '\0'; i++)
    word[i] = own[i];
  for (char *dash = strchr(word, '-'); dash != NULL; dash = strchr(dash, '-'))
    *dash = '_';
  return eg_onnx_put_string(body, node, name, word);
}

static egraph_status check_resize_set(eg_onnx_body *body, const eg_onnx_item *item) {
  int64_t since =
      eg_item_int(item, EG_A_RESIZE_COORDINATES) == EG_RESIZE_HALF_PIXEL_SYMMETRIC ? 19
                                                                                   : 11;
  if (body->writer->opset >= since) return EGRAPH_OK;
  body->writer->is_faulty = true;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "resize of '%.200s' is not in operator set %" PRId64,
                 item->result_names[0], body->writer->opset);
}

static egraph_status write_resize(eg_onnx_body *body, const eg_onnx_item *item) {
  int64_t mode = eg_item_int(item, EG_A_RESIZE_MODE);
  const char *extra[3];
  Onnx__NodeProto *node;
  EG_TRY(check_resize_set(body, item));
  EG_TRY(resize_operands(body, item, extra));
  EG_TRY(put_item(body, item, extra, extra[2][0] != '\0' ? 3 : 2, &node));
  EG_TRY(put_symbol(body, node, item, EG_A_RESIZE_COORDINATES,
                    "coordinate_transformation_mode"));
  EG_TRY(put_symbol(body, node, item, EG_A_RESIZE_MODE, "mode"));
  if (mode == EG_RESIZE_NEAREST)
    EG_TRY(put_symbol(body, node, item, EG_A_RESIZE_NEAREST_MODE, "nearest_mode"));
  if (mode == EG_RESIZE_CUBIC)
    EG_TRY(eg_onnx_put_float(body, node, "cubic_coeff_a",
                             eg_item_float(item, EG_A_RESIZE_CUBIC_COEFF_A)));
  if (eg_item_int(item, EG_A_RESIZE_EXCLUDE_OUTSIDE) != 0)
    EG_TRY(eg_onnx_put_int(body, node, "exclude_outside", 1));
  if (eg_item_int(item, EG_A_RESIZE_ANTIALIAS) != 0)
    EG_TRY(eg_onnx_put_int(body, node, "antialias", 1));
  if (eg_item_int(item, EG_A_RESIZE_COORDINATES) != EG_RESIZE_TF_CROP_AND_RESIZE)
    return EGRAPH_OK;
  return eg_onnx_put_float(body, node, "extrapolation_value",
                           eg_item_float(item, EG_A_RESIZE_EXTRAPOLATION_VALUE));
}

/// Writes axis and block size only if they have an effect.
static egraph_status write_quantize(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *scale = &item->inputs[1];
  bool has_axis = scale->rank > 1 || (scale->rank == 1 && scale->dims[0] != 1);
  Onnx__NodeProto *node;
  EG_TRY(put_item(body, item, NULL, 0, &node));
  if (has_axis) EG_TRY(put_slot(body, node, item, 0));
  return item->attrs->slots[1].i != 0 ? put_slot(body, node, item, 1) : EGRAPH_OK;
}

/// Writes a pool without dilations of 1 and numbers that are 0: these are defaults, and
/// older sets lack the attributes.
static egraph_status write_pool(eg_onnx_body *body, const eg_onnx_item *item) {
  Onnx__NodeProto *node;
  EG_TRY(put_item(body, item, NULL, 0, &node));
  for (uint16_t i = 0; i < item->attrs->count; i++) {
    const eg_attr *slot = &item->attrs->slots[i];
    bool is_usual = slot->kind == EG_ATTR_INT && slot->i == 0;
    if (i == 3) { // dilations
      is_usual = true;
      for (uint32_t k = 0; k < slot->ints.len; k++)
        is_usual = is_usual && slot->ints.data[k] == 1;
    }
    if (!is_usual) EG_TRY(put_slot(body, node, item, i));
  }
  return EGRAPH_OK;
}

static egraph_status write_max_unpool(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_ints shape = eg_item_ints(item, EG_A_MAX_UNPOOL_SHAPE);
  const eg_attr *slots = item->attrs->slots;
  const char *operand;
  bool is_usual = true;
  for (uint32_t i = 2, spatial = shape.len - 2; i < shape.len; i++)
    is_usual = is_usual && shape.data[i] ==
                               (item->inputs[0].dims[i] - 1) * slots[1].ints.data[i - 2] +
                                   slots[0].ints.data[i - 2] - slots[2].ints.data[i - 2] -
                                   slots[2].ints.data[i - 2 + spatial];
  EG_TRY(eg_onnx_constant_ints(body, shape.data, shape.len, &operand));
  return write_slots(body, item, &operand, is_usual ? 0 : 1, 0, 3);
}

/// Writes a grid-sample; up to set 19 modes have names for two dimensions.
static egraph_status write_grid_sample(eg_onnx_body *body, const eg_onnx_item *item) {
  static const char *const old[] = {"nearest", "bilinear", "bicubic"};
  Onnx__NodeProto *node;
  if (body->writer->opset >= 20) return write_same(body, item);
  EG_TRY(put_item(body, item, NULL, 0, &node));
  EG_TRY(eg_onnx_put_string(body, node, "mode",
                            old[eg_item_int(item, EG_A_GRID_SAMPLE_MODE)]));
  for (uint16_t i = 1; i < item->attrs->count; i++)
    EG_TRY(put_slot(body, node, item, i));
  return EGRAPH_OK;
}

/// Writes a col2im, whose first two attributes are operands in ONNX.
static egraph_status write_col2im(eg_onnx_body *body, const eg_onnx_item *item) {
  const char *operands[2];
  for (uint16_t i = 0; i < 2; i++) {
    eg_ints list = item->attrs->slots[i].ints;
    EG_TRY(eg_onnx_constant_ints(body, list.data, list.len, &operands[i]));
  }
  return write_slots(body, item, operands, 2, 2, item->attrs->count);
}

// Operators whose attributes ONNX does not have in the same form: id, writer.
#define STANDARD_LIST(X)                                                                 \
  X(FILL, write_fill)                                                                    \
  X(CLIP, write_clip)                                                                    \
  X(CONV_TRANSPOSE, write_conv_transpose)                                                \
  X(CONV, write_conv)                                                                    \
  X(MATMUL, write_matmul)                                                                \
  X(REDUCE_SUM, write_reduce)                                                            \
  X(REDUCE_MEAN, write_reduce)                                                           \
  X(REDUCE_MAX, write_reduce)                                                            \
  X(REDUCE_MIN, write_reduce)                                                            \
  X(REDUCE_PROD, write_reduce)                                                           \
  X(SOFTMAX, write_softmax)                                                              \
  X(LOG_SOFTMAX, write_softmax)                                                          \
  X(GATHER, write_gather)                                                                \
  X(TOP_K, write_top_k)                                                                  \
  X(CUM_SUM, write_running)                                                              \
  X(CUM_PROD, write_running)                                                             \
  X(MOD, write_mod)                                                                      \
  X(TRILU, write_trilu)                                                                  \
  X(ONE_HOT, write_one_hot)                                                              \
  X(GATHER_ND, write_unless_default)                                                     \
  X(SCATTER_ELEMENTS, write_scatter)                                                     \
  X(SCATTER_ND, write_scatter)                                                           \
  X(SHAPE, write_shape)                                                                  \
  X(RESHAPE, write_reshape)                                                              \
  X(SQUEEZE, write_list)                                                                 \
  X(UNSQUEEZE, write_list)                                                               \
  X(EXPAND, write_list)                                                                  \
  X(TILE, write_list)                                                                    \
  X(SPLIT, write_split)                                                                  \
  X(SLICE, write_slice)                                                                  \
  X(PAD, write_pad)                                                                      \
  X(RESIZE, write_resize)                                                                \
  X(QUANTIZE_LINEAR, write_quantize)                                                     \
  X(DEQUANTIZE_LINEAR, write_quantize)                                                   \
  X(LP_POOL, write_pool)                                                                 \
  X(MAX_POOL_INDICES, write_pool)                                                        \
  X(MAX_UNPOOL, write_max_unpool)                                                        \
  X(GRID_SAMPLE, write_grid_sample)                                                      \
  X(COL2IM, write_col2im)                                                                \
  X(ROPE, eg_onnx_write_rope)                                                            \
  X(ATTENTION, eg_onnx_write_attention)                                                  \
  X(RNN, eg_onnx_write_recurrent)                                                        \
  X(GRU, eg_onnx_write_recurrent)                                                        \
  X(LSTM, eg_onnx_write_recurrent)

egraph_status eg_onnx_write_standard(eg_onnx_body *body, const eg_onnx_item *item) {
  static const standard_writer writers[EG_OP_COUNT] = {
#define STANDARD_ENTRY(ID, WRITER) [EG_OP_##ID] = WRITER,
      STANDARD_LIST(STANDARD_ENTRY)
#undef STANDARD_ENTRY
  };
  standard_writer writer = writers[item->attrs->op];
  return writer != NULL ? writer(body, item) : write_same(body, item);
}
