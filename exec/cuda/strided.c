// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/strided.h"

#include <assert.h>
#include <string.h>

#include "ops/meaning.h"

// ---- dtypes ---------------------------------------------------------------------

bool eg_compute_of(egraph_dtype dtype, eg_compute *out) {
  if (dtype == EGRAPH_UINT64) return false;
  *out = dtype == EGRAPH_FLOAT64    ? EG_COMPUTE_F64
         : eg_dtype_is_float(dtype) ? EG_COMPUTE_F32
                                    : EG_COMPUTE_I64;
  return true;
}

bool eg_accumulation_of(egraph_dtype dtype, eg_compute *out) {
  if (dtype == EGRAPH_UINT64 || dtype == EGRAPH_BOOL) return false;
  *out = eg_dtype_is_float(dtype) ? EG_COMPUTE_F64 : EG_COMPUTE_I64;
  return true;
}

// ---- stages ---------------------------------------------------------------------

typedef struct move_payload {
  eg_device_loop loop;
  int32_t element_bytes;
} move_payload;

EG_DEVICE_STAGE(run_move, move_payload, "copy kernel",
                eg_launch_move(&work->loop, work->element_bytes, addresses[0],
                               addresses[1], device->stream))

static eg_device_place block_place(const eg_block *block, size_t element_bytes) {
  eg_device_place place = block->place;
  place.offset += (size_t)block->offset * element_bytes;
  return place;
}

egraph_status eg_cuda_add_move(eg_cuda_builder *builder, uint32_t rank,
                               const int64_t *dims, size_t element_bytes,
                               const eg_block *to, const eg_block *from) {
  assert(rank <= 2 * EGRAPH_MAX_RANK);
  eg_loop_plan plan = {.tensors = 2};
  for (uint32_t d = 0; d < rank; d++)
    eg_loop_add(&plan, dims[d], (int64_t[]){to->strides[d], from->strides[d]});
  move_payload move = {.element_bytes = (int32_t)element_bytes};
  if (!eg_loop_merge(&plan, &move.loop))
    return eg_cuda_refuse(builder, "too many dimensions");
  eg_device_place places[] = {block_place(to, element_bytes),
                              block_place(from, element_bytes)};
  return eg_cuda_add(builder, run_move, &move, sizeof move, NULL, places, 2);
}

/// The parameters of a pointwise stage, to which later operators may be joined.
typedef struct pointwise_payload {
  eg_pointwise work;
  eg_loop_plan plan;
} pointwise_payload;

EG_DEVICE_STAGE(run_pointwise, pointwise_payload, "pointwise kernel",
                eg_launch_pointwise(&work->work, addresses, device->stream))

/// Appends to a pointwise stage a tensor, which broadcasts to the result.
static void add_tensor(pointwise_payload *payload, const eg_type *result,
                       const eg_type *type) {
  assert(payload->plan.tensors < EG_LOOP_TENSORS);
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  uint32_t t = payload->plan.tensors++;
  eg_spread_strides(result, type, strides);
  memcpy(payload->plan.strides[t], strides, result->rank * sizeof *strides);
  payload->work.dtype[t] = (int32_t)type->dtype;
}

static bool is_result(const eg_device_place *place) {
  return place->kind == EG_DEVICE_RESULT && place->index == 0 && place->offset == 0;
}

