// Pooling.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"
#include "exec/cpu/pool_window.h"

// A pooling as it will run.
typedef struct pooling {
  const_dnnl_memory_desc_t x, result;
  dnnl_alg_kind_t alg;
  dnnl_primitive_desc_t primitive;
} pooling;

static egraph_status describe(eg_cpu_builder *builder, const eg_pool_window *w,
                              const eg_type *x, const eg_type *result, pooling *out) {
  out->alg = w->alg;
  EG_TRY(eg_dnnl_desc(&builder->descs, x, &out->x));
  EG_TRY(eg_dnnl_desc(&builder->descs, result, &out->result));
  dnnl_status_t made = dnnl_pooling_forward_primitive_desc_create(
      &out->primitive, builder->engine, dnnl_forward_inference, w->alg, out->x,
      out->result, w->strides, w->kernel, w->dilates, w->begin, w->end, builder->plain);
  return eg_dnnl_own(&builder->descs, made, out->primitive, "pooling");
}

static egraph_status add_stage(eg_cpu_builder *builder, const pooling *p, eg_place from,
                               eg_place to) {
  bool loses_nan = p->alg == dnnl_pooling_max;
  EG_TRY(eg_cpu_name(builder, p->primitive));
  if (loses_nan && !eg_cpu_is_jitted(p->primitive))
    EG_TRY(eg_cpu_add_nan_flag(
        builder, from, (int64_t)(dnnl_memory_desc_get_size(p->x) / sizeof(float))));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, from, p->x}, {DNNL_ARG_DST, to, p->result}};
  return eg_cpu_add_primitive(builder, &builder->run, p->primitive, args, 2);
}

static egraph_status add_through_nhwc(eg_cpu_builder *builder, const eg_pool_window *w,
                                      const pooling *plain) {
  const eg_node_spec *spec = builder->spec;
  eg_type x = eg_type_channels_last(&spec->inputs[0]);
  eg_type result = eg_type_channels_last(&spec->results[0]);
  pooling nhwc = {0};
  EG_TRY(describe(builder, w, &x, &result, &nhwc));
  eg_place from = eg_cpu_scratch(builder, eg_type_bytes(&x));
  eg_place to = eg_cpu_scratch(builder, eg_type_bytes(&result));
  EG_TRY(eg_cpu_add_reorder(builder, &builder->run, eg_cpu_read(builder, 0), plain->x,
                            from, nhwc.x));
  EG_TRY(add_stage(builder, &nhwc, from, to));
  return eg_cpu_add_reorder(builder, &builder->run, to, nhwc.result, eg_place_result(0),
                            plain->result);
}

static egraph_status add_windows(eg_cpu_builder *builder, const eg_pool_window *w) {
  const eg_type *x = &builder->spec->inputs[0];
  pooling direct = {0};
  EG_TRY(describe(builder, w, x, &builder->spec->results[0], &direct));
  if (!eg_cpu_is_jitted(direct.primitive)) {
    bool is_plain = x->layout.format == EG_FORMAT_PLAIN;
    if (is_plain && w->spatial == 2) return add_through_nhwc(builder, w, &direct);
    if (!is_plain)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "pooling: no fast kernel in this format");
  }
  return add_stage(builder, &direct, eg_cpu_read(builder, 0), eg_place_result(0));
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
