// Operators that only training steps have: gradients of gathering and of normalizations,
// updates.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"
#include "exec/cuda/strided.h"

// ---- gather-grad ----------------------------------------------------------------

typedef struct gather_payload {
  eg_gathering work;
  int32_t dtype;
} gather_payload;

static egraph_status run_gather_grad(const eg_cuda_device *device, const void *payload,
                                     void *const *addresses) {
  const gather_payload *p = payload;
  return eg_cuda_check(eg_launch_gather_grad(&p->work, p->dtype, addresses[0],
                                             addresses[1], addresses[2], addresses[3],
                                             device->fault, device->stream),
                       "gradient of gathering kernel");
}

egraph_status eg_cuda_gather_grad(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *result = &spec->results[0], *indices = &spec->inputs[1];
  uint32_t axis = eg_axis_of(result, eg_attr_at(spec->attrs, EG_A_GATHER_GRAD_AXIS)->i);
  gather_payload payload = {.work = {.outer = 1,
                                     .count = eg_type_elements(indices),
                                     .inner = 1,
                                     .size = result->dims[axis],
                                     .index_dtype = (int32_t)indices->dtype},
                            .dtype = (int32_t)result->dtype};
  eg_cuda_set_whole(spec->attrs, EG_A_GATHER_GRAD_WHOLE, &payload.work);
  for (uint32_t d = 0; d < axis; d++)
    payload.work.outer *= result->dims[d];
  for (uint32_t d = axis + 1; d < result->rank; d++)
    payload.work.inner *= result->dims[d];
  eg_device_place places[] = {
      eg_device_result(0), eg_device_operand(0), eg_device_operand(1),
      eg_cuda_scratch(builder, 2 * sizeof(int64_t) * (size_t)payload.work.count)};
  builder->kernel = "CUDA gradient of gathering";
  EG_TRY(eg_cuda_add_fill(builder, 0.0));
  return eg_cuda_add(builder, run_gather_grad, &payload, sizeof payload, NULL, places, 4);
}

// ---- gradients of normalizations ------------------------------------------------

static egraph_status run_norm_grad(const eg_cuda_device *device, const void *payload,
                                   void *const *addresses) {
  return eg_cuda_check(eg_launch_norm_grad(payload, addresses, device->stream),
                       "gradient of a normalization kernel");
}

egraph_status eg_cuda_layer_norm_grad(eg_cuda_builder *builder) {
  enum { OPERAND_D, OPERAND_X, OPERAND_SCALE, SLOT_EPSILON = 1 };
  const eg_node_spec *spec = builder->spec;
  int64_t count = eg_type_elements(&spec->inputs[OPERAND_SCALE]);
  eg_norm_rows work = {.rows = eg_type_elements(&spec->results[0]) / count,
                       .count = count,
                       .epsilon = spec->attrs->slots[SLOT_EPSILON].f,
                       .is_centred = spec->attrs->op == EG_OP_LAYER_NORM_GRAD,
                       .dtype = {(int32_t)spec->results[0].dtype}};
  eg_device_place places[4] = {eg_device_result(0)};
  for (uint32_t i = OPERAND_D; i <= OPERAND_SCALE; i++) {
    places[i + 1] = eg_device_operand(i);
    work.dtype[i + 1] = (int32_t)spec->inputs[i].dtype;
  }
  builder->kernel = "CUDA gradient of a normalization";
  return eg_cuda_add(builder, run_norm_grad, &work, sizeof work, NULL, places, 4);
}

// ---- updates --------------------------------------------------------------------

static egraph_status run_adam(const eg_cuda_device *device, const void *payload,
                              void *const *addresses) {
  return eg_cuda_check(eg_launch_adam(payload, addresses, device->stream),
                       "Adam's kernel");
}

egraph_status eg_cuda_adam_update(eg_cuda_builder *builder) {
  enum { RESULTS = 3, OPERANDS = 6 };
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  egraph_dtype dtype = spec->inputs[0].dtype;
  if (dtype != EGRAPH_FLOAT32 && dtype != EGRAPH_FLOAT64)
    return eg_cuda_refuse(builder, "its element type");
  eg_adam work = {.count = eg_type_elements(&spec->inputs[0]),
                  .beta1 = eg_attr_at(attrs, EG_A_ADAM_UPDATE_BETA1)->f,
                  .beta2 = eg_attr_at(attrs, EG_A_ADAM_UPDATE_BETA2)->f,
                  .epsilon = eg_attr_at(attrs, EG_A_ADAM_UPDATE_EPSILON)->f,
                  .decay = eg_attr_at(attrs, EG_A_ADAM_UPDATE_WEIGHT_DECAY)->f,
                  .is_decoupled = eg_attr_at(attrs, EG_A_ADAM_UPDATE_DECOUPLED)->i != 0,
                  .dtype = (int32_t)dtype};
  eg_device_place places[RESULTS + OPERANDS];
  for (uint32_t i = 0; i < RESULTS; i++)
    places[i] = eg_device_result(i);
  for (uint32_t i = 0; i < OPERANDS; i++)
    places[RESULTS + i] = eg_device_operand(i);
  builder->in_place = (UINT64_C(1) << RESULTS) - 1;
  builder->kernel = "CUDA Adam";
  return eg_cuda_add(builder, run_adam, &work, sizeof work, NULL, places,
                     RESULTS + OPERANDS);
}
