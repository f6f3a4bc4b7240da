// Pooling: the factors of images n and channels c are parallel, those of positions
// are windows. The factor of the kernel only counts work: it indexes no operand and
// is blocked.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

static bool has_ceil_mode(const eg_typing *node) {
  uint16_t slot;
  bool found = eg_op_find_attr(eg_typing_op(node), "ceil_mode", &slot);
  return found && node->attrs->slots[slot].i != 0;
}

// Refuses padding as large as the window: some windows would have only padding.
static egraph_status check_padding(const eg_typing *node, const eg_window *window) {
  int64_t reach, most;
  if (!eg_window_reach(window, &reach) || !eg_size_sub(reach, 1, &most))
    return eg_typing_fail(node, "the size of a window overflows");
  if (eg_size_at_least(most, window->pad_begin) &&
      eg_size_at_least(most, window->pad_end))
    return EGRAPH_OK;
  return eg_typing_fail(node,
                        "pads %" PRId64 " and %" PRId64
                        " must be smaller than the %" PRId64 " elements of the kernel",
                        window->pad_begin, window->pad_end, reach);
}

egraph_status eg_infer_pool(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_windows attrs = eg_typing_windows(node);
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  uint32_t spatial = x->rank - 2;
  EG_TRY(eg_typing_list(node, "kernel_shape", attrs.kernel, spatial, 1));
  EG_TRY(eg_typing_list(node, "strides", attrs.strides, spatial, 1));
  EG_TRY(eg_typing_list(node, "pads", attrs.pads, 2 * spatial, 0));
  if (node->attrs->op != EG_OP_AVERAGE_POOL)
    EG_TRY(eg_typing_list(node, "dilations", attrs.dilations, spatial, 1));
  *out = eg_type_of(x->dtype, x->rank, x->dims);
  for (uint32_t i = 0; i < spatial; i++) {
    eg_window window = eg_window_of(&attrs, attrs.kernel.data[i], i);
    EG_TRY(check_padding(node, &window));
    EG_TRY(eg_window_positions(node, &window, x->dims[i + 2], has_ceil_mode(node),
                               &out->dims[i + 2]));
  }
  return EGRAPH_OK;
}

void eg_factors_pool(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  eg_windows attrs = eg_typing_windows(node);
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 0);
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 1);
  for (uint32_t i = 0; i + 2 < results->rank; i++) {
    eg_window window = eg_window_of(&attrs, attrs.kernel.data[i], i);
    eg_factor *slide = eg_factors_add_dim(out, EG_FACTOR_WINDOW, results, i + 2);
    (void)eg_window_reach(&window, &slide->window); // inference checked it
    slide->stride = window.stride;
    slide->pad = window.pad_begin;
    eg_factors_add(out, EG_FACTOR_BLOCKED, window.kernel);
  }
  if (node->attrs->op == EG_OP_AVERAGE_POOL) out->linear = eg_operand_bits(1);
}

egraph_status eg_infer_global_pool(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  *out = eg_type_of(x->dtype, x->rank, x->dims);
  for (uint32_t i = 2; i < x->rank; i++)
    out->dims[i] = 1;
  return EGRAPH_OK;
}

// Positions have a MAX factor for the maximum, a SUM factor for the mean: a part of a
// mean is divided by the number of all positions (reduce-mean's attribute count).
void eg_factors_global_pool(const eg_typing *node, eg_factors *out) {
  bool max = node->attrs->op == EG_OP_GLOBAL_MAX_POOL;
  const eg_type *x = &node->inputs[0];
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, node->results, 0);
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, node->results, 1);
  for (uint32_t i = 2; i < x->rank; i++) {
    eg_factors_add(out, EG_FACTOR_PARALLEL, 1)->output_dim[0] = (int8_t)i;
    eg_factors_add(out, max ? EG_FACTOR_MAX : EG_FACTOR_SUM, x->dims[i])->input_dim[0] =
        (int8_t)i;
  }
  if (!max) out->linear = eg_operand_bits(1);
}

// ---- places, unpooling, columns, norms ------------------------------------------------

// The following operators have windows and are no plain pools: places of maxima,
// unpooling, columns, norms. Images are independent; places count in the whole operand.

egraph_status eg_infer_lp_pool(const eg_typing *node, eg_type *out) {
  if (eg_attr_at(node->attrs, EG_A_LP_POOL_P)->i < 1)
    return eg_typing_fail(node, "p is less than 1");
  return eg_infer_pool(node, out);
}

