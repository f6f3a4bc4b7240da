// Convolutions: act(conv(x, w) + bias + z), transposed convolutions, and gradients of
// weights. All three relate a large tensor, a weight and a small tensor, and differ in
// which of these is the result. cuDNN computes the result, or, where it has no engine,
// one of egraph's kernels; bias, z and activation follow as pointwise stages. For cuDNN
// one spatial dimension becomes two, and for nhwc data the weights are first reordered to
// that order, as the engines require.
//
// Addresses may be aligned to elements only (results inside a concatenation), and cuDNN's
// choice depends on the alignment: there is one plan for each case.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "exec/cuda/conv_plan.h"
#include "exec/cuda/device_families.h"
#include "exec/cuda/strided.h"

enum { OPERAND_BIAS = 2, OPERAND_Z };
enum { SLOT_STRIDES, SLOT_PADS, SLOT_DILATIONS }; // attributes of all operators here
enum { WIDE = 16 }; // bytes to which plan[1] needs addresses aligned

typedef struct conv_shape {
  eg_conv_kind kind;
  const eg_attrs *attrs;
  const eg_type *small, *large, *w;
  eg_device_place places[3]; // of the small tensor, the large one and the weight
  bool allows_winograd;
} conv_shape;

// ---- cuDNN ----------------------------------------------------------------------

typedef struct conv_payload {
  eg_conv_plan plan[2]; // [1]: all addresses are multiples of WIDE
} conv_payload;

static void release_conv(void *data) {
  conv_payload *payload = data;
  eg_conv_plan_destroy(&payload->plan[0]);
  eg_conv_plan_destroy(&payload->plan[1]);
}

static egraph_status run_conv(const eg_cuda_device *device, const void *payload,
                              void *const *addresses) {
  const conv_payload *conv = payload;
  uintptr_t bits =
      (uintptr_t)addresses[0] | (uintptr_t)addresses[1] | (uintptr_t)addresses[2];
  return eg_conv_plan_run(&conv->plan[bits % WIDE == 0], device, addresses[1],
                          addresses[2], addresses[0]);
}

/// Sets dimensions and strides; a tensor with one spatial dimension gets a second one.
static void set_tensor(const eg_type *type, const int64_t *strides, int64_t *out_dims,
                       int64_t *out_strides) {
  memcpy(out_dims, type->dims, type->rank * sizeof *out_dims);
  memcpy(out_strides, strides, type->rank * sizeof *out_strides);
  if (type->rank != 3) return;
  out_dims[3] = 1;
  out_strides[3] = 1;
}

static void set_window(const eg_attr *slots, uint32_t spatial, eg_conv_problem *out) {
  const int64_t *pads = slots[SLOT_PADS].ints.data;
  for (uint32_t d = 0; d + 2 < out->rank; d++) {
    bool is_there = d < spatial;
    out->pads[d] = is_there ? pads[d] : 0;
    out->pads_end[d] = is_there ? pads[spatial + d] : 0;
    out->strides[d] = is_there ? slots[SLOT_STRIDES].ints.data[d] : 1;
    out->dilations[d] = is_there ? slots[SLOT_DILATIONS].ints.data[d] : 1;
  }
}

static eg_conv_problem problem_of(const conv_shape *shape, const int64_t *w_strides) {
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_conv_problem problem = {.kind = shape->kind,
                             .dtype = shape->large->dtype,
                             .rank = shape->large->rank == 3 ? 4 : shape->large->rank,
                             .allows_winograd = shape->allows_winograd};
  eg_type_strides(shape->large, strides);
  set_tensor(shape->large, strides, problem.x, problem.x_strides);
  eg_type_strides(shape->small, strides);
  set_tensor(shape->small, strides, problem.y, problem.y_strides);
  set_tensor(shape->w, w_strides, problem.w, problem.w_strides);
  set_window(shape->attrs->slots, shape->large->rank - 2, &problem);
  return problem;
}

static egraph_status make_plans(const eg_cuda_device *device, eg_conv_problem *problem,
                                conv_payload *out) {
  problem->alignment = (int64_t)eg_dtype_bytes(problem->dtype);
  EG_TRY(eg_conv_plan_create(device->dnn, NULL, problem, &out->plan[0]));
  problem->alignment = WIDE;
  return eg_conv_plan_create(device->dnn, NULL, problem, &out->plan[1]);
}

