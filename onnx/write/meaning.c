// Writes operators that standard ONNX lacks: each node becomes a call of a function of
// the model. The call has all attributes, so that the reader makes the same node of it;
// the body of the function, one per distinct signature, computes it by standard
// operators.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "onnx/write/writer.h"
#include "ops/meaning.h"
#include "pcg/graph/attr_list.h"
#include "pcg/graph/node_spec.h"

typedef egraph_status (*meaning_writer)(eg_onnx_body *body, const eg_onnx_item *item);

static egraph_status unary(eg_onnx_body *body, const char *op, const char *x,
                           const char *result, const char **out) {
  return eg_onnx_put(body, op, &x, 1, result, out, NULL);
}

static egraph_status binary(eg_onnx_body *body, const char *op, const char *a,
                            const char *b, const char *result, const char **out) {
  return eg_onnx_put(body, op, (const char *const[]){a, b}, 2, result, out, NULL);
}

static egraph_status with_scalar(eg_onnx_body *body, const char *op, const char *a,
                                 egraph_dtype dtype, double value, const char *result,
                                 const char **out) {
  const char *scalar;
  EG_TRY(eg_onnx_constant_scalar(body, dtype, value, &scalar));
  return binary(body, op, a, scalar, result, out);
}

// ---- pointwise ----------------------------------------------------------------------

// Writes the element formula of the operator.
static egraph_status mean_formula(eg_onnx_body *body, const eg_onnx_item *item) {
  const char *made[EG_FORMULA_TERMS] = {NULL};
  egraph_dtype dtype = item->inputs[0].dtype;
  eg_formula f;
  (void)eg_formula_of((eg_op)item->attrs->op, &f);
  for (uint32_t i = 0; i < f.count; i++) {
    const eg_formula_term *t = &f.terms[i];
    const char *operands[EG_FORMULA_OPERANDS];
    const char *result = i + 1 == f.count ? item->result_names[0] : NULL;
    for (uint32_t k = 0; k < t->count; k++)
      operands[k] = made[t->kids[k]];
    assert(t->kind != EG_FORMULA_CALL || eg_op_info_of(t->op)->onnx[0] != '\0');
    if (t->kind == EG_FORMULA_OPERAND)
      made[i] = item->input_names[t->which];
    else if (t->kind == EG_FORMULA_CALL)
      EG_TRY(eg_onnx_put(body, eg_op_info_of(t->op)->onnx, operands, t->count, result,
                         &made[i], NULL));
    else
      EG_TRY(eg_onnx_constant_scalar(
          body, dtype,
          t->kind == EG_FORMULA_NUMBER ? t->number : item->attrs->slots[t->which].f,
          &made[i]));
  }
  return EGRAPH_OK;
}

static egraph_status put_silu(eg_onnx_body *body, const char *x, const char *result) {
  const char *gate;
  EG_TRY(unary(body, "Sigmoid", x, NULL, &gate));
  return binary(body, "Mul", x, gate, result, NULL);
}

// Emits x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
static egraph_status put_gelu(eg_onnx_body *body, const char *x, egraph_dtype dtype,
                              bool approximate, const char *result) {
  const char *inner, *curve, *half;
  if (approximate) {
    const char *cube;
    EG_TRY(binary(body, "Mul", x, x, NULL, &cube));
    EG_TRY(binary(body, "Mul", cube, x, NULL, &cube));
    EG_TRY(with_scalar(body, "Mul", cube, dtype, 0.044715, NULL, &cube));
    EG_TRY(binary(body, "Add", x, cube, NULL, &inner));
    EG_TRY(with_scalar(body, "Mul", inner, dtype, 0.7978845608028654, NULL, &inner));
  } else {
    EG_TRY(with_scalar(body, "Mul", x, dtype, 0.7071067811865476, NULL, &inner));
  }
  EG_TRY(unary(body, approximate ? "Tanh" : "Erf", inner, NULL, &curve));
  EG_TRY(with_scalar(body, "Add", curve, dtype, 1.0, NULL, &curve));
  EG_TRY(with_scalar(body, "Mul", x, dtype, 0.5, NULL, &half));
  return binary(body, "Mul", half, curve, result, NULL);
}

static egraph_status mean_gelu(eg_onnx_body *body, const eg_onnx_item *item) {
  return put_gelu(body, item->input_names[0], item->inputs[0].dtype,
                  eg_item_int(item, EG_A_GELU_APPROXIMATE) != 0, item->result_names[0]);
}

