// Convolutions: act(conv(x, w) + bias + z).
//
// The kernels that oneDNN generates (nhwc, blocked) take no longer with a sum and an
// activation. For row-major data oneDNN multiplies im2col matrices ("gemm:jit"), whose
// post-ops run element by element: 0.9 ms become 6.8 ms on 64x56x56 -> 256 with sum and
// relu. For such data one in-place pass after the kernel does the additions and the
// activation (0.1 ms).
//
// Winograd's minimal filtering (attribute `algorithm`) exists for nChw16c, 3x3, stride 1;
// oneDNN never chooses it by itself. Over 414 shapes it takes 0.59 of the time of the
// direct kernel; its rounding error is about ten times larger (1e-6 to 1e-5 of the
// result's scale). oneDNN's first kernel has tiles of 2x2 results. Tiles of 4x4 take 0.63
// to 0.9 of the time of 2x2 on most shapes, and up to 2.3 on some, so the plan chooses
// the tiles.
//
// For blocks of 8 channels oneDNN has no such kernel. There egraph has a kernel for this
// algorithm with 4x4 results (winograd.c), and one for groups (grouped.c).
//
// SPDX-License-Identifier: Apache-2.0

#include "exec/cpu/families.h"
#include "exec/cpu/fused.h"
#include "exec/cpu/image_conv.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/loop_nest.h"

typedef struct conv_plan {
  eg_fused_plan fused;
  dnnl_alg_kind_t alg;
  bool wants_4x4; // prefers Winograd's kernel with tiles of 4x4 results, if there is one
} conv_plan;

uint32_t eg_cpu_weight_dims(const eg_type *w, int64_t group, int64_t *dims) {
  uint32_t rank = 0;
  if (group != 1) dims[rank++] = group;
  dims[rank++] = w->dims[0] / group;
  for (uint32_t d = 1; d < w->rank; d++)
    dims[rank++] = w->dims[d];
  return rank;
}

static bool has_tiles_4x4(const_dnnl_primitive_desc_t primitive) {
  return strstr(eg_cpu_kernel_of(primitive), "wino_4x3") != NULL;
}

// Chooses oneDNN's second Winograd kernel, which has tiles of 4x4 results, unless it
// refuses the shape. The first kernel has tiles of 2x2.
static egraph_status prefer_4x4(eg_cpu_builder *builder, dnnl_primitive_desc_t *inout) {
  dnnl_primitive_desc_t next;
  if (has_tiles_4x4(*inout)) return EGRAPH_OK;
  egraph_status status = eg_dnnl_next(&builder->descs, *inout, "convolution", &next);
  if (status == EGRAPH_OK && has_tiles_4x4(next)) *inout = next;
  return status == EGRAPH_E_UNSUPPORTED ? EGRAPH_OK : status;
}

// Describes the convolution. For inference, Winograd's kernel needs the weights
// transformed in advance, by a slow kernel (85 ms for 512x512, where the convolution
// takes 10 ms). For training it transforms the weights itself, each time.
static egraph_status describe_conv(eg_cpu_builder *builder, const eg_fused_plan *base,
                                   const_dnnl_memory_desc_t weights,
                                   const_dnnl_primitive_attr_t attr,
                                   dnnl_primitive_desc_t *out) {
  const conv_plan *plan = (const conv_plan *)base;
  const eg_node_spec *spec = builder->spec;
  dnnl_prop_kind_t pass = eg_spec_is_weight(spec, EG_FUSED_W) ? dnnl_forward_inference
                                                              : dnnl_forward_training;
  uint32_t spatial = spec->inputs[EG_FUSED_X].rank - 2;
  const int64_t *pads = eg_attr_at(spec->attrs, EG_A_CONV_PADS)->ints.data;
  int64_t dilates[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < spatial; i++) // oneDNN counts the skipped elements
    dilates[i] = eg_attr_at(spec->attrs, EG_A_CONV_DILATIONS)->ints.data[i] - 1;
  dnnl_status_t made = dnnl_convolution_forward_primitive_desc_create(
      out, builder->engine, pass, plan->alg, base->x, weights, base->bias, base->result,
      eg_attr_at(spec->attrs, EG_A_CONV_STRIDES)->ints.data, dilates, pads,
      pads + spatial, attr);
  EG_TRY(eg_dnnl_own(&builder->descs, made, *out, "convolution"));
  return plan->wants_4x4 ? prefer_4x4(builder, out) : EGRAPH_OK;
}