/// Finds two blocks of memory for the weights: one as they are stored, and one in the
/// order of the data, which cuDNN reads or writes. Where the orders are equal, both are
/// the same memory; otherwise the second block is scratch memory.
static void place_weights(eg_cuda_builder *builder, const conv_shape *shape,
                          eg_block *out_own, eg_block *out_ordered) {
  const eg_type *w = shape->w;
  eg_type like = *w;
  like.layout.format = shape->large->layout.format;
  out_own->place = out_ordered->place = shape->places[2];
  eg_type_strides(w, out_own->strides);
  eg_type_strides(&like, out_ordered->strides);
  if (like.layout.format != w->layout.format)
    out_ordered->place = eg_cuda_scratch(builder, eg_type_bytes(w));
}

static egraph_status reorder_weights(eg_cuda_builder *builder, const conv_shape *shape,
                                     const eg_block *to, const eg_block *from) {
  const eg_type *w = shape->w;
  if (shape->large->layout.format == w->layout.format) return EGRAPH_OK;
  return eg_cuda_add_move(builder, w->rank, w->dims, eg_dtype_bytes(w->dtype), to, from);
}

static egraph_status add_plan(eg_cuda_builder *builder, const conv_shape *shape,
                              const eg_block *weights) {
  const eg_device_place places[] = {shape->places[0], shape->places[1], weights->place};
  conv_payload payload = {.plan = {{.plan = NULL}}};
  eg_conv_problem problem = problem_of(shape, weights->strides);
  egraph_status status = make_plans(builder->device, &problem, &payload);
  if (status == EGRAPH_OK)
    status =
        eg_cuda_add(builder, run_conv, &payload, sizeof payload, release_conv, places, 3);
  if (status != EGRAPH_OK) release_conv(&payload);
  return status;
}

static egraph_status add_planned(eg_cuda_builder *builder, const conv_shape *shape) {
  eg_block own = {.strides = {0}}, ordered = {.strides = {0}};
  if (builder->device->dnn == NULL) return eg_cuda_refuse(builder, "cuDNN did not open");
  if (shape->large->layout.format != shape->small->layout.format)
    return eg_cuda_refuse(builder, "two memory formats");
  builder->kernel = "cuDNN";
  place_weights(builder, shape, &own, &ordered);
  if (shape->kind == EG_CONV_WEIGHT) { // the weights are the result
    EG_TRY(add_plan(builder, shape, &ordered));
    return reorder_weights(builder, shape, &own, &ordered);
  }
  EG_TRY(reorder_weights(builder, shape, &ordered, &own));
  return add_plan(builder, shape, &ordered);
}

// ---- egraph's kernels -----------------------------------------------------------

/// Sets EG_POOL_RANK strides: 0, then those of the spatial dimensions.
static void set_strides(const eg_type *type, int64_t *out) {
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  uint32_t lead = EG_POOL_RANK + 2 - type->rank;
  eg_type_strides(type, strides);
  for (uint32_t d = 0; d < type->rank; d++)
    out[d < 2 ? d : d + lead] = strides[d];
}

static eg_direct_conv direct_of(const conv_shape *shape) {
  const eg_type *small = shape->small, *large = shape->large, *w = shape->w;
  const eg_attr *slots = shape->attrs->slots;
  int64_t groups = large->dims[1] / w->dims[1];
  uint32_t lead = EG_POOL_RANK + 2 - large->rank;
  eg_direct_conv work = {.kind = (int32_t)shape->kind,
                         .dtype = (int32_t)large->dtype,
                         .images = large->dims[0],
                         .groups = groups,
                         .small_channels = small->dims[1] / groups,
                         .large_channels = w->dims[1]};
  set_strides(small, work.small_strides);
  set_strides(large, work.large_strides);
  set_strides(w, work.weight_strides);
  for (uint32_t d = 0; d < EG_POOL_RANK; d++) {
    bool is_there = d >= lead;
    work.small[d] = is_there ? small->dims[d - lead + 2] : 1;
    work.large[d] = is_there ? large->dims[d - lead + 2] : 1;
    work.kernel[d] = is_there ? w->dims[d - lead + 2] : 1;
    work.stride[d] = is_there ? slots[SLOT_STRIDES].ints.data[d - lead] : 1;
    work.dilation[d] = is_there ? slots[SLOT_DILATIONS].ints.data[d - lead] : 1;
    work.pad[d] = is_there ? slots[SLOT_PADS].ints.data[d - lead] : 0;
  }
  return work;
}