// Emits a standard operator with attribute alpha.
static egraph_status put_alpha(eg_onnx_body *body, const char *op, const char *x,
                               double alpha, const char *result) {
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_put(body, op, &x, 1, result, NULL, &node));
  return eg_onnx_put_float(body, node, "alpha", alpha);
}

// Emits x clip(x/6 + 1/2, 0, 1), or HardSwish, which ONNX has from operator set 14 on.
static egraph_status put_hardswish(eg_onnx_body *body, const char *x,
                                   const char *result) {
  const char *gate;
  Onnx__NodeProto *node;
  if (body->writer->opset >= 14) return unary(body, "HardSwish", x, result, NULL);
  EG_TRY(eg_onnx_put(body, "HardSigmoid", &x, 1, NULL, &gate, &node));
  EG_TRY(eg_onnx_put_float(body, node, "alpha", 1.0 / 6.0));
  EG_TRY(eg_onnx_put_float(body, node, "beta", 0.5));
  return binary(body, "Mul", x, gate, result, NULL);
}

static egraph_status put_act(eg_onnx_body *body, eg_act act, double alpha, double beta,
                             egraph_dtype dtype, const char *x, const char *result) {
  switch (act) {
  case EG_ACT_NONE: return unary(body, "Identity", x, result, NULL);
  case EG_ACT_RELU: return unary(body, "Relu", x, result, NULL);
  case EG_ACT_SIGMOID: return unary(body, "Sigmoid", x, result, NULL);
  case EG_ACT_TANH: return unary(body, "Tanh", x, result, NULL);
  case EG_ACT_GELU: return put_gelu(body, x, dtype, false, result);
  case EG_ACT_GELU_TANH: return put_gelu(body, x, dtype, true, result);
  case EG_ACT_SILU: return put_silu(body, x, result);
  case EG_ACT_HARDSWISH: return put_hardswish(body, x, result);
  case EG_ACT_CLIP: return eg_onnx_put_clip(body, x, dtype, alpha, beta, result, NULL);
  case EG_ACT_LEAKY_RELU: return put_alpha(body, "LeakyRelu", x, alpha, result);
  case EG_ACT_ELU: return put_alpha(body, "Elu", x, alpha, result);
  case EG_ACT_COUNT: break;
  }
  assert(false && "an activation of EG_ACT_LIST");
  return EGRAPH_E_INTERNAL;
}

// ---- contractions -------------------------------------------------------------------

// Emits act(x + z), where z is operand 3, if present.
static egraph_status finish_sum(eg_onnx_body *body, const eg_onnx_item *item,
                                const char *x, eg_attr_slot act, eg_attr_slot alpha,
                                eg_attr_slot beta) {
  if (item->input_count > 3)
    EG_TRY(binary(body, "Add", x, item->input_names[3], NULL, &x));
  return put_act(body, (eg_act)eg_item_int(item, act), eg_item_float(item, alpha),
                 eg_item_float(item, beta), item->inputs[0].dtype, x,
                 item->result_names[0]);
}

static egraph_status mean_conv(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_onnx_item plain = *item;
  const char *sum;
  EG_TRY(eg_onnx_made_up(body, &sum));
  plain.name = "";
  plain.input_count = item->input_count < 3 ? item->input_count : 3;
  plain.result_names = &sum;
  EG_TRY(eg_onnx_write_standard(body, &plain));
  return finish_sum(body, item, sum, EG_A_CONV_ACT, EG_A_CONV_ACT_ALPHA,
                    EG_A_CONV_ACT_BETA);
}

static egraph_status mean_conv_transpose(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_onnx_item plain = *item;
  plain.name = "";
  return eg_onnx_write_standard(body, &plain);
}

// Swaps the last two dimensions; a vector stays.
static egraph_status swap_last(eg_onnx_body *body, const char *x, uint32_t rank,
                               const char **out) {
  int64_t perm[EGRAPH_MAX_RANK];
  Onnx__NodeProto *node;
  *out = x;
  if (rank < 2) return EGRAPH_OK;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i;
  perm[rank - 1] = rank - 2;
  perm[rank - 2] = rank - 1;
  EG_TRY(eg_onnx_put(body, "Transpose", &x, 1, NULL, out, &node));
  return eg_onnx_put_ints(body, node, "perm", perm, rank);
}

