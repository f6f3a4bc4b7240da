// What operators that ONNX does not have mean in standard operators: the bodies of our
// functions.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pcg/graph/attr_list.h"
#include "pcg/onnx/onnx_writer.h"

typedef egraph_status (*meaning_writer)(eg_onnx_body *body, const eg_onnx_item *item);

static eg_ints ints_of(const eg_onnx_item *item, eg_attr_slot slot) {
  return eg_attr_at(item->attrs, slot)->ints;
}

static int64_t int_of(const eg_onnx_item *item, eg_attr_slot slot) {
  return eg_attr_at(item->attrs, slot)->i;
}

static double float_of(const eg_onnx_item *item, eg_attr_slot slot) {
  return eg_attr_at(item->attrs, slot)->f;
}

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

static egraph_status mean_rsqrt(eg_onnx_body *body, const eg_onnx_item *item) {
  const char *root;
  EG_TRY(unary(body, "Sqrt", item->input_names[0], NULL, &root));
  return unary(body, "Reciprocal", root, item->result_names[0], NULL);
}

static egraph_status mean_square(eg_onnx_body *body, const eg_onnx_item *item) {
  return binary(body, "Mul", item->input_names[0], item->input_names[0],
                item->result_names[0], NULL);
}

static egraph_status put_silu(eg_onnx_body *body, const char *x, const char *result) {
  const char *gate;
  EG_TRY(unary(body, "Sigmoid", x, NULL, &gate));
  return binary(body, "Mul", x, gate, result, NULL);
}

static egraph_status mean_silu(eg_onnx_body *body, const eg_onnx_item *item) {
  return put_silu(body, item->input_names[0], item->result_names[0]);
}

static egraph_status mean_mish(eg_onnx_body *body, const eg_onnx_item *item) {
  const char *x = item->input_names[0], *curve;
  EG_TRY(unary(body, "Softplus", x, NULL, &curve));
  EG_TRY(unary(body, "Tanh", curve, NULL, &curve));
  return binary(body, "Mul", x, curve, item->result_names[0], NULL);
}

// x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
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
                  int_of(item, EG_A_GELU_APPROXIMATE) != 0, item->result_names[0]);
}

// A standard operator with one float attribute.
static egraph_status put_alpha(eg_onnx_body *body, const char *op, const char *x,
                               double alpha, const char *result) {
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_put(body, op, &x, 1, result, NULL, &node));
  return eg_onnx_put_float(body, node, "alpha", alpha);
}

// x clip(x/6 + 1/2, 0, 1): ONNX has it from operator set 14 on.
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

// act(x + z), where operand 3 is z.
static egraph_status finish(eg_onnx_body *body, const eg_onnx_item *item, const char *x,
                            eg_attr_slot act, eg_attr_slot alpha, eg_attr_slot beta) {
  if (item->input_count > 3)
    EG_TRY(binary(body, "Add", x, item->input_names[3], NULL, &x));
  return put_act(body, (eg_act)int_of(item, act), float_of(item, alpha),
                 float_of(item, beta), item->inputs[0].dtype, x, item->result_names[0]);
}

static egraph_status mean_conv(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_onnx_item plain = *item;
  const char *sum;
  EG_TRY(eg_onnx_made_up(body, &sum));
  plain.name = "";
  plain.input_count = item->input_count < 3 ? item->input_count : 3;
  plain.result_names = &sum;
  EG_TRY(eg_onnx_write_standard(body, &plain));
  return finish(body, item, sum, EG_A_CONV_ACT, EG_A_CONV_ACT_ALPHA, EG_A_CONV_ACT_BETA);
}

static egraph_status mean_conv_transpose(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_onnx_item plain = *item;
  plain.name = "";
  return eg_onnx_write_standard(body, &plain);
}

