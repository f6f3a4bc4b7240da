// Reductions, over the tensor in its stored order. Neighbouring dimensions merge to
// [outer, reduced, inner]; reduced dimensions that are not neighbours (images and pixels,
// around the channels) take one pass each. Along the last dimension oneDNN has a jitted
// kernel. Along a middle dimension only its pooling is fast (128 x 768 over 128: 4 us
// against 1 ms), so a pooling window runs along the dimension in nhwc. The pooling adds
// terms one after the other, and the error grows with the terms of a sum. Therefore a
// long dimension is cut into windows, whose results are reduced again.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "exec/cpu/eltwise.h"
#include "exec/cpu/families.h"
#include "exec/cpu/loop_nest.h"

typedef struct shape3 {
  int64_t outer, reduced, inner;
} shape3;

/// The dimensions of a reduction that remain to be reduced, in stored order.
typedef struct remainder {
  uint32_t rank;
  int64_t dims[EG_MAX_LOOPS];
  bool reduced[EG_MAX_LOOPS];
} remainder;

static remainder all_of(const eg_type *type, eg_ints axes) {
  uint32_t logical[EG_MAX_LOOPS], bits = eg_axis_bits(type, axes);
  remainder all = {.rank = 0};
  all.rank = eg_stored_dims(type, all.dims, logical);
  for (uint32_t d = 0; d < all.rank; d++)
    all.reduced[d] = all.dims[d] != 1 && (bits >> logical[d] & 1) != 0;
  return all;
}

static bool is_done(const remainder *left) {
  for (uint32_t d = 0; d < left->rank; d++)
    if (left->reduced[d]) return false;
  return true;
}

/// Splits off one pass: the innermost group of neighbouring reduced dimensions;
/// dimensions of length 1 are ignored.
static shape3 take_pass(remainder *inout) {
  assert(inout->rank != 0);
  shape3 pass = {1, 1, 1};
  uint32_t d = inout->rank;
  for (; !inout->reduced[d - 1]; d--)
    pass.inner *= inout->dims[d - 1];
  for (; d > 0 && (inout->reduced[d - 1] || inout->dims[d - 1] == 1); d--) {
    pass.reduced *= inout->dims[d - 1];
    inout->dims[d - 1] = 1;
    inout->reduced[d - 1] = false;
  }
  for (; d > 0; d--)
    pass.outer *= inout->dims[d - 1];
  return pass;
}

/// A pass of a reduction: its source, its target, and the factor of its result.
typedef struct reduction_pass {
  shape3 shape;
  eg_place from, to;
  float scale;
} reduction_pass;

/// Makes attributes that multiply the result by `scale`: in a post-op, unless it is 1.
static egraph_status attr_with_scale(float scale, dnnl_primitive_attr_t *out) {
  eg_eltwise_chain chain = {.step = {{dnnl_eltwise_linear, scale, 0}},
                            .count = scale == 1.0f ? 0 : 1};
  return eg_cpu_attr_with_chain(&chain, out);
}

static egraph_status add_reduction_stage(eg_cpu_builder *builder,
                                         const reduction_pass *pass,
                                         const_dnnl_primitive_desc_t primitive,
                                         const_dnnl_memory_desc_t x,
                                         const_dnnl_memory_desc_t result) {
  if (eg_cpu_is_slow(primitive))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "reduction: no fast kernel");
  EG_TRY(eg_cpu_name(builder, primitive));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, pass->from, x}, {DNNL_ARG_DST, pass->to, result}};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, 2);
}

static egraph_status reduce_last(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                                 const reduction_pass *pass) {
  const shape3 *shape = &pass->shape;
  eg_descs *descs = &builder->descs;
  const_dnnl_memory_desc_t x, result;
  EG_TRY(eg_dnnl_desc_dims(descs, 2, (int64_t[]){shape->outer, shape->reduced}, &x));
  EG_TRY(eg_dnnl_desc_dims(descs, 2, (int64_t[]){shape->outer, 1}, &result));
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t primitive = NULL;
  EG_TRY(attr_with_scale(pass->scale, &attr));
  dnnl_status_t made = dnnl_reduction_primitive_desc_create(&primitive, builder->engine,
                                                            alg, x, result, 0, 0, attr);
  dnnl_primitive_attr_destroy(attr);
  EG_TRY(eg_dnnl_own(descs, made, primitive, "reduction"));
  return add_reduction_stage(builder, pass, primitive, x, result);
}

static egraph_status nhwc_desc(eg_descs *descs, const shape3 *shape, int64_t length,
                               const_dnnl_memory_desc_t *out) {
  int64_t dims[4] = {shape->outer, shape->inner, length, 1};
  int64_t strides[4] = {length * shape->inner, 1, shape->inner, shape->inner};
  return eg_dnnl_desc_strided(descs, 4, dims, strides, out);
}

