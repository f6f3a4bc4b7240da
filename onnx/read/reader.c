// Functions of importers: tensors, constants and emission; for attributes
// see read/attr.c.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/read/reader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/// The size that costs assume for a dimension of unknown size.
enum { USUAL_SIZE = 16 };

/// Limits the operands in which a node's open sizes are searched.
enum { ASKED_OPERANDS = 4 };
/// The most elements of a constant that is computed while importing; constants of
/// integers are shapes. Larger constants are left to folding, which has a limit of work.
enum { MAX_KNOWN_INTEGERS = 4096, MAX_KNOWN_FLOATS = 64 };

eg_onnx_tensor *eg_onnx_tensor_at(eg_onnx_reader *reader, eg_onnx_ref ref) {
  return eg_onnx_tensors_at(&reader->tensors, ref.id);
}

eg_tensor eg_onnx_view(const eg_onnx_tensor *tensor) {
  return (eg_tensor){.type = tensor->type,
                     .data = (void *)(uintptr_t)eg_buffer_data(tensor->data)};
}

eg_onnx_ref eg_onnx_input(const eg_onnx_call *call, uint32_t index) {
  return index < call->input_count ? call->inputs[index] : EG_ONNX_NONE;
}

eg_onnx_ref eg_onnx_output(const eg_onnx_call *call, uint32_t index) {
  return index < call->output_count ? call->outputs[index] : EG_ONNX_NONE;
}

static bool is_none(eg_onnx_ref ref) { return ref.id == EG_ONNX_NONE.id; }

egraph_status eg_onnx_input_type(const eg_onnx_call *call, uint32_t index, eg_type *out) {
  eg_onnx_ref ref = eg_onnx_input(call, index);
  if (is_none(ref))
    return EG_FAIL(EGRAPH_E_PARSE, "operand %" PRIu32 " is missing", index);
  const eg_onnx_tensor *tensor = eg_onnx_tensor_at(call->reader, ref);
  if (!tensor->typed)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the type of '%.200s' is not known",
                   tensor->name);
  *out = tensor->type;
  return EGRAPH_OK;
}

egraph_status eg_onnx_fresh(const eg_onnx_call *call, eg_onnx_ref *out) {
  eg_onnx_tensors *tensors = &call->reader->tensors;
  eg_onnx_tensor tensor = {.name = "", .value = EG_VALUE_NONE, .producer = UINT32_MAX};
  if (tensors->len >= INT32_MAX) return EG_FAIL(EGRAPH_E_PARSE, "too many tensors");
  EG_TRY(eg_onnx_tensors_push(tensors, tensor));
  *out = (eg_onnx_ref){(uint32_t)tensors->len - 1};
  return EGRAPH_OK;
}

egraph_status eg_onnx_define_constant(eg_onnx_reader *reader, eg_onnx_ref ref,
                                      const eg_type *type, eg_buffer *data) {
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(reader, ref);
  assert(!tensor->made);
  tensor->made = true;
  tensor->typed = true;
  tensor->type = *type;
  tensor->constant = true;
  tensor->data = eg_buffer_retain(data);
  return EGRAPH_OK;
}

// Makes up a name that the file does not use: the first unused of "relu1.1", "relu1.2",
// ...
static egraph_status made_up_name(eg_onnx_reader *reader, const char *stem,
                                  const char **out) {
  size_t room = strlen(stem) + 16;
  char *name;
  uint32_t other;
  eg_value value;
  EG_NEW(&reader->arena, room, name);
  uint32_t n = 1;
  do
    (void)snprintf(name, room, "%s.%" PRIu32, stem, n++);
  while (eg_strmap_find(&reader->names, name, &other) ||
         eg_strmap_find(&reader->reserved, name, &other) ||
         eg_graph_find_value(reader->graph, name, &value));
  *out = name;
  return EGRAPH_OK;
}

egraph_status eg_onnx_value(eg_onnx_reader *reader, eg_onnx_ref ref, eg_value *out) {
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(reader, ref);
  if (tensor->value.id == EG_VALUE_NONE.id) {
    assert(tensor->constant);
    const char *name = tensor->name;
    if (name[0] == '\0') EG_TRY(made_up_name(reader, "constant", &name));
    EG_TRY(eg_graph_add_weight(reader->graph, name, &tensor->type, tensor->data,
                               &tensor->value));
  }
  *out = tensor->value;
  return EGRAPH_OK;
}

