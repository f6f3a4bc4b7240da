// Convolutions: act(conv(x, w) + bias + z). cuDNN computes the convolution, bias, z and
// activation follow as pointwise stages. One spatial dimension becomes two. For nhwc data
// the weights are brought into the same order first, which is what the engines want.
//
// Addresses may be aligned to elements only (results that lie inside of a concatenation),
// and cuDNN's choice depends on it: there is a plan for either case.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "exec/cuda/conv_plan.h"
#include "exec/cuda/device_families.h"
#include "exec/cuda/strided.h"

enum { OPERAND_X, OPERAND_W, OPERAND_BIAS, OPERAND_Z };
enum { WIDE = 16 }; // bytes

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

// ---- the problem ----------------------------------------------------------------

/// Dimensions and strides with one spatial dimension more where there is only one.
static void set_tensor(const eg_type *type, const int64_t *strides, int64_t *out_dims,
                       int64_t *out_strides) {
  memcpy(out_dims, type->dims, type->rank * sizeof *out_dims);
  memcpy(out_strides, strides, type->rank * sizeof *out_strides);
  if (type->rank != 3) return;
  out_dims[3] = 1;
  out_strides[3] = 1;
}

static void set_window(const eg_attrs *attrs, uint32_t spatial, eg_conv_problem *out) {
  const int64_t *pads = eg_attr_at(attrs, EG_A_CONV_PADS)->ints.data;
  for (uint32_t d = 0; d + 2 < out->rank; d++) {
    bool is_there = d < spatial;
    out->pads[d] = is_there ? pads[d] : 0;
    out->pads_end[d] = is_there ? pads[spatial + d] : 0;
    out->strides[d] = is_there ? eg_attr_at(attrs, EG_A_CONV_STRIDES)->ints.data[d] : 1;
    out->dilations[d] =
        is_there ? eg_attr_at(attrs, EG_A_CONV_DILATIONS)->ints.data[d] : 1;
  }
}

static eg_conv_problem problem_of(const eg_node_spec *spec, const int64_t *w_strides) {
  enum { DIRECT };
  const eg_type *x = &spec->inputs[OPERAND_X], *y = &spec->results[0];
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_conv_problem problem = {
      .dtype = x->dtype,
      .rank = x->rank == 3 ? 4 : x->rank,
      .allows_winograd = eg_attr_at(spec->attrs, EG_A_CONV_ALGORITHM)->i != DIRECT};
  eg_stored_strides(x, strides);
  set_tensor(x, strides, problem.x, problem.x_strides);
  eg_stored_strides(y, strides);
  set_tensor(y, strides, problem.y, problem.y_strides);
  set_tensor(&spec->inputs[OPERAND_W], w_strides, problem.w, problem.w_strides);
  set_window(spec->attrs, x->rank - 2, &problem);
  return problem;
}

static egraph_status make_plans(const eg_cuda_device *device, eg_conv_problem *problem,
                                conv_payload *out) {
  problem->alignment = (int64_t)eg_dtype_bytes(problem->dtype);
  EG_TRY(eg_conv_plan_create(device->dnn, NULL, problem, &out->plan[0]));
  problem->alignment = WIDE;
  return eg_conv_plan_create(device->dnn, NULL, problem, &out->plan[1]);
}

// ---- stages ---------------------------------------------------------------------

/// Where the weights can be read in the order of the data, and their strides there.
static egraph_status place_weights(eg_cuda_builder *builder, int64_t *out_strides,
                                   eg_device_place *out) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *w = &spec->inputs[OPERAND_W];
  eg_type like = *w;
  *out = eg_device_operand(OPERAND_W);
  like.layout.format = spec->inputs[OPERAND_X].layout.format;
  eg_stored_strides(&like, out_strides);
  if (like.layout.format == w->layout.format) return EGRAPH_OK;
  eg_block from = {.place = *out},
           to = {.place = eg_cuda_scratch(builder, eg_type_bytes(w))};
  eg_stored_strides(w, from.strides);
  memcpy(to.strides, out_strides, w->rank * sizeof *out_strides);
  *out = to.place;
  return eg_cuda_add_move(builder, w->rank, w->dims, eg_dtype_bytes(w->dtype), &to,
                          &from);
}

/// The bias has one entry per channel: a column of the result's dimensions.
static egraph_status add_bias(eg_cuda_builder *builder) {
  const eg_type *result = &builder->spec->results[0];
  const eg_type *bias = &builder->spec->inputs[OPERAND_BIAS];
  int64_t dims[EGRAPH_MAX_RANK] = {bias->dims[0]};
  for (uint32_t d = 1; d < EGRAPH_MAX_RANK; d++)
    dims[d] = 1;
  eg_type column = eg_type_of(bias->dtype, result->rank - 1, dims);
  eg_pointwise_operand operands[] = {{eg_device_result(0), result},
                                     {eg_device_operand(OPERAND_BIAS), &column}};
  eg_compute compute;
  if (!eg_compute_of(result->dtype, &compute)) return eg_cuda_refuse(builder, "uint64");
  return eg_cuda_add_pointwise(builder, EG_OP_ADD, (double[]){0, 0}, compute, operands,
                               2);
}

static egraph_status add_conv(eg_cuda_builder *builder) {
  eg_device_place places[] = {eg_device_result(0), eg_device_operand(OPERAND_X),
                              eg_device_operand(OPERAND_W)};
  int64_t w_strides[EGRAPH_MAX_RANK] = {0};
  conv_payload payload = {.plan = {{.plan = NULL}}};
  EG_TRY(place_weights(builder, w_strides, &places[2]));
  eg_conv_problem problem = problem_of(builder->spec, w_strides);
  egraph_status status = make_plans(builder->device, &problem, &payload);
  if (status == EGRAPH_OK)
    status =
        eg_cuda_add(builder, run_conv, &payload, sizeof payload, release_conv, places, 3);
  if (status != EGRAPH_OK) release_conv(&payload);
  return status;
}

egraph_status eg_cuda_conv(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  uint32_t rank = spec->inputs[OPERAND_X].rank;
  if (builder->device->dnn == NULL) return eg_cuda_refuse(builder, "cuDNN did not open");
  if (rank > EG_CONV_MAX_RANK) return eg_cuda_refuse(builder, "too many dimensions");
  if (spec->inputs[OPERAND_X].layout.format != spec->results[0].layout.format)
    return eg_cuda_refuse(builder, "two memory formats");
  builder->kernel = "cuDNN";
  EG_TRY(add_conv(builder));
  if (spec->input_count > OPERAND_BIAS) EG_TRY(add_bias(builder));
  if (spec->input_count > OPERAND_Z) EG_TRY(eg_cuda_add_addend(builder, OPERAND_Z));
  return eg_cuda_add_act(builder, (eg_act)eg_attr_at(spec->attrs, EG_A_CONV_ACT)->i,
                         eg_attr_at(spec->attrs, EG_A_CONV_ACT_ALPHA)->f,
                         eg_attr_at(spec->attrs, EG_A_CONV_ACT_BETA)->f);
}
