// SPDX-License-Identifier: Apache-2.0
#include "exec/views.h"

static uint32_t positive_axis(int64_t axis, uint32_t rank) {
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}

// True when everything outside `axis` in the stored order has length 1, so that a range
// along the axis is one region.
static bool is_outermost(const eg_type *type, uint32_t axis) {
  static const uint32_t nhwc[] = {0, 2, 3, 1}, nchw[] = {0, 1, 2, 3};
  eg_format format = (eg_format)type->layout.format;
  if (format == EG_FORMAT_PLAIN) {
    for (uint32_t d = 0; d < axis; d++)
      if (type->dims[d] != 1) return false;
    return true;
  }
  int64_t block = eg_format_block(format);
  const uint32_t *order = format == EG_FORMAT_NHWC ? nhwc : nchw;
  for (uint32_t i = 0; order[i] != axis; i++) {
    bool is_one_block = order[i] == 1 && type->dims[1] <= block && block != 1;
    if (type->dims[order[i]] != 1 && !is_one_block) return false;
  }
  return true;
}

// Parts of blocked channels are regions when they consist of whole blocks.
static bool is_whole_blocks(const eg_type *part, uint32_t axis) {
  int64_t block = eg_format_block((eg_format)part->layout.format);
  return axis != 1 || part->dims[1] % block == 0;
}

static bool same_storage(const eg_type *a, const eg_type *b) {
  return a->dtype == b->dtype && a->layout.format == b->layout.format;
}

static bool split_view(const eg_node_spec *spec, uint32_t index, size_t *out_offset) {
  const eg_type *whole = &spec->inputs[0];
  uint32_t axis = positive_axis(eg_attr_at(spec->attrs, EG_A_SPLIT_AXIS)->i, whole->rank);
  if (!is_outermost(whole, axis)) return false;
  size_t offset = 0;
  for (uint32_t i = 0; i <= index; i++) {
    const eg_type *part = &spec->results[i];
    if (!same_storage(whole, part) || !is_whole_blocks(part, axis)) return false;
    if (i < index) offset += eg_type_bytes(part);
  }
  *out_offset = offset;
  return true;
}

static bool slice_view(const eg_node_spec *spec, size_t *out_offset) {
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  eg_ints starts = eg_attr_at(spec->attrs, EG_A_SLICE_STARTS)->ints;
  eg_ints steps = eg_attr_at(spec->attrs, EG_A_SLICE_STEPS)->ints;
  if (from->layout.format != EG_FORMAT_PLAIN || !same_storage(from, to) ||
      eg_type_elements(to) == 0)
    return false;
  int64_t offset = 0, stride = 1;
  uint32_t cut = UINT32_MAX; // the outermost dimension that is shortened
  for (uint32_t d = from->rank; d-- > 0;) {
    if (from->dims[d] != to->dims[d]) cut = d;
    if (to->dims[d] != 1 && steps.data[d] != 1) return false;
    offset += starts.data[d] * stride;
    stride *= from->dims[d];
  }
  for (uint32_t d = 0; d < from->rank; d++) // at most that one, and nothing outside of it
    if (cut != UINT32_MAX && d != cut &&
        (from->dims[d] != to->dims[d] || (d < cut && to->dims[d] != 1)))
      return false;
  *out_offset = (size_t)offset * eg_dtype_bytes(from->dtype);
  return true;
}

// True when what is stored of the result is what is stored of the operand.
static bool transpose_view(const eg_node_spec *spec) {
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  const int64_t *perm = eg_attr_at(spec->attrs, EG_A_TRANSPOSE_PERM)->ints.data;
  int64_t from_strides[EGRAPH_MAX_RANK], to_strides[EGRAPH_MAX_RANK];
  if (eg_type_is_blocked(from) || eg_type_is_blocked(to)) return false;
  eg_type_strides(from, from_strides);
  eg_type_strides(to, to_strides);
  for (uint32_t d = 0; d < to->rank; d++)
    if (to->dims[d] != 1 && to_strides[d] != from_strides[perm[d]]) return false;
  return true;
}

bool eg_view_of(const eg_node_spec *spec, uint32_t index, size_t *out_offset) {
  eg_op op = (eg_op)spec->attrs->op;
  *out_offset = 0;
  if (spec->input_count != 1) return false;
  if (op == EG_OP_TRANSPOSE) return transpose_view(spec);
  if (!same_storage(&spec->inputs[0], &spec->results[index])) return false;
  if (op == EG_OP_SPLIT) return split_view(spec, index, out_offset);
  if (op == EG_OP_SLICE) return slice_view(spec, out_offset);
  bool same = eg_type_same_shape(&spec->inputs[0], &spec->results[0]);
  if (op == EG_OP_PART) return eg_attr_at(spec->attrs, EG_A_PART_INDEX)->i == 0 && same;
  if (op == EG_OP_EXPAND || op == EG_OP_CAST || op == EG_OP_IDENTITY) return same;
  return (eg_op_info_of(op)->flags & EG_OPF_VIEW) != 0 &&
         (same || spec->inputs[0].layout.format == EG_FORMAT_PLAIN);
}

bool eg_node_is_view(const eg_node_spec *spec) {
  size_t offset;
  for (uint32_t i = 0; i < spec->result_count; i++)
    if (!eg_view_of(spec, i, &offset)) return false;
  return true;
}

bool eg_concat_is_region(const eg_node_spec *spec) {
  if (spec->attrs->op != EG_OP_CONCAT) return false;
  const eg_type *whole = &spec->results[0];
  uint32_t axis =
      positive_axis(eg_attr_at(spec->attrs, EG_A_CONCAT_AXIS)->i, whole->rank);
  if (!is_outermost(whole, axis)) return false;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (!same_storage(whole, &spec->inputs[i]) ||
        !is_whole_blocks(&spec->inputs[i], axis))
      return false;
  return true;
}