static egraph_status mean_matmul(eg_onnx_body *body, const eg_onnx_item *item) {
  const char *a = item->input_names[0], *b = item->input_names[1], *sum;
  if (eg_item_int(item, EG_A_MATMUL_TRANS_A) != 0)
    EG_TRY(swap_last(body, a, item->inputs[0].rank, &a));
  if (eg_item_int(item, EG_A_MATMUL_TRANS_B) != 0)
    EG_TRY(swap_last(body, b, item->inputs[1].rank, &b));
  EG_TRY(binary(body, "MatMul", a, b, NULL, &sum));
  if (item->input_count > 2)
    EG_TRY(binary(body, "Add", sum, item->input_names[2], NULL, &sum));
  return finish_sum(body, item, sum, EG_A_MATMUL_ACT, EG_A_MATMUL_ACT_ALPHA,
                    EG_A_MATMUL_ACT_BETA);
}

// ---- normalizations -----------------------------------------------------------------

static egraph_status reduce_mean(eg_onnx_body *body, const char *x, uint32_t first,
                                 uint32_t rank, const char **out) {
  int64_t axes[EGRAPH_MAX_RANK];
  Onnx__NodeProto *node;
  for (uint32_t i = first; i < rank; i++)
    axes[i - first] = i;
  EG_TRY(eg_onnx_put(body, "ReduceMean", &x, 1, NULL, out, &node));
  EG_TRY(eg_onnx_put_list(body, node, "axes", 18, (eg_ints){axes, rank - first}));
  return eg_onnx_put_int(body, node, "keepdims", 1);
}

// Emits x / sqrt(mean(x^2) + epsilon), with the mean over dimensions from `first` on.
static egraph_status scale_to_one(eg_onnx_body *body, const char *x, egraph_dtype dtype,
                                  uint32_t first, uint32_t rank, double epsilon,
                                  const char **out) {
  const char *square, *mean, *root;
  EG_TRY(binary(body, "Mul", x, x, NULL, &square));
  EG_TRY(reduce_mean(body, square, first, rank, &mean));
  EG_TRY(with_scalar(body, "Add", mean, dtype, epsilon, NULL, &mean));
  EG_TRY(unary(body, "Sqrt", mean, NULL, &root));
  return binary(body, "Div", x, root, NULL, out);
}

static egraph_status mean_rms_norm(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *x = &item->inputs[0];
  int64_t axis = eg_item_int(item, EG_A_RMS_NORM_AXIS);
  const char *scaled;
  EG_TRY(scale_to_one(body, item->input_names[0], x->dtype,
                      (uint32_t)(axis < 0 ? axis + (int64_t)x->rank : axis), x->rank,
                      eg_item_float(item, EG_A_RMS_NORM_EPSILON), &scaled));
  return binary(body, "Mul", scaled, item->input_names[1], item->result_names[0], NULL);
}

static egraph_status reshape(eg_onnx_body *body, const char *x, const int64_t *dims,
                             uint32_t rank, const char *result, const char **out) {
  const char *shape;
  EG_TRY(eg_onnx_constant_ints(body, dims, rank, &shape));
  return binary(body, "Reshape", x, shape, result, out);
}

// Centres and scales rows [N, groups, rest], then applies scale and bias per channel.
static egraph_status mean_group_norm(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *x = &item->inputs[0];
  int64_t per_channel[EGRAPH_MAX_RANK];
  int64_t groups = eg_item_int(item, EG_A_GROUP_NORM_NUM_GROUPS);
  const int64_t rows[3] = {0, groups, -1}; // 0: the dimension of the operand
  const char *row, *mean, *scale, *bias, *shape;
  for (uint32_t i = 0; i < x->rank; i++)
    per_channel[i] = i == 1 ? x->dims[1] : 1;
  EG_TRY(reshape(body, item->input_names[0], rows, 3, NULL, &row));
  EG_TRY(reduce_mean(body, row, 2, 3, &mean));
  EG_TRY(binary(body, "Sub", row, mean, NULL, &row));
  EG_TRY(scale_to_one(body, row, x->dtype, 2, 3,
                      eg_item_float(item, EG_A_GROUP_NORM_EPSILON), &row));
  EG_TRY(eg_onnx_put(body, "Shape", &item->input_names[0], 1, NULL, &shape, NULL));
  EG_TRY(binary(body, "Reshape", row, shape, NULL, &row));
  EG_TRY(reshape(body, item->input_names[1], per_channel, x->rank, NULL, &scale));
  EG_TRY(reshape(body, item->input_names[2], per_channel, x->rank, NULL, &bias));
  EG_TRY(binary(body, "Mul", row, scale, NULL, &row));
  return binary(body, "Add", row, bias, item->result_names[0], NULL);
}

