// Operators that combine elements point by point or only move them.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"
#include "exec/cuda/strided.h"
#include "ops/kernels.h"

// ---- pointwise ------------------------------------------------------------------

// True for operators whose int64 arithmetic is correct for uint64, too.
static bool is_sign_free(eg_op op) {
  return op == EG_OP_IDENTITY || op == EG_OP_ADD || op == EG_OP_SUB || op == EG_OP_MUL ||
         op == EG_OP_EQUAL || op == EG_OP_WHERE;
}

/// Finds the type of arithmetic for a node from its first numeric operand.
static bool find_compute(const eg_node_spec *spec, eg_compute *out) {
  eg_op op = (eg_op)spec->attrs->op;
  uint32_t first = op == EG_OP_WHERE ? 1 : 0;
  egraph_dtype dtype = spec->inputs[first].dtype;
  for (uint32_t i = first + 1; i < spec->input_count; i++)
    if (spec->inputs[i].dtype != dtype) return false;
  *out = EG_COMPUTE_I64;
  if (!eg_compute_of(dtype, out) && !is_sign_free(op)) return false;
  if (op == EG_OP_CAST && *out == EG_COMPUTE_F32 &&
      spec->results[0].dtype == EGRAPH_FLOAT64)
    *out = EG_COMPUTE_F64;
  return true;
}

egraph_status eg_cuda_pointwise(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_pointwise_operand operands[EG_LOOP_TENSORS - 1];
  eg_compute compute;
  if (!find_compute(spec, &compute)) return eg_cuda_refuse(builder, "its element types");
  for (uint32_t i = 0; i < spec->input_count; i++)
    operands[i] = (eg_pointwise_operand){eg_device_operand(i), &spec->inputs[i]};
  double params[2];
  eg_row_params(spec->attrs, params);
  builder->overlay = eg_cuda_find_overlay(builder);
  builder->kernel = "CUDA pointwise";
  return eg_cuda_add_pointwise(builder, (eg_op)spec->attrs->op, params, compute, operands,
                               spec->input_count);
}

egraph_status eg_cuda_fill(eg_cuda_builder *builder) {
  builder->kernel = "CUDA fill";
  return eg_cuda_add_fill(builder, eg_attr_at(builder->spec->attrs, EG_A_FILL_VALUE)->f);
}

// ---- moves ----------------------------------------------------------------------

static eg_block block_of_tensor(eg_device_place place, const eg_type *type) {
  eg_block block = {.place = place};
  eg_type_strides(type, block.strides);
  return block;
}

/// Adds a kernel to the program that copies the elements of operand 0 described by `from`
/// into the result.
static egraph_status move_all(eg_cuda_builder *builder, const eg_block *from) {
  const eg_type *result = &builder->spec->results[0];
  eg_block to = block_of_tensor(eg_device_result(0), result);
  builder->kernel = "CUDA copy";
  return eg_cuda_add_move(builder, result->rank, result->dims,
                          eg_dtype_bytes(result->dtype), &to, from);
}

egraph_status eg_cuda_reshape(eg_cuda_builder *builder) {
  const eg_type *result = &builder->spec->results[0];
  int64_t count = eg_type_elements(result);
  eg_block to = {.place = eg_device_result(0), .strides = {1}};
  eg_block from = {.place = eg_device_operand(0), .strides = {1}};
  builder->kernel = "CUDA copy";
  return eg_cuda_add_move(builder, 1, &count, eg_dtype_bytes(result->dtype), &to, &from);
}

egraph_status eg_cuda_transpose(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_ints *perm = &eg_attr_at(spec->attrs, EG_A_TRANSPOSE_PERM)->ints;
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_block from = {.place = eg_device_operand(0)};
  eg_type_strides(&spec->inputs[0], strides);
  for (uint32_t d = 0; d < spec->results[0].rank; d++)
    from.strides[d] = strides[perm->data[d]];
  return move_all(builder, &from);
}

egraph_status eg_cuda_slice(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_ints *starts = &eg_attr_at(spec->attrs, EG_A_SLICE_STARTS)->ints;
  const eg_ints *steps = &eg_attr_at(spec->attrs, EG_A_SLICE_STEPS)->ints;
  eg_block from = block_of_tensor(eg_device_operand(0), &spec->inputs[0]);
  for (uint32_t d = 0; d < spec->results[0].rank; d++) {
    from.offset += starts->data[d] * from.strides[d];
    from.strides[d] *= steps->data[d];
  }
  return move_all(builder, &from);
}

egraph_status eg_cuda_expand(eg_cuda_builder *builder) {
  eg_block from = {.place = eg_device_operand(0)};
  eg_spread_strides(&builder->spec->results[0], &builder->spec->inputs[0], from.strides);
  return move_all(builder, &from);
}

