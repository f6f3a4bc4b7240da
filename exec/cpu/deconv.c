// Transposed convolutions. oneDNN sees the weights as [group, out, in, kernel]; stored
// they are [in, out, kernel], which is the same with strides exchanged.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"

enum { OPERAND_X, OPERAND_W, OPERAND_BIAS };

typedef struct deconv_plan {
  dnnl_memory_desc_t x, weights, bias, result;
  dnnl_deconvolution_desc_t operation;
  bool has_bias;
} deconv_plan;

static egraph_status plan_weights(const eg_node_spec *spec, deconv_plan *plan,
                                  dnnl_memory_desc_t *out_any) {
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
  EG_TRY(eg_dnnl_desc_any(w->rank + 1 - skip, dims + skip, out_any));
  return eg_dnnl_desc_strided(w->rank + 1 - skip, dims + skip, strides + skip,
                              &plan->weights);
}

static egraph_status plan_operation(const eg_node_spec *spec, dnnl_alg_kind_t alg,
                                    deconv_plan *plan) {
  const eg_attrs *attrs = spec->attrs;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  const int64_t *pads = eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_PADS)->ints.data;
  dnnl_dims_t dilates = {0}, end = {0};
  for (uint32_t i = 0; i < spatial; i++) {
    dilates[i] = eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_DILATIONS)->ints.data[i] - 1;
    end[i] = pads[spatial + i] - // negative: rows that no window reaches
             eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_OUTPUT_PADDING)->ints.data[i];
  }
  dnnl_memory_desc_t any;
  EG_TRY(plan_weights(spec, plan, &any));
  return eg_dnnl_check(dnnl_dilated_deconvolution_forward_desc_init(
                           &plan->operation, dnnl_forward_inference, alg, &plan->x, &any,
                           plan->has_bias ? &plan->bias : NULL, &plan->result,
                           eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_STRIDES)->ints.data,
                           dilates, pads, end),
                       "transposed convolution");
}

static egraph_status add_stage(eg_cpu_builder *builder, const deconv_plan *plan,
                               dnnl_primitive_desc_t primitive) {
  const dnnl_memory_desc_t want =
      *dnnl_primitive_desc_query_md(primitive, dnnl_query_weights_md, 0);
  eg_place weights;
  egraph_status status =
      eg_cpu_is_slow(primitive)
          ? EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv-transpose: no fast kernel")
          : eg_cpu_read_as(builder, OPERAND_W, &plan->weights, &want, &weights);
  builder->kernel = NULL;
  if (status == EGRAPH_OK) status = eg_cpu_name(builder, primitive);
  if (status != EGRAPH_OK) {
    dnnl_primitive_desc_destroy(primitive);
    return status;
  }
  eg_stage_arg args[4] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), &plan->x},
                          {DNNL_ARG_WEIGHTS, weights, &want},
                          {DNNL_ARG_DST, eg_place_result(0), &plan->result}};
  uint32_t count = 3;
  if (plan->has_bias)
    args[count++] =
        (eg_stage_arg){DNNL_ARG_BIAS, eg_cpu_read(builder, OPERAND_BIAS), &plan->bias};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, count);
}

static egraph_status describe(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                              deconv_plan *plan, dnnl_primitive_desc_t *out) {
  EG_TRY(plan_operation(builder->spec, alg, plan));
  return eg_cpu_describe(builder, &plan->operation, NULL, "transposed convolution", out);
}

// Where oneDNN has no Winograd kernel the direct one computes the same.
static egraph_status choose(eg_cpu_builder *builder, deconv_plan *plan,
                            dnnl_primitive_desc_t *out) {
  bool wants_winograd =
      eg_attr_at(builder->spec->attrs, EG_A_CONV_TRANSPOSE_ALGORITHM)->i ==
      EG_CONV_WINOGRAD;
  if (wants_winograd) {
    egraph_status status = describe(builder, dnnl_deconvolution_winograd, plan, out);
    if (status != EGRAPH_E_UNSUPPORTED) return status;
  }
  return describe(builder, dnnl_deconvolution_direct, plan, out);
}

egraph_status eg_cpu_conv_transpose(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  if (spatial == 0 || spatial > 3)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "conv-transpose: oneDNN has 1 to 3 spatial dimensions");
  deconv_plan plan = {.has_bias = spec->input_count > OPERAND_BIAS};
  EG_TRY(eg_dnnl_desc(&spec->inputs[OPERAND_X], &plan.x));
  EG_TRY(eg_dnnl_desc(&spec->results[0], &plan.result));
  if (plan.has_bias) EG_TRY(eg_dnnl_desc(&spec->inputs[OPERAND_BIAS], &plan.bias));
  dnnl_primitive_desc_t primitive;
  EG_TRY(choose(builder, &plan, &primitive));
  return add_stage(builder, &plan, primitive);
}