// ---- weights ------------------------------------------------------------------------

static egraph_status put_pad(eg_onnx_body *body, const char *x, egraph_dtype dtype,
                             const int64_t *pads, uint32_t rank, const char *result,
                             const char **out) {
  return eg_onnx_put_pad(body, x, dtype, (eg_ints){pads, 2 * rank}, 0.0, "constant",
                         result, out, NULL);
}

static egraph_status mean_enlarge(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *w = &item->inputs[0];
  eg_ints kernel = eg_item_ints(item, EG_A_ENLARGE_KERNEL_SHAPE);
  int64_t pads[2 * EGRAPH_MAX_RANK] = {0};
  for (uint32_t i = 0; i < kernel.len; i++)
    pads[2 + i] = pads[w->rank + 2 + i] = (kernel.data[i] - w->dims[2 + i]) / 2;
  return put_pad(body, item->input_names[0], w->dtype, pads, w->rank,
                 item->result_names[0], NULL);
}

// Pads the weight of group g of a convolution with zeros along the input channels:
// `count` groups become one group, in which the channels of g come at position g
// modulo `count`.
static egraph_status place_group(eg_onnx_body *body, const eg_onnx_item *item, int64_t g,
                                 const char *rows, const char **out) {
  const eg_type *w = &item->inputs[0];
  int64_t count = eg_item_int(item, EG_A_MERGE_GCONV_COUNT), place = g % count;
  int64_t pads[2 * EGRAPH_MAX_RANK] = {0};
  pads[1] = place * w->dims[1];
  pads[w->rank + 1] = (count - 1 - place) * w->dims[1];
  return put_pad(body, rows, w->dtype, pads, w->rank, NULL, out);
}

static egraph_status mean_merge_gconv(eg_onnx_body *body, const eg_onnx_item *item) {
  int64_t group = eg_item_int(item, EG_A_MERGE_GCONV_GROUP), *sizes;
  eg_arena *arena = &body->writer->arena;
  const char **rows;
  Onnx__NodeProto *node;
  EG_NEW(arena, (size_t)group, rows);
  EG_NEW(arena, (size_t)group, sizes);
  for (int64_t g = 0; g < group; g++) {
    EG_TRY(eg_onnx_made_up(body, &rows[g]));
    sizes[g] = item->inputs[0].dims[0] / group;
  }
  EG_TRY(eg_onnx_put_node(body, "Split", &item->input_names[0], 1, rows, (uint32_t)group,
                          &node));
  EG_TRY(eg_onnx_put_list(body, node, "split", 13, (eg_ints){sizes, (uint32_t)group}));
  EG_TRY(eg_onnx_put_int(body, node, "axis", 0));
  for (int64_t g = 0; g < group; g++)
    EG_TRY(place_group(body, item, g, rows[g], &rows[g]));
  EG_TRY(eg_onnx_put(body, "Concat", rows, (uint32_t)group, item->result_names[0], NULL,
                     &node));
  return eg_onnx_put_int(body, node, "axis", 0);
}

static egraph_status put_fill(eg_onnx_body *body, egraph_dtype dtype, const int64_t *dims,
                              uint32_t rank, double value, const char *result,
                              const char **out) {
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_FILL);
  eg_attr_list_set_dtype(&list, EG_A_FILL_DTYPE, dtype);
  eg_attr_list_set_ints(&list, EG_A_FILL_SHAPE, dims, rank);
  eg_attr_list_set_float(&list, EG_A_FILL_VALUE, value);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  if (result == NULL) EG_TRY(eg_onnx_made_up(body, &result));
  if (out != NULL) *out = result;
  eg_onnx_item fill = {
      .name = "", .attrs = &attrs, .result_count = 1, .result_names = &result};
  return eg_onnx_write_standard(body, &fill);
}

static egraph_status put_eye(eg_onnx_body *body, egraph_dtype dtype, int64_t n,
                             const char *result, const char **out) {
  const char *zeros;
  Onnx__NodeProto *node;
  EG_TRY(put_fill(body, dtype, (const int64_t[]){n, n}, 2, 0.0, NULL, &zeros));
  EG_TRY(eg_onnx_put(body, "EyeLike", &zeros, 1, result, out, &node));
  return eg_onnx_put_int(body, node, "dtype", eg_dtype_onnx(dtype));
}

