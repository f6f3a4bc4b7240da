// SPDX-License-Identifier: Apache-2.0
#include "onnx/write/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "onnx/sets/versions.h"

#define OWNED                                                                            \
  (eg_arena, arena), (eg_onnx_messages, records), (eg_onnx_initializers, initializers),  \
      (eg_onnx_infos, inputs, outputs, infos), (eg_onnx_functions, functions),           \
      (eg_onnx_opsets, opsets), (eg_onnx_entries, metadata),                             \
      (eg_strmap, names, signatures)

/// A tensor of a body; `dtype` as for eg_onnx_fault.
typedef struct eg_onnx_typed_name {
  const char *name;
  int dtype;
} eg_onnx_typed_name;
EG_VEC_DEFINE(eg_onnx_typed_names, eg_onnx_typed_name);

void eg_onnx_writer_init(eg_onnx_writer *w, egraph_allocator alloc, const eg_graph *graph,
                         int64_t opset) {
  *w = (eg_onnx_writer){.graph = graph, .opset = opset, .alloc = alloc};
  EG_INIT_MEMBERS(w, w->alloc, OWNED, (eg_onnx_heap, heap));
}

void eg_onnx_writer_deinit(eg_onnx_writer *w) {
  for (size_t i = 0; i < w->records.len; i++)
    eg_onnx_message_free(&w->heap, w->records.data[i]);
  EG_DEINIT_MEMBERS(w, OWNED);
}

egraph_status eg_onnx_made_up(eg_onnx_body *body, const char **out) {
  eg_onnx_writer *w = body->writer;
  size_t room = strlen(body->stem) + 16;
  char *name;
  uint32_t ignored;
  EG_NEW(&w->arena, room, name);
  do
    (void)snprintf(name, room, "%s.%" PRIu32, body->stem, ++body->made);
  while (!body->is_function && eg_strmap_find(&w->names, name, &ignored));
  if (!body->is_function) EG_TRY(eg_strmap_put(&w->names, name, 0));
  *out = name;
  return EGRAPH_OK;
}

// ---- nodes --------------------------------------------------------------------------

static egraph_status copy_names(eg_onnx_writer *w, const char *const *names,
                                uint32_t count, char ***out) {
  EG_NEW(&w->arena, count, *out);
  for (uint32_t i = 0; i < count; i++)
    (*out)[i] = eg_onnx_borrowed(names[i]);
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_node(eg_onnx_body *body, const char *op_type,
                               const char *const *inputs, uint32_t input_count,
                               const char *const *outputs, uint32_t output_count,
                               Onnx__NodeProto **out) {
  eg_onnx_writer *w = body->writer;
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_new(&w->arena, &onnx__node_proto__descriptor, &node));
  node->op_type = eg_onnx_borrowed(op_type);
  node->n_input = input_count;
  node->n_output = output_count;
  EG_TRY(copy_names(w, inputs, input_count, &node->input));
  EG_TRY(copy_names(w, outputs, output_count, &node->output));
  EG_TRY(eg_onnx_nodes_push(&body->nodes, node));
  if (out != NULL) *out = node;
  return EGRAPH_OK;
}

void eg_onnx_name_node(Onnx__NodeProto *node, const eg_onnx_item *item) {
  if (item->name[0] != '\0') node->name = eg_onnx_borrowed(item->name);
}

egraph_status eg_onnx_put_item(eg_onnx_body *body, const char *op_type,
                               const char *const *inputs, uint32_t input_count,
                               const eg_onnx_item *item, Onnx__NodeProto **out) {
  EG_TRY(eg_onnx_put_node(body, op_type, inputs, input_count, item->result_names,
                          item->result_count, out));
  eg_onnx_name_node(*out, item);
  return EGRAPH_OK;
}

egraph_status eg_onnx_put(eg_onnx_body *body, const char *op_type,
                          const char *const *inputs, uint32_t input_count,
                          const char *result, const char **out_result,
                          Onnx__NodeProto **out) {
  if (result == NULL) EG_TRY(eg_onnx_made_up(body, &result));
  if (out_result != NULL) *out_result = result;
  return eg_onnx_put_node(body, op_type, inputs, input_count, &result, 1, out);
}

egraph_status eg_onnx_take_nodes(const eg_onnx_body *body, Onnx__NodeProto ***out,
                                 size_t *out_count) {
  *out_count = body->nodes.len;
  EG_NEW(&body->writer->arena, body->nodes.len, *out);
  if (body->nodes.len != 0)
    memcpy(*out, body->nodes.data, body->nodes.len * sizeof **out);
  return EGRAPH_OK;
}

