// Reductions. Splitting the axis of a sum (maximum) leaves partial sums (maxima); of a
// mean, partial sums of elements divided by the number of all elements. Products, minima
// and means of integers have no partial form here: their axes are blocked.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

// Returns the type without the axes or, if `keep` is true, with size 1 in their place.
static eg_type reduced_type(const eg_type *x, egraph_dtype dtype, uint32_t axes,
                            bool keep) {
  eg_type type = {.dtype = dtype};
  for (uint32_t dim = 0; dim < x->rank; dim++) {
    bool reduced = (axes >> dim & 1) != 0;
    if (!reduced || keep) type.dims[type.rank++] = reduced ? 1 : x->dims[dim];
  }
  return type;
}

static void add_factors(const eg_type *x, uint32_t axes, bool keep, eg_factor_kind kind,
                        eg_factors *out) {
  int8_t result_dim = 0;
  for (uint32_t dim = 0; dim < x->rank; dim++) {
    bool reduced = (axes >> dim & 1) != 0;
    if (reduced && keep)
      eg_factors_add(out, EG_FACTOR_PARALLEL, 1)->output_dim[0] = result_dim;
    eg_factor *factor =
        eg_factors_add(out, reduced ? kind : EG_FACTOR_PARALLEL, x->dims[dim]);
    factor->input_dim[0] = (int8_t)dim;
    if (!reduced) factor->output_dim[0] = result_dim;
    if (!reduced || keep) result_dim++;
  }
}

static egraph_status check_count(const eg_typing *node) {
  int64_t count = eg_attr_at(node->attrs, EG_A_REDUCE_MEAN_COUNT)->i;
  if (count >= 0 && (count == 0 || eg_dtype_is_float(node->inputs[0].dtype)))
    return EGRAPH_OK;
  return eg_typing_fail(node,
                        "a part of a mean is of floating point, and count, %" PRId64
                        ", is not negative",
                        count);
}

egraph_status eg_infer_reduce(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints axes = EG_SHARED(node, REDUCE_SUM, AXES)->ints;
  EG_TRY(eg_typing_axes(node, axes, x->rank));
  if (eg_typing_op(node) == EG_OP_REDUCE_MEAN) EG_TRY(check_count(node));
  *out = reduced_type(x, x->dtype, eg_axis_bits(x, axes),
                      EG_SHARED(node, REDUCE_SUM, KEEPDIMS)->i != 0);
  return EGRAPH_OK;
}

void eg_factors_reduce(const eg_typing *node, eg_factors *out) {
  eg_op op = eg_typing_op(node);
  bool exact_mean = op == EG_OP_REDUCE_MEAN && eg_dtype_is_float(node->inputs[0].dtype);
  eg_factor_kind kind = EG_FACTOR_BLOCKED;
  if (op == EG_OP_REDUCE_SUM || exact_mean) kind = EG_FACTOR_SUM;
  if (op == EG_OP_REDUCE_MAX) kind = EG_FACTOR_MAX;
  const eg_type *x = &node->inputs[0];
  add_factors(x, eg_axis_bits(x, EG_SHARED(node, REDUCE_SUM, AXES)->ints),
              EG_SHARED(node, REDUCE_SUM, KEEPDIMS)->i != 0, kind, out);
  if (op == EG_OP_REDUCE_SUM || exact_mean) out->linear = eg_operand_bits(1);
}

egraph_status eg_infer_arg_reduce(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  uint32_t axis;
  EG_TRY(eg_typing_axis(node, EG_SHARED(node, ARG_MAX, AXIS)->i, x->rank, &axis));
  if (x->dims[axis] == 0)
    return eg_typing_fail(node, "axis %u of %s has no element to choose", axis,
                          eg_type_text_of(x).text);
  *out = reduced_type(x, EGRAPH_INT64, UINT32_C(1) << axis,
                      EG_SHARED(node, ARG_MAX, KEEPDIMS)->i != 0);
  return EGRAPH_OK;
}

void eg_factors_arg_reduce(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0];
  uint32_t axis = eg_axis_of(x, EG_SHARED(node, ARG_MAX, AXIS)->i);
  add_factors(x, UINT32_C(1) << axis, EG_SHARED(node, ARG_MAX, KEEPDIMS)->i != 0,
              EG_FACTOR_BLOCKED, out);
}

egraph_status eg_infer_top_k(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  int64_t k = eg_attr_at(node->attrs, EG_A_TOP_K_K)->i;
  uint32_t axis;
  EG_TRY(
      eg_typing_axis(node, eg_attr_at(node->attrs, EG_A_TOP_K_AXIS)->i, x->rank, &axis));
  if (!eg_size_at_least(k, 0) || !eg_size_reaches(x->dims[axis], k))
    return eg_typing_fail(node,
                          "k is %" PRId64 " but axis %u of %s has %" PRId64 " elements",
                          k, axis, eg_type_text_of(x).text, x->dims[axis]);
  out[0] = eg_type_like(x);
  out[0].dims[axis] = k;
  out[1] = out[0];
  out[1].dtype = EGRAPH_INT64;
  return EGRAPH_OK;
}

// The factor of the axis has the operand's size, because the whole axis is searched.
void eg_factors_top_k(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0];
  uint32_t axis = eg_axis_of(x, eg_attr_at(node->attrs, EG_A_TOP_K_AXIS)->i);
  eg_factor *factors = eg_factors_add_dims(out, x, UINT32_C(1) << axis);
  for (uint32_t dim = 0; dim < x->rank; dim++)
    factors[dim].output_dim[1] = (int8_t)dim;
}

void eg_factors_cum_sum(const eg_typing *node, eg_factors *out) {
  uint32_t axis = eg_axis_of(node->results, EG_SHARED(node, CUM_SUM, AXIS)->i);
  eg_factors_add_dims(out, node->results, UINT32_C(1) << axis);
  if (eg_typing_op(node) == EG_OP_CUM_SUM) out->linear = eg_operand_bits(1);
}
