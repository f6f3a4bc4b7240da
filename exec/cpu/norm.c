// Normalizations.
//
// Batch normalization with constant statistics is x s + t per channel, one pass of ours
// (chain.h); s and t are computed at load. oneDNN's ncsp_bnorm
// takes 0.82 ms for 256x56x56 where two passes take 0.14.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/chain.h"
#include "exec/cpu/families.h"

enum { OPERAND_X, OPERAND_SCALE, OPERAND_SHIFT, OPERAND_MEAN, OPERAND_VARIANCE };

static double epsilon_of(const eg_cpu_builder *builder) {
  return eg_attr_at(builder->spec->attrs, EG_A_BATCH_NORM_EPSILON)->f;
}

static egraph_status add_named(eg_cpu_builder *builder,
                               const_dnnl_primitive_desc_t primitive,
                               const eg_stage_arg *args, uint32_t count) {
  if (eg_cpu_is_slow(primitive))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "normalization: no fast kernel");
  EG_TRY(eg_cpu_name(builder, primitive));
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, count);
}

static egraph_status add_batch_norm(eg_cpu_builder *builder, int64_t channels) {
  const_dnnl_memory_desc_t x, row;
  EG_TRY(eg_dnnl_desc(&builder->descs, &builder->spec->inputs[OPERAND_X], &x));
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, 1, &channels, &row));
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_status_t made = dnnl_batch_normalization_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference, x, x,
      (float)epsilon_of(builder), dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift,
      builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, primitive, "batch normalization"));
  if (eg_cpu_may_overlay(builder, OPERAND_X)) builder->overlay = OPERAND_X;
  eg_stage_arg args[] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), x},
                         {DNNL_ARG_SCALE, eg_cpu_read(builder, OPERAND_SCALE), row},
                         {DNNL_ARG_SHIFT, eg_cpu_read(builder, OPERAND_SHIFT), row},
                         {DNNL_ARG_MEAN, eg_cpu_read(builder, OPERAND_MEAN), row},
                         {DNNL_ARG_VARIANCE, eg_cpu_read(builder, OPERAND_VARIANCE), row},
                         {DNNL_ARG_DST, eg_place_result(0), x}};
  return add_named(builder, primitive, args, 6);
}

egraph_status eg_cpu_batch_norm(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *type = &spec->inputs[OPERAND_X];
  const eg_compile_request alone = {.spec = spec};
  for (uint32_t i = OPERAND_SCALE; i <= OPERAND_VARIANCE; i++)
    if (spec->inputs[i].dtype != EGRAPH_FLOAT32 || type->dtype != EGRAPH_FLOAT32)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "batch-normalization: not float32");
  if (eg_cpu_chain_fits(&alone)) return eg_cpu_chain(builder, &alone);
  return add_batch_norm(builder, type->rank > 1 ? type->dims[1] : 1);
}

// ---- layer normalization: rows of everything behind the axis --------------------

egraph_status eg_cpu_layer_norm(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *type = &spec->inputs[0];
  if (spec->attrs->op != EG_OP_LAYER_NORM || type->dtype != EGRAPH_FLOAT32)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "normalization: no kernel");
  int64_t axis = eg_attr_at(spec->attrs, EG_A_LAYER_NORM_AXIS)->i;
  if (axis < 0) axis += type->rank;
  int64_t dims[2] = {1, 1};
  for (uint32_t d = 0; d < type->rank; d++)
    dims[d < (uint32_t)axis ? 0 : 1] *= type->dims[d];
  bool has_shift = spec->input_count > OPERAND_SHIFT;
  for (uint32_t i = 1; i < spec->input_count; i++)
    if (eg_type_elements(&spec->inputs[i]) != dims[1])
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "layer-normalization: scale must be full");
  const_dnnl_memory_desc_t x, row;
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, 2, dims, &x));
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, 1, &dims[1], &row));
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_status_t made = dnnl_layer_normalization_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference, x, x, NULL,
      (float)eg_attr_at(spec->attrs, EG_A_LAYER_NORM_EPSILON)->f,
      dnnl_use_scale | (has_shift ? dnnl_use_shift : 0u), builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, primitive, "layer normalization"));
  if (eg_cpu_may_overlay(builder, OPERAND_X)) builder->overlay = OPERAND_X;
  eg_stage_arg args[4] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), x},
                          {DNNL_ARG_SCALE, eg_cpu_read(builder, OPERAND_SCALE), row},
                          {DNNL_ARG_DST, eg_place_result(0), x}};
  uint32_t count = 3;
  if (has_shift)
    args[count++] =
        (eg_stage_arg){DNNL_ARG_SHIFT, eg_cpu_read(builder, OPERAND_SHIFT), row};
  return add_named(builder, primitive, args, count);
}

// ---- local response normalization over channels ---------------------------------

egraph_status eg_cpu_lrn(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  int64_t size = eg_attr_at(spec->attrs, EG_A_LRN_SIZE)->i;
  if (size % 2 == 0 || spec->inputs[0].rank != 4) // the window is centred only when odd
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "lrn: no kernel for an even window");
  const_dnnl_memory_desc_t x;
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->inputs[0], &x));
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_status_t made = dnnl_lrn_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference, dnnl_lrn_across_channels, x, x,
      size, (float)eg_attr_at(spec->attrs, EG_A_LRN_ALPHA)->f,
      (float)eg_attr_at(spec->attrs, EG_A_LRN_BETA)->f,
      (float)eg_attr_at(spec->attrs, EG_A_LRN_BIAS)->f, builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, primitive, "lrn"));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), x},
                         {DNNL_ARG_DST, eg_place_result(0), x}};
  return add_named(builder, primitive, args, 2);
}