/// Extends the previous pointwise stage by the operator, where the operator reads and
/// writes the stage's result. False where the stage cannot be extended.
static bool extend_chain(eg_cuda_builder *builder, eg_op op, const double params[2],
                         eg_compute compute, const eg_pointwise_operand *operands,
                         uint32_t count) {
  eg_device_stage *stage = builder->last;
  if (stage == NULL || stage->function != run_pointwise || count == 0 || count > 2 ||
      !is_result(&operands[0].place) || compute == EG_COMPUTE_I64) // integers wrap
    return false;
  pointwise_payload payload = *(const pointwise_payload *)stage->payload;
  if (payload.work.op == EG_OP_FILL || payload.work.compute != (int32_t)compute ||
      payload.work.chained == EG_POINTWISE_CHAIN ||
      (count == 2 &&
       (payload.plan.tensors == EG_LOOP_TENSORS || is_result(&operands[1].place))))
    return false;
  if (count == 2) add_tensor(&payload, &builder->spec->results[0], operands[1].type);
  int32_t tensor = count == 2 ? (int32_t)payload.plan.tensors - 1 : 0;
  int32_t k = payload.work.chained++;
  payload.work.chain[k].op = (int32_t)op;
  payload.work.chain[k].tensor = tensor;
  memcpy(payload.work.chain[k].params, params, 2 * sizeof *params);
  if (!eg_loop_merge(&payload.plan, &payload.work.loop)) return false;
  if (count == 2) stage->places[stage->count++] = operands[1].place;
  *(pointwise_payload *)stage->payload = payload;
  return true;
}

egraph_status eg_cuda_add_pointwise(eg_cuda_builder *builder, eg_op op,
                                    const double params[2], eg_compute compute,
                                    const eg_pointwise_operand *operands,
                                    uint32_t count) {
  const eg_type *result = &builder->spec->results[0];
  if (extend_chain(builder, op, params, compute, operands, count)) return EGRAPH_OK;
  eg_device_place places[EG_LOOP_TENSORS] = {eg_device_result(0)};
  pointwise_payload payload = {.work = {.op = (int32_t)op,
                                        .compute = (int32_t)compute,
                                        .params = {params[0], params[1]}},
                               .plan = {.rank = result->rank}};
  memcpy(payload.plan.dims, result->dims, result->rank * sizeof *result->dims);
  add_tensor(&payload, result, result);
  for (uint32_t i = 0; i < count; i++) {
    add_tensor(&payload, result, operands[i].type);
    places[i + 1] = operands[i].place;
  }
  if (!eg_loop_merge(&payload.plan, &payload.work.loop))
    return eg_cuda_refuse(builder, "too many dimensions");
  return eg_cuda_add(builder, run_pointwise, &payload, sizeof payload, NULL, places,
                     count + 1);
}

egraph_status eg_cuda_add_fill(eg_cuda_builder *builder, double value) {
  return eg_cuda_add_pointwise(builder, EG_OP_FILL, (double[]){value, 0}, EG_COMPUTE_F64,
                               NULL, 0);
}

egraph_status eg_cuda_add_addend(eg_cuda_builder *builder, uint32_t operand,
                                 const eg_type *type) {
  const eg_type *result = &builder->spec->results[0];
  eg_pointwise_operand operands[] = {{eg_device_result(0), result},
                                     {eg_device_operand(operand), type}};
  eg_compute compute;
  if (!eg_compute_of(result->dtype, &compute)) return eg_cuda_refuse(builder, "uint64");
  return eg_cuda_add_pointwise(builder, EG_OP_ADD, (double[]){0, 0}, compute, operands,
                               2);
}

egraph_status eg_cuda_add_act(eg_cuda_builder *builder) {
  const eg_fused_act fused = eg_fused_act_of(builder->spec->attrs);
  if (fused.act == EG_ACT_NONE) return EGRAPH_OK;
  eg_op op = eg_act_operator(fused.act);
  const eg_type *result = &builder->spec->results[0];
  eg_pointwise_operand operand = {eg_device_result(0), result};
  double params[2] = {fused.alpha, fused.beta};
  // These operators have parameters of their own.
  if (op == EG_OP_GELU) params[0] = fused.act == EG_ACT_GELU_TANH;
  eg_compute compute;
  if (!eg_compute_of(result->dtype, &compute)) return eg_cuda_refuse(builder, "uint64");
  return eg_cuda_add_pointwise(builder, op, params, compute, &operand, 1);
}
