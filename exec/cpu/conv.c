// Convolutions: act(conv(x, w) + bias + z).
//
// oneDNN fuses sum and activation for free in the jitted kernels (nhwc, blocked). For
// row-major data it multiplies im2col matrices ("gemm:jit"), whose post-ops run element
// by element: 0.9 ms become 6.8 ms on 64x56x56 -> 256 with sum and relu. There the
// additions and the activation follow as one in-place pass of their own (0.1 ms).
//
// Winograd's minimal filtering (attribute `algorithm`) exists for nChw16c, 3x3,
// stride 1; oneDNN never chooses it by itself. Over 414 shapes it takes 0.59 of the
// time of the direct kernel; its rounding error is about ten times larger (1e-6 to
// 1e-5 of the result's scale). Tiles of 2x2 results are oneDNN's first choice; tiles of
// 4x4 take 0.63 to 0.9 of their time on most shapes, and up to 2.3 on some, so which is
// a choice of the plan.
//
// In blocks of 8 channels, where oneDNN has no such kernel, that algorithm (with 4x4
// results) is ours (winograd.c), and so are convolutions in groups (grouped.c).
//
// SPDX-License-Identifier: Apache-2.0

#include "exec/cpu/eltwise.h"
#include "exec/cpu/families.h"
#include "exec/cpu/image_conv.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/loop_nest.h"

enum { OPERAND_X, OPERAND_W, OPERAND_BIAS, OPERAND_Z };

typedef struct conv_plan {
  const_dnnl_memory_desc_t x, weights, result;
  const_dnnl_memory_desc_t bias;        // NULL: none
  const_dnnl_memory_desc_t any_weights; // in a format that oneDNN chooses
  dnnl_alg_kind_t alg;
  bool wants_4x4; // tiles of Winograd's algorithm, where a kernel has them
  bool has_z;
  eg_eltwise_chain act;      // to be fused
  eg_eltwise_chain act_pass; // or as a pass of its own
} conv_plan;

static void weight_dims(const eg_node_spec *spec, uint32_t *out_rank, int64_t *dims) {
  const eg_type *w = &spec->inputs[OPERAND_W];
  int64_t group = eg_attr_at(spec->attrs, EG_A_CONV_GROUP)->i;
  uint32_t rank = 0;
  if (group != 1) {
    dims[rank++] = group;
    dims[rank++] = w->dims[0] / group;
  } else {
    dims[rank++] = w->dims[0];
  }
  for (uint32_t d = 1; d < w->rank; d++)
    dims[rank++] = w->dims[d];
  *out_rank = rank;
}

// For inference, Winograd's kernel wants the weights transformed ahead, which a slow
// kernel does (85 ms for 512x512, where the convolution takes 10 ms); for training it
// transforms them itself, each time.
static dnnl_prop_kind_t pass_of(const eg_node_spec *spec) {
  return eg_spec_is_weight(spec, OPERAND_W) ? dnnl_forward_inference
                                            : dnnl_forward_training;
}

static bool has_tiles_4x4(const_dnnl_primitive_desc_t primitive) {
  return strstr(eg_cpu_kernel_of(primitive), "wino_4x3") != NULL;
}

// oneDNN's first kernel for Winograd's algorithm has tiles of 2x2 results, the second one
// tiles of 4x4, unless it refuses the shape.
static egraph_status prefer_4x4(eg_cpu_builder *builder, dnnl_primitive_desc_t *inout) {
  dnnl_primitive_desc_t next;
  if (has_tiles_4x4(*inout)) return EGRAPH_OK;
  egraph_status status = eg_dnnl_next(&builder->descs, *inout, "convolution", &next);
  if (status == EGRAPH_OK && has_tiles_4x4(next)) *inout = next;
  return status == EGRAPH_E_UNSUPPORTED ? EGRAPH_OK : status;
}

static egraph_status describe(eg_cpu_builder *builder, const conv_plan *plan,
                              const_dnnl_memory_desc_t weights,
                              const_dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t *out) {
  const eg_node_spec *spec = builder->spec;
  uint32_t spatial = spec->inputs[OPERAND_X].rank - 2;
  const int64_t *pads = eg_attr_at(spec->attrs, EG_A_CONV_PADS)->ints.data;
  int64_t dilates[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < spatial; i++) // oneDNN counts the elements skipped
    dilates[i] = eg_attr_at(spec->attrs, EG_A_CONV_DILATIONS)->ints.data[i] - 1;
  dnnl_status_t made = dnnl_convolution_forward_primitive_desc_create(
      out, builder->engine, pass_of(spec), plan->alg, plan->x, weights, plan->bias,
      plan->result, eg_attr_at(spec->attrs, EG_A_CONV_STRIDES)->ints.data, dilates, pads,
      pads + spatial, attr);
  EG_TRY(eg_dnnl_own(&builder->descs, made, *out, "convolution"));
  return plan->wants_4x4 ? prefer_4x4(builder, out) : EGRAPH_OK;
}