// Adds a kernel to the program that repeats operand 0. Each dimension becomes two: number
// of the repetition, and position within the repetition.
egraph_status eg_cuda_tile(eg_cuda_builder *builder) {
  const eg_type *x = &builder->spec->inputs[0], *y = &builder->spec->results[0];
  if (x->rank != y->rank) return eg_cuda_refuse(builder, "the rank changes");
  eg_block x_block = block_of_tensor(eg_device_operand(0), x),
           from = {.place = x_block.place};
  eg_block y_block = block_of_tensor(eg_device_result(0), y),
           to = {.place = y_block.place};
  int64_t dims[2 * EGRAPH_MAX_RANK];
  for (uint32_t d = 0; d < x->rank; d++) {
    dims[2 * d] = y->dims[d] / x->dims[d];
    to.strides[2 * d] = y_block.strides[d] * x->dims[d];
    dims[2 * d + 1] = x->dims[d];
    to.strides[2 * d + 1] = y_block.strides[d];
    from.strides[2 * d + 1] = x_block.strides[d];
  }
  builder->kernel = "CUDA copy";
  return eg_cuda_add_move(builder, 2 * x->rank, dims, eg_dtype_bytes(x->dtype), &to,
                          &from);
}

// ---- joins ----------------------------------------------------------------------

EG_DEVICE_STAGE(run_join, eg_join, "copy kernel",
                eg_launch_join(work, addresses, device->stream))

/// Returns the contiguous bytes of a tensor that is cut along an axis.
static int64_t row_bytes(const eg_type *type, uint32_t axis) {
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_type_strides(type, strides);
  return type->dims[axis] * strides[axis] * (int64_t)eg_dtype_bytes(type->dtype);
}

/// A tensor and its parts along an axis (concat or split), all in one memory format.
typedef struct cut_tensor {
  const eg_type *whole, *parts;
  uint32_t count, axis;
  bool is_split;
} cut_tensor;

static eg_device_place whole_place(const cut_tensor *cut) {
  return cut->is_split ? eg_device_operand(0) : eg_device_result(0);
}
static eg_device_place part_place(const cut_tensor *cut, uint32_t i) {
  return cut->is_split ? eg_device_result(i) : eg_device_operand(i);
}

static egraph_status add_join(eg_cuda_builder *builder, const cut_tensor *cut) {
  eg_device_place whole = whole_place(cut);
  int64_t step = row_bytes(cut->whole, cut->axis);
  if (step == 0 || eg_type_bytes(cut->whole) == 0) return EGRAPH_OK;
  for (uint32_t from = 0; from < cut->count; from += EG_MOST_JOINED) {
    eg_device_place places[EG_MAX_STAGE_PLACES] = {whole};
    eg_join work = {.rows = (int64_t)eg_type_bytes(cut->whole) / step,
                    .whole_step = step,
                    .is_split = cut->is_split};
    int64_t end = 0;
    for (uint32_t i = from; i < cut->count && work.parts < EG_MOST_JOINED; i++) {
      end += row_bytes(&cut->parts[i], cut->axis);
      places[work.parts + 1] = part_place(cut, i);
      work.ends[work.parts++] = end;
    }
    if (end != 0)
      EG_TRY(eg_cuda_add(builder, run_join, &work, sizeof work, NULL, places,
                         (uint32_t)work.parts + 1));
    whole.offset += (size_t)end;
  }
  return EGRAPH_OK;
}

/// Adds a kernel to the program for each part of a concatenation or split, which copies
/// the part; for tensors whose formats differ.
static egraph_status add_part_moves(eg_cuda_builder *builder, const cut_tensor *cut) {
  eg_block whole = block_of_tensor(whole_place(cut), cut->whole);
  for (uint32_t i = 0; i < cut->count; i++) {
    const eg_type *type = &cut->parts[i];
    eg_block part = block_of_tensor(part_place(cut, i), type);
    const eg_block *to = cut->is_split ? &part : &whole;
    const eg_block *from = cut->is_split ? &whole : &part;
    EG_TRY(eg_cuda_add_move(builder, type->rank, type->dims, eg_dtype_bytes(type->dtype),
                            to, from));
    whole.offset += type->dims[cut->axis] * whole.strides[cut->axis];
  }
  return EGRAPH_OK;
}

static egraph_status add_cut_copies(eg_cuda_builder *builder, const cut_tensor *cut) {
  builder->kernel = "CUDA copy";
  for (uint32_t i = 0; i < cut->count; i++)
    if (cut->parts[i].layout.format != cut->whole->layout.format)
      return add_part_moves(builder, cut);
  return add_join(builder, cut);
}

