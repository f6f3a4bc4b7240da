// Data movement: types and factors. Concatenated, split, sliced and padded dimensions are
// blocked, the gathered axis is a sum, all others are parallel. All operators are linear
// in the data.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>

#include "ops/typing.h"

// ---- transpose ------------------------------------------------------------------

egraph_status eg_infer_transpose(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints perm = eg_attr_at(node->attrs, EG_A_TRANSPOSE_PERM)->ints;
  EG_TRY(eg_typing_list(node, "perm", perm, x->rank, 0));
  uint32_t seen = 0;
  *out = eg_type_like(x);
  for (uint32_t i = 0; i < perm.len; i++) {
    if (perm.data[i] >= x->rank || (seen >> perm.data[i] & 1) != 0)
      return eg_typing_fail(node,
                            "entry %u of perm is %" PRId64
                            "; perm must name each of the %u dimensions once",
                            i, perm.data[i], x->rank);
    seen |= UINT32_C(1) << perm.data[i];
    out->dims[i] = x->dims[perm.data[i]];
  }
  return EGRAPH_OK;
}

void eg_factors_transpose(const eg_typing *node, eg_factors *out) {
  eg_ints perm = eg_attr_at(node->attrs, EG_A_TRANSPOSE_PERM)->ints;
  eg_factor *factors = eg_factors_add_dims(out, node->results, 0);
  for (uint32_t dim = 0; dim < node->results->rank; dim++)
    factors[dim].input_dim[0] = (int8_t)perm.data[dim];
  out->linear = eg_operand_bits(1);
}

// ---- concat and split -----------------------------------------------------------

egraph_status eg_infer_concat(const eg_typing *node, eg_type *out) {
  const eg_type *first = &node->inputs[0];
  uint32_t axis;
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(eg_typing_axis(node, eg_attr_at(node->attrs, EG_A_CONCAT_AXIS)->i, first->rank,
                        &axis));
  eg_type type = eg_type_like(first);
  for (uint32_t i = 1; i < node->count; i++) {
    eg_type part = eg_type_like(&node->inputs[i]);
    int64_t size = part.rank > axis ? part.dims[axis] : 0;
    if (part.rank > axis) part.dims[axis] = type.dims[axis];
    if (!eg_type_agrees(&part, &type))
      return eg_typing_fail(node, "operands 0 %s and %u %s may differ in axis %u only",
                            eg_type_text_of(first).text, i,
                            eg_type_text_of(&node->inputs[i]).text, axis);
    if (!eg_size_add(type.dims[axis], size, &type.dims[axis]))
      return eg_typing_fail(node, "the size of axis %u overflows", axis);
  }
  *out = type;
  return EGRAPH_OK;
}

void eg_factors_concat(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  uint32_t axis = eg_axis_of(results, eg_attr_at(node->attrs, EG_A_CONCAT_AXIS)->i);
  eg_factor *factors = eg_factors_add_dims(out, results, UINT32_C(1) << axis);
  for (uint32_t dim = 0; dim < results->rank; dim++)
    for (uint32_t i = 1; i < node->count && i < EG_FACTOR_ROWS; i++)
      factors[dim].input_dim[i] = (int8_t)dim;
  out->joint_linear = eg_operand_bits(node->count);
}

egraph_status eg_infer_split(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints sizes = eg_attr_at(node->attrs, EG_A_SPLIT_SIZES)->ints;
  uint32_t axis;
  int64_t sum = 0;
  EG_TRY(
      eg_typing_axis(node, eg_attr_at(node->attrs, EG_A_SPLIT_AXIS)->i, x->rank, &axis));
  if (sizes.len == 0)
    return eg_typing_fail(node, "sizes is empty; name at least one part");
  for (uint32_t i = 0; i < sizes.len; i++)
    if (!eg_size_reaches(sizes.data[i], 0))
      return eg_typing_fail(node, "entry %u of attribute sizes is %" PRId64, i,
                            sizes.data[i]);
  for (uint32_t i = 0; i < sizes.len; i++)
    if (!eg_size_add(sum, sizes.data[i], &sum)) sum = INT64_MAX;
  if (!eg_size_agree(sum, x->dims[axis]))
    return eg_typing_fail(
        node, "the sizes add up to %" PRId64 " but axis %u of %s has %" PRId64, sum, axis,
        eg_type_text_of(x).text, x->dims[axis]);
  for (uint32_t i = 0; out != NULL && i < sizes.len; i++) {
    out[i] = eg_type_like(x);
    out[i].dims[axis] = sizes.data[i];
  }
  return EGRAPH_OK;
}