// ---- attributes ---------------------------------------------------------------------

// Appends an attribute; the array grows by one, because attributes are few.
#define PUT_ATTRIBUTE(KIND, out)                                                         \
  EG_TRY(put_attribute(body, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##KIND,  \
                       out))
static egraph_status put_attribute(eg_onnx_body *body, Onnx__NodeProto *node,
                                   const char *name,
                                   Onnx__AttributeProto__AttributeType type,
                                   Onnx__AttributeProto **out) {
  eg_arena *arena = &body->writer->arena;
  Onnx__AttributeProto **grown, *attr;
  EG_TRY(eg_arena_alloc(arena, node->n_attribute + 1, sizeof(Onnx__AttributeProto *),
                        &grown));
  EG_TRY(eg_onnx_new(arena, &onnx__attribute_proto__descriptor, &attr));
  attr->name = eg_onnx_borrowed(name);
  attr->has_type = true;
  attr->type = type;
  for (size_t i = 0; i < node->n_attribute; i++)
    grown[i] = node->attribute[i];
  grown[node->n_attribute++] = attr;
  node->attribute = grown;
  *out = attr;
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_int(eg_onnx_body *body, Onnx__NodeProto *node, const char *name,
                              int64_t value) {
  Onnx__AttributeProto *attr;
  PUT_ATTRIBUTE(INT, &attr);
  attr->has_i = true;
  attr->i = value;
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_float(eg_onnx_body *body, Onnx__NodeProto *node,
                                const char *name, double value) {
  Onnx__AttributeProto *attr;
  PUT_ATTRIBUTE(FLOAT, &attr);
  attr->has_f = true;
  attr->f = (float)value;
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_ints(eg_onnx_body *body, Onnx__NodeProto *node,
                               const char *name, const int64_t *data, uint32_t len) {
  Onnx__AttributeProto *attr;
  PUT_ATTRIBUTE(INTS, &attr);
  EG_NEW(&body->writer->arena, len, attr->ints);
  if (len != 0) memcpy(attr->ints, data, len * sizeof *data);
  attr->n_ints = len;
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_floats(eg_onnx_body *body, Onnx__NodeProto *node,
                                 const char *name, eg_floats list) {
  Onnx__AttributeProto *attr;
  PUT_ATTRIBUTE(FLOATS, &attr);
  EG_NEW(&body->writer->arena, list.len, attr->floats);
  for (uint32_t i = 0; i < list.len; i++)
    attr->floats[i] = (float)list.data[i];
  attr->n_floats = list.len;
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_string(eg_onnx_body *body, Onnx__NodeProto *node,
                                 const char *name, const char *value) {
  Onnx__AttributeProto *attr;
  PUT_ATTRIBUTE(STRING, &attr);
  attr->has_s = true;
  attr->s = (ProtobufCBinaryData){strlen(value), (uint8_t *)eg_onnx_borrowed(value)};
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_strings(eg_onnx_body *body, Onnx__NodeProto *node,
                                  const char *name, const char *const *values,
                                  uint32_t count) {
  Onnx__AttributeProto *attr;
  PUT_ATTRIBUTE(STRINGS, &attr);
  EG_NEW(&body->writer->arena, count, attr->strings);
  for (uint32_t i = 0; i < count; i++)
    attr->strings[i] =
        (ProtobufCBinaryData){strlen(values[i]), (uint8_t *)eg_onnx_borrowed(values[i])};
  attr->n_strings = count;
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_slot(eg_onnx_body *body, Onnx__NodeProto *node,
                               const eg_attr_info *info, const eg_attr *value) {
  switch (value->kind) {
  case EG_ATTR_INT: return eg_onnx_put_int(body, node, info->name, value->i);
  case EG_ATTR_INTS:
    return eg_onnx_put_ints(body, node, info->name, value->ints.data, value->ints.len);
  case EG_ATTR_FLOAT: return eg_onnx_put_float(body, node, info->name, value->f);
  case EG_ATTR_FLOATS: return eg_onnx_put_floats(body, node, info->name, value->floats);
  case EG_ATTR_SYMBOL:
    return eg_onnx_put_string(body, node, info->name, info->symbols[value->i]);
  case EG_ATTR_DTYPE:
    return eg_onnx_put_int(body, node, info->name, eg_dtype_onnx((egraph_dtype)value->i));
  case EG_ATTR_STRING: return eg_onnx_put_string(body, node, info->name, value->text);
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_tensor(eg_onnx_body *body, Onnx__NodeProto *node,
                                 const char *name, Onnx__TensorProto *value) {
  Onnx__AttributeProto *attr;
  PUT_ATTRIBUTE(TENSOR, &attr);
  attr->t = value;
  return EGRAPH_OK;
}

// ---- tensors ------------------------------------------------------------------------

static egraph_status put_constant(eg_onnx_body *body, const eg_type *type,
                                  const void *data, const char **out) {
  Onnx__TensorProto *tensor;
  const char *name;
  EG_TRY(eg_onnx_made_up(body, &name));
  EG_TRY(eg_onnx_tensor_message(&body->writer->arena, type, data, &tensor));
  *out = name;
  if (!body->has_constant_nodes) {
    tensor->name = eg_onnx_borrowed(name);
    return eg_onnx_initializers_push(&body->writer->initializers, tensor);
  }
  Onnx__NodeProto *node, **nodes;
  EG_TRY(eg_onnx_put(body, "Constant", NULL, 0, name, NULL, &node));
  // A constant may be added after its user, but functions must be in topological order:
  // the constant is moved to the front.
  nodes = body->nodes.data;
  memmove(nodes + 1, nodes, (body->nodes.len - 1) * sizeof *nodes);
  nodes[0] = node;
  return eg_onnx_put_tensor(body, node, "value", tensor);
}

egraph_status eg_onnx_constant_ints(eg_onnx_body *body, const int64_t *data, uint32_t len,
                                    const char **out) {
  eg_type type = eg_type_of(EGRAPH_INT64, 1, (const int64_t[]){len});
  int64_t *copy;
  EG_NEW(&body->writer->arena, len, copy);
  if (len != 0) memcpy(copy, data, len * sizeof *copy);
  return put_constant(body, &type, copy, out);
}

egraph_status eg_onnx_constant_floats(eg_onnx_body *body, eg_floats list,
                                      const char **out) {
  eg_type type = eg_type_of(EGRAPH_FLOAT32, 1, (const int64_t[]){list.len});
  float *copy;
  EG_NEW(&body->writer->arena, list.len, copy);
  for (uint32_t i = 0; i < list.len; i++)
    copy[i] = (float)list.data[i];
  return put_constant(body, &type, copy, out);
}

egraph_status eg_onnx_constant_scalar(eg_onnx_body *body, egraph_dtype dtype,
                                      double value, const char **out) {
  eg_type type = eg_type_of(dtype, 0, NULL);
  void *data;
  EG_TRY(eg_arena_alloc(&body->writer->arena, 1, eg_type_bytes(&type), &data));
  eg_tensor tensor = {.type = type, .data = data};
  eg_tensor_set_double(&tensor, 0, value);
  return put_constant(body, &type, data, out);
}

// ---- forms that depend on the operator set ------------------------------------------

egraph_status eg_onnx_put_operand(eg_onnx_body *body, Onnx__NodeProto *node, size_t at,
                                  const char *name) {
  static char none[] = "";
  char **grown;
  size_t count = node->n_input > at + 1 ? node->n_input : at + 1;
  EG_NEW(&body->writer->arena, count, grown);
  for (size_t i = 0; i < count; i++)
    grown[i] = i < node->n_input ? node->input[i] : none;
  grown[at] = eg_onnx_borrowed(name);
  node->input = grown;
  node->n_input = count;
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_list(eg_onnx_body *body, Onnx__NodeProto *node,
                               const char *name, int64_t since, eg_ints list) {
  const char *operand;
  if (body->writer->opset < since)
    return eg_onnx_put_ints(body, node, name, list.data, list.len);
  EG_TRY(eg_onnx_constant_ints(body, list.data, list.len, &operand));
  return eg_onnx_put_operand(body, node, node->n_input, operand);
}

/// Appends a number: an operand from operator set 11 on, an attribute before.
static egraph_status put_number(eg_onnx_body *body, Onnx__NodeProto *node,
                                const char *name, egraph_dtype dtype, double value) {
  const char *operand;
  if (body->writer->opset < 11) return eg_onnx_put_float(body, node, name, value);
  EG_TRY(eg_onnx_constant_scalar(body, dtype, value, &operand));
  return eg_onnx_put_operand(body, node, node->n_input, operand);
}

egraph_status eg_onnx_put_clip(eg_onnx_body *body, const char *x, egraph_dtype dtype,
                               double low, double high, const char *result,
                               Onnx__NodeProto **out) {
  Onnx__NodeProto *node;
  // Without a bound, ONNX clips to the largest finite numbers: infinite bounds are
  // written if possible.
  bool is_explicit = eg_dtype_is_float(dtype) && body->writer->opset >= 11;
  bool has_low = low != -INFINITY || is_explicit;
  bool has_high = high != INFINITY || is_explicit;
  EG_TRY(eg_onnx_put(body, "Clip", &x, 1, result, NULL, &node));
  if (has_low)
    EG_TRY(put_number(body, node, "min", dtype, low));
  else if (has_high && body->writer->opset >= 11)
    EG_TRY(eg_onnx_put_operand(body, node, node->n_input, ""));
  if (has_high) EG_TRY(put_number(body, node, "max", dtype, high));
  if (out != NULL) *out = node;
  return EGRAPH_OK;
}

egraph_status eg_onnx_put_pad(eg_onnx_body *body, const char *x, egraph_dtype dtype,
                              eg_ints pads, double value, const char *mode,
                              const char *result, const char **out_result,
                              Onnx__NodeProto **out) {
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_put(body, "Pad", &x, 1, result, out_result, &node));
  EG_TRY(eg_onnx_put_list(body, node, "pads", 11, pads));
  EG_TRY(put_number(body, node, "value", dtype, value));
  if (out != NULL) *out = node;
  return eg_onnx_put_string(body, node, "mode", mode);
}

// ---- checks against the operator set ------------------------------------------------

/// Returns the element type of a tensor; 0: not known.
static int type_of(const eg_onnx_typed_names *known, const char *name) {
  for (size_t i = known->len; i-- != 0;)
    if (strcmp(known->data[i].name, name) == 0) return known->data[i].dtype;
  return 0;
}

/// Checks a node, and adds its results to `known`.
static egraph_status check_node(eg_onnx_body *body, const Onnx__NodeProto *node,
                                const eg_onnx_item *item, eg_onnx_typed_names *known) {
  eg_onnx_writer *w = body->writer;
  int *dtype;
  EG_NEW(&w->arena, node->n_input, dtype);
  for (size_t i = 0; i < node->n_input; i++)
    dtype[i] = type_of(known, node->input[i]);
  for (size_t i = 0; i < node->n_output; i++)
    EG_TRY(eg_onnx_typed_names_push(
        known, (eg_onnx_typed_name){node->output[i],
                                    eg_onnx_result_type(node, dtype, i, w->opset)}));
  const char *fault = eg_onnx_fault(node, dtype, w->opset);
  if (fault == NULL) {
    eg_onnx_note_loading(w, node, dtype);
    return EGRAPH_OK;
  }
  w->is_faulty = true;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%.64s of '%.200s' in operator set %" PRId64 ": %s", node->op_type,
                 item->result_count != 0 ? item->result_names[0] : "", w->opset, fault);
}

void eg_onnx_note_loading(eg_onnx_writer *writer, const Onnx__NodeProto *node,
                          const int *dtype) {
  writer->unloaded += !eg_onnx_is_loaded(node, dtype, writer->opset);
}

egraph_status eg_onnx_check_nodes(eg_onnx_body *body, size_t first,
                                  const eg_onnx_item *item) {
  EG_LOCAL(eg_onnx_typed_names, known, body->writer->alloc);
  for (uint32_t i = 0; i < item->input_count; i++)
    EG_TRY(eg_onnx_typed_names_push(
        &known, (eg_onnx_typed_name){item->input_names[i],
                                     eg_dtype_onnx(item->inputs[i].dtype)}));
  for (size_t i = first; i < body->nodes.len; i++)
    if (body->nodes.data[i]->domain == NULL) // not a call of a function
      EG_TRY(check_node(body, body->nodes.data[i], item, &known));
  return EGRAPH_OK;
}

// ---- metadata -----------------------------------------------------------------------

egraph_status eg_onnx_put_metadata(eg_onnx_writer *writer, const char *prefix,
                                   const char *name, const char *value) {
  Onnx__StringStringEntryProto *entry;
  EG_TRY(eg_onnx_entry_message(&writer->arena, prefix, name, value, &entry));
  return eg_onnx_entries_push(&writer->metadata, entry);
}
