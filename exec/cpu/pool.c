// Pooling. oneDNN wants the padding that makes its size formula exact, so the end
// padding is recomputed from the result's shape (ceil_mode lengthens it, a
// remainder shortens it).
// SPDX-License-Identifier: Apache-2.0
#include <fenv.h>
#include <float.h>

#include "exec/cpu/families.h"

typedef struct window {
  uint32_t spatial;
  int64_t kernel[EGRAPH_MAX_RANK], strides[EGRAPH_MAX_RANK], dilates[EGRAPH_MAX_RANK],
      begin[EGRAPH_MAX_RANK], end[EGRAPH_MAX_RANK];
} window;

static egraph_status describe(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                              const window *w, const dnnl_memory_desc_t *x,
                              const dnnl_memory_desc_t *result,
                              dnnl_primitive_desc_t *out) {
  dnnl_pooling_v2_desc_t operation;
  EG_TRY(eg_dnnl_check(dnnl_pooling_v2_forward_desc_init(
                           &operation, dnnl_forward_inference, alg, x, result, w->strides,
                           w->kernel, w->dilates, w->begin, w->end),
                       "pooling"));
  return eg_cpu_describe(builder, &operation, NULL, "pooling", out);
}

static bool is_jitted(const_dnnl_primitive_desc_t primitive) {
  return strncmp(eg_cpu_kernel_of(primitive), "jit", 3) == 0;
}

static egraph_status add_stage(eg_cpu_builder *builder, dnnl_primitive_desc_t primitive,
                               eg_place from, const dnnl_memory_desc_t *x, eg_place to,
                               const dnnl_memory_desc_t *result) {
  builder->kernel = NULL;
  egraph_status status = eg_cpu_name(builder, primitive);
  if (status != EGRAPH_OK) {
    dnnl_primitive_desc_destroy(primitive);
    return status;
  }
  eg_stage_arg args[] = {{DNNL_ARG_SRC, from, x}, {DNNL_ARG_DST, to, result}};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, 2);
}

static egraph_status add_through_nhwc(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                                      const window *w, const dnnl_memory_desc_t *x,
                                      const dnnl_memory_desc_t *result) {
  const eg_node_spec *spec = builder->spec;
  eg_type x_type = spec->inputs[0], result_type = spec->results[0];
  x_type.layout.format = result_type.layout.format = EG_FORMAT_NHWC;
  dnnl_memory_desc_t x_nhwc, result_nhwc;
  EG_TRY(eg_dnnl_desc(&x_type, &x_nhwc));
  EG_TRY(eg_dnnl_desc(&result_type, &result_nhwc));
  eg_place from = eg_cpu_scratch(builder, eg_type_bytes(&x_type));
  eg_place to = eg_cpu_scratch(builder, eg_type_bytes(&result_type));
  EG_TRY(eg_cpu_add_reorder(builder, &builder->run, eg_cpu_read(builder, 0), x, from,
                            &x_nhwc));
  dnnl_primitive_desc_t primitive;
  EG_TRY(describe(builder, alg, w, &x_nhwc, &result_nhwc, &primitive));
  EG_TRY(add_stage(builder, primitive, from, &x_nhwc, to, &result_nhwc));
  return eg_cpu_add_reorder(builder, &builder->run, to, &result_nhwc, eg_place_result(0),
                            result);
}

// oneDNN's maximum of negative infinities is the lowest number. It raises no flag there,
// as it does where it loses NaN, so this does.
static egraph_status flag_lowest(const void *payload, void *const *addresses) {
  const int64_t *elements = payload;
  const float *y = addresses[0];
  uint32_t found = 0;
  for (int64_t i = 0; i < *elements; i++)
    found |= y[i] == -FLT_MAX;
  if (found != 0) (void)feraiseexcept(FE_INVALID);
  return EGRAPH_OK;
}

static egraph_status add_again(eg_cpu_builder *builder) {
  int64_t *elements;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *elements, &elements));
  *elements = (int64_t)(eg_type_bytes(&builder->spec->results[0]) / sizeof(float));
  eg_place result = eg_place_result(0);
  EG_TRY(eg_cpu_add_function(builder, &builder->run, flag_lowest, elements, &result, 1));
  eg_cpu_exchange_lists(builder);
  egraph_status status = eg_cpu_add_reference(builder);
  eg_cpu_exchange_lists(builder);
  return status;
}