/// Appends sums over `windows` windows along the middle dimension; zeros fill the last.
static egraph_status sum_windows(eg_cpu_builder *builder, const reduction_pass *pass,
                                 int64_t windows) {
  assert(windows > 0);
  const shape3 *shape = &pass->shape;
  eg_descs *descs = &builder->descs;
  int64_t length = (shape->reduced + windows - 1) / windows;
  const_dnnl_memory_desc_t x, result;
  EG_TRY(nhwc_desc(descs, shape, shape->reduced, &x));
  EG_TRY(nhwc_desc(descs, shape, windows, &result));
  dnnl_dims_t window = {length, 1}, zero = {0, 0},
              end = {windows * length - shape->reduced, 0};
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t primitive = NULL;
  // The factor includes the length, because pooling computes means.
  EG_TRY(attr_with_scale(pass->scale * (float)length, &attr));
  dnnl_status_t made = dnnl_pooling_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference,
      dnnl_pooling_avg_include_padding, x, result, window, window, zero, zero, end, attr);
  dnnl_primitive_attr_destroy(attr);
  EG_TRY(eg_dnnl_own(descs, made, primitive, "reduction as pooling"));
  return add_reduction_stage(builder, pass, primitive, x, result);
}

/// Returns the number of windows into which a dimension is cut; no window is empty.
static int64_t windows_of(int64_t reduced) {
  enum { SHORT = 128 };
  int64_t length = SHORT;
  if (reduced <= SHORT) return 1;
  while (length * length < reduced)
    length *= 2;
  int64_t windows = (reduced + length - 1) / length;
  length = (reduced + windows - 1) / windows;
  return (reduced + length - 1) / length;
}

static eg_place scratch_for(eg_cpu_builder *builder, int64_t elements) {
  return eg_cpu_scratch(builder, (size_t)elements * sizeof(float));
}

static egraph_status sum_middle(eg_cpu_builder *builder, reduction_pass pass) {
  int64_t windows = windows_of(pass.shape.reduced);
  if (windows == 1) return sum_windows(builder, &pass, 1);
  reduction_pass first = pass;
  first.scale = 1.0f;
  first.to = scratch_for(builder, pass.shape.outer * windows * pass.shape.inner);
  EG_TRY(sum_windows(builder, &first, windows));
  pass.shape.reduced = windows;
  pass.from = first.to;
  return sum_middle(builder, pass);
}

typedef struct reduction_row {
  eg_op op;
  eg_attr_slot axes;
  bool multiplies;
} reduction_row;
static const reduction_row rows[] = {
    {EG_OP_REDUCE_SUM, EG_A_REDUCE_SUM_AXES, false},
    {EG_OP_REDUCE_MEAN, EG_A_REDUCE_MEAN_AXES, false},
    {EG_OP_REDUCE_PROD, EG_A_REDUCE_PROD_AXES, true},
};

static egraph_status add_pass(eg_cpu_builder *builder, const reduction_row *row,
                              const reduction_pass *pass) {
  if (pass->shape.inner == 1)
    return reduce_last(builder, row->multiplies ? dnnl_reduction_mul : dnnl_reduction_sum,
                       pass);
  return row->multiplies ? eg_cpu_refuse(builder, "no kernel for these axes")
                         : sum_middle(builder, *pass);
}

static egraph_status add_passes(eg_cpu_builder *builder, const reduction_row *row,
                                remainder *left) {
  reduction_pass pass = {.from = eg_cpu_read(builder, 0), .scale = 1.0f};
  const eg_attrs *attrs = builder->spec->attrs;
  int64_t reduced = 1;
  if (is_done(left)) return eg_cpu_refuse(builder, "no kernel for these axes");
  while (!is_done(left)) {
    pass.shape = take_pass(left);
    reduced *= pass.shape.reduced;
    bool is_last = is_done(left);
    pass.to = is_last ? eg_place_result(0)
                      : scratch_for(builder, pass.shape.outer * pass.shape.inner);
    if (is_last && attrs->op == EG_OP_REDUCE_MEAN) {
      int64_t count = eg_attr_at(attrs, EG_A_REDUCE_MEAN_COUNT)->i;
      pass.scale = (float)(1.0 / (double)(count == 0 ? reduced : count));
    }
    EG_TRY(add_pass(builder, row, &pass));
    pass.from = pass.to;
  }
  return EGRAPH_OK;
}

egraph_status eg_cpu_reduction(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *x = &spec->inputs[0];
  if (x->dtype != EGRAPH_FLOAT32 || eg_type_has_padding(x) ||
      spec->results[0].layout.format != EG_FORMAT_PLAIN)
    return eg_cpu_refuse(builder, "no kernel for these axes");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].op != (eg_op)spec->attrs->op) continue;
    remainder left = all_of(x, eg_attr_at(spec->attrs, rows[i].axes)->ints);
    return add_passes(builder, &rows[i], &left);
  }
  return eg_cpu_refuse(builder, "no kernel for these axes");
}