/// Returns the type of a declared tensor, with its element type, if we can represent both
/// its rank and element type; else NULL.
static const Onnx__TypeProto__Tensor *
declared_tensor(const Onnx__ValueInfoProto *declared, egraph_dtype *out_dtype) {
  const Onnx__TypeProto__Tensor *tensor = eg_onnx_declared_tensor(declared);
  bool has_room = tensor != NULL && tensor->shape != NULL &&
                  tensor->shape->n_dim <= EGRAPH_MAX_RANK &&
                  eg_dtype_from_onnx(tensor->elem_type, out_dtype);
  return has_room ? tensor : NULL;
}

bool eg_onnx_declared_type(const eg_onnx_reader *reader,
                           const Onnx__ValueInfoProto *declared, eg_type *out) {
  egraph_dtype dtype;
  int64_t dims[EGRAPH_MAX_RANK] = {0};
  const Onnx__TypeProto__Tensor *tensor = declared_tensor(declared, &dtype);
  if (tensor == NULL) return false;
  for (size_t i = 0; i < tensor->shape->n_dim; i++)
    if (!eg_onnx_dim_size(reader, tensor->shape->dim[i], declared->name, (uint32_t)i,
                          &dims[i]))
      return false;
  *out = eg_type_of(dtype, (uint32_t)tensor->shape->n_dim, dims);
  return eg_type_check(out) == EGRAPH_OK;
}

egraph_status eg_onnx_kept_type(const eg_onnx_reader *reader,
                                const Onnx__ValueInfoProto *declared, bool *out_known,
                                eg_type *out) {
  egraph_dtype dtype;
  const Onnx__TypeProto__Tensor *tensor = declared_tensor(declared, &dtype);
  eg_open_sizes *sizes = reader->options.sizes;
  if (sizes == NULL || tensor == NULL) {
    *out_known = eg_onnx_declared_type(reader, declared, out);
    return EGRAPH_OK;
  }
  *out = (eg_type){.dtype = dtype, .rank = (uint32_t)tensor->shape->n_dim};
  for (uint32_t i = 0; i < out->rank; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
    int64_t size = USUAL_SIZE;
    (void)eg_onnx_dim_size(reader, dim, declared->name, i, &size);
    out->dims[i] = size;
    if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
      EG_TRY(eg_open_sizes_add_unknown(sizes, declared->name, i, eg_size_example(size),
                                       &out->dims[i]));
  }
  *out_known = eg_type_check(out) == EGRAPH_OK;
  return EGRAPH_OK;
}

// ---- constant operands --------------------------------------------------------------

static egraph_status const_operand(const eg_onnx_call *call, uint32_t index,
                                   bool *out_present, eg_tensor *out) {
  eg_onnx_ref ref = eg_onnx_input(call, index);
  *out_present = !is_none(ref);
  if (is_none(ref)) return EGRAPH_OK;
  const eg_onnx_tensor *tensor = eg_onnx_tensor_at(call->reader, ref);
  if (tensor->data == NULL || tensor->type.rank > 1)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "'%.200s' is not a constant", tensor->name);
  *out = eg_onnx_view(tensor);
  return EGRAPH_OK;
}

egraph_status eg_onnx_const_ints(const eg_onnx_call *call, uint32_t index,
                                 bool *out_present, eg_ints *out) {
  eg_tensor tensor;
  *out = (eg_ints){NULL, 0};
  EG_TRY(const_operand(call, index, out_present, &tensor));
  if (!*out_present) return EGRAPH_OK;
  if (eg_dtype_is_float(tensor.type.dtype))
    return EG_FAIL(EGRAPH_E_PARSE, "operand %" PRIu32 " must be of an integer type",
                   index);
  int64_t count = eg_type_elements(&tensor.type), *data;
  EG_NEW(&call->reader->arena, (size_t)count, data);
  for (int64_t i = 0; i < count; i++)
    data[i] = eg_tensor_get_int(&tensor, i);
  *out = (eg_ints){.data = data, .len = (uint32_t)count};
  return EGRAPH_OK;
}

egraph_status eg_onnx_const_sizes(const eg_onnx_call *call, uint32_t index,
                                  bool *out_present, eg_ints *out) {
  eg_onnx_ref ref = eg_onnx_input(call, index);
  const eg_onnx_tensor *tensor =
      is_none(ref) ? NULL : eg_onnx_tensor_at(call->reader, ref);
  if (tensor == NULL || tensor->sizes == NULL || tensor->type.rank > 1)
    return eg_onnx_const_ints(call, index, out_present, out);
  *out_present = true;
  *out =
      (eg_ints){.data = tensor->sizes, .len = (uint32_t)eg_type_elements(&tensor->type)};
  return EGRAPH_OK;
}