static egraph_status mean_eye(eg_onnx_body *body, const eg_onnx_item *item) {
  return put_eye(body, item->results[0].dtype, eg_item_int(item, EG_A_EYE_N),
                 item->result_names[0], NULL);
}

static egraph_status mean_pool_kernel(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *result = &item->results[0];
  double window = 1.0;
  for (uint32_t i = 2; i < result->rank; i++)
    window *= (double)result->dims[i];
  return put_fill(body, result->dtype, result->dims, result->rank, 1.0 / window,
                  item->result_names[0], NULL);
}

// Emits the identity matrix of one group, in the middle of the kernel, once per group.
static egraph_status mean_conv_identity(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *result = &item->results[0];
  int64_t shape[EGRAPH_MAX_RANK], pads[2 * EGRAPH_MAX_RANK] = {0},
                                           repeats[EGRAPH_MAX_RANK];
  const char *eye, *kernel, *times;
  for (uint32_t i = 0; i < result->rank; i++) {
    shape[i] = i < 2 ? result->dims[1] : 1;
    repeats[i] = i == 0 ? eg_item_int(item, EG_A_CONV_IDENTITY_GROUP) : 1;
    if (i >= 2) pads[i] = pads[result->rank + i] = (result->dims[i] - 1) / 2;
  }
  EG_TRY(put_eye(body, result->dtype, result->dims[1], NULL, &eye));
  EG_TRY(reshape(body, eye, shape, result->rank, NULL, &kernel));
  EG_TRY(put_pad(body, kernel, result->dtype, pads, result->rank, NULL, &kernel));
  EG_TRY(eg_onnx_constant_ints(body, repeats, result->rank, &times));
  return binary(body, "Tile", kernel, times, item->result_names[0], NULL);
}

// ---- columns ------------------------------------------------------------------------

// Gathers the windows along dimension `axis`, of `size` elements, into one list: for
// each tap of the kernel, the elements that it reads at all positions of the window.
// *places is the number of positions.
static egraph_status gather_windows(eg_onnx_body *body, const char **inout, uint32_t axis,
                                    int64_t size, const eg_windows *w, int64_t *places) {
  uint32_t i = axis - 2;
  int64_t kernel = w->kernel.data[i], dilation = w->dilations.data[i], *list;
  const char *indices;
  Onnx__NodeProto *node;
  *places = (size - (kernel - 1) * dilation - 1) / w->strides.data[i] + 1;
  EG_NEW(&body->writer->arena, (size_t)(kernel * *places), list);
  for (int64_t at = 0; at < kernel * *places; at++)
    list[at] = at / *places * dilation + at % *places * w->strides.data[i];
  EG_TRY(eg_onnx_constant_ints(body, list, (uint32_t)(kernel * *places), &indices));
  EG_TRY(eg_onnx_put(body, "Gather", (const char *const[]){*inout, indices}, 2, NULL,
                     inout, &node));
  return eg_onnx_put_int(body, node, "axis", axis);
}

// Emits im2col as gathers, then moves the taps of all dimensions before the positions. A
// convolution with an identity kernel would multiply infinities by zeros.
static egraph_status mean_im2col(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *x = &item->inputs[0], *y = &item->results[0];
  int64_t pads[2 * EGRAPH_MAX_RANK] = {0}, perm[2 * EGRAPH_MAX_RANK] = {0, 1};
  int64_t dims[2 * EGRAPH_MAX_RANK] = {x->dims[0], x->dims[1]};
  const char *columns = item->input_names[0], *rows;
  eg_windows w;
  Onnx__NodeProto *node;
  (void)eg_op_windows(item->attrs, NULL, 0, &w);
  uint32_t spatial = w.kernel.len;
  for (uint32_t i = 0; i < spatial; i++) {
    pads[2 + i] = w.pads.data[i];
    pads[x->rank + 2 + i] = w.pads.data[spatial + i];
  }
  EG_TRY(put_pad(body, columns, x->dtype, pads, x->rank, NULL, &columns));
  for (uint32_t i = 0; i < spatial; i++) {
    uint32_t tap = 2 + 2 * i, place = tap + 1, axis = 2 + i;
    int64_t size = x->dims[axis] + pads[axis] + pads[x->rank + axis];
    EG_TRY(gather_windows(body, &columns, axis, size, &w, &dims[place]));
    dims[tap] = w.kernel.data[i];
    perm[axis] = tap;
    perm[axis + spatial] = place;
  }
  EG_TRY(reshape(body, columns, dims, 2 + 2 * spatial, NULL, &rows));
  EG_TRY(eg_onnx_put(body, "Transpose", &rows, 1, NULL, &columns, &node));
  EG_TRY(eg_onnx_put_ints(body, node, "perm", perm, 2 + 2 * spatial));
  return reshape(body, columns, y->dims, y->rank, item->result_names[0], NULL);
}

