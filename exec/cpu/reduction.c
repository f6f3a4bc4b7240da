// Reductions. Neighbouring dimensions merge to [outer, reduced, inner]. Along the last
// dimension oneDNN has a jitted kernel; along a middle one only its pooling is fast (128
// x 768 over 128: 4 us against 1 ms), so that is a window of the whole dimension in nhwc.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/eltwise.h"
#include "exec/cpu/families.h"

typedef struct shape3 {
  int64_t outer, reduced, inner;
} shape3;

static bool is_reduced(eg_ints axes, uint32_t d, uint32_t rank) {
  for (uint32_t i = 0; i < axes.len; i++)
    if (axes.data[i] == (int64_t)d || axes.data[i] + rank == (int64_t)d) return true;
  return false;
}

// False when reduced dimensions are not neighbours (dimensions of length 1 do not count).
static bool merge(const eg_type *type, eg_ints axes, shape3 *out) {
  *out = (shape3){1, 1, 1};
  for (uint32_t d = 0; d < type->rank; d++) {
    bool reduced = is_reduced(axes, d, type->rank);
    if (type->dims[d] == 1) continue;
    if (reduced && out->inner != 1) return false;
    if (reduced)
      out->reduced *= type->dims[d];
    else if (out->reduced == 1)
      out->outer *= type->dims[d];
    else
      out->inner *= type->dims[d];
  }
  return true;
}

static egraph_status add_named(eg_cpu_builder *builder, dnnl_primitive_desc_t primitive,
                               const dnnl_memory_desc_t *x,
                               const dnnl_memory_desc_t *result) {
  egraph_status status = eg_cpu_name(builder, primitive);
  if (status == EGRAPH_OK && eg_cpu_is_slow(primitive))
    status = EG_FAIL(EGRAPH_E_UNSUPPORTED, "reduction: no fast kernel");
  if (status != EGRAPH_OK) {
    dnnl_primitive_desc_destroy(primitive);
    return status;
  }
  eg_stage_arg args[] = {{DNNL_ARG_SRC, eg_cpu_read(builder, 0), x},
                         {DNNL_ARG_DST, eg_place_result(0), result}};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, 2);
}

/// The result times `scale` as a post-op; 1: none.
static egraph_status attr_with_scale(float scale, dnnl_primitive_attr_t *out) {
  eg_eltwise_chain chain = {.step = {{dnnl_eltwise_linear, scale, 0}},
                            .count = scale == 1.0f ? 0 : 1};
  return eg_cpu_attr_with_chain(&chain, out);
}

static egraph_status reduce_last(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                                 float scale, const shape3 *shape) {
  dnnl_memory_desc_t x, result;
  EG_TRY(eg_dnnl_desc_dims(2, (int64_t[]){shape->outer, shape->reduced}, &x));
  EG_TRY(eg_dnnl_desc_dims(2, (int64_t[]){shape->outer, 1}, &result));
  dnnl_reduction_desc_t operation;
  EG_TRY(eg_dnnl_check(dnnl_reduction_desc_init(&operation, alg, &x, &result, 0, 0),
                       "reduction"));
  dnnl_primitive_attr_t attr;
  EG_TRY(attr_with_scale(scale, &attr));
  dnnl_primitive_desc_t primitive;
  egraph_status status =
      eg_cpu_describe(builder, &operation, attr, "reduction", &primitive);
  dnnl_primitive_attr_destroy(attr);
  return status != EGRAPH_OK ? status : add_named(builder, primitive, &x, &result);
}

static egraph_status nhwc_desc(const shape3 *shape, int64_t length,
                               dnnl_memory_desc_t *out) {
  int64_t dims[4] = {shape->outer, shape->inner, length, 1};
  int64_t strides[4] = {length * shape->inner, 1, shape->inner, shape->inner};
  return eg_dnnl_desc_strided(4, dims, strides, out);
}

static egraph_status reduce_middle(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                                   float scale, const shape3 *shape) {
  dnnl_memory_desc_t x, result;
  EG_TRY(nhwc_desc(shape, shape->reduced, &x));
  EG_TRY(nhwc_desc(shape, 1, &result));
  dnnl_dims_t window = {shape->reduced, 1}, zero = {0, 0};
  dnnl_pooling_v2_desc_t operation;
  EG_TRY(eg_dnnl_check(
      dnnl_pooling_v2_forward_desc_init(&operation, dnnl_forward_inference, alg, &x,
                                        &result, window, window, zero, zero, zero),
      "reduction as pooling"));
  dnnl_primitive_attr_t attr;
  EG_TRY(attr_with_scale(scale, &attr));
  dnnl_primitive_desc_t primitive;
  egraph_status status =
      eg_cpu_describe(builder, &operation, attr, "reduction as pooling", &primitive);
  dnnl_primitive_attr_destroy(attr);
  return status != EGRAPH_OK ? status : add_named(builder, primitive, &x, &result);
}

typedef struct reduction_row {
  eg_op op;
  eg_attr_slot axes;
  dnnl_alg_kind_t last, middle; // middle: dnnl_alg_kind_undef without a pooling
} reduction_row;
static const reduction_row rows[] = {
    {EG_OP_REDUCE_SUM, EG_A_REDUCE_SUM_AXES, dnnl_reduction_sum,
     dnnl_pooling_avg_include_padding},
    {EG_OP_REDUCE_MEAN, EG_A_REDUCE_MEAN_AXES, dnnl_reduction_mean,
     dnnl_pooling_avg_include_padding},
    {EG_OP_REDUCE_PROD, EG_A_REDUCE_PROD_AXES, dnnl_reduction_mul, dnnl_alg_kind_undef},
};

/// What the mean of what is reduced is multiplied with.
static float mean_scale(const eg_attrs *attrs, const shape3 *shape) {
  if (attrs->op == EG_OP_REDUCE_SUM) return (float)shape->reduced;
  int64_t count =
      attrs->op == EG_OP_REDUCE_MEAN ? eg_attr_at(attrs, EG_A_REDUCE_MEAN_COUNT)->i : 0;
  return count == 0 ? 1.0f : (float)((double)shape->reduced / (double)count);
}

egraph_status eg_cpu_reduction(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].op != (eg_op)spec->attrs->op) continue;
    shape3 shape;
    if (spec->inputs[0].dtype != EGRAPH_FLOAT32 ||
        !merge(&spec->inputs[0], eg_attr_at(spec->attrs, rows[i].axes)->ints, &shape) ||
        shape.reduced == 1)
      break;
    float scale = mean_scale(spec->attrs, &shape);
    if (shape.inner == 1)
      return reduce_last(builder, rows[i].last,
                         rows[i].op == EG_OP_REDUCE_SUM ? 1.0f : scale, &shape);
    if (rows[i].middle == dnnl_alg_kind_undef) break;
    return reduce_middle(builder, rows[i].middle, scale, &shape);
  }
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: no kernel for these axes",
                 eg_op_info_of((eg_op)spec->attrs->op)->name);
}
