// Gradients of reductions, running sums, the largest k, and normalizations.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "ops/vjp_internal.h"

// Reshapes a reduced tensor to have size 1 in place of the reduced dimensions of x.
static eg_ref with_ones(eg_builder *b, eg_ref reduced, const eg_type *x, uint32_t dims) {
  assert(x->rank <= EGRAPH_MAX_RANK);
  eg_type type = *x;
  for (uint32_t i = 0; i < x->rank; i++)
    if ((dims >> i & 1) != 0) type.dims[i] = 1;
  return eg_build_reshape(b, reduced, type.rank, type.dims);
}

eg_ref eg_vjp_share(eg_builder *b, eg_ref x, eg_ref y, eg_ref d, uint32_t dims) {
  eg_ref equal = EG_BUILD(b, EG_OP_EQUAL, x, y);
  eg_ref e = eg_build_cast(b, equal, b->dtype);
  eg_ref n = eg_build_reduce(b, EG_OP_REDUCE_SUM, e, dims, true);
  return EG_FORMULA(b, "(mul e (div d n))", "edn", e, d, n);
}

void eg_vjp_reduce(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, 0);
  uint32_t dims = eg_axis_bits(x, EG_SHARED(v, REDUCE_SUM, AXES)->ints);
  int64_t count = 1;
  for (uint32_t i = 0; i < x->rank; i++)
    if ((dims >> i & 1) != 0) count *= x->dims[i];
  eg_op op = (eg_op)v->attrs->op;
  eg_ref d = with_ones(b, v->cotangents[0], x, dims);
  if (op == EG_OP_REDUCE_SUM) {
    v->out[0] = eg_build_expand(b, d, x);
    return;
  }
  if (op == EG_OP_REDUCE_MEAN) {
    int64_t whole = eg_attr_at(v->attrs, EG_A_REDUCE_MEAN_COUNT)->i;
    eg_ref n = eg_build_number(b, (double)(whole != 0 ? whole : count));
    eg_ref share = EG_BUILD(b, EG_OP_DIV, d, n);
    v->out[0] = eg_build_expand(b, share, x);
    return;
  }
  eg_ref y = with_ones(b, v->results[0], x, dims);
  if (op == EG_OP_REDUCE_PROD) // NaN where an element is 0
    v->out[0] = EG_FORMULA(b, "(div (mul d y) x)", "dyx", d, y, v->inputs[0]);
  else
    v->out[0] = eg_vjp_share(b, v->inputs[0], y, d, dims);
}

// Emits the cotangent of a running sum: element i is in all sums from i on, so it is a
// running sum in the other direction. Refuses running products.
void eg_vjp_cum_sum(const eg_vjp *v) {
  enum { AXIS, EXCLUSIVE, REVERSE };
  if (v->attrs->op == EG_OP_CUM_PROD) {
    eg_vjp_refuse(v, NULL);
    return;
  }
  const eg_attr slots[] = {v->attrs->slots[AXIS], v->attrs->slots[EXCLUSIVE],
                           eg_int_attr(v->attrs->slots[REVERSE].i == 0)};
  v->out[0] = eg_build_node(v->b, EG_OP_CUM_SUM, slots, &v->cotangents[0], 1);
}

// Emits the cotangent of top-k: compares the indices of the k values with all positions
// of the axis, [k, n], to put each cotangent at its position.
void eg_vjp_top_k(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, 0), *y = eg_build_type(b, v->results[0]);
  uint32_t axis = eg_axis_of(x, eg_attr_at(v->attrs, EG_A_TOP_K_AXIS)->i);
  if (x->rank == EGRAPH_MAX_RANK) {
    eg_vjp_refuse(v, "for tensors of the highest rank; reshape the operand first");
    return;
  }
  int64_t dims[EGRAPH_MAX_RANK], line[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i <= x->rank; i++) {
    dims[i] = i <= axis ? y->dims[i] : i == axis + 1 ? 1 : y->dims[i - 1];
    line[i] = i == axis + 1 ? x->dims[axis] : 1;
  }
  eg_ref range = eg_build_range(b, x->dims[axis]);
  eg_ref positions = eg_build_reshape(b, range, x->rank + 1, line);
  eg_ref places = eg_build_reshape(b, v->results[1], x->rank + 1, dims);
  eg_ref d = eg_build_reshape(b, v->cotangents[0], x->rank + 1, dims);
  eg_ref spread = EG_FORMULA(b, "(where (equal p q) d 0)", "pqd", places, positions, d);
  v->out[0] = eg_build_reduce(b, EG_OP_REDUCE_SUM, spread, UINT32_C(1) << axis, false);
}

// ---- normalizations -------------------------------------------------------------------

// Gradients of normalizations. The cotangent of the scale is the sum of d n, where n =
// (x - mean) r are the normalized rows; n is emitted as the normalization with a scale
// of ones.

enum { X, SCALE, BIAS, MEAN, VARIANCE };

// Emits the normalized rows of x, without scale and bias; `slots` are the attributes
// of layer-normalization.
static eg_ref normalize(eg_builder *b, eg_op op, const eg_attr *slots, eg_ref x,
                        const eg_type *scale) {
  eg_ref ones = eg_build_fill(b, scale, 1);
  return eg_build_node(b, op, slots, (const eg_ref[]){x, ones}, 2);
}

