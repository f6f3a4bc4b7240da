// Concatenation, split, slice, padding and expansion: copies between a tensor
// and parts of it.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/copy.h"
#include "exec/cpu/families.h"

// Loop of a tensor as stored that runs over a logical axis, and the elements one step of
// the axis takes there; false when steps of the axis are not uniform (blocked channels
// that do not fill their blocks).
static bool axis_loop(const eg_type *type, uint32_t axis, uint32_t *out_loop,
                      int64_t *out_step) {
  static const uint32_t nhwc[] = {0, 3, 1, 2};
  uint32_t block = eg_format_block((eg_format)type->layout.format);
  *out_step = 1;
  *out_loop = type->layout.format == EG_FORMAT_NHWC ? nhwc[axis] : axis;
  if (block == 1 || axis != 1) return true;
  *out_step = block; // the loop runs over blocks
  return type->dims[1] % block == 0;
}

// Copies between `part` (dense) and the region of `whole` that starts at
// `start` along `axis`.
static egraph_status add_part(eg_cpu_builder *builder, const eg_type *whole,
                              eg_place whole_place, const eg_type *part,
                              eg_place part_place, uint32_t axis, int64_t start,
                              bool to_whole) {
  uint32_t loop;
  int64_t step;
  if (!axis_loop(whole, axis, &loop, &step) || !axis_loop(part, axis, &loop, &step) ||
      start % step != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "parts of whole channel blocks only");
  eg_loop_nest nest, outer;
  eg_loop_nest_init(&nest, part);
  eg_loop_nest_init(&outer, whole);
  uint32_t whole_side = to_whole ? 0 : 1, part_side = to_whole ? 1 : 0;
  int64_t part_strides[EG_MAX_LOOPS];
  memcpy(part_strides, nest.strides[0], sizeof part_strides);
  memcpy(nest.strides[whole_side], outer.strides[0], sizeof part_strides);
  memcpy(nest.strides[part_side], part_strides, sizeof part_strides);
  whole_place.offset +=
      (size_t)(start / step * outer.strides[0][loop]) * eg_dtype_bytes(whole->dtype);
  return eg_cpu_add_copy(builder, &nest, whole->dtype,
                         to_whole ? part_place : whole_place,
                         to_whole ? whole_place : part_place);
}

static uint32_t positive_axis(int64_t axis, uint32_t rank) {
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}

static bool same_storage(const eg_type *a, const eg_type *b) {
  return a->dtype == b->dtype && a->layout.format == b->layout.format;
}

static egraph_status refuse_formats(const eg_cpu_builder *builder) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: operands and results need one format",
                 eg_op_info_of((eg_op)builder->spec->attrs->op)->name);
}

egraph_status eg_cpu_concat(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *whole = &spec->results[0];
  uint32_t axis =
      positive_axis(eg_attr_at(spec->attrs, EG_A_CONCAT_AXIS)->i, whole->rank);
  int64_t start = 0;
  for (uint32_t i = 0; i < spec->input_count; i++) {
    const eg_type *part = &spec->inputs[i];
    if (!same_storage(whole, part)) return refuse_formats(builder);
    if (eg_type_elements(part) != 0)
      EG_TRY(add_part(builder, whole, eg_place_result(0), part, eg_cpu_read(builder, i),
                      axis, start, true));
    start += part->dims[axis];
  }
  return EGRAPH_OK;
}

egraph_status eg_cpu_split(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *whole = &spec->inputs[0];
  uint32_t axis = positive_axis(eg_attr_at(spec->attrs, EG_A_SPLIT_AXIS)->i, whole->rank);
  int64_t start = 0;
  for (uint32_t i = 0; i < spec->result_count; i++) {
    const eg_type *part = &spec->results[i];
    if (!same_storage(whole, part)) return refuse_formats(builder);
    EG_TRY(add_part(builder, whole, eg_cpu_read(builder, 0), part, eg_place_result(i),
                    axis, start, false));
    start += part->dims[axis];
  }
  return EGRAPH_OK;
}

egraph_status eg_cpu_slice(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  if (!same_storage(from, to) || from->layout.format != EG_FORMAT_PLAIN)
    return refuse_formats(builder);
  const int64_t *starts = eg_attr_at(spec->attrs, EG_A_SLICE_STARTS)->ints.data;
  const int64_t *steps = eg_attr_at(spec->attrs, EG_A_SLICE_STEPS)->ints.data;
  eg_loop_nest nest, source;
  eg_loop_nest_init(&nest, to);
  eg_loop_nest_init(&source, from);
  int64_t offset = 0;
  for (uint32_t d = 0; d < from->rank; d++) {
    offset += starts[d] * source.strides[0][d];
    nest.strides[1][d] = steps[d] * source.strides[0][d];
  }
  eg_place place = eg_cpu_read(builder, 0);
  place.offset = (size_t)offset * eg_dtype_bytes(from->dtype);
  return eg_cpu_add_copy(builder, &nest, from->dtype, place, eg_place_result(0));
}

egraph_status eg_cpu_expand(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  eg_loop_nest nest;
  eg_loop_nest_init(&nest, to);
  if (spec->attrs->op != EG_OP_EXPAND || from->rank > to->rank ||
      !same_storage(from, to) || !eg_loop_nest_add(&nest, to, 1, from))
    return refuse_formats(builder);
  return eg_cpu_add_copy(builder, &nest, to->dtype, eg_cpu_read(builder, 0),
                         eg_place_result(0));
}

egraph_status eg_cpu_pad(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  enum { CONSTANT };
  if (eg_attr_at(spec->attrs, EG_A_PAD_MODE)->i != CONSTANT ||
      from->dtype != EGRAPH_FLOAT32)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "pad: no kernel for this mode or type");
  const int64_t *pads = eg_attr_at(spec->attrs, EG_A_PAD_PADS)->ints.data;
  eg_loop_nest nest, whole;
  eg_loop_nest_init(&nest, from);
  eg_loop_nest_init(&whole, to);
  memcpy(nest.strides[1], nest.strides[0], sizeof nest.strides[0]);
  memcpy(nest.strides[0], whole.strides[0], sizeof nest.strides[0]);
  int64_t offset = 0;
  for (uint32_t d = 0; d < from->rank; d++)
    offset += pads[d] * whole.strides[0][d];
  EG_TRY(eg_cpu_add_fill(builder, to, eg_attr_at(spec->attrs, EG_A_PAD_VALUE)->f,
                         eg_place_result(0)));
  eg_place inside = eg_place_result(0);
  inside.offset = (size_t)offset * sizeof(float);
  return eg_cpu_add_copy(builder, &nest, from->dtype, eg_cpu_read(builder, 0), inside);
}