static egraph_status plan_conv(eg_cpu_builder *builder, eg_fused_plan *plan) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  uint32_t spatial = spec->inputs[EG_FUSED_X].rank - 2;
  int64_t dims[EGRAPH_MAX_RANK + 1];
  if (spatial == 0 || spatial > 3)
    return eg_cpu_refuse(builder, "oneDNN has 1 to 3 spatial dimensions");
  plan->op = "conv";
  plan->describe = describe_conv;
  plan->has_z = spec->input_count > EG_FUSED_Z;
  plan->act = eg_eltwise_of_act(attrs);
  if (plan->has_z && !eg_type_same(&spec->inputs[EG_FUSED_Z], &spec->results[0]))
    return eg_cpu_refuse(builder, "z must lie like the result");
  if (eg_eltwise_loses_nan(&plan->act) && eg_type_has_padding(&spec->results[0]) &&
      !eg_eltwise_keeps_zero(&plan->act))
    return eg_cpu_refuse(builder, "the clip would change padding channels");
  if (eg_eltwise_loses_infinities(&plan->act)) {
    plan->act_pass = plan->act;
    plan->act.count = 0;
  }
  uint32_t rank = eg_cpu_weight_dims(&spec->inputs[EG_FUSED_W],
                                     eg_attr_at(attrs, EG_A_CONV_GROUP)->i, dims);
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->inputs[EG_FUSED_X], &plan->x));
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->results[0], &plan->result));
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, rank, dims, &plan->weights));
  EG_TRY(eg_dnnl_desc_any(&builder->descs, rank, dims, &plan->any_weights));
  return spec->input_count > EG_FUSED_BIAS
             ? eg_dnnl_desc(&builder->descs, &spec->inputs[EG_FUSED_BIAS], &plan->bias)
             : EGRAPH_OK;
}

static eg_conv_algorithm algorithm_of(const eg_node_spec *spec) {
  return (eg_conv_algorithm)eg_attr_at(spec->attrs, EG_A_CONV_ALGORITHM)->i;
}

// Decides whether the result overwrites the addend z in place. A kernel that computes the
// result again needs z unchanged; then the result has its own memory: 0.70 ms instead of
// 0.63 on 64x56x56 -> 256 in nChw16c. In nhwc, oneDNN then takes another kernel (0.92 ms
// instead of 0.70); there the activation is a separate pass (0.82 ms).
static egraph_status choose_sum(eg_cpu_builder *builder, eg_fused_plan *plan,
                                eg_fused_choice *choice) {
  choice->sums = plan->has_z && eg_cpu_may_overlay(builder, EG_FUSED_Z);
  if (!choice->sums || !eg_eltwise_loses_nan(&plan->act)) return EGRAPH_OK;
  dnnl_primitive_desc_t over, apart;
  egraph_status status = eg_fused_describe(builder, plan, true, &over);
  if (status != EGRAPH_OK) { // the activation cannot be fused
    choice->sums = false;
    return status == EGRAPH_E_UNSUPPORTED ? EGRAPH_OK : status;
  }
  status = eg_fused_describe(builder, plan, false, &apart);
  choice->sums =
      status != EGRAPH_OK || strcmp(eg_cpu_kernel_of(over), eg_cpu_kernel_of(apart)) != 0;
  if (!choice->sums) return EGRAPH_OK;
  plan->act_pass = plan->act;
  plan->act.count = 0;
  return EGRAPH_OK;
}

static egraph_status choose_kernel(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                                   conv_plan *plan, eg_fused_choice *choice) {
  plan->alg = alg;
  EG_TRY(choose_sum(builder, &plan->fused, choice));
  choice->is_fused = true;
  return eg_fused_choose(builder, &plan->fused, choice);
}

// Chooses the kernel. Where oneDNN has no Winograd kernel for the stride or the format,
// the direct kernel is used.
static egraph_status choose_conv(eg_cpu_builder *builder, conv_plan *plan,
                                 eg_fused_choice *choice) {
  eg_conv_algorithm algorithm = algorithm_of(builder->spec);
  if (algorithm != EG_CONV_DIRECT) {
    plan->wants_4x4 = algorithm == EG_CONV_WINOGRAD_4X4;
    egraph_status status =
        choose_kernel(builder, dnnl_convolution_winograd, plan, choice);
    if (status != EGRAPH_E_UNSUPPORTED) return status;
    plan->wants_4x4 = false;
  }
  return choose_kernel(builder, dnnl_convolution_direct, plan, choice);
}

// ---- egraph's kernels ---------------------------------------------------------------