void eg_vjp_layer_norm(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *scale = eg_vjp_type(v, SCALE);
  const eg_attr *slots = v->attrs->slots;
  eg_op op = (eg_op)v->attrs->op;
  eg_op grad = op == EG_OP_LAYER_NORM ? EG_OP_LAYER_NORM_GRAD : EG_OP_RMS_NORM_GRAD;
  eg_ref d = v->cotangents[0];
  if (v->wanted[X])
    v->out[X] = eg_build_node(b, grad, slots,
                              (const eg_ref[]){d, v->inputs[X], v->inputs[SCALE]}, 3);
  if (v->wanted[SCALE]) {
    eg_ref n = normalize(b, op, slots, v->inputs[X], scale);
    eg_ref product = EG_BUILD(b, EG_OP_MUL, d, n);
    v->out[SCALE] = eg_build_sum_to(b, product, scale);
  }
  if (eg_vjp_wants(v, BIAS)) v->out[BIAS] = eg_build_sum_to(b, d, scale);
}

// ---- per channel ----------------------------------------------------------------

// Reshapes a vector of channels to [C, 1, ...], which broadcasts to x.
static eg_ref per_channel(eg_builder *b, eg_ref vector, const eg_type *x) {
  int64_t dims[EGRAPH_MAX_RANK] = {x->dims[1]};
  for (uint32_t i = 1; i + 1 < x->rank; i++)
    dims[i] = 1;
  return eg_build_reshape(b, vector, x->rank - 1, dims);
}

static eg_ref sum_channels(eg_builder *b, eg_ref d, const eg_type *x) {
  uint32_t dims = eg_operand_bits(x->rank) & ~UINT32_C(2);
  return eg_build_reduce(b, EG_OP_REDUCE_SUM, d, dims, false);
}

static eg_ref sum_product(eg_builder *b, eg_ref d, eg_ref n, const eg_type *x) {
  return sum_channels(b, EG_BUILD(b, EG_OP_MUL, d, n), x);
}

// Emits the cotangents of group normalization over rows: x is [N, groups, members].
void eg_vjp_group_norm(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, X);
  bool group = v->attrs->op == EG_OP_GROUP_NORM;
  int64_t groups =
      group ? eg_attr_at(v->attrs, EG_A_GROUP_NORM_NUM_GROUPS)->i : x->dims[1];
  double epsilon =
      eg_attr_at(v->attrs, group ? EG_A_GROUP_NORM_EPSILON : EG_A_INSTANCE_NORM_EPSILON)
          ->f;
  int64_t dims[3] = {x->dims[0], groups, groups == 0 ? 0 : x->dims[1] / groups};
  for (uint32_t i = 2; i < x->rank; i++)
    dims[2] *= x->dims[i];
  eg_ref d = v->cotangents[0];
  const eg_attr slots[] = {eg_int_attr(2), {.kind = EG_ATTR_FLOAT, .f = epsilon}};
  const eg_type row = eg_type_of(x->dtype, 1, dims + 2);
  eg_ref flat = EG_REF_NONE;
  if (v->wanted[X] || v->wanted[SCALE]) flat = eg_build_reshape(b, v->inputs[X], 3, dims);
  if (v->wanted[X]) {
    eg_ref scale = per_channel(b, v->inputs[SCALE], x);
    eg_ref scaled = EG_BUILD(b, EG_OP_MUL, d, scale);
    eg_ref h = eg_build_reshape(b, scaled, 3, dims), ones = eg_build_fill(b, &row, 1);
    eg_ref cotangent = eg_build_node(b, EG_OP_LAYER_NORM_GRAD, slots,
                                     (const eg_ref[]){h, flat, ones}, 3);
    v->out[X] = eg_build_reshape(b, cotangent, x->rank, x->dims);
  }
  if (v->wanted[SCALE]) {
    eg_ref rows = normalize(b, EG_OP_LAYER_NORM, slots, flat, &row);
    eg_ref n = eg_build_reshape(b, rows, x->rank, x->dims);
    v->out[SCALE] = sum_product(b, d, n, x);
  }
  if (v->wanted[BIAS]) v->out[BIAS] = sum_channels(b, d, x);
}

