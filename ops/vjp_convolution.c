// Gradients of convolutions and pooling. The cotangent of a convolution's data is a
// transposed convolution with the same weight; the cotangent of its weight is a
// separate operator.
// SPDX-License-Identifier: Apache-2.0
#include "ops/vjp_internal.h"

enum { X, W, BIAS, Z };

static const eg_attr DIRECT = {.kind = EG_ATTR_SYMBOL, .i = EG_CONV_DIRECT};

/// Attributes that a convolution, a transposed convolution and the weight gradient share.
typedef struct window_attrs {
  eg_attr strides, pads, dilations, group;
} window_attrs;

static window_attrs window_attrs_of(const eg_vjp *v) {
  return (window_attrs){.strides = *EG_SHARED(v, CONV, STRIDES),
                        .pads = *EG_SHARED(v, CONV, PADS),
                        .dilations = *EG_SHARED(v, CONV, DILATIONS),
                        .group = *eg_attr_of_role(v->attrs, EG_AR_GROUPS)};
}

static eg_ref grad_weight(const eg_vjp *v, const window_attrs *attrs, eg_ref x,
                          eg_ref d) {
  const eg_type *w = eg_vjp_type(v, W);
  const eg_attr slots[] = {attrs->strides,
                           attrs->pads,
                           attrs->dilations,
                           attrs->group,
                           eg_ints_attr(w->dims + 2, w->rank - 2),
                           DIRECT};
  return eg_build_node(v->b, EG_OP_CONV_GRAD_WEIGHT, slots, (const eg_ref[]){x, d}, 2);
}

// Sums over all dimensions but the channels.
static eg_ref sum_channels(eg_builder *b, eg_ref d) {
  uint32_t all = eg_operand_bits(eg_build_type(b, d)->rank);
  return eg_build_reduce(b, EG_OP_REDUCE_SUM, d, all & ~UINT32_C(2), false);
}

// Emits the cotangent of the data of a convolution. Elements behind the last window are
// the output padding.
static eg_ref conv_data(const eg_vjp *v, const window_attrs *attrs, eg_ref d) {
  const eg_type *x = eg_vjp_type(v, X), *w = eg_vjp_type(v, W);
  const eg_type *y = eg_build_type(v->b, v->results[0]);
  int64_t extra[EGRAPH_MAX_RANK];
  const eg_windows lists = {.strides = attrs->strides.ints,
                            .pads = attrs->pads.ints,
                            .dilations = attrs->dilations.ints};
  for (uint32_t i = 0; i + 2 < x->rank; i++) {
    eg_window window = eg_window_of(&lists, w->dims[i + 2], i);
    int64_t reach;
    (void)eg_window_reach(&window, &reach); // inference checked it
    extra[i] = x->dims[i + 2] + window.pad_begin + window.pad_end - reach -
               (y->dims[i + 2] - 1) * window.stride;
  }
  const eg_attr slots[] = {attrs->strides,   attrs->pads,
                           attrs->dilations, eg_ints_attr(extra, x->rank - 2),
                           attrs->group,     DIRECT};
  return eg_build_node(v->b, EG_OP_CONV_TRANSPOSE, slots,
                       (const eg_ref[]){d, v->inputs[W]}, 2);
}

void eg_vjp_conv(const eg_vjp *v) {
  window_attrs attrs = window_attrs_of(v);
  eg_ref d = eg_vjp_before_activation(v);
  if (v->wanted[X]) v->out[X] = conv_data(v, &attrs, d);
  if (v->wanted[W]) v->out[W] = grad_weight(v, &attrs, v->inputs[X], d);
  if (eg_vjp_wants(v, BIAS)) v->out[BIAS] = sum_channels(v->b, d);
  if (eg_vjp_wants(v, Z)) v->out[Z] = d;
}

