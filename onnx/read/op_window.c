// Import of convolutions and pooling: pads, strides, dilations and kernel sizes
// become explicit.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "onnx/read/op.h"

// A window: lists with one element per spatial dimension; pads: all begins, then all
// ends.
typedef struct window {
  uint32_t spatial;
  int64_t kernel[EGRAPH_MAX_RANK], strides[EGRAPH_MAX_RANK], dilations[EGRAPH_MAX_RANK];
  int64_t pads[2 * EGRAPH_MAX_RANK];
} window;

// Larger sizes are refused as hostile; a product of two smaller ones does not overflow.
static const int64_t max_extent = INT32_MAX;

static egraph_status read_window_list(const eg_onnx_call *call, const char *name,
                                      uint32_t count, int64_t usual, int64_t *out,
                                      bool *out_present) {
  eg_ints list;
  EG_TRY(eg_onnx_attr_ints(call, name, out_present, &list));
  if (*out_present && list.len != count)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute '%s' has %" PRIu32 " entries, not %" PRIu32,
                   name, list.len, count);
  for (uint32_t i = 0; i < count; i++) {
    out[i] = *out_present ? list.data[i] : usual;
    if (out[i] > max_extent || out[i] < -max_extent)
      return EG_FAIL(EGRAPH_E_PARSE, "attribute '%s' has the entry %" PRId64, name,
                     out[i]);
  }
  return EGRAPH_OK;
}

// Splits the padding of a dimension in two halves; an odd element goes to the end (upper)
// or to the begin.
static void split_pads(window *w, uint32_t dim, int64_t total, bool upper) {
  int64_t less = total / 2, more = total - less;
  w->pads[dim] = upper ? less : more;
  w->pads[w->spatial + dim] = upper ? more : less;
}

// Sets the pads of mode SAME, where the result has as many positions as strides fit into
// the input; an odd element goes to the end (upper) or to the begin (lower).
static egraph_status pad_same(window *w, const eg_type *x, bool upper) {
  for (uint32_t i = 0; i < w->spatial; i++) {
    int64_t size = x->dims[2 + i], stride = w->strides[i];
    int64_t extent = (w->kernel[i] - 1) * w->dilations[i] + 1;
    int64_t last = size > 0 && stride > 0 ? (size - 1) / stride * stride : 0;
    int64_t total = last + extent - size;
    if (eg_size_is_open(size)) {
      if (stride != 1 || !eg_size_at_least(size, 1))
        return eg_onnx_decline("its padding is another at other sizes");
      total = extent - 1;
    }
    split_pads(w, i, total < 0 ? 0 : total, upper);
  }
  return EGRAPH_OK;
}

