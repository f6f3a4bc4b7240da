// Pooling. oneDNN wants the padding that makes its size formula exact, so the end padding
// is recomputed from the result's shape (ceil_mode lengthens it, a remainder shortens
// it).
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"

typedef struct window {
  uint32_t spatial;
  int64_t kernel[EGRAPH_MAX_RANK], strides[EGRAPH_MAX_RANK], dilates[EGRAPH_MAX_RANK],
      begin[EGRAPH_MAX_RANK], end[EGRAPH_MAX_RANK];
} window;

static egraph_status add_pool(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                              const window *w) {
  const eg_node_spec *spec = builder->spec;
  dnnl_memory_desc_t x, result;
  EG_TRY(eg_dnnl_desc(&spec->inputs[0], &x));
  EG_TRY(eg_dnnl_desc(&spec->results[0], &result));
  dnnl_pooling_v2_desc_t operation;
  EG_TRY(eg_dnnl_check(dnnl_pooling_v2_forward_desc_init(
                           &operation, dnnl_forward_inference, alg, &x, &result,
                           w->strides, w->kernel, w->dilates, w->begin, w->end),
                       "pooling"));
  dnnl_primitive_desc_t primitive;
  EG_TRY(eg_cpu_describe(builder, &operation, NULL, "pooling", &primitive));
  egraph_status status = eg_cpu_name(builder, primitive);
  if (status == EGRAPH_OK && eg_cpu_is_slow(primitive) &&
      spec->inputs[0].layout.format != EG_FORMAT_PLAIN)
    status = EG_FAIL(EGRAPH_E_UNSUPPORTED, "pooling: no fast kernel in this format");
  if (status != EGRAPH_OK) {
    dnnl_primitive_desc_destroy(primitive);
    return status;
  }
  eg_stage_arg args[] = {{DNNL_ARG_SRC, eg_cpu_read(builder, 0), &x},
                         {DNNL_ARG_DST, eg_place_result(0), &result}};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, 2);
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