// Emits a reduction over no axis as Identity: in ONNX an empty list means all axes.
static egraph_status mean_nothing(eg_onnx_body *body, const eg_onnx_item *item) {
  return unary(body, "Identity", item->input_names[0], item->result_names[0], NULL);
}

#define MEANING_LIST(X)                                                                  \
  X(GELU, mean_gelu)                                                                     \
  X(MISH, mean_formula)                                                                  \
  X(CONV, mean_conv)                                                                     \
  X(CONV_TRANSPOSE, mean_conv_transpose)                                                 \
  X(MATMUL, mean_matmul)                                                                 \
  X(ATTENTION, eg_onnx_mean_attention)                                                   \
  X(ROPE, eg_onnx_mean_rope)                                                             \
  X(RMS_NORM, mean_rms_norm)                                                             \
  X(GROUP_NORM, mean_group_norm)                                                         \
  X(ENLARGE, mean_enlarge)                                                               \
  X(MERGE_GCONV, mean_merge_gconv)                                                       \
  X(EYE, mean_eye)                                                                       \
  X(POOL_KERNEL, mean_pool_kernel)                                                       \
  X(CONV_IDENTITY, mean_conv_identity)                                                   \
  X(IM2COL, mean_im2col)                                                                 \
  X(REDUCE_SUM, mean_nothing)                                                            \
  X(REDUCE_MEAN, mean_nothing)                                                           \
  X(REDUCE_MAX, mean_nothing)                                                            \
  X(REDUCE_MIN, mean_nothing)                                                            \
  X(REDUCE_PROD, mean_nothing)

static const meaning_writer meanings[EG_OP_COUNT] = {
#define MEANING_ENTRY(ID, WRITER) [EG_OP_##ID] = WRITER,
    MEANING_LIST(MEANING_ENTRY)
#undef MEANING_ENTRY
};

// An operator that is newer than this set is written as its formula in older sets,
// because few runtimes load new sets.
enum { ESTABLISHED_OPSET = 17 };

/// Returns the function that writes the meaning of an operator; NULL: the set has the
/// operator.
static meaning_writer meaning_of(eg_op op, int64_t opset) {
  const eg_op_info *info = eg_op_info_of(op);
  if (meanings[op] != NULL || info->formula == NULL) return meanings[op];
  bool is_standard =
      eg_onnx_has(info->onnx, ESTABLISHED_OPSET) || eg_onnx_has(info->onnx, opset);
  return is_standard ? NULL : mean_formula;
}

// True when a contraction has no fused part, no transposition and the direct algorithm:
// other contractions have no standard operator.
static bool is_plain_contraction(const eg_onnx_item *item) {
  if (item->attrs->op == EG_OP_CONV_TRANSPOSE)
    return eg_item_int(item, EG_A_CONV_TRANSPOSE_ALGORITHM) == EG_CONV_DIRECT;
  if (item->attrs->op == EG_OP_CONV)
    return eg_item_int(item, EG_A_CONV_ACT) == EG_ACT_NONE && item->input_count <= 3 &&
           eg_item_int(item, EG_A_CONV_ALGORITHM) == EG_CONV_DIRECT;
  return eg_item_int(item, EG_A_MATMUL_ACT) == EG_ACT_NONE && item->input_count == 2 &&
         eg_item_int(item, EG_A_MATMUL_TRANS_A) == 0 &&
         eg_item_int(item, EG_A_MATMUL_TRANS_B) == 0;
}

bool eg_onnx_needs_function(const eg_onnx_item *item, int64_t opset) {
  eg_op op = (eg_op)item->attrs->op;
  meaning_writer writer = meaning_of(op, opset);
  if (writer == NULL) return false;
  if (op == EG_OP_CONV || op == EG_OP_CONV_TRANSPOSE || op == EG_OP_MATMUL)
    return !is_plain_contraction(item);
  if (op == EG_OP_ROPE) return !eg_onnx_is_rotary(item, opset);
  if (op == EG_OP_ATTENTION) return !eg_onnx_is_attention(item, opset);
  if (writer == mean_nothing) return item->attrs->slots[0].ints.len == 0;
  return true;
}

