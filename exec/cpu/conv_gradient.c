// Gradients of a convolution's weights. oneDNN chooses the formats of all three tensors;
// the row-major ones that the graph has are reordered on the way.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"

enum { OPERAND_X, OPERAND_COTANGENT };

typedef struct gradient_plan {
  dnnl_memory_desc_t x, cotangent, result; // as they are stored
  dnnl_convolution_desc_t operation;
} gradient_plan;

/// Dimensions of the weights as oneDNN has them: [group,] out, in, kernel.
static uint32_t weight_dims(const eg_node_spec *spec, int64_t *dims) {
  const eg_type *w = &spec->results[0];
  int64_t group = eg_attr_at(spec->attrs, EG_A_CONV_GRAD_WEIGHT_GROUP)->i;
  uint32_t rank = 0;
  if (group != 1) dims[rank++] = group;
  dims[rank++] = w->dims[0] / group;
  for (uint32_t d = 1; d < w->rank; d++)
    dims[rank++] = w->dims[d];
  return rank;
}

/// Rows of padding behind the input that the last window reaches, which may be fewer than
/// the node says: the cotangent may have fewer windows than fit.
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

static egraph_status plan_operation(const eg_node_spec *spec, dnnl_alg_kind_t alg,
                                    gradient_plan *plan) {
  const eg_attrs *attrs = spec->attrs;
  const eg_type *x = &spec->inputs[OPERAND_X], *d = &spec->inputs[OPERAND_COTANGENT];
  dnnl_memory_desc_t any_x, any_d, any_w;
  dnnl_dims_t dilates = {0}, end = {0};
  int64_t dims[EGRAPH_MAX_RANK + 1];
  uint32_t rank = weight_dims(spec, dims);
  EG_TRY(eg_dnnl_desc(x, &plan->x));
  EG_TRY(eg_dnnl_desc(d, &plan->cotangent));
  EG_TRY(eg_dnnl_desc_dims(rank, dims, &plan->result));
  EG_TRY(eg_dnnl_desc_any(x->rank, x->dims, &any_x));
  EG_TRY(eg_dnnl_desc_any(d->rank, d->dims, &any_d));
  EG_TRY(eg_dnnl_desc_any(rank, dims, &any_w));
  for (uint32_t i = 0; i + 2 < x->rank; i++) {
    dilates[i] = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_DILATIONS)->ints.data[i] - 1;
    end[i] = end_padding(spec, i);
  }
  return eg_dnnl_check(dnnl_dilated_convolution_backward_weights_desc_init(
                           &plan->operation, alg, &any_x, &any_w, NULL, &any_d,
                           eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_STRIDES)->ints.data,
                           dilates,
                           eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_PADS)->ints.data, end),
                       "gradient of weights");
}

/// Operands and result in the formats that the primitive wants.
static egraph_status read_operands(eg_cpu_builder *builder, const gradient_plan *plan,
                                   const_dnnl_primitive_desc_t primitive,
                                   eg_stage_arg *args) {
  const dnnl_memory_desc_t *x =
      dnnl_primitive_desc_query_md(primitive, dnnl_query_src_md, 0);
  const dnnl_memory_desc_t *d =
      dnnl_primitive_desc_query_md(primitive, dnnl_query_diff_dst_md, 0);
  const dnnl_memory_desc_t *w =
      dnnl_primitive_desc_query_md(primitive, dnnl_query_diff_weights_md, 0);
  args[0] = (eg_stage_arg){.name = DNNL_ARG_SRC, .desc = x};
  args[1] = (eg_stage_arg){.name = DNNL_ARG_DIFF_DST, .desc = d};
  args[2] = (eg_stage_arg){.name = DNNL_ARG_DIFF_WEIGHTS, .desc = w};
  EG_TRY(eg_cpu_read_as(builder, OPERAND_X, &plan->x, x, &args[0].place));
  EG_TRY(eg_cpu_read_as(builder, OPERAND_COTANGENT, &plan->cotangent, d, &args[1].place));
  args[2].place = dnnl_memory_desc_equal(w, &plan->result)
                      ? eg_place_result(0)
                      : eg_cpu_scratch(builder, dnnl_memory_desc_get_size(w));
  builder->kernel = NULL;
  return eg_cpu_name(builder, primitive);
}

static egraph_status add_stages(eg_cpu_builder *builder, const gradient_plan *plan,
                                dnnl_primitive_desc_t primitive) {
  eg_stage_arg args[3];
  egraph_status status =
      eg_cpu_is_slow(primitive)
          ? EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv-grad-weight: no fast kernel")
          : read_operands(builder, plan, primitive, args);
  if (status != EGRAPH_OK) {
    dnnl_primitive_desc_destroy(primitive);
    return status;
  }
  const dnnl_memory_desc_t written = *args[2].desc;
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, primitive, args, 3));
  if (args[2].place.kind == EG_PLACE_RESULT) return EGRAPH_OK;
  return eg_cpu_add_reorder(builder, &builder->run, args[2].place, &written,
                            eg_place_result(0), &plan->result);
}

static egraph_status describe(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                              gradient_plan *plan, dnnl_primitive_desc_t *out) {
  EG_TRY(plan_operation(builder->spec, alg, plan));
  return eg_cpu_describe(builder, &plan->operation, NULL, "gradient of weights", out);
}

// Where oneDNN has no Winograd kernel the direct one computes the same.
static egraph_status choose(eg_cpu_builder *builder, gradient_plan *plan,
                            dnnl_primitive_desc_t *out) {
  bool wants_winograd =
      eg_attr_at(builder->spec->attrs, EG_A_CONV_GRAD_WEIGHT_ALGORITHM)->i ==
      EG_CONV_WINOGRAD;
  if (wants_winograd) {
    egraph_status status = describe(builder, dnnl_convolution_winograd, plan, out);
    if (status != EGRAPH_E_UNSUPPORTED) return status;
  }
  return describe(builder, dnnl_convolution_direct, plan, out);
}

egraph_status eg_cpu_conv_grad_weight(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  if (spatial > 3)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "conv-grad-weight: oneDNN has 1 to 3 spatial dimensions");
  gradient_plan plan;
  dnnl_primitive_desc_t primitive;
  EG_TRY(choose(builder, &plan, &primitive));
  return add_stages(builder, &plan, primitive);
}