void eg_factors_split(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0];
  uint32_t axis = eg_axis_of(x, eg_attr_at(node->attrs, EG_A_SPLIT_AXIS)->i);
  eg_factor *factors = eg_factors_add_dims(out, x, UINT32_C(1) << axis);
  for (uint32_t dim = 0; dim < x->rank; dim++)
    for (uint32_t i = 1; i < node->result_count && i < EG_FACTOR_ROWS; i++)
      factors[dim].output_dim[i] = (int8_t)dim;
  out->linear = eg_operand_bits(1);
}

// ---- slice and pad --------------------------------------------------------------

/// The largest step over an open dimension: above any size, and too small to overflow.
enum { MOST_OPEN_STEP = 1 << 20 };

// Counts the elements start, start + step, ... before end; false when the bounds leave
// [0, size].
static bool sliced_size(int64_t size, int64_t start, int64_t end, int64_t step,
                        int64_t *out) {
  int64_t low = step > 0 ? 0 : -1, high, span;
  if (step == 0 || !eg_size_sub(size, step > 0 ? 0 : 1, &high) ||
      !eg_size_at_least(start, low) || !eg_size_at_least(high, start) ||
      !eg_size_at_least(end, low) || !eg_size_at_least(high, end) ||
      !eg_size_sub(step > 0 ? end : start, step > 0 ? start : end, &span))
    return false;
  // ONNX cannot express an open end that is -1 at some sizes.
  if (step < 0 && eg_size_is_open(end) && !eg_size_at_least(end, 0)) return false;
  if (eg_size_is_open(size) || eg_size_is_open(span))
    return step > -MOST_OPEN_STEP && step < MOST_OPEN_STEP &&
           eg_size_max(span, 0, &span) &&
           eg_size_ceil_div(span, step > 0 ? step : -step, out);
  // Steps beyond `size` take one element anyway; this never computes -INT64_MIN.
  int64_t stride = step > size    ? size + 1
                   : step < -size ? size + 1
                   : step > 0     ? step
                                  : -step;
  *out = span <= 0 ? 0 : (span - 1) / stride + 1;
  return true;
}

egraph_status eg_infer_slice(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints starts = eg_attr_at(node->attrs, EG_A_SLICE_STARTS)->ints;
  eg_ints ends = eg_attr_at(node->attrs, EG_A_SLICE_ENDS)->ints;
  eg_ints steps = eg_attr_at(node->attrs, EG_A_SLICE_STEPS)->ints;
  EG_TRY(eg_typing_list(node, "starts", starts, x->rank, INT64_MIN));
  EG_TRY(eg_typing_list(node, "ends", ends, x->rank, INT64_MIN));
  EG_TRY(eg_typing_list(node, "steps", steps, x->rank, INT64_MIN));
  *out = eg_type_like(x);
  for (uint32_t i = 0; i < x->rank; i++)
    if (!sliced_size(x->dims[i], starts.data[i], ends.data[i], steps.data[i],
                     &out->dims[i]))
      return eg_typing_fail(
          node,
          "%" PRId64 ":%" PRId64 ":%" PRId64 " is not a range within "
          "dimension %u of %s; clamp start and end, and use a step other "
          "than 0",
          starts.data[i], ends.data[i], steps.data[i], i, eg_type_text_of(x).text);
  return EGRAPH_OK;
}

// Dimensions that stay unchanged are parallel, the others blocked.
void eg_factors_slice(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints steps = eg_attr_at(node->attrs, EG_A_SLICE_STEPS)->ints;
  uint32_t changed = 0;
  for (uint32_t i = 0; i < x->rank; i++)
    if (node->results->dims[i] != x->dims[i] || steps.data[i] < 0)
      changed |= UINT32_C(1) << i;
  eg_factors_add_dims(out, node->results, changed);
  out->linear = eg_operand_bits(1);
}