egraph_status eg_onnx_write_meaning(eg_onnx_body *body, const eg_onnx_item *item) {
  meaning_writer writer = meaning_of((eg_op)item->attrs->op, body->writer->opset);
  assert(writer != NULL);
  return writer(body, item);
}

// ---- calls --------------------------------------------------------------------------

// Prints the signature of a function: attributes and operand types, which determine
// the body.
static egraph_status print_signature(const eg_onnx_item *item, eg_text *out) {
  eg_node_spec spec = {.attrs = item->attrs,
                       .inputs = item->inputs,
                       .input_count = item->input_count,
                       .results = item->results,
                       .result_count = item->result_count};
  return eg_node_spec_print(out, &spec);
}

static egraph_status formal_names(eg_onnx_writer *w, const char *prefix, uint32_t count,
                                  const char ***out) {
  enum { ROOM = 16 };
  EG_NEW(&w->arena, count, *out);
  for (uint32_t i = 0; i < count; i++) {
    char *name;
    EG_NEW(&w->arena, ROOM, name);
    (void)snprintf(name, ROOM, "%s%" PRIu32, prefix, i);
    (*out)[i] = name;
  }
  return EGRAPH_OK;
}

static egraph_status fill_function(eg_onnx_writer *w, const eg_onnx_item *item,
                                   eg_onnx_body *body, Onnx__FunctionProto *function) {
  const eg_op_info *op = eg_op_info_of((eg_op)item->attrs->op);
  const char **inputs, **outputs;
  EG_TRY(formal_names(w, "x", item->input_count, &inputs));
  EG_TRY(formal_names(w, "y", item->result_count, &outputs));
  eg_onnx_item formal = *item;
  formal.name = "";
  formal.input_names = inputs;
  formal.result_names = outputs;
  EG_TRY(eg_onnx_write_meaning(body, &formal));
  EG_TRY(eg_onnx_check_nodes(body, 0, &formal));
  EG_TRY(eg_onnx_take_nodes(body, &function->node, &function->n_node));
  function->n_input = item->input_count;
  function->input = (char **)inputs;
  function->n_output = item->result_count;
  function->output = (char **)outputs;
  EG_NEW(&w->arena, op->attr_count, function->attribute);
  function->n_attribute = op->attr_count;
  for (uint16_t i = 0; i < op->attr_count; i++)
    function->attribute[i] = eg_onnx_borrowed(op->attrs[i].name);
  return EGRAPH_OK;
}

static bool is_function_name(const eg_onnx_writer *w, const char *name) {
  for (size_t i = 0; i < w->functions.len; i++)
    if (strcmp(w->functions.data[i]->name, name) == 0) return true;
  return false;
}

// Names functions "conv.1", "conv.2", ... in the order of first use, from 1 in
// every model.
static egraph_status name_function(eg_onnx_writer *w, const char *op, const char **out) {
  size_t room = strlen(op) + 16, length = strlen(op);
  uint32_t number = 0;
  for (size_t i = 0; i < w->functions.len; i++)
    number += strncmp(w->functions.data[i]->name, op, length) == 0 &&
              w->functions.data[i]->name[length] == '.';
  char *name;
  EG_NEW(&w->arena, room, name);
  do
    (void)snprintf(name, room, "%s.%" PRIu32, op, ++number);
  while (is_function_name(w, name));
  *out = name;
  return EGRAPH_OK;
}

static egraph_status add_function(eg_onnx_writer *w, const eg_onnx_item *item,
                                  Onnx__FunctionProto **out) {
  static char domain[] = EG_ONNX_DOMAIN;
  Onnx__FunctionProto *function;
  const char *name;
  EG_TRY(name_function(w, eg_op_info_of((eg_op)item->attrs->op)->name, &name));
  EG_TRY(eg_onnx_new(&w->arena, &onnx__function_proto__descriptor, &function));
  function->name = eg_onnx_borrowed(name);
  function->domain = domain;
  function->n_opset_import = 1;
  EG_NEW(&w->arena, 1, function->opset_import);
  function->opset_import[0] = w->opsets.data[0]; // the standard set comes first
  EG_LOCAL_WITH(eg_onnx_body, body, w->alloc, .writer = w, .is_function = true,
                .has_constant_nodes = true, .stem = "t");
  EG_TRY(fill_function(w, item, &body, function));
  *out = function;
  return eg_onnx_functions_push(&w->functions, function);
}