egraph_status eg_onnx_const_doubles(const eg_onnx_call *call, uint32_t index,
                                    bool *out_present, const double **out,
                                    uint32_t *out_count) {
  eg_tensor tensor;
  *out = NULL;
  *out_count = 0;
  EG_TRY(const_operand(call, index, out_present, &tensor));
  if (!*out_present) return EGRAPH_OK;
  int64_t count = eg_type_elements(&tensor.type);
  double *data;
  EG_NEW(&call->reader->arena, (size_t)count, data);
  for (int64_t i = 0; i < count; i++)
    data[i] = eg_tensor_get_double(&tensor, i);
  *out = data;
  *out_count = (uint32_t)count;
  return EGRAPH_OK;
}

// ---- emission -----------------------------------------------------------------------

static bool is_small(const eg_type *type) {
  return eg_type_elements(type) <=
         (eg_dtype_is_float(type->dtype) ? MAX_KNOWN_FLOATS : MAX_KNOWN_INTEGERS);
}

typedef struct emission {
  const eg_onnx_call *call;
  const eg_attrs *attrs;
  const eg_onnx_ref *operands;
  uint32_t count;
  const eg_onnx_ref *results; // all present
  uint32_t result_count;
  eg_type *operand_types, *result_types;
} emission;

static egraph_status gather_operand_types(emission *e) {
  for (uint32_t i = 0; i < e->count; i++) {
    if (is_none(e->operands[i]))
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "operand %" PRIu32 " is absent", i);
    const eg_onnx_tensor *tensor = eg_onnx_tensor_at(e->call->reader, e->operands[i]);
    if (!tensor->typed)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the type of '%.200s' is not known",
                     tensor->name);
    e->operand_types[i] = tensor->type;
  }
  return EGRAPH_OK;
}

// True when the results can be computed now: all operands are known, and all tensors are
// small. Fills are computed only if they have integers, such as shapes and indices.
static bool is_foldable(const emission *e) {
  for (uint32_t i = 0; i < e->count; i++)
    if (eg_onnx_tensor_at(e->call->reader, e->operands[i])->data == NULL ||
        !is_small(&e->operand_types[i]))
      return false;
  for (uint32_t i = 0; i < e->result_count; i++)
    if (!is_small(&e->result_types[i])) return false;
  return e->count != 0 || !eg_dtype_is_float(e->result_types[0].dtype);
}

static egraph_status run_kernel(const emission *e, eg_tensor *tensors,
                                eg_buffer **buffers) {
  eg_onnx_reader *reader = e->call->reader;
  eg_tensor *outputs = tensors + e->count;
  for (uint32_t i = 0; i < e->count; i++)
    tensors[i] = eg_onnx_view(eg_onnx_tensor_at(reader, e->operands[i]));
  for (uint32_t i = 0; i < e->result_count; i++) {
    EG_TRY(eg_buffer_create(&reader->alloc, eg_type_bytes(&e->result_types[i]),
                            &buffers[i]));
    outputs[i] =
        (eg_tensor){.type = e->result_types[i], .data = eg_buffer_writable(buffers[i])};
  }
  eg_kernel_call kernel = {.attrs = e->attrs,
                           .inputs = tensors,
                           .input_count = e->count,
                           .outputs = outputs,
                           .output_count = e->result_count,
                           .alloc = reader->alloc};
  return eg_op_run(&kernel);
}

// Computes the results now. *out_done is false when no kernel exists for these types.
static egraph_status fold(const emission *e, bool *out_done) {
  eg_onnx_reader *reader = e->call->reader;
  eg_tensor *tensors;
  eg_buffer **buffers;
  EG_NEW(&reader->arena, (size_t)e->count + e->result_count, tensors);
  EG_NEW(&reader->arena, e->result_count, buffers);
  egraph_status status = run_kernel(e, tensors, buffers);
  *out_done = status == EGRAPH_OK;
  for (uint32_t i = 0; status == EGRAPH_OK && i < e->result_count; i++)
    status =
        eg_onnx_define_constant(reader, e->results[i], &e->result_types[i], buffers[i]);
  for (uint32_t i = 0; i < e->result_count; i++)
    eg_buffer_release(buffers[i]);
  return status == EGRAPH_E_UNSUPPORTED ? EGRAPH_OK : status;
}

static const char *stem_of(const eg_onnx_call *call) {
  for (size_t i = 0; i < call->node->n_output; i++)
    if (call->node->output[i][0] != '\0') return call->node->output[i];
  return "value";
}

