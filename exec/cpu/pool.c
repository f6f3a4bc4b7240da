// Pooling.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"
#include "exec/cpu/pool_window.h"

static egraph_status describe(eg_cpu_builder *builder, const eg_pool_window *w,
                              const dnnl_memory_desc_t *x,
                              const dnnl_memory_desc_t *result,
                              dnnl_primitive_desc_t *out) {
  dnnl_pooling_v2_desc_t operation;
  EG_TRY(eg_dnnl_check(dnnl_pooling_v2_forward_desc_init(
                           &operation, dnnl_forward_inference, w->alg, x, result,
                           w->strides, w->kernel, w->dilates, w->begin, w->end),
                       "pooling"));
  return eg_cpu_describe(builder, &operation, NULL, "pooling", out);
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

static egraph_status add_through_nhwc(eg_cpu_builder *builder, const eg_pool_window *w,
                                      const dnnl_memory_desc_t *x,
                                      const dnnl_memory_desc_t *result) {
  const eg_node_spec *spec = builder->spec;
  eg_type x_type = eg_type_channels_last(&spec->inputs[0]);
  eg_type result_type = eg_type_channels_last(&spec->results[0]);
  dnnl_memory_desc_t x_nhwc, result_nhwc;
  EG_TRY(eg_dnnl_desc(&x_type, &x_nhwc));
  EG_TRY(eg_dnnl_desc(&result_type, &result_nhwc));
  eg_place from = eg_cpu_scratch(builder, eg_type_bytes(&x_type));
  eg_place to = eg_cpu_scratch(builder, eg_type_bytes(&result_type));
  EG_TRY(eg_cpu_add_reorder(builder, &builder->run, eg_cpu_read(builder, 0), x, from,
                            &x_nhwc));
  dnnl_primitive_desc_t primitive;
  EG_TRY(describe(builder, w, &x_nhwc, &result_nhwc, &primitive));
  EG_TRY(add_stage(builder, primitive, from, &x_nhwc, to, &result_nhwc));
  return eg_cpu_add_reorder(builder, &builder->run, to, &result_nhwc, eg_place_result(0),
                            result);
}

static egraph_status add_windows(eg_cpu_builder *builder, const eg_pool_window *w) {
  const eg_node_spec *spec = builder->spec;
  dnnl_memory_desc_t x, result;
  EG_TRY(eg_dnnl_desc(&spec->inputs[0], &x));
  EG_TRY(eg_dnnl_desc(&spec->results[0], &result));
  dnnl_primitive_desc_t primitive;
  EG_TRY(describe(builder, w, &x, &result, &primitive));
  if (!eg_cpu_is_jitted(primitive)) {
    bool is_plain = spec->inputs[0].layout.format == EG_FORMAT_PLAIN;
    if (is_plain && w->spatial == 2) {
      dnnl_primitive_desc_destroy(primitive);
      return add_through_nhwc(builder, w, &x, &result);
    }
    if (!is_plain) {
      dnnl_primitive_desc_destroy(primitive);
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "pooling: no fast kernel in this format");
    }
  }
  return add_stage(builder, primitive, eg_cpu_read(builder, 0), &x, eg_place_result(0),
                   &result);
}

static egraph_status add_pool(eg_cpu_builder *builder, const eg_pool_window *w) {
  const eg_type *result = &builder->spec->results[0];
  EG_TRY(add_windows(builder, w));
  return w->alg == dnnl_pooling_max
             ? eg_cpu_add_again(builder, eg_place_result(0),
                                (int64_t)(eg_type_bytes(result) / sizeof(float)))
             : EGRAPH_OK;
}

egraph_status eg_cpu_pool(eg_cpu_builder *builder) {
  eg_pool_window w;
  EG_TRY(eg_pool_window_of(builder->spec, &w));
  return add_pool(builder, &w);
}

egraph_status eg_cpu_global_pool(eg_cpu_builder *builder) {
  const eg_type *x = &builder->spec->inputs[0];
  bool average = builder->spec->attrs->op == EG_OP_GLOBAL_AVERAGE_POOL;
  eg_pool_window w = {.alg =
                          average ? dnnl_pooling_avg_include_padding : dnnl_pooling_max,
                      .spatial = x->rank - 2};
  EG_TRY(eg_pool_check_rank(x->rank));
  for (uint32_t i = 0; i < w.spatial; i++)
    w.kernel[i] = w.strides[i] = x->dims[i + 2];
  return add_pool(builder, &w);
}