void eg_factors_lp_pool(const eg_typing *node, eg_factors *out) {
  eg_ints kernel = eg_attr_at(node->attrs, EG_A_LP_POOL_KERNEL_SHAPE)->ints;
  eg_factors_add_dims(out, node->results, ~UINT32_C(3));
  for (uint32_t i = 0; i < kernel.len; i++)
    eg_factors_add(out, EG_FACTOR_BLOCKED, kernel.data[i]);
}

egraph_status eg_infer_max_pool_indices(const eg_typing *node, eg_type *out) {
  egraph_dtype dtype = node->inputs[0].dtype;
  if (!eg_dtype_is_float(dtype) && dtype != EGRAPH_INT8 && dtype != EGRAPH_UINT8)
    return eg_typing_fail(node, "operand 0 is %s; it must be floating point or of 8 bits",
                          eg_dtype_name(dtype));
  EG_TRY(eg_infer_pool(node, out));
  out[1] = eg_type_of(EGRAPH_INT64, out->rank, out->dims);
  return EGRAPH_OK;
}

void eg_factors_max_pool_indices(const eg_typing *node, eg_factors *out) {
  eg_ints kernel = eg_attr_at(node->attrs, EG_A_MAX_POOL_INDICES_KERNEL_SHAPE)->ints;
  eg_factor *factors = eg_factors_add_dims(out, node->results, UINT32_MAX);
  for (uint32_t i = 0; i < node->results->rank; i++)
    factors[i].output_dim[1] = (int8_t)i;
  for (uint32_t i = 0; i < kernel.len; i++)
    eg_factors_add(out, EG_FACTOR_BLOCKED, kernel.data[i]);
}

/// Checks that the unpooled shape, in which positions of maxima count, is not empty.
static egraph_status check_unpooled(const eg_typing *node) {
  const eg_type *x = &node->inputs[0];
  uint32_t spatial = x->rank - 2;
  eg_ints kernel = eg_attr_at(node->attrs, EG_A_MAX_UNPOOL_KERNEL_SHAPE)->ints;
  eg_ints strides = eg_attr_at(node->attrs, EG_A_MAX_UNPOOL_STRIDES)->ints;
  eg_ints pads = eg_attr_at(node->attrs, EG_A_MAX_UNPOOL_PADS)->ints;
  int64_t all = 1;
  EG_TRY(eg_typing_list(node, "kernel_shape", kernel, spatial, 1));
  EG_TRY(eg_typing_list(node, "strides", strides, spatial, 1));
  EG_TRY(eg_typing_list(node, "pads", pads, 2 * spatial, 0));
  for (uint32_t d = 0; d < x->rank; d++) {
    int64_t size = x->dims[d], pad = 0;
    bool fits = true;
    if (d >= 2) {
      fits = eg_size_mul(size > 0 ? size - 1 : 0, strides.data[d - 2], &size) &&
             eg_size_add(size, kernel.data[d - 2], &size) &&
             eg_size_add(pads.data[d - 2], pads.data[d - 2 + spatial], &pad);
      size -= pad;
    }
    if (!fits || size < 0 || !eg_size_mul(all, size, &all))
      return eg_typing_fail(node, "dimension %u of what is unpooled to has no size", d);
  }
  return EGRAPH_OK;
}

egraph_status eg_infer_max_unpool(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *places = &node->inputs[1];
  eg_ints shape = eg_attr_at(node->attrs, EG_A_MAX_UNPOOL_SHAPE)->ints;
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  if (places->dtype != EGRAPH_INT64 || !eg_type_same_shape(places, x))
    return eg_typing_fail(node, "places are %s; they must be int64 of the shape of %s",
                          eg_type_text_of(places).text, eg_type_text_of(x).text);
  EG_TRY(check_unpooled(node));
  EG_TRY(eg_typing_list(node, "shape", shape, x->rank, 0));
  for (uint32_t i = 0; i < x->rank; i++)
    if (i < 2 && shape.data[i] != x->dims[i])
      return eg_typing_fail(
          node, "dimension %u of the shape is %" PRId64 "; that of operand 0 is %" PRId64,
          i, shape.data[i], x->dims[i]);
  *out = eg_type_of(x->dtype, x->rank, shape.data);
  return EGRAPH_OK;
}

void eg_factors_max_unpool(const eg_typing *node, eg_factors *out) {
  eg_factor *factors = eg_factors_add_dims(out, node->results, UINT32_MAX);
  for (uint32_t i = 0; i < node->results->rank; i++)
    factors[i].input_dim[1] = (int8_t)i;
}

