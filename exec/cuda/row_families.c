// Operators that fold or normalize: reductions, softmax, normalizations.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"
#include "exec/cuda/strided.h"
#include "ops/kernels.h"

// ---- reductions -----------------------------------------------------------------

EG_DEVICE_STAGE(run_reduction, eg_reduction, "reduction kernel",
                eg_launch_reduction(work, addresses[0], addresses[1], device->stream))

/// Appends a fold over the dimensions of operand 0 whose bit in `folded` is set;
/// `kept_strides` are the strides of the result in the operand's dimensions.
static egraph_status add_reduction(eg_cuda_builder *builder, eg_op op, uint32_t folded,
                                   const int64_t *kept_strides, bool take_last) {
  const eg_type *x = &builder->spec->inputs[0];
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_loop_plan kept = {.tensors = 2}, gone = {.tensors = 2};
  eg_reduction work = {
      .op = (int32_t)op, .dtype = (int32_t)x->dtype, .take_last = take_last};
  eg_compute compute;
  if (!eg_accumulation_of(x->dtype, &compute))
    return eg_cuda_refuse(builder, "its element type");
  work.compute = (int32_t)compute;
  eg_type_strides(x, strides);
  for (uint32_t d = 0; d < x->rank; d++) {
    bool is_folded = (folded & 1u << d) != 0;
    eg_loop_add(is_folded ? &gone : &kept, x->dims[d],
                (int64_t[]){is_folded ? 0 : kept_strides[d], strides[d]});
  }
  if (!eg_loop_merge(&kept, &work.kept) || !eg_loop_merge(&gone, &work.folded))
    return eg_cuda_refuse(builder, "too many dimensions");
  const eg_attrs *attrs = builder->spec->attrs;
  int64_t count =
      attrs->op == EG_OP_REDUCE_MEAN ? eg_attr_at(attrs, EG_A_REDUCE_MEAN_COUNT)->i : 0;
  work.divisor = count != 0 ? count : work.folded.count;
  eg_device_place places[] = {eg_device_result(0), eg_device_operand(0)};
  builder->kernel = "CUDA reduction";
  return eg_cuda_add(builder, run_reduction, &work, sizeof work, NULL, places, 2);
}

/// Sets row-major strides of the dimensions that remain without those in `folded`.
static void kept_strides(const eg_type *type, uint32_t folded, int64_t *out) {
  int64_t stride = 1;
  for (uint32_t d = type->rank; d-- > 0;) {
    out[d] = stride;
    if ((folded & 1u << d) == 0) stride *= type->dims[d];
  }
}

egraph_status eg_cuda_reduction(eg_cuda_builder *builder) {
  enum { SLOT_AXES };
  const eg_node_spec *spec = builder->spec;
  uint32_t folded = eg_axis_bits(&spec->inputs[0], spec->attrs->slots[SLOT_AXES].ints);
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  kept_strides(&spec->inputs[0], folded, strides);
  return add_reduction(builder, (eg_op)spec->attrs->op, folded, strides, false);
}

egraph_status eg_cuda_arg(eg_cuda_builder *builder) {
  enum { SLOT_AXIS = 0, SLOT_SELECT_LAST = 2 };
  const eg_node_spec *spec = builder->spec;
  const eg_attr *slots = spec->attrs->slots;
  uint32_t folded = 1u << eg_axis_of(&spec->inputs[0], slots[SLOT_AXIS].i);
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  kept_strides(&spec->inputs[0], folded, strides);
  return add_reduction(builder, (eg_op)spec->attrs->op, folded, strides,
                       slots[SLOT_SELECT_LAST].i != 0);
}

egraph_status eg_cuda_global_pool(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  bool is_max = spec->attrs->op == EG_OP_GLOBAL_MAX_POOL;
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_type_strides(&spec->results[0], strides);
  uint32_t all = (1u << spec->inputs[0].rank) - 1;
  return add_reduction(builder, is_max ? EG_OP_REDUCE_MAX : EG_OP_REDUCE_MEAN, all & ~3u,
                       strides, false);
}

// ---- along an axis --------------------------------------------------------------

typedef struct axis_payload {
  eg_axis_rows rows;
  int32_t is_log, compute;
} axis_payload;

EG_DEVICE_STAGE(run_softmax, axis_payload, "softmax kernel",
                eg_launch_softmax(&work->rows, work->is_log, addresses[0], addresses[1],
                                  device->stream))

EG_DEVICE_STAGE(run_cum_sum, axis_payload, "running sum kernel",
                eg_launch_cum_sum(&work->rows, work->compute, addresses[0], addresses[1],
                                  device->stream))

