// Gradients of pooling. oneDNN scatters by what its forward pass leaves behind: where
// each maximum was found. A node has no such thing, so a gradient of maxima makes them
// again.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"
#include "exec/cpu/pool_window.h"

typedef struct gradient {
  eg_pool_window window;
  eg_type x, cotangent; // as the kernels have them: of one format
  dnnl_memory_desc_t x_desc, cotangent_desc;
  dnnl_primitive_desc_t forward, backward;
} gradient;

static void release(gradient *g) {
  if (g->forward != NULL) dnnl_primitive_desc_destroy(g->forward);
  if (g->backward != NULL) dnnl_primitive_desc_destroy(g->backward);
  g->forward = g->backward = NULL;
}

static egraph_status describe(eg_cpu_builder *builder, gradient *g) {
  const eg_pool_window *w = &g->window;
  dnnl_pooling_v2_desc_t forward, backward;
  EG_TRY(eg_dnnl_desc(&g->x, &g->x_desc));
  EG_TRY(eg_dnnl_desc(&g->cotangent, &g->cotangent_desc));
  EG_TRY(eg_dnnl_check(
      dnnl_pooling_v2_forward_desc_init(&forward, dnnl_forward_training, w->alg,
                                        &g->x_desc, &g->cotangent_desc, w->strides,
                                        w->kernel, w->dilates, w->begin, w->end),
      "pooling"));
  EG_TRY(eg_dnnl_check(dnnl_pooling_v2_backward_desc_init(
                           &backward, w->alg, &g->x_desc, &g->cotangent_desc, w->strides,
                           w->kernel, w->dilates, w->begin, w->end),
                       "gradient of pooling"));
  EG_TRY(eg_cpu_describe(builder, &forward, NULL, "pooling", &g->forward));
  return eg_cpu_describe_backward(builder, &backward, g->forward, "gradient of pooling",
                                  &g->backward);
}

/// Where an operand is in the format of the kernels.
static egraph_status read_operand(eg_cpu_builder *builder, uint32_t index,
                                  const dnnl_memory_desc_t *want, eg_place *out) {
  dnnl_memory_desc_t have;
  EG_TRY(eg_dnnl_desc(&builder->spec->inputs[index], &have));
  return eg_cpu_read_as(builder, index, &have, want, out);
}

/// Adds the forward pass of maxima; *out is what it leaves behind.
static egraph_status add_forward(eg_cpu_builder *builder, gradient *g,
                                 const dnnl_memory_desc_t *left, eg_place *out) {
  eg_place x, maxima = eg_cpu_scratch(builder, eg_type_bytes(&g->cotangent));
  EG_TRY(read_operand(builder, 0, &g->x_desc, &x));
  *out = eg_cpu_scratch(builder, dnnl_memory_desc_get_size(left));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, x, &g->x_desc},
                         {DNNL_ARG_DST, maxima, &g->cotangent_desc},
                         {DNNL_ARG_WORKSPACE, *out, left}};
  dnnl_primitive_desc_t forward = g->forward;
  g->forward = NULL; // the next takes it
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, forward, args, 3));
  return eg_cpu_add_again(builder, maxima,
                          (int64_t)(eg_type_bytes(&g->cotangent) / sizeof(float)));
}

static egraph_status add_backward(eg_cpu_builder *builder, gradient *g,
                                  const dnnl_memory_desc_t *left, eg_place from) {
  dnnl_memory_desc_t result;
  eg_place cotangent, to = eg_place_result(0);
  EG_TRY(eg_dnnl_desc(&builder->spec->results[0], &result));
  EG_TRY(read_operand(builder, builder->spec->input_count - 1, &g->cotangent_desc,
                      &cotangent));
  bool is_asked_for = dnnl_memory_desc_equal(&g->x_desc, &result) != 0;
  if (!is_asked_for) to = eg_cpu_scratch(builder, eg_type_bytes(&g->x));
  eg_stage_arg args[] = {{DNNL_ARG_DIFF_DST, cotangent, &g->cotangent_desc},
                         {DNNL_ARG_DIFF_SRC, to, &g->x_desc},
                         {DNNL_ARG_WORKSPACE, from, left}};
  builder->kernel = NULL;
  EG_TRY(eg_cpu_name(builder, g->backward));
  dnnl_primitive_desc_t backward = g->backward;
  g->backward = NULL;
  EG_TRY(
      eg_cpu_add_primitive(builder, &builder->run, backward, args, left == NULL ? 2 : 3));
  return is_asked_for ? EGRAPH_OK
                      : eg_cpu_add_reorder(builder, &builder->run, to, &g->x_desc,
                                           eg_place_result(0), &result);
}

static egraph_status add_stages(eg_cpu_builder *builder, gradient *g) {
  const dnnl_memory_desc_t *left = NULL;
  dnnl_memory_desc_t workspace;
  eg_place from = {.kind = EG_PLACE_SCRATCH};
  if (!eg_cpu_is_jitted(g->backward))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "gradient of pooling: no fast kernel");
  if (g->window.alg == dnnl_pooling_max) {
    workspace = *dnnl_primitive_desc_query_md(g->forward, dnnl_query_workspace_md, 0);
    left = &workspace;
    EG_TRY(add_forward(builder, g, left, &from));
  }
  return add_backward(builder, g, left, from);
}

egraph_status eg_cpu_pool_grad(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  gradient g = {.x = spec->results[0], .cotangent = spec->inputs[spec->input_count - 1]};
  EG_TRY(eg_pool_window_of(spec, &g.window));
  if (g.x.layout.format == EG_FORMAT_PLAIN && g.window.spatial == 2) {
    g.x = eg_type_channels_last(&g.x); // in rows there is no fast kernel
    g.cotangent = eg_type_channels_last(&g.cotangent);
  }
  egraph_status status = describe(builder, &g);
  if (status == EGRAPH_OK) status = add_stages(builder, &g);
  release(&g);
  return status;
}