egraph_status eg_cuda_concat(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *whole = &spec->results[0];
  int64_t axis = eg_attr_at(spec->attrs, EG_A_CONCAT_AXIS)->i;
  return add_cut_copies(builder, &(cut_tensor){.whole = whole,
                                               .parts = spec->inputs,
                                               .count = spec->input_count,
                                               .axis = eg_axis_of(whole, axis)});
}

egraph_status eg_cuda_split(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *whole = &spec->inputs[0];
  int64_t axis = eg_attr_at(spec->attrs, EG_A_SPLIT_AXIS)->i;
  return add_cut_copies(builder, &(cut_tensor){.whole = whole,
                                               .parts = spec->results,
                                               .count = spec->result_count,
                                               .axis = eg_axis_of(whole, axis),
                                               .is_split = true});
}

egraph_status eg_cuda_pad(eg_cuda_builder *builder) {
  enum { MODE_CONSTANT };
  const eg_node_spec *spec = builder->spec;
  const eg_type *x = &spec->inputs[0];
  const eg_ints *pads = &eg_attr_at(spec->attrs, EG_A_PAD_PADS)->ints;
  if (eg_attr_at(spec->attrs, EG_A_PAD_MODE)->i != MODE_CONSTANT)
    return eg_cuda_refuse(builder, "its mode");
  eg_block from = block_of_tensor(eg_device_operand(0), x);
  eg_block to = block_of_tensor(eg_device_result(0), &spec->results[0]);
  for (uint32_t d = 0; d < x->rank; d++)
    to.offset += pads->data[d] * to.strides[d];
  builder->kernel = "CUDA copy";
  EG_TRY(eg_cuda_add_fill(builder, eg_attr_at(spec->attrs, EG_A_PAD_VALUE)->f));
  return eg_cuda_add_move(builder, x->rank, x->dims, eg_dtype_bytes(x->dtype), &to,
                          &from);
}

EG_DEVICE_STAGE(run_gather, eg_gathering, "gather kernel",
                eg_launch_gather(work, addresses[0], addresses[1], addresses[2],
                                 device->fault, device->stream))

/// Describes gathering along an axis of a table by operand 1; `whole` is its slot.
static eg_gathering gathering_of(const eg_node_spec *spec, const eg_type *table,
                                 int64_t axis, eg_attr_slot whole) {
  const eg_axis_view view = eg_axis_view_of(table, axis);
  const eg_gather_axis part = eg_gather_axis_of(spec->attrs, whole, view.size);
  return (eg_gathering){.outer = view.outer,
                        .count = eg_type_elements(&spec->inputs[1]),
                        .inner = view.inner,
                        .size = view.size,
                        .whole = part.whole,
                        .first = part.first,
                        .element_bytes = (int32_t)eg_dtype_bytes(table->dtype),
                        .index_dtype = (int32_t)spec->inputs[1].dtype};
}

egraph_status eg_cuda_gather(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_gathering work =
      gathering_of(spec, &spec->inputs[0], eg_attr_at(spec->attrs, EG_A_GATHER_AXIS)->i,
                   EG_A_GATHER_WHOLE);
  eg_device_place places[] = {eg_device_result(0), eg_device_operand(0),
                              eg_device_operand(1)};
  builder->kernel = "CUDA gather";
  return eg_cuda_add(builder, run_gather, &work, sizeof work, NULL, places, 3);
}

typedef struct gather_payload {
  eg_gathering work;
  int32_t dtype;
} gather_payload;

EG_DEVICE_STAGE(run_gather_grad, gather_payload, "gradient of gathering kernel",
                eg_launch_gather_grad(&work->work, work->dtype, addresses[0],
                                      addresses[1], addresses[2], addresses[3],
                                      device->fault, device->stream))

egraph_status eg_cuda_gather_grad(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *result = &spec->results[0];
  gather_payload payload = {
      .work =
          gathering_of(spec, result, eg_attr_at(spec->attrs, EG_A_GATHER_GRAD_AXIS)->i,
                       EG_A_GATHER_GRAD_WHOLE),
      .dtype = (int32_t)result->dtype};
  eg_device_place places[] = {
      eg_device_result(0), eg_device_operand(0), eg_device_operand(1),
      eg_cuda_scratch(builder, 2 * sizeof(int64_t) * (size_t)payload.work.count)};
  builder->kernel = "CUDA gradient of gathering";
  EG_TRY(eg_cuda_add_fill(builder, 0.0));
  return eg_cuda_add(builder, run_gather_grad, &payload, sizeof payload, NULL, places, 4);
}

// ---- updates ------------------------------------------------------------------------

EG_DEVICE_STAGE(run_adam, eg_adam, "Adam's kernel",
                eg_launch_adam(work, addresses, device->stream))

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