static egraph_status add_axis(eg_cuda_builder *builder, int64_t axis, bool is_log,
                              eg_device_function function) {
  const eg_type *x = &builder->spec->inputs[0];
  uint32_t at = eg_axis_of(x, axis);
  int64_t from[EGRAPH_MAX_RANK] = {0}, to[EGRAPH_MAX_RANK] = {0};
  eg_loop_plan plan = {.tensors = 2};
  eg_compute compute;
  if (!eg_accumulation_of(x->dtype, &compute))
    return eg_cuda_refuse(builder, "its element type");
  eg_type_strides(x, from);
  eg_type_strides(&builder->spec->results[0], to);
  for (uint32_t d = 0; d < x->rank; d++)
    if (d != at) eg_loop_add(&plan, x->dims[d], (int64_t[]){to[d], from[d]});
  axis_payload work = {.rows = {.size = x->dims[at],
                                .steps = {to[at], from[at]},
                                .dtype = (int32_t)x->dtype},
                       .is_log = is_log,
                       .compute = (int32_t)compute};
  if (!eg_loop_merge(&plan, &work.rows.rows))
    return eg_cuda_refuse(builder, "too many dimensions");
  eg_device_place places[] = {eg_device_result(0), eg_device_operand(0)};
  return eg_cuda_add(builder, function, &work, sizeof work, NULL, places, 2);
}

egraph_status eg_cuda_softmax(eg_cuda_builder *builder) {
  enum { SLOT_AXIS };
  const eg_attrs *attrs = builder->spec->attrs;
  builder->kernel = "CUDA softmax";
  return add_axis(builder, attrs->slots[SLOT_AXIS].i, attrs->op == EG_OP_LOG_SOFTMAX,
                  run_softmax);
}

egraph_status eg_cuda_cum_sum(eg_cuda_builder *builder) {
  const eg_attrs *attrs = builder->spec->attrs;
  if (eg_attr_at(attrs, EG_A_CUM_SUM_EXCLUSIVE)->i != 0 ||
      eg_attr_at(attrs, EG_A_CUM_SUM_REVERSE)->i != 0)
    return eg_cuda_refuse(builder, "a running sum that is exclusive or reversed");
  builder->kernel = "CUDA running sum";
  return add_axis(builder, eg_attr_at(attrs, EG_A_CUM_SUM_AXIS)->i, false, run_cum_sum);
}

// ---- normalizations -------------------------------------------------------------

EG_DEVICE_STAGE(run_norm_rows, eg_norm_rows, "normalization kernel",
                eg_launch_norm_rows(work, addresses, device->stream))

// Runs a normalization without a shift: the address of the shift is NULL.
static egraph_status run_norm_rows_unshifted(const eg_cuda_device *device,
                                             const void *payload,
                                             void *const *addresses) {
  void *four[] = {addresses[0], addresses[1], addresses[2], NULL};
  return run_norm_rows(device, payload, four);
}

/// Lists the addresses and element types of result 0 and of all operands.
static void list_tensors(const eg_node_spec *spec, eg_device_place *places,
                         int32_t *dtypes) {
  places[0] = eg_device_result(0);
  dtypes[0] = (int32_t)spec->results[0].dtype;
  for (uint32_t i = 0; i < spec->input_count; i++) {
    places[i + 1] = eg_device_operand(i);
    dtypes[i + 1] = (int32_t)spec->inputs[i].dtype;
  }
}

static egraph_status add_norm_rows(eg_cuda_builder *builder, eg_norm_rows work) {
  const eg_node_spec *spec = builder->spec;
  eg_device_place places[4];
  list_tensors(spec, places, work.dtype);
  builder->kernel = "CUDA normalization";
  return eg_cuda_add(builder,
                     spec->input_count == 3 ? run_norm_rows : run_norm_rows_unshifted,
                     &work, sizeof work, NULL, places, spec->input_count + 1);
}

egraph_status eg_cuda_layer_norm(eg_cuda_builder *builder) {
  enum { SLOT_AXIS, SLOT_EPSILON };
  const eg_node_spec *spec = builder->spec;
  const eg_type *x = &spec->inputs[0];
  uint32_t from = eg_axis_of(x, spec->attrs->slots[SLOT_AXIS].i);
  return add_norm_rows(builder,
                       (eg_norm_rows){.rows = eg_dims_product(x->dims, 0, from),
                                      .count = eg_dims_product(x->dims, from, x->rank),
                                      .table_rows = 1,
                                      .spread = 1,
                                      .epsilon = spec->attrs->slots[SLOT_EPSILON].f,
                                      .is_centred = spec->attrs->op == EG_OP_LAYER_NORM});
}