static egraph_status resolve_pads(const eg_onnx_call *call, window *w, const eg_type *x) {
  bool given;
  EG_TRY(read_window_list(call, "pads", 2 * w->spatial, 0, w->pads, &given));
  EG_ONNX_STRING(mode, call, "auto_pad", "NOTSET");
  if (strcmp(mode, "NOTSET") == 0 || mode[0] == '\0') return EGRAPH_OK;
  if (strcmp(mode, "VALID") == 0) {
    memset(w->pads, 0, sizeof w->pads);
    return EGRAPH_OK;
  }
  bool upper = strcmp(mode, "SAME_UPPER") == 0;
  if (!upper && strcmp(mode, "SAME_LOWER") != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute 'auto_pad' is '%.40s'", mode);
  return pad_same(w, x, upper);
}

// Reads the window of a node. `weight` is the operand with the kernel, or NULL when
// attribute kernel_shape must give the kernel. The window lives in the arena: lists of
// attributes point into it.
static egraph_status read_window(const eg_onnx_call *call, const eg_type *x,
                                 const eg_type *weight, window **out_window) {
  bool given;
  window *out;
  if (x->rank < 3) return EG_FAIL(EGRAPH_E_PARSE, "the input has no spatial dimension");
  EG_NEW(&call->reader->arena, 1, out);
  *out_window = out;
  out->spatial = x->rank - 2;
  EG_TRY(read_window_list(call, "kernel_shape", out->spatial, 1, out->kernel, &given));
  if (weight == NULL && !given)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute 'kernel_shape' is missing");
  if (weight != NULL && weight->rank != x->rank)
    return EG_FAIL(EGRAPH_E_PARSE, "input and weight differ in rank");
  for (uint32_t i = 0; weight != NULL && i < out->spatial; i++) {
    if (given && !eg_size_is_open(weight->dims[2 + i]) &&
        out->kernel[i] != weight->dims[2 + i])
      return EG_FAIL(EGRAPH_E_PARSE, "'kernel_shape' and the weight disagree");
    if (eg_size_is_open(weight->dims[2 + i]))
      return eg_onnx_decline("the kernel has an open dimension");
    if (weight->dims[2 + i] > max_extent)
      return EG_FAIL(EGRAPH_E_PARSE, "the kernel is too large");
    out->kernel[i] = weight->dims[2 + i];
  }
  EG_TRY(read_window_list(call, "strides", out->spatial, 1, out->strides, &given));
  EG_TRY(read_window_list(call, "dilations", out->spatial, 1, out->dilations, &given));
  return resolve_pads(call, out, x);
}

static eg_attr ints_attr(const int64_t *data, uint32_t len) {
  return (eg_attr){.kind = EG_ATTR_INTS, .ints = {data, len}};
}

// Reads the attributes of an operator whose first attributes are those of conv.
static egraph_status conv_attrs(const eg_onnx_call *call, uint32_t weight_operand,
                                eg_attr_list *list) {
  window *w;
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(weight, call, weight_operand);
  EG_TRY(read_window(call, &x, &weight, &w));
  EG_ONNX_INT(group, call, "group", 1);
  eg_attr_list_init(list, call->op);
  list->slots[0] = ints_attr(w->strides, w->spatial);
  list->slots[1] = ints_attr(w->pads, 2 * w->spatial);
  list->slots[2] = ints_attr(w->dilations, w->spatial);
  list->slots[3].i = group;
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_conv(const eg_onnx_call *call) {
  eg_attr_list list;
  EG_TRY(conv_attrs(call, call->op == EG_OP_QLINEAR_CONV ? 3 : 1, &list));
  return eg_onnx_emit_node(call, list);
}

egraph_status eg_onnx_import_qlinear_conv(const eg_onnx_call *call) {
  return eg_onnx_import_conv(call); // not in takes_open, unlike conv
}

egraph_status eg_onnx_import_conv_integer(const eg_onnx_call *call) {
  eg_attr_list list;
  EG_TRY(conv_attrs(call, 1, &list));
  return eg_onnx_emit_integers(call, list);
}

// Computes the pads from an explicit output shape: they cut the full result at both ends
// to this shape.
static egraph_status transpose_pads(const eg_onnx_call *call, const eg_type *x,
                                    const int64_t *output_padding, window *w) {
  int64_t shape[EGRAPH_MAX_RANK];
  bool given;
  EG_TRY(read_window_list(call, "output_shape", w->spatial, 0, shape, &given));
  EG_ONNX_STRING(mode, call, "auto_pad", "NOTSET");
  bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
  if (!given && !upper && !lower) return EGRAPH_OK;
  for (uint32_t i = 0; i < w->spatial; i++) {
    int64_t size = x->dims[2 + i];
    if (eg_size_is_open(size))
      return eg_onnx_decline("its padding is another at other sizes");
    if (size > max_extent) return EG_FAIL(EGRAPH_E_PARSE, "the input is too large");
    int64_t wanted = given ? shape[i] : size * w->strides[i];
    int64_t total = w->strides[i] * (size - 1) + output_padding[i] +
                    (w->kernel[i] - 1) * w->dilations[i] + 1 - wanted;
    if (total < 0) return eg_onnx_decline("the output shape needs negative pads");
    split_pads(w, i, total, upper);
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_conv_transpose(const eg_onnx_call *call) {
  window *w;
  int64_t output_padding[EGRAPH_MAX_RANK];
  bool given;
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(weight, call, 1);
  EG_TRY(read_window(call, &x, &weight, &w));
  EG_TRY(read_window_list(call, "output_padding", w->spatial, 0, output_padding, &given));
  EG_TRY(transpose_pads(call, &x, output_padding, w));
  EG_ONNX_INT(group, call, "group", 1);
  return eg_onnx_emit_node(
      call,
      EG_LIST(CONV_TRANSPOSE, EG_INTS(CONV_TRANSPOSE_STRIDES, w->strides, w->spatial),
              EG_INTS(CONV_TRANSPOSE_PADS, w->pads, 2 * w->spatial),
              EG_INTS(CONV_TRANSPOSE_DILATIONS, w->dilations, w->spatial),
              EG_INTS(CONV_TRANSPOSE_OUTPUT_PADDING, output_padding, w->spatial),
              EG_INT(CONV_TRANSPOSE_GROUP, group)));
}

/// Declines a pool whose window is larger than the padded input: type inference refuses
/// it, and its result depends on how a runtime rounds. Open sizes are not checked here:
/// the expression for the number of window positions (count_positions in ops/typing.c)
/// also covers sizes at which the window does not fit, and rounds towards zero there.
static egraph_status check_reach(const window *w, const eg_type *x) {
  for (uint32_t i = 0; i < w->spatial; i++) {
    int64_t size = x->dims[2 + i], pads = w->pads[i] + w->pads[w->spatial + i];
    int64_t reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
    if (!eg_size_is_open(size) && size < reach - pads)
      return eg_onnx_decline("the window is larger than the padded input");
  }
  return EGRAPH_OK;
}

// Reads the attributes with which all pools with dilations begin.
static egraph_status pool_attrs(const eg_onnx_call *call, eg_op op, eg_attr_list *list) {
  window *w;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(read_window(call, &x, NULL, &w));
  EG_TRY(check_reach(w, &x));
  EG_ONNX_INT(ceil_mode, call, "ceil_mode", 0);
  eg_attr_list_init(list, op);
  list->slots[0] = ints_attr(w->kernel, w->spatial);
  list->slots[1] = ints_attr(w->strides, w->spatial);
  list->slots[2] = ints_attr(w->pads, 2 * w->spatial);
  list->slots[3] = ints_attr(w->dilations, w->spatial);
  list->slots[4].i = ceil_mode != 0;
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_max_pool(const eg_onnx_call *call) {
  eg_attr_list list;
  bool has_indices = eg_onnx_is_used(call, 1);
  EG_TRY(pool_attrs(call, has_indices ? EG_OP_MAX_POOL_INDICES : EG_OP_MAX_POOL, &list));
  EG_ONNX_INT(order, call, "storage_order", 0);
  if (has_indices)
    eg_attr_list_set_int(&list, EG_A_MAX_POOL_INDICES_STORAGE_ORDER, order != 0);
  return eg_onnx_emit_node(call, list);
}

egraph_status eg_onnx_import_lp_pool(const eg_onnx_call *call) {
  eg_attr_list list;
  EG_ONNX_INT(p, call, "p", 2);
  EG_TRY(pool_attrs(call, EG_OP_LP_POOL, &list));
  eg_attr_list_set_int(&list, EG_A_LP_POOL_P, p);
  return eg_onnx_emit_node(call, list);
}

// Imports a global pool as a pool with one window over all positions.
egraph_status eg_onnx_import_global_lp_pool(const eg_onnx_call *call) {
  int64_t *ones, *zeros;
  EG_ONNX_TYPE(x, call, 0);
  if (x.rank < 3) return EG_FAIL(EGRAPH_E_PARSE, "the input has no spatial dimension");
  EG_ONNX_INT(p, call, "p", 2);
  EG_TRY(eg_onnx_repeat(call, 1, x.rank - 2, &ones));
  EG_TRY(eg_onnx_repeat(call, 0, 2 * (x.rank - 2), &zeros));
  return eg_onnx_emit_node(
      call, EG_LIST(LP_POOL, EG_INTS(LP_POOL_KERNEL_SHAPE, x.dims + 2, x.rank - 2),
                    EG_INTS(LP_POOL_STRIDES, ones, x.rank - 2),
                    EG_INTS(LP_POOL_PADS, zeros, 2 * (x.rank - 2)),
                    EG_INTS(LP_POOL_DILATIONS, ones, x.rank - 2), EG_INT(LP_POOL_P, p)));
}

egraph_status eg_onnx_import_max_unpool(const eg_onnx_call *call) {
  window *w;
  bool has_shape;
  eg_ints shape;
  int64_t dims[EGRAPH_MAX_RANK];
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(read_window(call, &x, NULL, &w));
  EG_TRY(eg_onnx_const_ints(call, 2, &has_shape, &shape));
  for (uint32_t i = 0; i < x.rank; i++) {
    if (i >= 2 && eg_size_is_open(x.dims[i]))
      return eg_onnx_decline("its result has another size at other sizes");
    if (i >= 2 && x.dims[i] > max_extent)
      return EG_FAIL(EGRAPH_E_PARSE, "the input is too large");
    dims[i] = i < 2 ? x.dims[i]
                    : (x.dims[i] - 1) * w->strides[i - 2] + w->kernel[i - 2] -
                          w->pads[i - 2] - w->pads[i - 2 + w->spatial];
  }
  if (has_shape && shape.len != x.rank)
    return EG_FAIL(EGRAPH_E_PARSE, "output_shape has %" PRIu32 " entries", shape.len);
  return eg_onnx_emit_first(
      call, 2,
      EG_LIST(MAX_UNPOOL, EG_INTS(MAX_UNPOOL_KERNEL_SHAPE, w->kernel, w->spatial),
              EG_INTS(MAX_UNPOOL_STRIDES, w->strides, w->spatial),
              EG_INTS(MAX_UNPOOL_PADS, w->pads, 2 * w->spatial),
              EG_INTS(MAX_UNPOOL_SHAPE, has_shape ? shape.data : dims, x.rank)));
}

egraph_status eg_onnx_import_average_pool(const eg_onnx_call *call) {
  window *w;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(read_window(call, &x, NULL, &w));
  for (uint32_t i = 0; i < w->spatial; i++)
    if (w->dilations[i] != 1) return eg_onnx_decline("average pooling is dilated");
  EG_TRY(check_reach(w, &x));
  EG_ONNX_INT(ceil_mode, call, "ceil_mode", 0);
  EG_ONNX_INT(include_pad, call, "count_include_pad", 0);
  return eg_onnx_emit_node(
      call,
      EG_LIST(AVERAGE_POOL, EG_INTS(AVERAGE_POOL_KERNEL_SHAPE, w->kernel, w->spatial),
              EG_INTS(AVERAGE_POOL_STRIDES, w->strides, w->spatial),
              EG_INTS(AVERAGE_POOL_PADS, w->pads, 2 * w->spatial),
              EG_INT(AVERAGE_POOL_CEIL_MODE, ceil_mode != 0),
              EG_INT(AVERAGE_POOL_COUNT_INCLUDE_PAD, include_pad != 0)));
}
