// Transposed convolutions, and gradients of a convolution's weights.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"
#include "exec/cpu/image_conv.h"

// ---- transposed convolutions --------------------------------------------------------

// Transposed convolutions. oneDNN sees the weights as [group, out, in, kernel]; they are
// stored as [in, out, kernel], which is the same with strides exchanged.

enum { OPERAND_X, OPERAND_W, OPERAND_BIAS };

typedef struct deconv_plan {
  const_dnnl_memory_desc_t x, weights, result;
  const_dnnl_memory_desc_t bias;        // NULL: none
  const_dnnl_memory_desc_t any_weights; // weights in a format that oneDNN chooses
} deconv_plan;

static egraph_status plan_deconv_weights(eg_cpu_builder *builder, deconv_plan *plan) {
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

static egraph_status describe_deconv(eg_cpu_builder *builder, const deconv_plan *plan,
                                     dnnl_alg_kind_t alg, dnnl_primitive_desc_t *out) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  const int64_t *pads = eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_PADS)->ints.data;
  dnnl_dims_t dilates = {0}, end = {0};
  for (uint32_t i = 0; i < spatial; i++) {
    dilates[i] = eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_DILATIONS)->ints.data[i] - 1;
    end[i] = pads[spatial + i] - // negative where no window reaches the last rows
             eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_OUTPUT_PADDING)->ints.data[i];
  }
  dnnl_status_t made = dnnl_deconvolution_forward_primitive_desc_create(
      out, builder->engine, dnnl_forward_inference, alg, plan->x, plan->any_weights,
      plan->bias, plan->result, eg_attr_at(attrs, EG_A_CONV_TRANSPOSE_STRIDES)->ints.data,
      dilates, pads, end, builder->plain);
  return eg_dnnl_own(&builder->descs, made, *out, "transposed convolution");
}

static egraph_status add_deconv(eg_cpu_builder *builder, const deconv_plan *plan,
                                const_dnnl_primitive_desc_t primitive) {
  const_dnnl_memory_desc_t want = eg_dnnl_weights_of(primitive);
  eg_place weights;
  if (eg_cpu_is_slow(primitive)) return eg_cpu_refuse(builder, "no fast kernel");
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

egraph_status eg_cpu_conv_transpose(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  if (spatial == 0 || spatial > 3)
    return eg_cpu_refuse(builder, "oneDNN has 1 to 3 spatial dimensions");
  deconv_plan plan = {0};
  dnnl_primitive_desc_t primitive = NULL;
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->inputs[OPERAND_X], &plan.x));
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->results[0], &plan.result));
  EG_TRY(plan_deconv_weights(builder, &plan));
  if (spec->input_count > OPERAND_BIAS)
    EG_TRY(eg_dnnl_desc(&builder->descs, &spec->inputs[OPERAND_BIAS], &plan.bias));
  egraph_status status = EGRAPH_E_UNSUPPORTED;
  if (eg_attr_at(spec->attrs, EG_A_CONV_TRANSPOSE_ALGORITHM)->i == EG_CONV_WINOGRAD)
    status = describe_deconv(builder, &plan, dnnl_deconvolution_winograd, &primitive);
  if (status == EGRAPH_E_UNSUPPORTED) // the direct kernel computes the same
    status = describe_deconv(builder, &plan, dnnl_deconvolution_direct, &primitive);
  EG_TRY(status);
  return add_deconv(builder, &plan, primitive);
}

// ---- gradients of weights -----------------------------------------------------------

// Gradients of a convolution's weights. oneDNN chooses the formats of all three tensors;
// the graph's row-major tensors are reordered before and after.

enum { OPERAND_COTANGENT = 1 }; // operand 0: x

typedef struct gradient_plan {
  const_dnnl_memory_desc_t x, cotangent, result;      // in formats that oneDNN chooses
  const_dnnl_memory_desc_t any_x, any_cotangent, any; // in formats that oneDNN chooses
} gradient_plan;

/// Returns the rows of padding after the input that the last window reaches. They may be
/// fewer than the padding of the node: the cotangent may have fewer windows than fit.
static int64_t end_padding(const eg_node_spec *spec, uint32_t i) {
  const eg_attrs *attrs = spec->attrs;
  int64_t windows = spec->inputs[OPERAND_COTANGENT].dims[i + 2];
  int64_t stride = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_STRIDES)->ints.data[i];
  int64_t dilation = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_DILATIONS)->ints.data[i];
  int64_t kernel = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_KERNEL_SHAPE)->ints.data[i];
  int64_t begin = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_PADS)->ints.data[i];
  return (windows - 1) * stride + (kernel - 1) * dilation + 1 - begin -
         spec->inputs[OPERAND_X].dims[i + 2];
}