// Swaps the last two dimensions; a vector has nothing to swap.
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
  if (int_of(item, EG_A_MATMUL_TRANS_A) != 0)
    EG_TRY(swap_last(body, a, item->inputs[0].rank, &a));
  if (int_of(item, EG_A_MATMUL_TRANS_B) != 0)
    EG_TRY(swap_last(body, b, item->inputs[1].rank, &b));
  EG_TRY(binary(body, "MatMul", a, b, NULL, &sum));
  if (item->input_count > 2)
    EG_TRY(binary(body, "Add", sum, item->input_names[2], NULL, &sum));
  return finish(body, item, sum, EG_A_MATMUL_ACT, EG_A_MATMUL_ACT_ALPHA,
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

// x / sqrt(mean(x^2) + epsilon) over dimensions from `first` on.
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
  int64_t axis = int_of(item, EG_A_RMS_NORM_AXIS);
  const char *scaled;
  EG_TRY(scale_to_one(body, item->input_names[0], x->dtype,
                      (uint32_t)(axis < 0 ? axis + (int64_t)x->rank : axis), x->rank,
                      float_of(item, EG_A_RMS_NORM_EPSILON), &scaled));
  return binary(body, "Mul", scaled, item->input_names[1], item->result_names[0], NULL);
}

static egraph_status reshape(eg_onnx_body *body, const char *x, const int64_t *dims,
                             uint32_t rank, const char *result, const char **out) {
  const char *shape;
  EG_TRY(eg_onnx_constant_ints(body, dims, rank, &shape));
  return binary(body, "Reshape", x, shape, result, out);
}

// Rows [N, groups, rest] are centred and scaled, then every channel gets its scale and
// bias.
static egraph_status mean_group_norm(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *x = &item->inputs[0];
  int64_t per_channel[EGRAPH_MAX_RANK];
  int64_t groups = int_of(item, EG_A_GROUP_NORM_NUM_GROUPS);
  const int64_t rows[3] = {x->dims[0], groups, -1};
  const char *row, *mean, *scale, *bias;
  for (uint32_t i = 0; i < x->rank; i++)
    per_channel[i] = i == 1 ? x->dims[1] : 1;
  EG_TRY(reshape(body, item->input_names[0], rows, 3, NULL, &row));
  EG_TRY(reduce_mean(body, row, 2, 3, &mean));
  EG_TRY(binary(body, "Sub", row, mean, NULL, &row));
  EG_TRY(scale_to_one(body, row, x->dtype, 2, 3, float_of(item, EG_A_GROUP_NORM_EPSILON),
                      &row));
  EG_TRY(reshape(body, row, x->dims, x->rank, NULL, &row));
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
  eg_ints kernel = ints_of(item, EG_A_ENLARGE_KERNEL_SHAPE);
  int64_t pads[2 * EGRAPH_MAX_RANK] = {0};
  for (uint32_t i = 0; i < kernel.len; i++)
    pads[2 + i] = pads[w->rank + 2 + i] = (kernel.data[i] - w->dims[2 + i]) / 2;
  return put_pad(body, item->input_names[0], w->dtype, pads, w->rank,
                 item->result_names[0], NULL);
}

// Group g of the weight takes place g modulo count in its merged group; zeros stand in
// the other places.
static egraph_status place_group(eg_onnx_body *body, const eg_onnx_item *item, int64_t g,
                                 const char *rows, const char **out) {
  const eg_type *w = &item->inputs[0];
  int64_t count = int_of(item, EG_A_MERGE_GCONV_COUNT), place = g % count;
  int64_t pads[2 * EGRAPH_MAX_RANK] = {0};
  pads[1] = place * w->dims[1];
  pads[w->rank + 1] = (count - 1 - place) * w->dims[1];
  return put_pad(body, rows, w->dtype, pads, w->rank, NULL, out);
}

