// Operators of backward passes and of updates in training steps: weight gradients of
// convolutions; gradients of pooling, gathering and normalizing; the update of Adam. All
// gradients are linear in the cotangent. The gradient of pooling can split a dimension
// only where the windows follow each other without gaps and cover it exactly; elsewhere
// (EG_FACTOR_BLOCKED) a part of the gradient can need windows of several parts, which
// pooling itself gets as a halo.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

// ---- conv-grad-weight -----------------------------------------------------------

// Checks that the cotangent has at most as many positions as windows fit; it has fewer
// after a transposed convolution with output padding.
static egraph_status check_positions(const eg_typing *node, const eg_windows *attrs) {
  const eg_type *x = &node->inputs[0], *d = &node->inputs[1];
  for (uint32_t i = 0; i + 2 < x->rank; i++) {
    eg_window window = eg_window_of(attrs, attrs->kernel.data[i], i);
    int64_t positions;
    EG_TRY(eg_window_positions(node, &window, x->dims[i + 2], false, &positions));
    if (d->dims[i + 2] > positions)
      return eg_typing_fail(node,
                            "dimension %u of %s has %" PRId64 " windows; the cotangent "
                            "%s cannot have more",
                            i + 2, eg_type_text_of(x).text, positions,
                            eg_type_text_of(d).text);
  }
  return EGRAPH_OK;
}

egraph_status eg_infer_conv_grad_weight(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *d = &node->inputs[1];
  eg_windows attrs = eg_typing_windows(node);
  int64_t group = eg_typing_groups(node);
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  uint32_t spatial = x->rank - 2;
  EG_TRY(eg_typing_list(node, "kernel_shape", attrs.kernel, spatial, 1));
  EG_TRY(eg_typing_list(node, "strides", attrs.strides, spatial, 1));
  EG_TRY(eg_typing_list(node, "pads", attrs.pads, 2 * spatial, 0));
  EG_TRY(eg_typing_list(node, "dilations", attrs.dilations, spatial, 1));
  if (d->rank != x->rank || d->dims[0] != x->dims[0])
    return eg_typing_fail(node, "the cotangent %s is not of as many images as %s",
                          eg_type_text_of(d).text, eg_type_text_of(x).text);
  if (group < 1 || x->dims[1] % group != 0 || d->dims[1] % group != 0)
    return eg_typing_fail(node,
                          "%" PRId64 " and %" PRId64 " channels must both be multiples "
                          "of group %" PRId64,
                          x->dims[1], d->dims[1], group);
  EG_TRY(check_positions(node, &attrs));
  *out = eg_type_like(x);
  out->dims[0] = d->dims[1];
  out->dims[1] = x->dims[1] / group;
  for (uint32_t i = 0; i < spatial; i++)
    out->dims[i + 2] = attrs.kernel.data[i];
  return EGRAPH_OK;
}

static eg_factor *add_channel(eg_factors *out, int64_t size, int x_dim, int d_dim,
                              int w_dim) {
  eg_factor *factor = eg_factors_add(out, EG_FACTOR_PARALLEL, size);
  factor->input_dim[0] = (int8_t)x_dim;
  factor->input_dim[1] = (int8_t)d_dim;
  factor->output_dim[0] = (int8_t)w_dim;
  return factor;
}

// Factors of images and positions are sums, which leave partial gradients when split.
void eg_factors_conv_grad_weight(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0], *d = &node->inputs[1];
  eg_windows attrs = eg_typing_windows(node);
  int64_t group = eg_typing_groups(node);
  add_channel(out, x->dims[0], 0, 0, EG_NO_DIM)->kind = EG_FACTOR_SUM;
  if (group > 1) add_channel(out, group, 1, 1, 0);
  add_channel(out, d->dims[1] / group, EG_NO_DIM, 1, 0);
  add_channel(out, x->dims[1] / group, 1, EG_NO_DIM, 1);
  for (int i = 2; i < (int)x->rank; i++) {
    eg_window window = eg_window_of(&attrs, attrs.kernel.data[i - 2], (uint32_t)i - 2);
    eg_factor *slide = add_channel(out, d->dims[i], i, i, EG_NO_DIM);
    slide->kind = EG_FACTOR_WINDOW;
    (void)eg_window_reach(&window, &slide->window); // inference checked it
    slide->stride = window.stride;
    slide->pad = window.pad_begin;
    add_channel(out, node->results->dims[i], EG_NO_DIM, EG_NO_DIM, i)->kind =
        EG_FACTOR_BLOCKED;
  }
  out->linear = eg_operand_bits(2);
}

// ---- pooling --------------------------------------------------------------------

// The forward node of a pooling gradient, whose attributes are the first attributes of
// the gradient, and the type that it pools.
typedef struct pooled {
  eg_attrs attrs;
  eg_type type;
} pooled;