static egraph_status plan_gradient(eg_cpu_builder *builder, gradient_plan *plan) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *x = &spec->inputs[OPERAND_X], *d = &spec->inputs[OPERAND_COTANGENT];
  eg_descs *descs = &builder->descs;
  int64_t dims[EGRAPH_MAX_RANK + 1];
  int64_t group = eg_attr_at(spec->attrs, EG_A_CONV_GRAD_WEIGHT_GROUP)->i;
  uint32_t rank = eg_cpu_weight_dims(&spec->results[0], group, dims);
  EG_TRY(eg_dnnl_desc(descs, x, &plan->x));
  EG_TRY(eg_dnnl_desc(descs, d, &plan->cotangent));
  EG_TRY(eg_dnnl_desc_dims(descs, rank, dims, &plan->result));
  EG_TRY(eg_dnnl_desc_any(descs, x->rank, x->dims, &plan->any_x));
  EG_TRY(eg_dnnl_desc_any(descs, d->rank, d->dims, &plan->any_cotangent));
  return eg_dnnl_desc_any(descs, rank, dims, &plan->any);
}

static egraph_status describe_gradient(eg_cpu_builder *builder, const gradient_plan *plan,
                                       dnnl_alg_kind_t alg, dnnl_primitive_desc_t *out) {
  const eg_attrs *attrs = builder->spec->attrs;
  const int64_t *strides = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_STRIDES)->ints.data;
  const int64_t *begin = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_PADS)->ints.data;
  dnnl_dims_t dilates = {0}, end = {0};
  for (uint32_t i = 0; i + 2 < builder->spec->inputs[OPERAND_X].rank; i++) {
    dilates[i] = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_DILATIONS)->ints.data[i] - 1;
    end[i] = end_padding(builder->spec, i);
  }
  dnnl_status_t made = dnnl_convolution_backward_weights_primitive_desc_create(
      out, builder->engine, alg, plan->any_x, plan->any, NULL, plan->any_cotangent,
      strides, dilates, begin, end, NULL, builder->plain);
  return eg_dnnl_own(&builder->descs, made, *out, "gradient of weights");
}

/// Appends the gradient, with operands and result reordered to the primitive's formats.
static egraph_status add_gradient(eg_cpu_builder *builder, const gradient_plan *plan,
                                  const_dnnl_primitive_desc_t primitive) {
  const_dnnl_memory_desc_t x = dnnl_primitive_desc_query_md(primitive, dnnl_query_src_md,
                                                            0),
                           d = dnnl_primitive_desc_query_md(primitive,
                                                            dnnl_query_diff_dst_md, 0),
                           w = dnnl_primitive_desc_query_md(
                               primitive, dnnl_query_diff_weights_md, 0);
  eg_place x_place, d_place, w_place = eg_place_result(0);
  if (eg_cpu_is_slow(primitive)) return eg_cpu_refuse(builder, "no fast kernel");
  EG_TRY(eg_cpu_read_as(builder, OPERAND_X, plan->x, x, &x_place));
  EG_TRY(eg_cpu_read_as(builder, OPERAND_COTANGENT, plan->cotangent, d, &d_place));
  bool is_asked_for = dnnl_memory_desc_equal(w, plan->result) != 0;
  if (!is_asked_for) w_place = eg_cpu_scratch(builder, dnnl_memory_desc_get_size(w));
  EG_TRY(eg_cpu_name(builder, primitive));
  eg_stage_arg args[] = {{DNNL_ARG_SRC, x_place, x},
                         {DNNL_ARG_DIFF_DST, d_place, d},
                         {DNNL_ARG_DIFF_WEIGHTS, w_place, w}};
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, primitive, args, 3));
  return is_asked_for ? EGRAPH_OK
                      : eg_cpu_add_reorder(builder, &builder->run, w_place, w,
                                           eg_place_result(0), plan->result);
}

egraph_status eg_cpu_conv_grad_weight(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  if (eg_depthwise_grad_fits(spec)) return eg_cpu_add_depthwise_grad(builder);
  if (spatial > 3) return eg_cpu_refuse(builder, "oneDNN has 1 to 3 spatial dimensions");
  gradient_plan plan;
  dnnl_primitive_desc_t primitive = NULL;
  EG_TRY(plan_gradient(builder, &plan));
  egraph_status status = EGRAPH_E_UNSUPPORTED;
  if (eg_attr_at(spec->attrs, EG_A_CONV_GRAD_WEIGHT_ALGORITHM)->i == EG_CONV_WINOGRAD)
    status = describe_gradient(builder, &plan, dnnl_convolution_winograd, &primitive);
  if (status == EGRAPH_E_UNSUPPORTED) // the direct kernel computes the same
    status = describe_gradient(builder, &plan, dnnl_convolution_direct, &primitive);
  EG_TRY(status);
  return add_gradient(builder, &plan, primitive);
}