static bool are_all(eg_ints list, int64_t value) {
  for (uint32_t i = 0; i < list.len; i++)
    if (list.data[i] != value) return false;
  return true;
}

static eg_image_conv image_conv_of(const eg_node_spec *spec, const eg_fused_plan *plan) {
  const eg_type *x = &spec->inputs[EG_FUSED_X], *w = &spec->inputs[EG_FUSED_W];
  const eg_type *y = &spec->results[0];
  const int64_t *pads = eg_attr_at(spec->attrs, EG_A_CONV_PADS)->ints.data;
  const int64_t *strides = eg_attr_at(spec->attrs, EG_A_CONV_STRIDES)->ints.data;
  const int64_t *dilations = eg_attr_at(spec->attrs, EG_A_CONV_DILATIONS)->ints.data;
  int64_t groups = eg_attr_at(spec->attrs, EG_A_CONV_GROUP)->i;
  return (eg_image_conv){.images = x->dims[0],
                         .groups = groups,
                         .channels = w->dims[1],
                         .made = y->dims[1] / groups,
                         .height = x->dims[2],
                         .width = x->dims[3],
                         .rows = y->dims[2],
                         .columns = y->dims[3],
                         .kernel = {w->dims[2], w->dims[3]},
                         .strides = {strides[0], strides[1]},
                         .dilations = {dilations[0], dilations[1]},
                         .top = pads[0],
                         .left = pads[1],
                         .has_bias = plan->bias != NULL,
                         .has_z = plan->has_z};
}

/// True for a constant 3x3 kernel of stride 1, without groups and dilation.
static bool fits_winograd(const eg_node_spec *spec, const eg_image_conv *conv) {
  const eg_attrs *attrs = spec->attrs;
  const eg_type *x = &spec->inputs[EG_FUSED_X], *w = &spec->inputs[EG_FUSED_W];
  if (algorithm_of(spec) != EG_CONV_WINOGRAD_4X4 ||
      x->layout.format != EG_FORMAT_NCHW8C || w->dims[2] != 3 || w->dims[3] != 3 ||
      !eg_spec_is_weight(spec, EG_FUSED_W) ||
      eg_attr_at(attrs, EG_A_CONV_GROUP)->i != 1 ||
      !are_all(eg_attr_at(attrs, EG_A_CONV_STRIDES)->ints, 1) ||
      !are_all(eg_attr_at(attrs, EG_A_CONV_DILATIONS)->ints, 1))
    return false;
  return eg_winograd_fits(conv);
}

static bool fits_grouped(const eg_node_spec *spec, const eg_image_conv *conv) {
  return spec->inputs[EG_FUSED_X].layout.format == EG_FORMAT_NCHW8C &&
         spec->results[0].layout.format == EG_FORMAT_NCHW8C &&
         eg_spec_is_weight(spec, EG_FUSED_W) && eg_grouped_fits(conv);
}

/// Appends the convolution on one of egraph's kernels, and passes for the rest.
static egraph_status add_own(eg_cpu_builder *builder, const eg_fused_plan *plan,
                             eg_image_conv *conv) {
  static const uint32_t operands[] = {EG_FUSED_X, EG_FUSED_W, EG_FUSED_BIAS, EG_FUSED_Z};
  eg_epilogue epilogue = eg_cpu_epilogue_of_own(builder, plan, &conv->low, &conv->high);
  EG_TRY(conv->groups == 1 ? eg_cpu_add_winograd(builder, conv, operands)
                           : eg_cpu_add_grouped(builder, conv, operands));
  return eg_cpu_add_epilogue(builder, &epilogue);
}

egraph_status eg_cpu_conv(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  conv_plan plan = {0};
  eg_fused_choice choice = {0};
  EG_TRY(plan_conv(builder, &plan.fused));
  if (spec->inputs[EG_FUSED_X].layout.format == EG_FORMAT_NCHW8C) {
    eg_image_conv conv = image_conv_of(spec, &plan.fused);
    if (fits_winograd(spec, &conv) || fits_grouped(spec, &conv))
      return add_own(builder, &plan.fused, &conv);
  }
  EG_TRY(choose_conv(builder, &plan, &choice));
  bool is_plain = spec->inputs[EG_FUSED_X].layout.format == EG_FORMAT_PLAIN &&
                  spec->results[0].layout.format == EG_FORMAT_PLAIN;
  if (eg_cpu_is_slow(choice.primitive) && !is_plain)
    return eg_cpu_refuse(builder, "no fast kernel in these formats");
  return eg_cpu_add_fused(builder, &plan.fused, &choice);
}