static egraph_status make_plan(eg_cpu_builder *builder, conv_plan *plan) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  uint32_t rank, spatial = spec->inputs[OPERAND_X].rank - 2;
  int64_t dims[EGRAPH_MAX_RANK + 1];
  if (spatial == 0 || spatial > 3)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv: oneDNN has 1 to 3 spatial dimensions");
  plan->has_z = spec->input_count > OPERAND_Z;
  plan->act = eg_eltwise_of_act((eg_act)eg_attr_at(attrs, EG_A_CONV_ACT)->i,
                                eg_attr_at(attrs, EG_A_CONV_ACT_ALPHA)->f,
                                eg_attr_at(attrs, EG_A_CONV_ACT_BETA)->f);
  if (plan->has_z && !eg_type_same(&spec->inputs[OPERAND_Z], &spec->results[0]))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv: z must lie like the result");
  if (eg_eltwise_loses_nan(&plan->act) && eg_type_has_padding(&spec->results[0]) &&
      !eg_eltwise_keeps_zero(&plan->act))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv: the clip would change padding channels");
  if (eg_eltwise_loses_infinities(&plan->act)) {
    plan->act_pass = plan->act;
    plan->act.count = 0;
  }
  weight_dims(spec, &rank, dims);
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->inputs[OPERAND_X], &plan->x));
  EG_TRY(eg_dnnl_desc(&builder->descs, &spec->results[0], &plan->result));
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, rank, dims, &plan->weights));
  EG_TRY(eg_dnnl_desc_any(&builder->descs, rank, dims, &plan->any_weights));
  return spec->input_count > OPERAND_BIAS
             ? eg_dnnl_desc(&builder->descs, &spec->inputs[OPERAND_BIAS], &plan->bias)
             : EGRAPH_OK;
}

// A convolution as it will run. Not fused: the epilogue has to follow.
typedef struct conv_choice {
  dnnl_primitive_desc_t primitive;
  dnnl_primitive_desc_t again; // not fused, for weights as packed; NULL: none is needed
  bool is_fused, sums;         // sums: the result is laid over z
} conv_choice;

static egraph_status describe_fused(eg_cpu_builder *builder, const conv_plan *plan,
                                    conv_choice *choice) {
  dnnl_primitive_attr_t attr;
  EG_TRY(eg_cpu_attr_with_epilogue(plan->has_z ? plan->result : NULL, choice->sums,
                                   &plan->act, &attr));
  egraph_status status =
      describe(builder, plan, plan->any_weights, attr, &choice->primitive);
  dnnl_primitive_attr_destroy(attr);
  return status;
}

// What keeps the NaN that a fused activation loses.
static egraph_status describe_again(eg_cpu_builder *builder, const conv_plan *plan,
                                    conv_choice *choice) {
  if (!eg_eltwise_loses_nan(&plan->act)) return EGRAPH_OK;
  if (!eg_invalid_flag_works(eg_omp_threads()))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv: what loses NaN goes unnoticed");
  return describe(builder, plan, eg_dnnl_weights_of(choice->primitive), builder->plain,
                  &choice->again);
}

// With fused post-ops where that is fast, otherwise without.
static egraph_status choose_form(eg_cpu_builder *builder, const conv_plan *plan,
                                 conv_choice *choice) {
  bool nothing_to_fuse = !plan->has_z && plan->act.count == 0;
  egraph_status status = describe_fused(builder, plan, choice);
  choice->is_fused = true;
  if (status == EGRAPH_OK) {
    if (nothing_to_fuse) return EGRAPH_OK;
    status = eg_cpu_fuses_well(choice->primitive)
                 ? describe_again(builder, plan, choice)
                 : EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv: fused, it would be slow");
    if (status == EGRAPH_OK) return EGRAPH_OK;
  }
  if (status != EGRAPH_E_UNSUPPORTED || nothing_to_fuse) return status;
  choice->is_fused = choice->sums = false;
  return describe(builder, plan, plan->any_weights, builder->plain, &choice->primitive);
}

static eg_conv_algorithm algorithm_of(const eg_node_spec *spec) {
  return (eg_conv_algorithm)eg_attr_at(spec->attrs, EG_A_CONV_ALGORITHM)->i;
}