static egraph_status add_node(const emission *e) {
  eg_onnx_reader *reader = e->call->reader;
  eg_value *operands, *results;
  const char **names;
  EG_NEW(&reader->arena, e->count, operands);
  EG_NEW(&reader->arena, e->result_count, results);
  EG_NEW(&reader->arena, e->result_count, names);
  for (uint32_t i = 0; i < e->count; i++)
    EG_TRY(eg_onnx_value(reader, e->operands[i], &operands[i]));
  for (uint32_t i = 0; i < e->result_count; i++) {
    eg_onnx_tensor *tensor = eg_onnx_tensor_at(reader, e->results[i]);
    if (tensor->name[0] == '\0') {
      EG_TRY(made_up_name(reader, stem_of(e->call), &tensor->name));
      EG_TRY(eg_strmap_put(&reader->names, tensor->name, e->results[i].id));
    }
    names[i] = tensor->name;
  }
  EG_TRY(eg_graph_add_node(reader->graph, e->call->node->name, e->attrs, operands,
                           e->count, names, results));
  for (uint32_t i = 0; i < e->result_count; i++) {
    eg_onnx_tensor *tensor = eg_onnx_tensor_at(reader, e->results[i]);
    assert(!tensor->made);
    tensor->made = true;
    tensor->typed = true;
    tensor->type = e->result_types[i];
    tensor->value = results[i];
  }
  return EGRAPH_OK;
}

// Gives every unused result a nameless tensor.
static egraph_status complete_results(emission *e, const eg_onnx_ref *given) {
  eg_onnx_ref *refs;
  EG_NEW(&e->call->reader->arena, e->result_count, refs);
  for (uint32_t i = 0; i < e->result_count; i++) {
    refs[i] = given[i];
    if (is_none(given[i])) EG_TRY(eg_onnx_fresh(e->call, &refs[i]));
  }
  e->results = refs;
  return EGRAPH_OK;
}

/// True when the operands' dimensions determine all open sizes in the node's attributes.
/// If not, the node becomes opaque, because in the file it reads the size from a tensor.
static bool knows_sizes(const emission *e) {
  int64_t dims[ASKED_OPERANDS * EGRAPH_MAX_RANK];
  uint32_t count = 0;
  if (!eg_attrs_any_open(e->attrs)) return true;
  for (uint32_t i = 0; i < e->count && i < ASKED_OPERANDS; i++)
    for (uint32_t d = 0; d < e->operand_types[i].rank; d++)
      dims[count++] = e->operand_types[i].dims[d];
  for (uint16_t s = 0; s < e->attrs->count; s++) {
    const eg_attr *slot = &e->attrs->slots[s];
    if (slot->kind == EG_ATTR_INT && !eg_size_is_told_by(slot->i, dims, count))
      return false;
    for (uint32_t i = 0; slot->kind == EG_ATTR_INTS && i < slot->ints.len; i++)
      if (!eg_size_is_told_by(slot->ints.data[i], dims, count)) return false;
  }
  return true;
}

egraph_status eg_onnx_emit_attrs(const eg_onnx_call *call, const eg_attrs *attrs,
                                 const eg_onnx_ref *operands, uint32_t count,
                                 const eg_onnx_ref *results, uint32_t result_count) {
  const eg_op_info *op = eg_op_info_of((eg_op)attrs->op);
  if (count < (uint32_t)op->min_inputs ||
      (op->max_inputs >= 0 && count > (uint32_t)op->max_inputs))
    return EG_FAIL(EGRAPH_E_PARSE, "%s does not take %" PRIu32 " operands", op->name,
                   count);
  if (eg_op_results(attrs) != result_count)
    return EG_FAIL(EGRAPH_E_PARSE, "%s has %" PRIu32 " results, not %" PRIu32, op->name,
                   eg_op_results(attrs), result_count);
  emission e = {.call = call,
                .attrs = attrs,
                .operands = operands,
                .count = count,
                .result_count = result_count};
  eg_arena *arena = &call->reader->arena;
  EG_NEW(arena, count, e.operand_types);
  EG_NEW(arena, result_count, e.result_types);
  EG_TRY(gather_operand_types(&e));
  if (!knows_sizes(&e))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "a size comes from another tensor that is kept");
  EG_TRY(eg_op_infer(attrs, e.operand_types, count, e.result_types));
  EG_TRY(complete_results(&e, results));
  bool done = false;
  if (is_foldable(&e)) EG_TRY(fold(&e, &done));
  return done ? EGRAPH_OK : add_node(&e);
}

egraph_status eg_onnx_emit(const eg_onnx_call *call, const eg_attr_list *list,
                           const eg_onnx_ref *operands, uint32_t count,
                           const eg_onnx_ref *results, uint32_t result_count) {
  eg_attrs attrs = eg_attr_list_attrs(list);
  return eg_onnx_emit_attrs(call, &attrs, operands, count, results, result_count);
}
