// Operators that read or write single elements at indices, or on diagonals. Dimensions
// without indices are parallel; an indexed axis is needed whole.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

static bool is_indexed(const eg_factors *factors, uint32_t operand, uint32_t dim) {
  for (uint32_t i = 0; i < factors->count; i++)
    if (factors->factor[i].input_dim[operand] == (int8_t)dim) return true;
  return false;
}

// Adds a factor (loop index) for dimension `dim` of all operands. Dimensions without a
// factor are needed whole.
static void add_other_dims(const eg_typing *node, eg_factors *out) {
  for (uint32_t dim = 0; dim < EGRAPH_MAX_RANK; dim++) {
    eg_factor *rest = NULL;
    for (uint32_t i = 0; i < node->count; i++) {
      if (dim >= node->inputs[i].rank || is_indexed(out, i, dim)) continue;
      if (rest == NULL)
        rest = eg_factors_add(out, EG_FACTOR_BLOCKED, node->inputs[i].dims[dim]);
      rest->input_dim[i] = (int8_t)dim;
      rest->is_no_loop = true;
    }
  }
}

// ---- trilu --------------------------------------------------------------------------

egraph_status eg_infer_trilu(const eg_typing *node, eg_type *out) {
  EG_TRY(eg_typing_min_rank(node, 0, 2));
  *out = eg_type_like(&node->inputs[0]);
  return EGRAPH_OK;
}

void eg_factors_trilu(const eg_typing *node, eg_factors *out) {
  eg_factors_add_dims(out, node->results, UINT32_C(3) << (node->results->rank - 2));
  out->linear = eg_operand_bits(1);
}

// ---- elements along an axis ---------------------------------------------------------

// Checks that the indices have the rank of the data and, except along the axis, no
// larger dimensions.
static egraph_status check_elements(const eg_typing *node, int64_t axis) {
  const eg_type *data = &node->inputs[0], *indices = &node->inputs[1];
  uint32_t at;
  EG_TRY(eg_typing_axis(node, axis, data->rank, &at));
  EG_TRY(eg_typing_indices(node));
  bool fits = indices->rank == data->rank;
  for (uint32_t dim = 0; fits && dim < data->rank; dim++)
    fits = dim == at || indices->dims[dim] <= data->dims[dim];
  if (!fits)
    return eg_typing_fail(node, "indices %s reach beyond the data %s beside axis %u",
                          eg_type_text_of(indices).text, eg_type_text_of(data).text, at);
  if (data->dims[at] == 0 && eg_type_elements(indices) != 0)
    return eg_typing_fail(node, "axis %u of %s has no element", at,
                          eg_type_text_of(data).text);
  return EGRAPH_OK;
}

egraph_status eg_infer_gather_elements(const eg_typing *node, eg_type *out) {
  const eg_type *indices = &node->inputs[1];
  EG_TRY(check_elements(node, eg_attr_at(node->attrs, EG_A_GATHER_ELEMENTS_AXIS)->i));
  *out = eg_type_of(node->inputs[0].dtype, indices->rank, indices->dims);
  return EGRAPH_OK;
}

void eg_factors_gather_elements(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  const eg_type *data = &node->inputs[0];
  uint32_t axis = eg_axis_of(data, eg_attr_at(node->attrs, EG_A_GATHER_ELEMENTS_AXIS)->i);
  for (uint32_t dim = 0; dim < results->rank; dim++) {
    bool alike = data->dims[dim] == results->dims[dim];
    eg_factor *factor =
        eg_factors_add(out, dim == axis || alike ? EG_FACTOR_PARALLEL : EG_FACTOR_BLOCKED,
                       results->dims[dim]);
    factor->output_dim[0] = factor->input_dim[1] = (int8_t)dim;
    if (dim != axis) factor->input_dim[0] = (int8_t)dim;
  }
  add_other_dims(node, out);
  out->linear = eg_operand_bits(1);
}

static egraph_status check_reduction(const eg_typing *node) {
  EG_TRY(eg_typing_indices(node));
  if (node->inputs[2].dtype != node->inputs[0].dtype)
    return eg_typing_fail(node, "updates are %s but the data is %s; insert a cast",
                          eg_dtype_name(node->inputs[2].dtype),
                          eg_dtype_name(node->inputs[0].dtype));
  if (node->attrs->slots[0].i == 0 || node->inputs[0].dtype != EGRAPH_BOOL)
    return EGRAPH_OK;
  return eg_typing_fail(node, "bool elements cannot be combined; use reduction none");
}

// Returns the operands in which the result is jointly linear: data and updates, if
// updates replace elements or are added to them.
static uint32_t scattered_linearly(const eg_typing *node) {
  enum { NONE, ADD };
  int64_t reduction = node->attrs->slots[0].i;
  return reduction == NONE || reduction == ADD ? 1U | 4U : 0;
}