static bool same_kernel(const_dnnl_primitive_desc_t a, const_dnnl_primitive_desc_t b) {
  return strcmp(eg_cpu_kernel_of(a), eg_cpu_kernel_of(b)) == 0;
}

// What is computed again needs z as it was, so the result must not be laid over it:
// 0.70 ms instead of 0.63 on 64x56x56 -> 256 in nChw16c. In nhwc, oneDNN then takes
// another kernel (0.92 ms instead of 0.70); there the activation is a pass of its own
// (0.82 ms).
static egraph_status choose_sum(eg_cpu_builder *builder, conv_plan *plan,
                                conv_choice *choice) {
  choice->sums = plan->has_z && eg_cpu_may_overlay(builder, OPERAND_Z);
  if (!choice->sums || !eg_eltwise_loses_nan(&plan->act)) return EGRAPH_OK;
  conv_choice over = {.sums = true}, apart = {.sums = false};
  egraph_status status = describe_fused(builder, plan, &over);
  if (status != EGRAPH_OK) { // the activation cannot be fused
    choice->sums = false;
    return status == EGRAPH_E_UNSUPPORTED ? EGRAPH_OK : status;
  }
  status = describe_fused(builder, plan, &apart);
  choice->sums = status != EGRAPH_OK || !same_kernel(over.primitive, apart.primitive);
  if (!choice->sums) return EGRAPH_OK;
  plan->act_pass = plan->act;
  plan->act.count = 0;
  return EGRAPH_OK;
}

static egraph_status choose_of(eg_cpu_builder *builder, dnnl_alg_kind_t alg,
                               conv_plan *plan, conv_choice *choice) {
  plan->alg = alg;
  EG_TRY(choose_sum(builder, plan, choice));
  return choose_form(builder, plan, choice);
}

// Where oneDNN has no Winograd kernel (stride, format) the direct one computes the same.
static egraph_status choose(eg_cpu_builder *builder, conv_plan *plan,
                            conv_choice *choice) {
  eg_conv_algorithm algorithm = algorithm_of(builder->spec);
  if (algorithm != EG_CONV_DIRECT) {
    plan->wants_4x4 = algorithm == EG_CONV_WINOGRAD_4X4;
    egraph_status status = choose_of(builder, dnnl_convolution_winograd, plan, choice);
    if (status != EGRAPH_E_UNSUPPORTED) return status;
    plan->wants_4x4 = false;
  }
  return choose_of(builder, dnnl_convolution_direct, plan, choice);
}

static bool has_plain_formats(const eg_node_spec *spec) {
  return spec->inputs[OPERAND_X].layout.format == EG_FORMAT_PLAIN &&
         spec->results[0].layout.format == EG_FORMAT_PLAIN;
}

/// Appends the primitive; it takes z along with `adds_z`.
static egraph_status add_stage(eg_cpu_builder *builder, const conv_plan *plan,
                               const_dnnl_primitive_desc_t primitive, eg_place weights,
                               bool adds_z) {
  eg_stage_arg args[5] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_X), plan->x},
                          {DNNL_ARG_WEIGHTS, weights, eg_dnnl_weights_of(primitive)},
                          {DNNL_ARG_DST, eg_place_result(0), plan->result}};
  uint32_t count = 3;
  if (plan->bias != NULL)
    args[count++] =
        (eg_stage_arg){DNNL_ARG_BIAS, eg_cpu_read(builder, OPERAND_BIAS), plan->bias};
  if (adds_z)
    args[count++] = (eg_stage_arg){DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                                   eg_cpu_read(builder, OPERAND_Z), plan->result};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, count);
}

// What the primitive did not do.
static egraph_status add_rest(eg_cpu_builder *builder, const conv_plan *plan,
                              bool is_fused) {
  eg_epilogue epilogue = {.act = plan->act_pass.count != 0 || is_fused ? plan->act_pass
                                                                       : plan->act};
  if (!is_fused && plan->has_z) epilogue.addends[epilogue.count++] = OPERAND_Z;
  return eg_cpu_add_epilogue(builder, &epilogue);
}

static egraph_status add_stages(eg_cpu_builder *builder, const conv_plan *plan,
                                const conv_choice *choice) {
  eg_place weights;
  EG_TRY(eg_cpu_read_as(builder, OPERAND_W, plan->weights,
                        eg_dnnl_weights_of(choice->primitive), &weights));
  EG_TRY(eg_cpu_name(builder, choice->primitive));
  EG_TRY(add_stage(builder, plan, choice->primitive, weights,
                   plan->has_z && choice->is_fused && !choice->sums));
  EG_TRY(add_rest(builder, plan, choice->is_fused));
  if (choice->again == NULL) return EGRAPH_OK;
  eg_cpu_exchange_lists(builder);
  egraph_status status = add_stage(builder, plan, choice->again, weights, false);
  if (status == EGRAPH_OK) status = add_rest(builder, plan, false);
  eg_cpu_exchange_lists(builder);
  return status;
}