// Emits the cotangents of batch normalization, of mean and variance, too, if wanted.
void eg_vjp_batch_norm(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, X);
  eg_ref d = v->cotangents[0], s = v->inputs[SCALE], variance = v->inputs[VARIANCE];
  eg_ref e = eg_build_number(b, eg_attr_at(v->attrs, EG_A_BATCH_NORM_EPSILON)->f);
  eg_ref r = EG_FORMULA(b, "(rsqrt (add v e))", "ve", variance, e);
  eg_ref slope = EG_FORMULA(b, "(mul r s)", "rs", r, s);
  if (v->wanted[X]) {
    eg_ref wide = per_channel(b, slope, x);
    v->out[X] = EG_BUILD(b, EG_OP_MUL, d, wide);
  }
  if (v->wanted[BIAS] || v->wanted[MEAN]) {
    eg_ref total = sum_channels(b, d, x);
    if (v->wanted[BIAS]) v->out[BIAS] = total;
    if (v->wanted[MEAN])
      v->out[MEAN] = EG_FORMULA(b, "(neg (mul d p))", "dp", total, slope);
  }
  if (!v->wanted[SCALE] && !v->wanted[VARIANCE]) return;
  eg_ref m = per_channel(b, v->inputs[MEAN], x);
  eg_ref c = EG_BUILD(b, EG_OP_SUB, v->inputs[X], m);
  eg_ref k = sum_product(b, d, c, x);
  if (v->wanted[SCALE]) v->out[SCALE] = EG_BUILD(b, EG_OP_MUL, k, r);
  if (v->wanted[VARIANCE])
    v->out[VARIANCE] =
        EG_FORMULA(b, "(mul -0.5 (mul k (mul p (square r))))", "kpr", k, slope, r);
}

// ---- softmax --------------------------------------------------------------------

void eg_vjp_softmax(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, X);
  uint32_t dims = UINT32_C(1) << eg_axis_of(x, EG_SHARED(v, SOFTMAX, AXIS)->i);
  eg_ref d = v->cotangents[0], y = v->results[0];
  bool is_log = v->attrs->op == EG_OP_LOG_SOFTMAX;
  eg_ref terms = is_log ? d : EG_BUILD(b, EG_OP_MUL, d, y);
  eg_ref s = eg_build_reduce(b, EG_OP_REDUCE_SUM, terms, dims, true);
  v->out[X] = EG_FORMULA(b, is_log ? "(sub d (mul (exp y) s))" : "(mul y (sub d s))",
                         "dys", d, y, s);
}

// ---- local response -------------------------------------------------------------

// Emits the mean over a window of channels that begins `begin` channels before each
// channel, as an average pool of x as planes [channels, rest].
static eg_ref window_mean(eg_builder *b, eg_ref x, int64_t size, int64_t begin) {
  assert(size > 0);
  const eg_type *type = eg_build_type(b, x);
  int64_t rest = 1;
  for (uint32_t i = 2; i < type->rank; i++)
    rest *= type->dims[i];
  const int64_t planes[4] = {type->dims[0], 1, type->dims[1], rest};
  const int64_t kernel[2] = {size, 1}, ones[2] = {1, 1};
  const int64_t pads[4] = {begin, 0, size - 1 - begin, 0};
  eg_attr slots[8];
  eg_attrs_defaults(EG_OP_AVERAGE_POOL, slots);
  slots[EG_A_AVERAGE_POOL_KERNEL_SHAPE - EG_A_BASE_AVERAGE_POOL].ints =
      (eg_ints){kernel, 2};
  slots[EG_A_AVERAGE_POOL_STRIDES - EG_A_BASE_AVERAGE_POOL].ints = (eg_ints){ones, 2};
  slots[EG_A_AVERAGE_POOL_PADS - EG_A_BASE_AVERAGE_POOL].ints = (eg_ints){pads, 4};
  slots[EG_A_AVERAGE_POOL_COUNT_INCLUDE_PAD - EG_A_BASE_AVERAGE_POOL].i = 1;
  eg_ref flat = eg_build_reshape(b, x, 4, planes);
  eg_ref pooled = eg_build_node(b, EG_OP_AVERAGE_POOL, slots, &flat, 1);
  return eg_build_reshape(b, pooled, type->rank, type->dims);
}

// For y = x s^-beta with s = bias + alpha mean(x^2), the mean over a window of channels,
// emits x' = d s^-beta - 2 alpha beta x mean'(d x s^(-beta - 1)), mean' over the
// mirrored window.
void eg_vjp_lrn(const eg_vjp *v) {
  eg_builder *b = v->b;
  eg_ref x = v->inputs[X], d = v->cotangents[0];
  int64_t size = eg_attr_at(v->attrs, EG_A_LRN_SIZE)->i, begin = (size - 1) / 2;
  double alpha = eg_attr_at(v->attrs, EG_A_LRN_ALPHA)->f;
  double beta = eg_attr_at(v->attrs, EG_A_LRN_BETA)->f;
  eg_ref a = eg_build_number(b, alpha), n = eg_build_number(b, -beta);
  eg_ref k = eg_build_number(b, eg_attr_at(v->attrs, EG_A_LRN_BIAS)->f);
  eg_ref squares = EG_BUILD(b, EG_OP_SQUARE, x);
  eg_ref w = window_mean(b, squares, size, begin);
  eg_ref s = EG_FORMULA(b, "(add k (mul a w))", "kaw", k, a, w);
  eg_ref t = EG_FORMULA(b, "(mul d (mul x (pow s (sub n 1))))", "dxsn", d, x, s, n);
  eg_ref m = window_mean(b, t, size, size - 1 - begin);
  eg_ref c = eg_build_number(b, 2 * alpha * beta);
  v->out[X] = EG_FORMULA(b, "(sub (mul d (pow s n)) (mul c (mul x m)))", "dsncxm", d, s,
                         n, c, x, m);
}