/// True when a dimension has the elements that its pads copy: enough elements next to the
/// edge (reflect), or an edge.
static bool can_copy(int64_t size, int64_t begin, int64_t end, bool reflects) {
  int64_t others;
  if (!reflects) return eg_size_reaches(size, 1);
  return eg_size_sub(size, 1, &others) && eg_size_reaches(others, begin) &&
         eg_size_reaches(others, end);
}

egraph_status eg_infer_pad(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints pads = eg_attr_at(node->attrs, EG_A_PAD_PADS)->ints;
  int64_t mode = eg_attr_at(node->attrs, EG_A_PAD_MODE)->i;
  enum { CONSTANT, REFLECT, EDGE }; // the order of the symbols in the table
  EG_TRY(eg_typing_list(node, "pads", pads, 2 * x->rank, 0));
  *out = eg_type_like(x);
  for (uint32_t i = 0; i < x->rank; i++) {
    int64_t begin = pads.data[i], end = pads.data[i + x->rank];
    if (mode != CONSTANT && (begin != 0 || end != 0) &&
        !can_copy(x->dims[i], begin, end, mode == REFLECT))
      return eg_typing_fail(
          node,
          "pads %" PRId64 " and %" PRId64
          " take more than dimension %u of %s can give; use mode constant",
          begin, end, i, eg_type_text_of(x).text);
    if (!eg_size_add(out->dims[i], begin, &out->dims[i]) ||
        !eg_size_add(out->dims[i], end, &out->dims[i]))
      return eg_typing_fail(node, "the size of dimension %u overflows", i);
  }
  return EGRAPH_OK;
}

void eg_factors_pad(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0];
  uint32_t changed = 0;
  for (uint32_t i = 0; i < x->rank; i++)
    if (node->results->dims[i] != x->dims[i]) changed |= UINT32_C(1) << i;
  eg_factors_add_dims(out, node->results, changed);
  bool zeros = eg_attr_at(node->attrs, EG_A_PAD_VALUE)->f == 0;
  bool copies = eg_attr_at(node->attrs, EG_A_PAD_MODE)->i != 0;
  if (zeros || copies || changed == 0) out->linear = eg_operand_bits(1);
}

// ---- expand and tile ------------------------------------------------------------

static egraph_status infer_tile(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints repeats = eg_attr_at(node->attrs, EG_A_TILE_REPEATS)->ints;
  EG_TRY(eg_typing_list(node, "repeats", repeats, x->rank, 0));
  *out = eg_type_like(x);
  for (uint32_t i = 0; i < x->rank; i++)
    if (!eg_size_mul(x->dims[i], repeats.data[i], &out->dims[i]))
      return eg_typing_fail(node, "the size of dimension %u overflows", i);
  return EGRAPH_OK;
}

egraph_status eg_infer_expand(const eg_typing *node, eg_type *out) {
  if (node->attrs->op == EG_OP_TILE) return infer_tile(node, out);
  const eg_type *x = &node->inputs[0];
  eg_ints shape = eg_attr_at(node->attrs, EG_A_EXPAND_SHAPE)->ints;
  eg_type type;
  EG_TRY(eg_typing_shape(node, x->dtype, shape, &type));
  if (!eg_broadcasts_to(x, &type))
    return eg_typing_fail(node, "%s does not broadcast to the shape of %s",
                          eg_type_text_of(x).text, eg_type_text_of(&type).text);
  *out = type;
  return EGRAPH_OK;
}

// A result dimension of tile has two factors: the repeat, which is major and indexes no
// operand, and the element.
void eg_factors_expand(const eg_typing *node, eg_factors *out) {
  out->linear = eg_operand_bits(1);
  if (node->attrs->op == EG_OP_EXPAND) {
    eg_factors_add_pointwise(node, node->results, out);
    return;
  }
  eg_ints repeats = eg_attr_at(node->attrs, EG_A_TILE_REPEATS)->ints;
  for (uint32_t dim = 0; dim < node->results->rank; dim++) {
    if (repeats.data[dim] != 1)
      eg_factors_add(out, EG_FACTOR_PARALLEL, repeats.data[dim])->output_dim[0] =
          (int8_t)dim;
    eg_factors_add_dim(out, EG_FACTOR_PARALLEL, &node->inputs[0], dim);
  }
}

// ---- gather ---------------------------------------------------------------------

