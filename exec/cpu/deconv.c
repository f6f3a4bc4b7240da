// Transposed convolutions. oneDNN sees the weights as [group, out, in, kernel]; stored
// they are [in, out, kernel], which is the same with strides exchanged.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"

enum { OPERAND_X, OPERAND_W, OPERAND_BIAS };

typedef struct deconv_plan {
  const_dnnl_memory_desc_t x, weights, result;
  const_dnnl_memory_desc_t bias;        // NULL: none
  const_dnnl_memory_desc_t any_weights; // in a format that oneDNN chooses
} deconv_plan;

static egraph_status plan_weights(eg_cpu_builder *builder, deconv_plan *plan) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *w = &spec->inputs[OPERAND_W];
  int64_t group = eg_attr_at(spec->attrs, EG_A_CONV_TRANSPOSE_GROUP)->i;
  int64_t dims[EGRAPH_MAX_RANK + 1] = {group, w->dims[1], w->dims[0] / group};
  int64_t strides[EGRAPH_MAX_RANK + 1], kernel = 1;
  for (uint32_t d = w->rank; d-- > 2;) {
    dims[d + 1] = w->dims[d];
    strides[d + 1] = kernel;
    kernel *= w->dims[d];
  }
  strides[1] = kernel;
  strides[2] = w->dims[1] * kernel;
  strides[0] = dims[2] * strides[2];
  uint32_t skip = group == 1 ? 1 : 0;
  EG_TRY(eg_dnnl_desc_any(&builder->descs, w->rank + 1 - skip, dims + skip,
                          &plan->any_weights));
  return eg_dnnl_desc_strided(&builder->descs, w->rank + 1 - skip, dims + skip,
                              strides + skip, &plan->weights);
}

static egraph_status describe(eg_cpu_builder *builder, const deconv_plan *plan,
                              dnnl_alg_kind_t alg, dnnl_primitive_desc_t *out) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  const int64_t *pads = eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_PADS)->ints.data;
  dnnl_dims_t dilates = {0}, end = {0};
  for (uint32_t i = 0; i < spatial; i++) {
    dilates[i] = eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_DILATIONS)->ints.data[i] - 1;
    end[i] = pads[spatial + i] - // negative: rows that no window reaches
             eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_OUTPUT_PADDING)->ints.data[i];
  }
  dnnl_status_t made = dnnl_deconvolution_forward_primitive_desc_create(
      out, builder->engine, dnnl_forward_inference, alg, plan->x, plan->any_weights,
      plan->bias, plan->result, eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_STRIDES)->ints.data,
      dilates, pads, end, builder->plain);
  return eg_dnnl_own(&builder->descs, made, *out, "transposed convolution");
}

static egraph_status add_stage(eg_cpu_builder *builder, const deconv_plan *plan,
                               const_dnnl_primitive_desc_t primitive) {
  const_dnnl_memory_desc_t want = eg_dnnl_weights_of(primitive);
  eg_place weights;
  if (eg_cpu_is_slow(primitive))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv-transpose: no fast kernel");
  EG_TRY(eg_cpu_read_as(builder, OPERAND_W, plan->weights, want, &weights));
  EG_TRY(eg_cpu_name(builder, primitive));
  eg_stage_arg args[4] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), plan->x},
                          {DNNL_ARG_WEIGHTS, weights, want},
                          {DNNL_ARG_DST, eg_place_result(0), plan->result}};
  uint32_t count = 3;
  if (plan->bias != NULL)
    args[count++] =
        (eg_stage_arg){DNNL_ARG_BIAS, eg_cpu_read(builder, OPERAND_BIAS), plan->bias};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, count);
}

// Where oneDNN has no Winograd kernel the direct one computes the same.
static egraph_status choose(eg_cpu_builder *builder, const deconv_plan *plan,
                            dnnl_primitive_desc_t *out) {
  bool wants_winograd =
      eg_attr_at(builder->spec->attrs, EG_A_CONV_TRANSPOSE_ALGORITHM)->i ==
      EG_CONV_WINOGRAD;
  if (wants_winograd) {
    egraph_status status = describe(builder, plan, dnnl_deconvolution_winograd, out);
    if (status != EGRAPH_E_UNSUPPORTED) return status;
  }
  return describe(builder, plan, dnnl_deconvolution_direct, out);
}

egraph_status eg_cpu_conv_transpose(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  if (spatial == 0 || spatial > 3)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "conv-transpose: oneDNN has 1 to 3 spatial dimensions");
  deconv_plan plan = {0};
  dnnl_primitive_desc_t primitive = NULL;
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->inputs[OPERAND_X], &plan.x));
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->results[0], &plan.result));
  EG_TRY(plan_weights(builder, &plan));
  if (spec->input_count > OPERAND_BIAS)
    EG_TRY(eg_dnnl_desc(&builder->descs, &spec->inputs[OPERAND_BIAS], &plan.bias));
  EG_TRY(choose(builder, &plan, &primitive));
  return add_stage(builder, &plan, primitive);
}