// ---- functions that are read --------------------------------------------------------

static bool same_names(char *const *a, size_t a_count, char *const *b, size_t b_count) {
  for (size_t i = 0; a_count == b_count && i < a_count; i++)
    if (strcmp(a[i], b[i]) != 0) return false;
  return a_count == b_count;
}

static egraph_status compare_bodies(egraph_allocator alloc, const Onnx__FunctionProto *a,
                                    const Onnx__FunctionProto *b, bool *out) {
  Onnx__GraphProto graphs[2] = {ONNX__GRAPH_PROTO__INIT, ONNX__GRAPH_PROTO__INIT};
  *out = false;
  if (!same_names(a->input, a->n_input, b->input, b->n_input) ||
      !same_names(a->output, a->n_output, b->output, b->n_output))
    return EGRAPH_OK;
  graphs[0].node = a->node, graphs[0].n_node = a->n_node;
  graphs[1].node = b->node, graphs[1].n_node = b->n_node;
  return eg_onnx_is_same_message(alloc, &graphs[0].base, &graphs[1].base, out);
}

egraph_status eg_onnx_is_own_body(egraph_allocator alloc, const eg_onnx_item *item,
                                  const Onnx__FunctionProto *function, bool *out) {
  Onnx__FunctionProto own = ONNX__FUNCTION_PROTO__INIT;
  int64_t opset =
      eg_onnx_standard_opset(function->opset_import, function->n_opset_import);
  *out = false;
  if (opset < 1 || opset > eg_onnx_newest_opset() || !eg_onnx_needs_function(item, opset))
    return EGRAPH_OK;
  EG_OWNED(eg_onnx_writer, w);
  eg_onnx_writer_init(&w, alloc, NULL, opset);
  EG_LOCAL_WITH(eg_onnx_body, body, alloc, .writer = &w, .is_function = true,
                .has_constant_nodes = true, .stem = "t");
  egraph_status status = fill_function(&w, item, &body, &own);
  if (status == EGRAPH_OK) status = compare_bodies(alloc, &own, function, out);
  return w.is_faulty ? EGRAPH_OK : status; // faulty: we would not write it in this set
}

// ---- calls --------------------------------------------------------------------------

static egraph_status find_function(eg_onnx_writer *w, const eg_onnx_item *item,
                                   const char *signature, Onnx__FunctionProto **out) {
  uint32_t index;
  if (eg_strmap_find(&w->signatures, signature, &index)) {
    *out = w->functions.data[index];
    return EGRAPH_OK;
  }
  EG_TRY(add_function(w, item, out));
  return eg_strmap_put(&w->signatures, signature, (uint32_t)w->functions.len - 1);
}

// Writes a number as text: an ONNX float has 32 bits, our attributes have 64.
static egraph_status put_own_float(eg_onnx_body *body, Onnx__NodeProto *node,
                                   const char *name, double value) {
  EG_LOCAL(eg_text, text, body->writer->alloc);
  const char *copy = NULL;
  EG_TRY(eg_text_double(&text, value));
  EG_TRY(eg_arena_string(&body->writer->arena, eg_text_of(&text), text.chars.len, &copy));
  return eg_onnx_put_string(body, node, name, copy);
}

static egraph_status write_call(eg_onnx_body *body, const eg_onnx_item *item,
                                const char *signature) {
  const eg_op_info *op = eg_op_info_of((eg_op)item->attrs->op);
  Onnx__FunctionProto *function;
  Onnx__NodeProto *node;
  EG_TRY(find_function(body->writer, item, signature, &function));
  EG_TRY(eg_onnx_put_item(body, function->name, item->input_names, item->input_count,
                          item, &node));
  node->domain = function->domain;
  for (uint16_t i = 0; i < op->attr_count; i++) {
    const eg_attr *slot = &item->attrs->slots[i];
    EG_TRY(slot->kind == EG_ATTR_FLOAT
               ? put_own_float(body, node, op->attrs[i].name, slot->f)
               : eg_onnx_put_slot(body, node, &op->attrs[i], slot));
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_write_item(eg_onnx_body *body, const eg_onnx_item *item) {
  if (!eg_onnx_needs_function(item, body->writer->opset))
    return eg_onnx_write_standard(body, item);
  EG_LOCAL(eg_text, signature, body->writer->alloc);
  EG_TRY(print_signature(item, &signature));
  return write_call(body, item, eg_text_of(&signature));
}