egraph_status eg_cuda_group_norm(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *x = &spec->inputs[0];
  bool is_group = spec->attrs->op == EG_OP_GROUP_NORM;
  int64_t groups =
      is_group ? eg_attr_at(spec->attrs, EG_A_GROUP_NORM_NUM_GROUPS)->i : x->dims[1];
  eg_attr_slot epsilon = is_group ? EG_A_GROUP_NORM_EPSILON : EG_A_INSTANCE_NORM_EPSILON;
  int64_t pixels = eg_dims_product(x->dims, 2, x->rank);
  return add_norm_rows(builder,
                       (eg_norm_rows){.rows = x->dims[0] * groups,
                                      .count = x->dims[1] / groups * pixels,
                                      .table_rows = groups,
                                      .table_step = x->dims[1] / groups,
                                      .spread = pixels,
                                      .epsilon = eg_attr_at(spec->attrs, epsilon)->f,
                                      .is_centred = 1});
}

/// Makes a loop over result 0 and operand 0, with the channel number as the third tensor.
static bool channel_loop(const eg_node_spec *spec, eg_device_loop *out) {
  const eg_type *x = &spec->inputs[0];
  int64_t from[EGRAPH_MAX_RANK] = {0}, to[EGRAPH_MAX_RANK] = {0};
  eg_loop_plan plan = {.tensors = 3};
  eg_type_strides(x, from);
  eg_type_strides(&spec->results[0], to);
  for (uint32_t d = 0; d < x->rank; d++)
    eg_loop_add(&plan, x->dims[d], (int64_t[]){to[d], from[d], d == 1 ? 1 : 0});
  return eg_loop_merge(&plan, out);
}

EG_DEVICE_STAGE(run_channel_norm, eg_channel_norm, "batch normalization kernel",
                eg_launch_channel_norm(work, addresses, device->stream))

egraph_status eg_cuda_batch_norm(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_channel_norm work = {.epsilon = eg_attr_at(spec->attrs, EG_A_BATCH_NORM_EPSILON)->f};
  eg_device_place places[6];
  if (!channel_loop(spec, &work.loop))
    return eg_cuda_refuse(builder, "too many dimensions");
  list_tensors(spec, places, work.dtype);
  builder->kernel = "CUDA batch normalization";
  return eg_cuda_add(builder, run_channel_norm, &work, sizeof work, NULL, places, 6);
}

EG_DEVICE_STAGE(run_channel_window, eg_channel_window,
                "local response normalization kernel",
                eg_launch_channel_window(work, addresses[0], addresses[1],
                                         device->stream))

egraph_status eg_cuda_lrn(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  int64_t size = eg_attr_at(spec->attrs, EG_A_LRN_SIZE)->i, strides[EGRAPH_MAX_RANK];
  eg_type_strides(&spec->inputs[0], strides);
  eg_channel_window work = {.channels = spec->inputs[0].dims[1],
                            .step = strides[1],
                            .size = size,
                            .alpha =
                                eg_attr_at(spec->attrs, EG_A_LRN_ALPHA)->f / (double)size,
                            .beta = eg_attr_at(spec->attrs, EG_A_LRN_BETA)->f,
                            .bias = eg_attr_at(spec->attrs, EG_A_LRN_BIAS)->f,
                            .dtype = (int32_t)spec->inputs[0].dtype};
  eg_device_place places[] = {eg_device_result(0), eg_device_operand(0)};
  if (!channel_loop(spec, &work.loop))
    return eg_cuda_refuse(builder, "too many dimensions");
  builder->kernel = "CUDA local response normalization";
  return eg_cuda_add(builder, run_channel_window, &work, sizeof work, NULL, places, 2);
}

// ---- gradients of normalizations ----------------------------------------------------

EG_DEVICE_STAGE(run_norm_grad, eg_norm_rows, "gradient of a normalization kernel",
                eg_launch_norm_grad(work, addresses, device->stream))

egraph_status eg_cuda_layer_norm_grad(eg_cuda_builder *builder) {
  enum { OPERAND_SCALE = 2, SLOT_EPSILON = 1 };
  const eg_node_spec *spec = builder->spec;
  int64_t count = eg_type_elements(&spec->inputs[OPERAND_SCALE]);
  eg_norm_rows work = {.rows = eg_type_elements(&spec->results[0]) / count,
                       .count = count,
                       .epsilon = spec->attrs->slots[SLOT_EPSILON].f,
                       .is_centred = spec->attrs->op == EG_OP_LAYER_NORM_GRAD};
  eg_device_place places[4];
  list_tensors(spec, places, work.dtype);
  builder->kernel = "CUDA gradient of a normalization";
  return eg_cuda_add(builder, run_norm_grad, &work, sizeof work, NULL, places, 4);
}