egraph_status eg_infer_scatter_elements(const eg_typing *node, eg_type *out) {
  EG_TRY(check_elements(node, eg_attr_at(node->attrs, EG_A_SCATTER_ELEMENTS_AXIS)->i));
  EG_TRY(check_reduction(node));
  if (!eg_type_same_shape(&node->inputs[1], &node->inputs[2]))
    return eg_typing_fail(node, "indices %s and updates %s differ in shape",
                          eg_type_text_of(&node->inputs[1]).text,
                          eg_type_text_of(&node->inputs[2]).text);
  *out = eg_type_like(&node->inputs[0]);
  return EGRAPH_OK;
}

void eg_factors_scatter_elements(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  const eg_type *indices = &node->inputs[1];
  uint32_t axis =
      eg_axis_of(results, eg_attr_at(node->attrs, EG_A_SCATTER_ELEMENTS_AXIS)->i);
  for (uint32_t dim = 0; dim < results->rank; dim++) {
    bool parallel = dim != axis && indices->dims[dim] == results->dims[dim];
    eg_factor *factor = eg_factors_add_dim(
        out, parallel ? EG_FACTOR_PARALLEL : EG_FACTOR_BLOCKED, results, dim);
    factor->input_dim[1] = factor->input_dim[2] = (int8_t)dim;
  }
  out->joint_linear = scattered_linearly(node);
}

// ---- tuples of indices --------------------------------------------------------------

// Checks and returns the length of an index tuple: the last dimension of the indices.
// Indices and data share the first `batch` dimensions.
static egraph_status tuple_length(const eg_typing *node, int64_t batch, uint32_t *out) {
  const eg_type *data = &node->inputs[0], *indices = &node->inputs[1];
  EG_TRY(eg_typing_indices(node));
  EG_TRY(eg_typing_min_rank(node, 0, 1));
  EG_TRY(eg_typing_min_rank(node, 1, 1));
  int64_t length = indices->dims[indices->rank - 1];
  if (batch < 0 || batch >= indices->rank || batch > data->rank ||
      length > (int64_t)data->rank - batch)
    return eg_typing_fail(node,
                          "tuples of %" PRId64 " indices behind %" PRId64
                          " batch dimensions do not fit the data %s and the indices %s",
                          length, batch, eg_type_text_of(data).text,
                          eg_type_text_of(indices).text);
  for (uint32_t dim = 0; dim < batch; dim++)
    if (data->dims[dim] != indices->dims[dim])
      return eg_typing_fail(node, "batch dimension %u differs in %s and %s", dim,
                            eg_type_text_of(data).text, eg_type_text_of(indices).text);
  *out = (uint32_t)length;
  return EGRAPH_OK;
}

// Finds the shape of the data entries to which the index tuples point: [dimensions of the
// indices except the last, remaining dimensions of the data].
static egraph_status pointed(const eg_typing *node, int64_t batch, eg_type *out) {
  const eg_type *data = &node->inputs[0], *indices = &node->inputs[1];
  uint32_t length = 0, first;
  EG_TRY(tuple_length(node, batch, &length));
  first = (uint32_t)batch + length;
  if (indices->rank - 1 + data->rank - first > EGRAPH_MAX_RANK)
    return eg_typing_fail(node, "%s at %s makes more than %d dimensions",
                          eg_type_text_of(data).text, eg_type_text_of(indices).text,
                          EGRAPH_MAX_RANK);
  eg_type type = eg_type_of(data->dtype, indices->rank - 1, indices->dims);
  for (uint32_t dim = first; dim < data->rank; dim++)
    type.dims[type.rank++] = data->dims[dim];
  *out = type;
  return EGRAPH_OK;
}

egraph_status eg_infer_gather_nd(const eg_typing *node, eg_type *out) {
  return pointed(node, eg_attr_at(node->attrs, EG_A_GATHER_ND_BATCH_DIMS)->i, out);
}

void eg_factors_gather_nd(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  const eg_type *data = &node->inputs[0], *indices = &node->inputs[1];
  uint32_t batch = (uint32_t)eg_attr_at(node->attrs, EG_A_GATHER_ND_BATCH_DIMS)->i;
  uint32_t tuples = indices->rank - 1;
  for (uint32_t dim = 0; dim < results->rank; dim++) {
    eg_factor *factor = eg_factors_add(out, EG_FACTOR_PARALLEL, results->dims[dim]);
    factor->output_dim[0] = (int8_t)dim;
    if (dim < tuples) factor->input_dim[1] = (int8_t)dim;
    if (dim < batch) factor->input_dim[0] = (int8_t)dim;
    if (dim >= tuples)
      factor->input_dim[0] = (int8_t)(data->rank - (results->rank - dim));
  }
  add_other_dims(node, out);
  out->linear = eg_operand_bits(1);
}