static egraph_status mean_merge_gconv(eg_onnx_body *body, const eg_onnx_item *item) {
  int64_t group = int_of(item, EG_A_MERGE_GCONV_GROUP), *sizes;
  eg_arena *arena = &body->writer->arena;
  const char **rows;
  Onnx__NodeProto *node;
  EG_TRY(eg_arena_alloc(arena, (size_t)group, sizeof *rows, &rows));
  EG_TRY(eg_arena_alloc(arena, (size_t)group, sizeof *sizes, &sizes));
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
  return put_eye(body, item->results[0].dtype, int_of(item, EG_A_EYE_N),
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

// The identity matrix of one group, in the middle of the kernel, once per group.
static egraph_status mean_conv_identity(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *result = &item->results[0];
  int64_t shape[EGRAPH_MAX_RANK], pads[2 * EGRAPH_MAX_RANK] = {0},
                                           repeats[EGRAPH_MAX_RANK];
  const char *eye, *kernel, *times;
  for (uint32_t i = 0; i < result->rank; i++) {
    shape[i] = i < 2 ? result->dims[1] : 1;
    repeats[i] = i == 0 ? int_of(item, EG_A_CONV_IDENTITY_GROUP) : 1;
    if (i >= 2) pads[i] = pads[result->rank + i] = (result->dims[i] - 1) / 2;
  }
  EG_TRY(put_eye(body, result->dtype, result->dims[1], NULL, &eye));
  EG_TRY(reshape(body, eye, shape, result->rank, NULL, &kernel));
  EG_TRY(put_pad(body, kernel, result->dtype, pads, result->rank, NULL, &kernel));
  EG_TRY(eg_onnx_constant_ints(body, repeats, result->rank, &times));
  return binary(body, "Tile", kernel, times, item->result_names[0], NULL);
}

// Reductions over no axis; ONNX takes an empty list for all axes.
static egraph_status mean_nothing(eg_onnx_body *body, const eg_onnx_item *item) {
  return unary(body, "Identity", item->input_names[0], item->result_names[0], NULL);
}

#define MEANING_LIST(X)                                                                  \
  X(RSQRT, mean_rsqrt)                                                                   \
  X(SQUARE, mean_square)                                                                 \
  X(SILU, mean_silu)                                                                     \
  X(GELU, mean_gelu)                                                                     \
  X(MISH, mean_mish)                                                                     \
  X(CONV, mean_conv)                                                                     \
  X(CONV_TRANSPOSE, mean_conv_transpose)                                                 \
  X(MATMUL, mean_matmul)                                                                 \
  X(RMS_NORM, mean_rms_norm)                                                             \
  X(GROUP_NORM, mean_group_norm)                                                         \
  X(ENLARGE, mean_enlarge)                                                               \
  X(MERGE_GCONV, mean_merge_gconv)                                                       \
  X(EYE, mean_eye)                                                                       \
  X(POOL_KERNEL, mean_pool_kernel)                                                       \
  X(CONV_IDENTITY, mean_conv_identity)                                                   \
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

// True when every fused part of a contraction is absent, nothing is transposed, and
// nothing is said about the algorithm, which standard operators could not keep.
static bool is_plain_contraction(const eg_onnx_item *item) {
  if (item->attrs->op == EG_OP_CONV_TRANSPOSE)
    return int_of(item, EG_A_CONV_TRANSPOSE_ALGORITHM) == EG_CONV_DIRECT;
  if (item->attrs->op == EG_OP_CONV)
    return int_of(item, EG_A_CONV_ACT) == EG_ACT_NONE && item->input_count <= 3 &&
           int_of(item, EG_A_CONV_ALGORITHM) == EG_CONV_DIRECT;
  return int_of(item, EG_A_MATMUL_ACT) == EG_ACT_NONE && item->input_count == 2 &&
         int_of(item, EG_A_MATMUL_TRANS_A) == 0 && int_of(item, EG_A_MATMUL_TRANS_B) == 0;
}

bool eg_onnx_needs_function(const eg_onnx_item *item) {
  eg_op op = (eg_op)item->attrs->op;
  if (meanings[op] == NULL) return false;
  if (op == EG_OP_CONV || op == EG_OP_CONV_TRANSPOSE || op == EG_OP_MATMUL)
    return !is_plain_contraction(item);
  if (meanings[op] == mean_nothing) return item->attrs->slots[0].ints.len == 0;
  return true;
}

egraph_status eg_onnx_write_meaning(eg_onnx_body *body, const eg_onnx_item *item) {
  meaning_writer writer = meanings[item->attrs->op];
  assert(writer != NULL);
  return writer(body, item);
}