egraph_status eg_typing_entries(const eg_typing *node, eg_attr_slot whole, int64_t size) {
  int64_t all = eg_attr_at(node->attrs, whole)->i;
  int64_t first = eg_attr_at(node->attrs, whole + 1)->i;
  if (all == 0
          ? first == 0
          : first >= 0 && !eg_size_is_open(size) && all >= size && first <= all - size)
    return EGRAPH_OK;
  return eg_typing_fail(node,
                        "%" PRId64 " entries from %" PRId64
                        " on are no part of a whole axis of %" PRId64,
                        size, first, all);
}

egraph_status eg_infer_gather(const eg_typing *node, eg_type *out) {
  const eg_type *data = &node->inputs[0], *indices = &node->inputs[1];
  uint32_t axis;
  EG_TRY(eg_typing_axis(node, eg_attr_at(node->attrs, EG_A_GATHER_AXIS)->i, data->rank,
                        &axis));
  EG_TRY(eg_typing_indices(node));
  if (data->rank - 1 + indices->rank > EGRAPH_MAX_RANK)
    return eg_typing_fail(node, "gathering %s from %s makes more than %d dimensions",
                          eg_type_text_of(indices).text, eg_type_text_of(data).text,
                          EGRAPH_MAX_RANK);
  EG_TRY(eg_typing_entries(node, EG_A_GATHER_WHOLE, data->dims[axis]));
  if (data->dims[axis] == 0 && eg_type_elements(indices) != 0)
    return eg_typing_fail(node, "axis %u of %s has no element to gather", axis,
                          eg_type_text_of(data).text);
  eg_type type = {.dtype = data->dtype};
  for (uint32_t dim = 0; dim < data->rank; dim++) {
    if (dim != axis) type.dims[type.rank++] = data->dims[dim];
    for (uint32_t i = 0; dim == axis && i < indices->rank; i++)
      type.dims[type.rank++] = indices->dims[i];
  }
  *out = type;
  return EGRAPH_OK;
}

// A gather is a sum over the gathered axis in which all terms but one are zero: splitting
// the axis leaves partial sums.
void eg_factors_gather(const eg_typing *node, eg_factors *out) {
  const eg_type *data = &node->inputs[0], *indices = &node->inputs[1];
  uint32_t axis = eg_axis_of(data, eg_attr_at(node->attrs, EG_A_GATHER_AXIS)->i);
  for (uint32_t dim = 0; dim < node->results->rank; dim++) {
    eg_factor *factor = eg_factors_add(out, EG_FACTOR_PARALLEL, node->results->dims[dim]);
    factor->output_dim[0] = (int8_t)dim;
    if (dim < axis)
      factor->input_dim[0] = (int8_t)dim;
    else if (dim < axis + indices->rank)
      factor->input_dim[1] = (int8_t)(dim - axis);
    else
      factor->input_dim[0] = (int8_t)(dim - indices->rank + 1);
  }
  eg_factors_add(out, EG_FACTOR_SUM, data->dims[axis])->input_dim[0] = (int8_t)axis;
  out->linear = eg_operand_bits(1);
}

// ---- shape and size -------------------------------------------------------------

egraph_status eg_infer_shape_of(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  *out = (eg_type){.dtype = EGRAPH_INT64};
  if (node->attrs->op == EG_OP_SIZE) return EGRAPH_OK;
  int64_t start = eg_attr_at(node->attrs, EG_A_SHAPE_START)->i;
  int64_t end = eg_attr_at(node->attrs, EG_A_SHAPE_END)->i;
  if (start < 0 || start > end || end > x->rank)
    return eg_typing_fail(node,
                          "dimensions %" PRId64 " to %" PRId64
                          " are not a range of a rank-%u tensor; resolve negative ones",
                          start, end, x->rank);
  *out = eg_type_of(EGRAPH_INT64, 1, (int64_t[]){end - start});
  return EGRAPH_OK;
}

// The result describes the whole tensor, so no dimension of the operand may be split.
void eg_factors_shape_of(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0];
  for (uint32_t dim = 0; dim < node->results->rank; dim++)
    eg_factors_add(out, EG_FACTOR_BLOCKED, node->results->dims[dim])->output_dim[0] =
        (int8_t)dim;
  for (uint32_t dim = 0; dim < x->rank; dim++)
    eg_factors_add(out, EG_FACTOR_BLOCKED, x->dims[dim])->input_dim[0] = (int8_t)dim;
}