egraph_status eg_infer_scatter_nd(const eg_typing *node, eg_type *out) {
  eg_type wanted;
  EG_TRY(pointed(node, 0, &wanted));
  EG_TRY(check_reduction(node));
  if (!eg_type_same_shape(&wanted, &node->inputs[2]))
    return eg_typing_fail(node, "updates are %s; the indices %s ask for %s",
                          eg_type_text_of(&node->inputs[2]).text,
                          eg_type_text_of(&node->inputs[1]).text,
                          eg_type_text_of(&wanted).text);
  *out = eg_type_like(&node->inputs[0]);
  return EGRAPH_OK;
}

void eg_factors_scatter_nd(const eg_typing *node, eg_factors *out) {
  eg_factors_add_dims(out, node->results, UINT32_MAX);
  add_other_dims(node, out);
  out->joint_linear = scattered_linearly(node);
}

// ---- one-hot, reversed sequences, determinants --------------------------------------

egraph_status eg_infer_one_hot(const eg_typing *node, eg_type *out) {
  const eg_type *indices = &node->inputs[0], *values = &node->inputs[1];
  int64_t depth = eg_attr_at(node->attrs, EG_A_ONE_HOT_DEPTH)->i;
  uint32_t axis;
  if (indices->rank == EGRAPH_MAX_RANK)
    return eg_typing_fail(node, "%s has no room for another dimension",
                          eg_type_text_of(indices).text);
  EG_TRY(eg_typing_axis(node, eg_attr_at(node->attrs, EG_A_ONE_HOT_AXIS)->i,
                        indices->rank + 1, &axis));
  if (values->rank != 1 || values->dims[0] != 2)
    return eg_typing_fail(node, "operand 1 is %s; it must be the two values [off, on]",
                          eg_type_text_of(values).text);
  if (!eg_size_at_least(depth, 1))
    return eg_typing_fail(node, "depth is %" PRId64 "; it must be 1 or more", depth);
  *out = (eg_type){.dtype = values->dtype, .rank = indices->rank + 1};
  for (uint32_t dim = 0; dim < out->rank; dim++)
    out->dims[dim] = dim == axis ? depth : indices->dims[dim - (dim > axis)];
  return EGRAPH_OK;
}

void eg_factors_one_hot(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  uint32_t axis = eg_axis_of(results, eg_attr_at(node->attrs, EG_A_ONE_HOT_AXIS)->i);
  for (uint32_t dim = 0; dim < results->rank; dim++) {
    eg_factor *factor = eg_factors_add(
        out, dim == axis ? EG_FACTOR_BLOCKED : EG_FACTOR_PARALLEL, results->dims[dim]);
    factor->output_dim[0] = (int8_t)dim;
    if (dim != axis) factor->input_dim[0] = (int8_t)(dim - (dim > axis));
  }
  add_other_dims(node, out);
}

egraph_status eg_infer_reverse_sequence(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *lengths = &node->inputs[1];
  uint32_t time, batch;
  EG_TRY(eg_typing_axis(node, eg_attr_at(node->attrs, EG_A_REVERSE_SEQUENCE_TIME_AXIS)->i,
                        x->rank, &time));
  EG_TRY(eg_typing_axis(node,
                        eg_attr_at(node->attrs, EG_A_REVERSE_SEQUENCE_BATCH_AXIS)->i,
                        x->rank, &batch));
  if (time == batch) return eg_typing_fail(node, "axis %u is both time and batch", time);
  if (lengths->dtype != EGRAPH_INT64 || lengths->rank != 1 ||
      lengths->dims[0] != x->dims[batch])
    return eg_typing_fail(node, "the lengths are %s; they must be int64, one per batch",
                          eg_type_text_of(lengths).text);
  *out = eg_type_like(x);
  return EGRAPH_OK;
}

void eg_factors_reverse_sequence(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  uint32_t time =
      eg_axis_of(results, eg_attr_at(node->attrs, EG_A_REVERSE_SEQUENCE_TIME_AXIS)->i);
  uint32_t batch =
      eg_axis_of(results, eg_attr_at(node->attrs, EG_A_REVERSE_SEQUENCE_BATCH_AXIS)->i);
  eg_factors_add_dims(out, results, UINT32_C(1) << time)[batch].input_dim[1] = 0;
  out->linear = eg_operand_bits(1);
}

egraph_status eg_infer_det(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  EG_TRY(eg_typing_min_rank(node, 0, 2));
  if (x->dims[x->rank - 1] != x->dims[x->rank - 2])
    return eg_typing_fail(node, "the matrices of %s are not square",
                          eg_type_text_of(x).text);
  *out = eg_type_of(x->dtype, x->rank - 2, x->dims);
  return EGRAPH_OK;
}

// Counts a matrix's elements as its work, a lower bound for the loops of an elimination.
void eg_factors_det(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0];
  eg_factors_add_dims(out, node->results, 0);
  for (uint32_t dim = node->results->rank; dim < x->rank; dim++)
    eg_factors_add(out, EG_FACTOR_BLOCKED, x->dims[dim])->input_dim[0] = (int8_t)dim;
}