static egraph_status add_windows(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                                 const window *w) {
  const eg_node_spec *spec = builder->spec;
  dnnl_memory_desc_t x, result;
  EG_TRY(eg_dnnl_desc(&spec->inputs[0], &x));
  EG_TRY(eg_dnnl_desc(&spec->results[0], &result));
  dnnl_primitive_desc_t primitive;
  EG_TRY(describe(builder, alg, w, &x, &result, &primitive));
  if (!is_jitted(primitive)) {
    bool is_plain = spec->inputs[0].layout.format == EG_FORMAT_PLAIN;
    if (is_plain && w->spatial == 2) {
      dnnl_primitive_desc_destroy(primitive);
      return add_through_nhwc(builder, alg, w, &x, &result);
    }
    if (!is_plain) {
      dnnl_primitive_desc_destroy(primitive);
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "pooling: no fast kernel in this format");
    }
  }
  return add_stage(builder, primitive, eg_cpu_read(builder, 0), &x, eg_place_result(0),
                   &result);
}

static egraph_status add_pool(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                              const window *w) {
  EG_TRY(add_windows(builder, alg, w));
  return alg == dnnl_pooling_max ? add_again(builder) : EGRAPH_OK;
}

static egraph_status check_spatial(uint32_t rank) {
  if (rank < 3 || rank > 5)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "pooling: oneDNN has 1 to 3 spatial dimensions");
  return EGRAPH_OK;
}

// Slot names differ between the two operators, so the lists are passed in.
static window window_of(const eg_node_spec *spec, const eg_attr *kernel,
                        const eg_attr *strides, const eg_attr *pads,
                        const eg_attr *dilations, bool *out_longer) {
  window w = {.spatial = spec->inputs[0].rank - 2};
  *out_longer = false;
  for (uint32_t i = 0; i < w.spatial; i++) {
    w.kernel[i] = kernel->ints.data[i];
    w.strides[i] = strides->ints.data[i];
    w.dilates[i] = dilations != NULL ? dilations->ints.data[i] - 1 : 0;
    w.begin[i] = pads->ints.data[i];
    int64_t extent = (w.kernel[i] - 1) * (w.dilates[i] + 1) + 1;
    w.end[i] = (spec->results[0].dims[i + 2] - 1) * w.strides[i] + extent -
               spec->inputs[0].dims[i + 2] - w.begin[i];
    if (w.end[i] > pads->ints.data[w.spatial + i]) *out_longer = true;
  }
  return w;
}

egraph_status eg_cpu_pool(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  EG_TRY(check_spatial(spec->inputs[0].rank));
  bool longer;
  if (attrs->op == EG_OP_MAX_POOL) {
    window w = window_of(spec, eg_attr_at(attrs, EG_A_MAX_POOL_KERNEL_SHAPE),
                         eg_attr_at(attrs, EG_A_MAX_POOL_STRIDES),
                         eg_attr_at(attrs, EG_A_MAX_POOL_PADS),
                         eg_attr_at(attrs, EG_A_MAX_POOL_DILATIONS), &longer);
    return add_pool(builder, dnnl_pooling_max, &w);
  }
  bool include = eg_attr_at(attrs, EG_A_AVERAGE_POOL_COUNT_INCLUDE_PAD)->i != 0;
  window w = window_of(spec, eg_attr_at(attrs, EG_A_AVERAGE_POOL_KERNEL_SHAPE),
                       eg_attr_at(attrs, EG_A_AVERAGE_POOL_STRIDES),
                       eg_attr_at(attrs, EG_A_AVERAGE_POOL_PADS), NULL, &longer);
  // ONNX does not count the cells that only ceil_mode adds, oneDNN would.
  if (include && longer)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "average-pool: ceil_mode with counted padding");
  return add_pool(
      builder,
      include ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding, &w);
}

egraph_status eg_cpu_global_pool(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  EG_TRY(check_spatial(spec->inputs[0].rank));
  window w = {.spatial = spec->inputs[0].rank - 2};
  for (uint32_t i = 0; i < w.spatial; i++)
    w.kernel[i] = w.strides[i] = spec->inputs[0].dims[i + 2];
  bool average = spec->attrs->op == EG_OP_GLOBAL_AVERAGE_POOL;
  return add_pool(builder, average ? dnnl_pooling_avg_include_padding : dnnl_pooling_max,
                  &w);
}