static egraph_status pooled_of(const eg_typing *node, pooled *out) {
  bool max = node->attrs->op == EG_OP_MAX_POOL_GRAD;
  eg_op op = max ? EG_OP_MAX_POOL : EG_OP_AVERAGE_POOL;
  out->attrs = (eg_attrs){.op = (uint16_t)op,
                          .count = eg_op_info_of(op)->attr_count,
                          .slots = node->attrs->slots};
  out->type = node->inputs[0];
  if (max) return eg_typing_same_dtype(node, 1);
  eg_ints spatial = eg_attr_at(node->attrs, EG_A_AVERAGE_POOL_GRAD_SPATIAL_SHAPE)->ints;
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  EG_TRY(eg_typing_list(node, "spatial_shape", spatial, out->type.rank - 2, 0));
  for (uint32_t i = 0; i < spatial.len; i++)
    out->type.dims[i + 2] = spatial.data[i];
  return eg_type_check(&out->type);
}

egraph_status eg_infer_pool_grad(const eg_typing *node, eg_type *out) {
  pooled forward;
  eg_type result;
  EG_TRY(pooled_of(node, &forward));
  const eg_typing pool = {
      .attrs = &forward.attrs, .info = node->info, .inputs = &forward.type, .count = 1};
  EG_TRY(eg_infer_pool(&pool, &result));
  const eg_type *d = &node->inputs[node->count - 1];
  if (!eg_type_same_shape(d, &result))
    return eg_typing_fail(node, "the cotangent is %s; pooling %s makes %s",
                          eg_type_text_of(d).text, eg_type_text_of(&forward.type).text,
                          eg_type_text_of(&result).text);
  *out = eg_type_of(d->dtype, forward.type.rank, forward.type.dims);
  return EGRAPH_OK;
}

// True when the windows along a dimension follow each other without gaps and cover it.
static bool is_tiled(const eg_typing *node, uint32_t dim, int64_t size, int64_t count) {
  eg_ints kernel = EG_SHARED(node, MAX_POOL_GRAD, KERNEL_SHAPE)->ints;
  eg_ints strides = EG_SHARED(node, MAX_POOL_GRAD, STRIDES)->ints;
  eg_ints pads = EG_SHARED(node, MAX_POOL_GRAD, PADS)->ints;
  uint32_t i = dim - 2;
  bool is_dilated =
      node->attrs->op == EG_OP_MAX_POOL_GRAD && kernel.data[i] != 1 &&
      eg_attr_at(node->attrs, EG_A_MAX_POOL_GRAD_DILATIONS)->ints.data[i] != 1;
  return !is_dilated && kernel.data[i] == strides.data[i] && pads.data[i] == 0 &&
         pads.data[i + kernel.len] == 0 && size % kernel.data[i] == 0 &&
         size / kernel.data[i] == count;
}

// A dimension is split only where is_tiled holds: elsewhere a part of the result can need
// windows of several parts.
void eg_factors_pool_grad(const eg_typing *node, eg_factors *out) {
  const eg_type *d = &node->inputs[node->count - 1];
  eg_ints kernel = EG_SHARED(node, MAX_POOL_GRAD, KERNEL_SHAPE)->ints;
  for (uint32_t dim = 0; dim < node->results->rank; dim++) {
    bool is_parallel =
        dim < 2 || is_tiled(node, dim, node->results->dims[dim], d->dims[dim]);
    eg_factor *factor = eg_factors_add_dim(
        out, is_parallel ? EG_FACTOR_PARALLEL : EG_FACTOR_BLOCKED, d, dim);
    if (node->count == 2) factor->input_dim[1] = (int8_t)dim;
    if (dim < 2) continue;
    factor = eg_factors_add(out, EG_FACTOR_BLOCKED, kernel.data[dim - 2]);
    if (!is_parallel) continue;
    factor->output_dim[0] = (int8_t)dim;
    if (node->count == 2) factor->input_dim[0] = (int8_t)dim;
  }
  out->linear = UINT32_C(1) << (node->count - 1);
}

// ---- gather-grad ----------------------------------------------------------------

egraph_status eg_infer_gather_grad(const eg_typing *node, eg_type *out) {
  const eg_type *d = &node->inputs[0], *indices = &node->inputs[1];
  int64_t axis = eg_attr_at(node->attrs, EG_A_GATHER_GRAD_AXIS)->i;
  int64_t size = eg_attr_at(node->attrs, EG_A_GATHER_GRAD_SIZE)->i;
  EG_TRY(eg_typing_indices(node));
  int64_t end = d->rank - (int64_t)indices->rank;
  bool fits = axis >= 0 && axis <= end;
  for (uint32_t i = 0; fits && i < indices->rank; i++)
    fits = d->dims[axis + i] == indices->dims[i];
  if (!fits || d->rank + 1 - indices->rank > EGRAPH_MAX_RANK)
    return eg_typing_fail(node,
                          "the cotangent is %s; from dimension %" PRId64
                          " on it must have those of the indices %s",
                          eg_type_text_of(d).text, axis, eg_type_text_of(indices).text);
  if (size < 0 || (size == 0 && eg_type_elements(indices) != 0))
    return eg_typing_fail(node, "an axis of %" PRId64 " has no place for %s", size,
                          eg_type_text_of(indices).text);
  EG_TRY(eg_typing_entries(node, EG_A_GATHER_GRAD_WHOLE, size));
  eg_type type = {.dtype = d->dtype};
  for (uint32_t dim = 0; dim <= end; dim++) {
    uint32_t at = dim < axis ? dim : dim + indices->rank - 1;
    type.dims[type.rank++] = dim == axis ? size : d->dims[at];
  }
  *out = type;
  return EGRAPH_OK;
}

