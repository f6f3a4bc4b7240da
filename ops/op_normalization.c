// Normalizations: dimensions over which statistics are computed are blocked, all others
// are parallel.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

// Checks that operands [first, count) are vectors with one element for each channel of
// operand 0.
static egraph_status check_per_channel(const eg_typing *node) {
  const eg_type *x = &node->inputs[0];
  for (uint32_t i = 1; i < node->count; i++) {
    const eg_type *vector = &node->inputs[i];
    if (vector->rank != 1 || !eg_size_agree(vector->dims[0], x->dims[1]))
      return eg_typing_fail(
          node, "operand %u is %s; the input %s needs one of shape [%" PRId64 "]", i,
          eg_type_text_of(vector).text, eg_type_text_of(x).text, x->dims[1]);
  }
  return EGRAPH_OK;
}

static void index_vectors(const eg_typing *node, eg_factor *factor) {
  for (uint32_t i = 1; i < node->count; i++)
    factor->input_dim[i] = 0;
}

egraph_status eg_infer_batch_norm(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(eg_typing_min_rank(node, 0, 2));
  EG_TRY(check_per_channel(node));
  *out = eg_type_like(x);
  return EGRAPH_OK;
}

// Mean and variance are operands here, so every dimension of the data can be split.
void eg_factors_batch_norm(const eg_typing *node, eg_factors *out) {
  eg_factor *factors = eg_factors_add_dims(out, node->results, 0);
  index_vectors(node, &factors[1]);
}

egraph_status eg_infer_layer_norm(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  uint32_t axis;
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(eg_typing_axis(node, EG_SHARED(node, LAYER_NORM, AXIS)->i, x->rank, &axis));
  eg_type normalized = eg_type_of(x->dtype, x->rank - axis, x->dims + axis);
  for (uint32_t i = 1; i < node->count; i++)
    if (!eg_type_same_shape(&node->inputs[i], &normalized))
      return eg_typing_fail(
          node, "operand %u is %s; normalizing %s from axis %u on needs %s", i,
          eg_type_text_of(&node->inputs[i]).text, eg_type_text_of(x).text, axis,
          eg_type_text_of(&normalized).text);
  *out = eg_type_like(x);
  return EGRAPH_OK;
}

void eg_factors_layer_norm(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  uint32_t axis = results->rank - node->inputs[1].rank;
  eg_factor *factors = eg_factors_add_dims(out, results, UINT32_MAX << axis);
  for (uint32_t dim = axis; dim < results->rank; dim++)
    for (uint32_t i = 1; i < node->count; i++)
      factors[dim].input_dim[i] = (int8_t)(dim - axis);
  if (node->count == 2) out->linear = 2; // the result is linear in the scale
}

// Returns the number of groups; in instance normalization every channel is a group.
static int64_t groups_of(const eg_typing *node) {
  if (node->attrs->op == EG_OP_INSTANCE_NORM) return node->inputs[0].dims[1];
  return eg_attr_at(node->attrs, EG_A_GROUP_NORM_NUM_GROUPS)->i;
}

egraph_status eg_infer_group_norm(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  EG_TRY(check_per_channel(node));
  if (node->attrs->op == EG_OP_GROUP_NORM) {
    int64_t groups = groups_of(node);
    if (groups < 1 || eg_size_is_open(x->dims[1]) || x->dims[1] % groups != 0)
      return eg_typing_fail(node, "%" PRId64 " channels cannot form %" PRId64 " groups",
                            x->dims[1], groups);
  }
  *out = eg_type_like(x);
  return EGRAPH_OK;
}

void eg_factors_group_norm(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  int64_t groups = groups_of(node);
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 0);
  eg_factor *group = eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 1);
  group->size = groups;
  index_vectors(node, group);
  eg_factor *member = eg_factors_add_dim(out, EG_FACTOR_BLOCKED, results, 1);
  member->size = groups == 0 ? 0 : results->dims[1] / groups;
  index_vectors(node, member);
  for (uint32_t dim = 2; dim < results->rank; dim++)
    eg_factors_add_dim(out, EG_FACTOR_BLOCKED, results, dim);
}

egraph_status eg_infer_softmax(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  uint32_t axis;
  *out = eg_type_like(x);
  return eg_typing_axis(node, eg_attr_of_role(node->attrs, EG_AR_AXIS)->i, x->rank,
                        &axis);
}

void eg_factors_softmax(const eg_typing *node, eg_factors *out) {
  uint32_t axis = eg_axis_of(node->results, EG_SHARED(node, SOFTMAX, AXIS)->i);
  eg_factors_add_dims(out, node->results, UINT32_C(1) << axis);
}

egraph_status eg_infer_lrn(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  int64_t size = eg_attr_at(node->attrs, EG_A_LRN_SIZE)->i;
  EG_TRY(eg_typing_min_rank(node, 0, 2));
  if (size < 1)
    return eg_typing_fail(node, "attribute size is %" PRId64 "; the least is 1", size);
  *out = eg_type_like(x);
  return EGRAPH_OK;
}

// The factor of the channels is a WINDOW; another factor, for the width, only
// counts work.
void eg_factors_lrn(const eg_typing *node, eg_factors *out) {
  int64_t size = eg_attr_at(node->attrs, EG_A_LRN_SIZE)->i;
  for (uint32_t dim = 0; dim < node->results->rank; dim++) {
    eg_factor_kind kind = dim == 1 ? EG_FACTOR_WINDOW : EG_FACTOR_PARALLEL;
    eg_factor *factor = eg_factors_add_dim(out, kind, node->results, dim);
    if (dim != 1) continue;
    factor->window = size;
    factor->stride = 1;
    factor->pad = (size - 1) / 2;
  }
  eg_factors_add(out, EG_FACTOR_BLOCKED, size);
}