/// Checks the windows over images of these sizes, and counts the elements of a window
/// (`taps`) and the windows (`places`).
static egraph_status count_columns(const eg_typing *node, const int64_t *image,
                                   uint32_t rank, int64_t *taps, int64_t *places) {
  eg_windows attrs = eg_typing_windows(node);
  bool is_block = eg_typing_op(node) == EG_OP_COL2IM;
  EG_TRY(eg_typing_list(node, is_block ? "block_shape" : "kernel_shape", attrs.kernel,
                        rank, 1));
  EG_TRY(eg_typing_list(node, "strides", attrs.strides, rank, 1));
  EG_TRY(eg_typing_list(node, "dilations", attrs.dilations, rank, 1));
  EG_TRY(eg_typing_list(node, "pads", attrs.pads, 2 * rank, 0));
  *taps = *places = 1;
  for (uint32_t i = 0; i < rank; i++) {
    eg_window window = eg_window_of(&attrs, attrs.kernel.data[i], i);
    int64_t count;
    EG_TRY(eg_window_positions(node, &window, image[i], false, &count));
    if (!eg_size_mul(*taps, window.kernel, taps) || !eg_size_mul(*places, count, places))
      return eg_typing_fail(node, "the size of a %s overflows",
                            is_block ? "block" : "window");
  }
  return EGRAPH_OK;
}

/// Adds the factors (loop indices) of im2col and col2im. Images and channels are
/// independent; channels are major in dimension 1 of the columns. Elements of a window
/// and windows count the work, pixels do not.
static void factor_columns(const eg_type *image, const eg_type *columns, bool to_columns,
                           eg_factors *out) {
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, image, 0);
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, image, 1);
  int64_t taps = image->dims[1] == 0 ? 0 : columns->dims[1] / image->dims[1];
  const int64_t sizes[] = {taps, columns->dims[2]};
  for (int8_t d = 1; d <= 2; d++) {
    eg_factor *factor = eg_factors_add(out, EG_FACTOR_BLOCKED, sizes[d - 1]);
    *(to_columns ? factor->output_dim : factor->input_dim) = d;
  }
  for (uint32_t i = 2; i < image->rank; i++) {
    eg_factor *pixel = eg_factors_add(out, EG_FACTOR_BLOCKED, image->dims[i]);
    *(to_columns ? pixel->input_dim : pixel->output_dim) = (int8_t)i;
    pixel->is_no_loop = true;
  }
  out->linear = eg_operand_bits(1);
}

egraph_status eg_infer_im2col(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  int64_t taps, places, rows;
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  EG_TRY(count_columns(node, x->dims + 2, x->rank - 2, &taps, &places));
  if (!eg_size_mul(x->dims[1], taps, &rows))
    return eg_typing_fail(node, "the size of a column overflows");
  *out = eg_type_of(x->dtype, 3, (const int64_t[]){x->dims[0], rows, places});
  return EGRAPH_OK;
}

void eg_factors_im2col(const eg_typing *node, eg_factors *out) {
  factor_columns(&node->inputs[0], node->results, true, out);
}

egraph_status eg_infer_col2im(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints image = eg_attr_at(node->attrs, EG_A_COL2IM_IMAGE_SHAPE)->ints;
  uint32_t rank = image.len;
  int64_t taps, places;
  if (x->rank != 3 || rank == 0 || rank + 2 > EGRAPH_MAX_RANK)
    return eg_typing_fail(node, "columns %s need 3 dimensions, image_shape 1 to %d",
                          eg_type_text_of(x).text, EGRAPH_MAX_RANK - 2);
  EG_TRY(eg_typing_list(node, "image_shape", image, rank, 1));
  EG_TRY(count_columns(node, image.data, rank, &taps, &places));
  if (x->dims[1] % taps != 0 || x->dims[2] != places)
    return eg_typing_fail(
        node, "columns are %s; a block has %" PRId64 " elements and %" PRId64 " places",
        eg_type_text_of(x).text, taps, places);
  *out = eg_type_of(x->dtype, 2, (const int64_t[]){x->dims[0], x->dims[1] / taps});
  for (uint32_t i = 0; i < rank; i++)
    out->dims[out->rank++] = image.data[i];
  return EGRAPH_OK;
}

void eg_factors_col2im(const eg_typing *node, eg_factors *out) {
  factor_columns(node->results, &node->inputs[0], false, out);
}

egraph_status eg_infer_lp_norm(const eg_typing *node, eg_type *out) {
  int64_t p = eg_attr_at(node->attrs, EG_A_LP_NORM_P)->i;
  if (p != 1 && p != 2) return eg_typing_fail(node, "p is %" PRId64 "; it is 1 or 2", p);
  return eg_infer_softmax(node, out);
}

void eg_factors_lp_norm(const eg_typing *node, eg_factors *out) {
  uint32_t axis =
      eg_axis_of(node->results, eg_attr_at(node->attrs, EG_A_LP_NORM_AXIS)->i);
  eg_factors_add_dims(out, node->results, UINT32_C(1) << axis);
}
