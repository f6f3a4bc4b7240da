// SPDX-License-Identifier: Apache-2.0
#include "onnx/read/build.h"

#include <string.h>

#include "pcg/graph/graph_internal.h"

static eg_onnx_ref tensor_of(eg_ref ref) { return (eg_onnx_ref){ref.id}; }

static egraph_status emit(void *self, const eg_attrs *attrs, const eg_ref *inputs,
                          uint32_t count, eg_ref *out_results) {
  eg_onnx_builder *write = self;
  const eg_onnx_call *call = write->call;
  uint32_t results = eg_op_results(attrs);
  eg_onnx_ref *operands, *made;
  if (attrs->op == EG_OP_FILL && eg_attr_at(attrs, EG_A_FILL_SHAPE)->ints.len == 0) {
    eg_onnx_ref scalar;
    EG_TRY(eg_onnx_scalar(call, (egraph_dtype)eg_attr_at(attrs, EG_A_FILL_DTYPE)->i,
                          eg_attr_at(attrs, EG_A_FILL_VALUE)->f, &scalar));
    out_results[0] = (eg_ref){scalar.id};
    return EGRAPH_OK;
  }
  EG_NEW(&call->reader->arena, count, operands);
  EG_NEW(&call->reader->arena, results, made);
  for (uint32_t i = 0; i < count; i++)
    operands[i] = tensor_of(inputs[i]);
  for (uint32_t i = 0; i < results; i++)
    EG_TRY(eg_onnx_fresh(call, &made[i]));
  EG_TRY(eg_onnx_emit_attrs(call, attrs, operands, count, made, results));
  for (uint32_t i = 0; i < results; i++) {
    const eg_onnx_tensor *tensor = eg_onnx_tensor_at(call->reader, made[i]);
    out_results[i] = (eg_ref){made[i].id};
    write->has_array =
        write->has_array || (tensor->constant && eg_type_elements(&tensor->type) > 1);
  }
  return EGRAPH_OK;
}

// Copies the type to the arena, because the list of tensors moves when it grows.
static const eg_type *type_of(void *self, eg_ref value) {
  static const eg_type none = {.dtype = EGRAPH_FLOAT32};
  const eg_onnx_builder *write = self;
  eg_onnx_reader *reader = write->call->reader;
  eg_type *copy;
  if (eg_arena_alloc(&reader->arena, 1, sizeof *copy, &copy) != EGRAPH_OK) return &none;
  *copy = eg_onnx_tensor_at(reader, tensor_of(value))->type;
  return copy;
}

void eg_onnx_builder_init(eg_onnx_builder *write, const eg_onnx_call *call) {
  eg_type x = {.dtype = EGRAPH_FLOAT32};
  eg_onnx_ref first = eg_onnx_input(call, 0);
  if (first.id != EG_ONNX_NONE.id) x = eg_onnx_tensor_at(call->reader, first)->type;
  *write = (eg_onnx_builder){.call = call,
                             .b = {.self = write,
                                   .emit = emit,
                                   .type_of = type_of,
                                   .alloc = call->reader->alloc,
                                   .dtype = x.dtype},
                             .first = (uint32_t)call->reader->tensors.len};
}

eg_ref eg_onnx_operand(const eg_onnx_builder *write, uint32_t index) {
  return (eg_ref){eg_onnx_input(write->call, index).id};
}

// Makes the intermediate result `from` the result `to`, whose name it gets.
static egraph_status hand_over(eg_onnx_builder *write, eg_onnx_ref from, eg_onnx_ref to) {
  eg_onnx_reader *reader = write->call->reader;
  const eg_onnx_tensor source = *eg_onnx_tensor_at(reader, from);
  eg_onnx_tensor *target = eg_onnx_tensor_at(reader, to);
  if (source.constant)
    return eg_onnx_define_constant(reader, to, &source.type, source.data);
  EG_TRY(eg_graph_rename_value(reader->graph, source.value, target->name));
  target->made = target->typed = true;
  target->type = source.type;
  target->value = source.value;
  eg_onnx_tensor_at(reader, from)->name = "";
  return EGRAPH_OK;
}

egraph_status eg_onnx_finish(eg_onnx_builder *write, uint32_t index, eg_ref value) {
  const eg_onnx_call *call = write->call;
  eg_onnx_ref from = tensor_of(value), to = eg_onnx_output(call, index);
  EG_TRY(write->b.status);
  const eg_onnx_tensor *tensor = eg_onnx_tensor_at(call->reader, from);
  if (to.id == EG_ONNX_NONE.id) return EGRAPH_OK;
  if (from.id >= write->first && (tensor->constant || tensor->name[0] != '\0'))
    return hand_over(write, from, to);
  return eg_onnx_emit_plain(call, EG_OP_IDENTITY, &from, 1, to);
}

// ---- nodes --------------------------------------------------------------------------

eg_ref eg_onnx_write(eg_onnx_builder *write, eg_attr_list list, const eg_ref *inputs,
                     uint32_t count) {
  return eg_build_node(&write->b, list.op, list.slots, inputs, count);
}

eg_ref eg_onnx_concat(eg_onnx_builder *write, eg_ref x, eg_ref y, int64_t axis) {
  return eg_onnx_write(write, EG_LIST(CONCAT, EG_INT(CONCAT_AXIS, axis)),
                       (const eg_ref[]){x, y}, 2);
}

eg_ref eg_onnx_range_of(eg_onnx_builder *write, eg_ref x, uint32_t axis, int64_t from,
                        int64_t to, int64_t step) {
  const eg_type *type = eg_build_type(&write->b, x);
  int64_t starts[EGRAPH_MAX_RANK] = {0}, ends[EGRAPH_MAX_RANK], steps[EGRAPH_MAX_RANK];
  if (write->b.status != EGRAPH_OK) return EG_REF_NONE;
  for (uint32_t i = 0; i < type->rank; i++) {
    ends[i] = type->dims[i];
    steps[i] = 1;
  }
  starts[axis] = from;
  ends[axis] = to;
  steps[axis] = step;
  return eg_build_slice(&write->b, x, starts, ends, steps);
}

eg_ref eg_onnx_count_along(eg_onnx_builder *write, uint32_t rank, uint32_t axis,
                           int64_t from, int64_t count) {
  int64_t dims[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = i == axis ? count : 1;
  eg_ref numbers = eg_build_range(&write->b, count), start = eg_onnx_whole(write, from);
  if (from != 0) numbers = EG_BUILD(&write->b, EG_OP_ADD, numbers, start);
  return eg_build_reshape(&write->b, numbers, rank, dims);
}

eg_ref eg_onnx_number(eg_onnx_builder *write, egraph_dtype dtype, double value) {
  const eg_type scalar = {.dtype = dtype};
  return eg_build_fill(&write->b, &scalar, value);
}

eg_ref eg_onnx_whole(eg_onnx_builder *write, int64_t value) {
  return eg_onnx_number(write, EGRAPH_INT64, (double)value);
}