EG_DEVICE_STAGE(run_direct, eg_direct_conv, "convolution kernel",
                eg_launch_direct_conv(work, addresses[0], addresses[1], addresses[2],
                                      device->stream))

static egraph_status add_direct(eg_cuda_builder *builder, const conv_shape *shape) {
  eg_compute compute;
  if (!eg_accumulation_of(shape->large->dtype, &compute))
    return eg_cuda_refuse(builder, "its element type");
  eg_direct_conv work = direct_of(shape);
  work.compute = (int32_t)compute;
  builder->kernel = "CUDA convolution";
  return eg_cuda_add(builder, run_direct, &work, sizeof work, NULL, shape->places, 3);
}

// ---- families -------------------------------------------------------------------

static egraph_status add_conv(eg_cuda_builder *builder, const conv_shape *shape) {
  const eg_cuda_builder mark = *builder;
  if (shape->large->rank > EG_CONV_MAX_RANK)
    return eg_cuda_refuse(builder, "too many dimensions");
  egraph_status status = add_planned(builder, shape);
  if (status != EGRAPH_E_UNSUPPORTED) return status;
  eg_cuda_rewind(builder, &mark);
  return add_direct(builder, shape);
}

/// Adds the bias: one entry for each channel, repeated along the result's
/// other dimensions.
static egraph_status add_bias(eg_cuda_builder *builder) {
  const eg_type *bias = &builder->spec->inputs[OPERAND_BIAS];
  int64_t dims[EGRAPH_MAX_RANK] = {bias->dims[0]};
  for (uint32_t d = 1; d < EGRAPH_MAX_RANK; d++)
    dims[d] = 1;
  eg_type column = eg_type_of(bias->dtype, builder->spec->results[0].rank - 1, dims);
  return eg_cuda_add_addend(builder, OPERAND_BIAS, &column);
}

/// Finds which tensors of a convolution are x, weight and y, and which is the result.
static conv_shape shape_of(const eg_node_spec *spec, eg_conv_kind kind) {
  enum { RESULT = -1 };
  static const int tensors[][3] = {[EG_CONV_SMALL] = {RESULT, 0, 1},
                                   [EG_CONV_LARGE] = {0, RESULT, 1},
                                   [EG_CONV_WEIGHT] = {1, 0, RESULT}};
  const eg_type *types[3];
  conv_shape shape = {.kind = kind,
                      .attrs = spec->attrs,
                      .allows_winograd =
                          eg_attr_of_role(spec->attrs, EG_AR_ALGORITHM)->i !=
                          EG_CONV_DIRECT};
  for (int i = 0; i < 3; i++) {
    int operand = tensors[kind][i];
    types[i] = operand == RESULT ? &spec->results[0] : &spec->inputs[operand];
    shape.places[i] =
        operand == RESULT ? eg_device_result(0) : eg_device_operand((uint32_t)operand);
  }
  shape.small = types[0];
  shape.large = types[1];
  shape.w = types[2];
  return shape;
}

egraph_status eg_cuda_conv(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const conv_shape shape = shape_of(spec, EG_CONV_SMALL);
  EG_TRY(add_conv(builder, &shape));
  if (spec->input_count > OPERAND_BIAS) EG_TRY(add_bias(builder));
  if (spec->input_count > OPERAND_Z)
    EG_TRY(eg_cuda_add_addend(builder, OPERAND_Z, &spec->inputs[OPERAND_Z]));
  return eg_cuda_add_act(builder);
}

egraph_status eg_cuda_conv_transpose(eg_cuda_builder *builder) {
  const conv_shape shape = shape_of(builder->spec, EG_CONV_LARGE);
  EG_TRY(add_conv(builder, &shape));
  return builder->spec->input_count > OPERAND_BIAS ? add_bias(builder) : EGRAPH_OK;
}

egraph_status eg_cuda_conv_grad_weight(eg_cuda_builder *builder) {
  const conv_shape shape = shape_of(builder->spec, EG_CONV_WEIGHT);
  return add_conv(builder, &shape);
}