// ---- Winograd's algorithm of ours ----------------------------------------------------

static bool are_all(eg_ints list, int64_t value) {
  for (uint32_t i = 0; i < list.len; i++)
    if (list.data[i] != value) return false;
  return true;
}

static eg_image_conv image_conv_of(const eg_node_spec *spec, const conv_plan *plan) {
  const eg_type *x = &spec->inputs[OPERAND_X], *w = &spec->inputs[OPERAND_W];
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

/// A constant 3x3 kernel, not in groups, of stride 1, and without holes.
static bool fits_winograd(const eg_node_spec *spec, const conv_plan *plan) {
  const eg_attrs *attrs = spec->attrs;
  const eg_type *x = &spec->inputs[OPERAND_X], *w = &spec->inputs[OPERAND_W];
  if (algorithm_of(spec) != EG_CONV_WINOGRAD_4X4 ||
      x->layout.format != EG_FORMAT_NCHW8C || w->dims[2] != 3 || w->dims[3] != 3 ||
      !eg_spec_is_weight(spec, OPERAND_W) || eg_attr_at(attrs, EG_A_CONV_GROUP)->i != 1 ||
      !are_all(eg_attr_at(attrs, EG_A_CONV_STRIDES)->ints, 1) ||
      !are_all(eg_attr_at(attrs, EG_A_CONV_DILATIONS)->ints, 1))
    return false;
  eg_image_conv conv = image_conv_of(spec, plan);
  return eg_winograd_fits(&conv);
}

static const uint32_t operands_in_order[] = {OPERAND_X, OPERAND_W, OPERAND_BIAS,
                                             OPERAND_Z};

/// What follows a kernel of ours, which takes a clip: other functions are a pass behind
/// it. z may lie where the result does.
static eg_epilogue begin_ours(eg_cpu_builder *builder, const conv_plan *plan, float *low,
                              float *high) {
  eg_epilogue epilogue = {.act = plan->act_pass.count != 0 ? plan->act_pass : plan->act};
  eg_eltwise_take_clip(&epilogue.act, low, high);
  if (plan->has_z && eg_cpu_may_overlay(builder, OPERAND_Z)) builder->overlay = OPERAND_Z;
  return epilogue;
}

static egraph_status add_winograd(eg_cpu_builder *builder, const conv_plan *plan) {
  eg_image_conv conv = image_conv_of(builder->spec, plan);
  eg_epilogue epilogue = begin_ours(builder, plan, &conv.low, &conv.high);
  EG_TRY(eg_cpu_add_winograd(builder, &conv, operands_in_order));
  return eg_cpu_add_epilogue(builder, &epilogue);
}

// ---- groups -------------------------------------------------------------------------

static bool fits_grouped(const eg_node_spec *spec, const conv_plan *plan) {
  if (spec->inputs[OPERAND_X].layout.format != EG_FORMAT_NCHW8C ||
      spec->results[0].layout.format != EG_FORMAT_NCHW8C ||
      !eg_spec_is_weight(spec, OPERAND_W))
    return false;
  eg_image_conv conv = image_conv_of(spec, plan);
  return eg_grouped_fits(&conv);
}

static egraph_status add_grouped(eg_cpu_builder *builder, const conv_plan *plan) {
  eg_image_conv conv = image_conv_of(builder->spec, plan);
  eg_epilogue epilogue = begin_ours(builder, plan, &conv.low, &conv.high);
  EG_TRY(eg_cpu_add_grouped(builder, &conv, operands_in_order));
  return eg_cpu_add_epilogue(builder, &epilogue);
}

egraph_status eg_cpu_conv(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  conv_plan plan = {0};
  conv_choice choice = {0};
  EG_TRY(make_plan(builder, &plan));
  if (fits_winograd(spec, &plan)) return add_winograd(builder, &plan);
  if (fits_grouped(spec, &plan)) return add_grouped(builder, &plan);
  EG_TRY(choose(builder, &plan, &choice));
  if (eg_cpu_is_slow(choice.primitive) && !has_plain_formats(spec))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "conv: no fast kernel in these formats");
  if (choice.sums) builder->overlay = OPERAND_Z;
  return add_stages(builder, &plan, &choice);
}