// The factors of the indices are sums. The result axis is no other loop: every part of it
// adds up only the entries that belong to it.
void eg_factors_gather_grad(const eg_typing *node, eg_factors *out) {
  const eg_type *d = &node->inputs[0], *indices = &node->inputs[1];
  uint32_t axis = (uint32_t)eg_attr_at(node->attrs, EG_A_GATHER_GRAD_AXIS)->i;
  for (uint32_t dim = 0; dim < d->rank; dim++) {
    bool summed = dim >= axis && dim < axis + indices->rank;
    eg_factor *factor =
        eg_factors_add(out, summed ? EG_FACTOR_SUM : EG_FACTOR_PARALLEL, d->dims[dim]);
    factor->input_dim[0] = (int8_t)dim;
    if (summed) factor->input_dim[1] = (int8_t)(dim - axis);
    if (!summed)
      factor->output_dim[0] = (int8_t)(dim < axis ? dim : dim + 1 - indices->rank);
  }
  eg_factor *entry = eg_factors_add(out, EG_FACTOR_PARALLEL, node->results->dims[axis]);
  entry->output_dim[0] = (int8_t)axis;
  entry->is_no_loop = true;
  out->linear = eg_operand_bits(1);
}

// ---- layer-normalization-grad, rms-normalization-grad ----------------------------

egraph_status eg_infer_layer_norm_grad(const eg_typing *node, eg_type *out) {
  const eg_type *d = &node->inputs[0], *x = &node->inputs[1], *scale = &node->inputs[2];
  uint32_t axis;
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(eg_typing_axis(node, EG_SHARED(node, LAYER_NORM_GRAD, AXIS)->i, x->rank, &axis));
  if (!eg_type_same_shape(d, x))
    return eg_typing_fail(node, "the cotangent is %s; it must be %s",
                          eg_type_text_of(d).text, eg_type_text_of(x).text);
  eg_type normalized = eg_type_of(x->dtype, x->rank - axis, x->dims + axis);
  if (!eg_type_same_shape(scale, &normalized))
    return eg_typing_fail(node,
                          "the scale is %s; normalizing %s from axis %u on needs %s",
                          eg_type_text_of(scale).text, eg_type_text_of(x).text, axis,
                          eg_type_text_of(&normalized).text);
  *out = eg_type_like(x);
  return EGRAPH_OK;
}

void eg_factors_layer_norm_grad(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  uint32_t axis = results->rank - node->inputs[2].rank;
  eg_factor *factors = eg_factors_add_dims(out, results, UINT32_MAX << axis);
  for (uint32_t dim = 0; dim < results->rank; dim++) {
    factors[dim].input_dim[1] = (int8_t)dim;
    if (dim >= axis) factors[dim].input_dim[2] = (int8_t)(dim - axis);
  }
  out->linear = eg_operand_bits(1);
}

// ---- updates ------------------------------------------------------------------------

enum { TENSORS = 4 };

egraph_status eg_infer_adam_update(const eg_typing *node, eg_type *out) {
  const eg_type *w = &node->inputs[0], scalar = {.dtype = EGRAPH_FLOAT64};
  int64_t decoupled = eg_attr_at(node->attrs, EG_A_ADAM_UPDATE_DECOUPLED)->i;
  if (decoupled != 0 && decoupled != 1)
    return eg_typing_fail(node, "attribute decoupled is %" PRId64 "; it must be 0 or 1",
                          decoupled);
  for (uint32_t i = 1; i < node->count; i++) {
    const eg_type *have = &node->inputs[i], *want = i < TENSORS ? w : &scalar;
    if (have->dtype != want->dtype || !eg_type_same_shape(have, want))
      return eg_typing_fail(node, "operand %u is %s; it must be %s", i,
                            eg_type_text_of(have).text, eg_type_text_of(want).text);
  }
  for (uint32_t i = 0; i < 3; i++)
    out[i] = eg_type_like(w);
  return EGRAPH_OK;
}

// All factors are parallel; the scalars are needed whole.
void eg_factors_adam_update(const eg_typing *node, eg_factors *out) {
  eg_factor *factors = eg_factors_add_dims(out, node->results, 0);
  for (uint32_t dim = 0; dim < node->results->rank; dim++) {
    for (uint32_t i = 1; i < TENSORS; i++)
      factors[dim].input_dim[i] = (int8_t)dim;
    for (uint32_t i = 1; i < node->result_count; i++)
      factors[dim].output_dim[i] = (int8_t)dim;
  }
}