// Emits the cotangent of the data of a transposed convolution. With output padding, more
// windows may fit than the operand has elements.
static eg_ref conv_transpose_data(const eg_vjp *v, const window_attrs *attrs, eg_ref d) {
  eg_attr slots[16];
  const eg_type *x = eg_vjp_type(v, X);
  eg_attrs_defaults(EG_OP_CONV, slots);
  slots[EG_A_CONV_STRIDES - EG_A_BASE_CONV] = attrs->strides;
  slots[EG_A_CONV_PADS - EG_A_BASE_CONV] = attrs->pads;
  slots[EG_A_CONV_DILATIONS - EG_A_BASE_CONV] = attrs->dilations;
  slots[EG_A_CONV_GROUP - EG_A_BASE_CONV] = attrs->group;
  eg_ref wide =
      eg_build_node(v->b, EG_OP_CONV, slots, (const eg_ref[]){d, v->inputs[W]}, 2);
  if (eg_type_same_shape(eg_build_type(v->b, wide), x)) return wide;
  const int64_t starts[EGRAPH_MAX_RANK] = {0};
  return eg_build_slice(v->b, wide, starts, x->dims, NULL);
}

void eg_vjp_conv_transpose(const eg_vjp *v) {
  window_attrs attrs = window_attrs_of(v);
  eg_ref d = v->cotangents[0];
  if (v->wanted[X]) v->out[X] = conv_transpose_data(v, &attrs, d);
  if (v->wanted[W]) v->out[W] = grad_weight(v, &attrs, d, v->inputs[X]);
  if (eg_vjp_wants(v, BIAS)) v->out[BIAS] = sum_channels(v->b, d);
}

// ---- pooling --------------------------------------------------------------------

void eg_vjp_pool(const eg_vjp *v) {
  const eg_type *x = eg_vjp_type(v, X);
  if (v->attrs->op == EG_OP_MAX_POOL) {
    v->out[X] = eg_build_node(v->b, EG_OP_MAX_POOL_GRAD, v->attrs->slots,
                              (const eg_ref[]){v->inputs[X], v->cotangents[0]}, 2);
    return;
  }
  eg_attr slots[8];
  for (uint32_t i = 0; i < v->attrs->count; i++)
    slots[i] = v->attrs->slots[i];
  slots[v->attrs->count] = eg_ints_attr(x->dims + 2, x->rank - 2);
  v->out[X] = eg_build_node(v->b, EG_OP_AVERAGE_POOL_GRAD, slots, v->cotangents, 1);
}

void eg_vjp_global_pool(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, X);
  eg_ref d = v->cotangents[0];
  int64_t pixels = 1;
  for (uint32_t i = 2; i < x->rank; i++)
    pixels *= x->dims[i];
  if (v->attrs->op == EG_OP_GLOBAL_MAX_POOL) {
    uint32_t spatial = eg_operand_bits(x->rank) & ~UINT32_C(3);
    v->out[X] = eg_vjp_share(b, v->inputs[X], v->results[0], d, spatial);
    return;
  }
  eg_ref count = eg_build_number(b, (double)pixels);
  eg_ref share = EG_BUILD(b, EG_OP_DIV, d, count);
  v->out[X] = eg_build_expand(b, share, x);
}

// ---- columns ----------------------------------------------------------------------

// im2col and col2im are the gradients of each other: they share all slots except the
// image's shape, which is the first slot of col2im.

void eg_vjp_im2col(const eg_vjp *v) {
  const eg_type *x = eg_vjp_type(v, X);
  eg_attr slots[EG_A_COL2IM_DILATIONS - EG_A_BASE_COL2IM + 1];
  if (eg_type_elements(x) == 0) return; // col2im takes no image without pixels
  slots[0] = eg_ints_attr(x->dims + 2, x->rank - 2);
  for (uint32_t i = 0; i < v->attrs->count; i++)
    slots[i + 1] = v->attrs->slots[i];
  v->out[X] = eg_build_node(v->b, EG_OP_COL2IM, slots, v->cotangents, 1);
}

void eg_vjp_col2im(const eg_vjp *v) {
  v->out[X] = eg_build_node(v->b, EG_OP_IM2COL, v->attrs->slots + 1, v->cotangents, 1);
}
