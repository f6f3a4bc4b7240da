// Gradients of pooling. oneDNN scatters by what its forward pass leaves behind: where
// each maximum was found. A node has no such thing, so a gradient of maxima makes them
// again.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"
#include "exec/cpu/pool_window.h"

typedef struct gradient {
  eg_pool_window window;
  eg_type x, cotangent; // as the kernels have them: of one format
  const_dnnl_memory_desc_t x_desc, cotangent_desc;
  dnnl_primitive_desc_t forward, backward;
} gradient;

static egraph_status describe(eg_cpu_builder *builder, gradient *g) {
  const eg_pool_window *w = &g->window;
  eg_descs *descs = &builder->descs;
  EG_TRY(eg_dnnl_desc(descs, &g->x, &g->x_desc));
  EG_TRY(eg_dnnl_desc(descs, &g->cotangent, &g->cotangent_desc));
  dnnl_status_t made = dnnl_pooling_forward_primitive_desc_create(
      &g->forward, builder->engine, dnnl_forward_training, w->alg, g->x_desc,
      g->cotangent_desc, w->strides, w->kernel, w->dilates, w->begin, w->end,
      builder->plain);
  EG_TRY(eg_dnnl_own(descs, made, g->forward, "pooling"));
  made = dnnl_pooling_backward_primitive_desc_create(
      &g->backward, builder->engine, w->alg, g->x_desc, g->cotangent_desc, w->strides,
      w->kernel, w->dilates, w->begin, w->end, g->forward, builder->plain);
  return eg_dnnl_own(descs, made, g->backward, "gradient of pooling");
}

/// Where an operand is in the format of the kernels.
static egraph_status read_operand(eg_cpu_builder *builder, uint32_t index,
                                  const_dnnl_memory_desc_t want, eg_place *out) {
  const_dnnl_memory_desc_t have;
  EG_TRY(eg_dnnl_desc(&builder->descs, &builder->spec->inputs[index], &have));
  return eg_cpu_read_as(builder, index, have, want, out);
}

/// Adds the forward pass of maxima; *out is what it leaves behind.
static egraph_status add_forward(eg_cpu_builder *builder, const gradient *g,
                                 const_dnnl_memory_desc_t left, eg_place *out) {
  eg_place x, maxima = eg_cpu_scratch(builder, eg_type_bytes(&g->cotangent));
  EG_TRY(read_operand(builder, 0, g->x_desc, &x));
  *out = eg_cpu_scratch(builder, dnnl_memory_desc_get_size(left));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, x, g->x_desc},
                         {DNNL_ARG_DST, maxima, g->cotangent_desc},
                         {DNNL_ARG_WORKSPACE, *out, left}};
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, g->forward, args, 3));
  return eg_cpu_add_again(builder, maxima,
                          (int64_t)(eg_type_bytes(&g->cotangent) / sizeof(float)));
}

static egraph_status add_backward(eg_cpu_builder *builder, const gradient *g,
                                  const_dnnl_memory_desc_t left, eg_place from) {
  const_dnnl_memory_desc_t result;
  eg_place cotangent, to = eg_place_result(0);
  EG_TRY(eg_dnnl_desc(&builder->descs, &builder->spec->results[0], &result));
  EG_TRY(read_operand(builder, builder->spec->input_count - 1, g->cotangent_desc,
                      &cotangent));
  bool is_asked_for = dnnl_memory_desc_equal(g->x_desc, result) != 0;
  if (!is_asked_for) to = eg_cpu_scratch(builder, eg_type_bytes(&g->x));
  eg_stage_arg args[] = {{DNNL_ARG_DIFF_DST, cotangent, g->cotangent_desc},
                         {DNNL_ARG_DIFF_SRC, to, g->x_desc},
                         {DNNL_ARG_WORKSPACE, from, left}};
  EG_TRY(eg_cpu_name(builder, g->backward));
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, g->backward, args,
                              left == NULL ? 2 : 3));
  return is_asked_for ? EGRAPH_OK
                      : eg_cpu_add_reorder(builder, &builder->run, to, g->x_desc,
                                           eg_place_result(0), result);
}

egraph_status eg_cpu_pool_grad(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  gradient g = {.x = spec->results[0], .cotangent = spec->inputs[spec->input_count - 1]};
  EG_TRY(eg_pool_window_of(spec, &g.window));
  if (g.x.layout.format == EG_FORMAT_PLAIN && g.window.spatial == 2) {
    g.x = eg_type_channels_last(&g.x); // in rows there is no fast kernel
    g.cotangent = eg_type_channels_last(&g.cotangent);
  }
  EG_TRY(describe(builder, &g));
  if (!eg_cpu_is_jitted(g.backward))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "gradient of pooling: no fast kernel");
  const_dnnl_memory_desc_t left = NULL;
  eg_place from = {.kind = EG_PLACE_SCRATCH};
  if (g.window.alg == dnnl_pooling_max) {
    left = dnnl_primitive_desc_query_md(g.forward, dnnl_query_workspace_md, 0);
    EG_TRY(add_forward(builder, &g, left, &from));
  }
  return add_backward(builder, &g, left, from);
}
