// Calls of our functions: one model-local function per distinct signature, all attributes
// on the call.
//
// The call says exactly what the node is, for us to read back; the function says the same
// in standard operators, for everybody else.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pcg/graph/node_spec.h"
#include "pcg/onnx/onnx_writer.h"

// Attributes and operand types decide the body.
static egraph_status print_signature(const eg_onnx_item *item, eg_text *out) {
  eg_node_spec spec = {.attrs = item->attrs,
                       .inputs = item->inputs,
                       .input_count = item->input_count,
                       .results = item->results,
                       .result_count = item->result_count};
  return eg_node_spec_print(out, &spec);
}

static egraph_status formal_names(eg_onnx_writer *w, const char *prefix, uint32_t count,
                                  const char ***out) {
  enum { ROOM = 16 };
  EG_TRY(eg_arena_alloc(&w->arena, count, sizeof **out, out));
  for (uint32_t i = 0; i < count; i++) {
    char *name;
    EG_TRY(eg_arena_alloc(&w->arena, ROOM, 1, &name));
    (void)snprintf(name, ROOM, "%s%" PRIu32, prefix, i);
    (*out)[i] = name;
  }
  return EGRAPH_OK;
}

static egraph_status fill_function(eg_onnx_writer *w, const eg_onnx_item *item,
                                   eg_onnx_body *body, Onnx__FunctionProto *function) {
  const eg_op_info *op = eg_op_info_of((eg_op)item->attrs->op);
  const char **inputs, **outputs;
  EG_TRY(formal_names(w, "x", item->input_count, &inputs));
  EG_TRY(formal_names(w, "y", item->result_count, &outputs));
  eg_onnx_item formal = *item;
  formal.name = "";
  formal.input_names = inputs;
  formal.result_names = outputs;
  EG_TRY(eg_onnx_write_meaning(body, &formal));
  EG_TRY(eg_onnx_check_nodes(body, 0, &formal));
  EG_TRY(eg_arena_alloc(&w->arena, body->nodes.len, sizeof *function->node,
                        &function->node));
  if (body->nodes.len != 0)
    memcpy(function->node, body->nodes.data, body->nodes.len * sizeof *function->node);
  function->n_node = body->nodes.len;
  function->n_input = item->input_count;
  function->input = (char **)inputs;
  function->n_output = item->result_count;
  function->output = (char **)outputs;
  EG_TRY(eg_arena_alloc(&w->arena, op->attr_count, sizeof *function->attribute,
                        &function->attribute));
  function->n_attribute = op->attr_count;
  for (uint16_t i = 0; i < op->attr_count; i++)
    function->attribute[i] = (char *)(uintptr_t)op->attrs[i].name;
  return EGRAPH_OK;
}

static bool is_function_name(const eg_onnx_writer *w, const char *name) {
  for (size_t i = 0; i < w->functions.len; i++)
    if (strcmp(w->functions.data[i]->name, name) == 0) return true;
  return false;
}

// "conv.1", "conv.2", ... in the order of first use; the names start from 1 in every
// model.
static egraph_status name_function(eg_onnx_writer *w, const char *op, const char **out) {
  size_t room = strlen(op) + 16, length = strlen(op);
  uint32_t number = 0;
  for (size_t i = 0; i < w->functions.len; i++)
    number += strncmp(w->functions.data[i]->name, op, length) == 0 &&
              w->functions.data[i]->name[length] == '.';
  char *name;
  EG_TRY(eg_arena_alloc(&w->arena, room, 1, &name));
  do
    (void)snprintf(name, room, "%s.%" PRIu32, op, ++number);
  while (is_function_name(w, name));
  *out = name;
  return EGRAPH_OK;
}

static egraph_status add_function(eg_onnx_writer *w, const eg_onnx_item *item,
                                  Onnx__FunctionProto **out) {
  static char domain[] = EG_ONNX_DOMAIN;
  Onnx__FunctionProto *function;
  const char *name;
  EG_TRY(name_function(w, eg_op_info_of((eg_op)item->attrs->op)->name, &name));
  EG_TRY(eg_arena_alloc(&w->arena, 1, sizeof *function, &function));
  *function = (Onnx__FunctionProto)ONNX__FUNCTION_PROTO__INIT;
  function->name = (char *)(uintptr_t)name;
  function->domain = domain;
  function->n_opset_import = 1;
  EG_TRY(eg_arena_alloc(&w->arena, 1, sizeof *function->opset_import,
                        &function->opset_import));
  function->opset_import[0] = w->opsets.data[0]; // the standard one is the first
  eg_onnx_body body = {
      .writer = w, .is_function = true, .has_constant_nodes = true, .stem = "t"};
  eg_onnx_nodes_init(&body.nodes, w->alloc);
  egraph_status status = fill_function(w, item, &body, function);
  eg_onnx_nodes_deinit(&body.nodes);
  EG_TRY(status);
  *out = function;
  return eg_onnx_functions_push(&w->functions, function);
}

// ---- functions that are read --------------------------------------------------------

static egraph_status pack_nodes(egraph_allocator alloc, Onnx__NodeProto **nodes,
                                size_t count, unsigned char **out, size_t *out_size) {
  Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
  graph.node = nodes;
  graph.n_node = count;
  return eg_onnx_message_pack(alloc, &graph.base, out, out_size);
}

static bool same_names(char *const *a, size_t a_count, char *const *b, size_t b_count) {
  for (size_t i = 0; a_count == b_count && i < a_count; i++)
    if (strcmp(a[i], b[i]) != 0) return false;
  return a_count == b_count;
}

static egraph_status compare_bodies(egraph_allocator alloc, const Onnx__FunctionProto *a,
                                    const Onnx__FunctionProto *b, bool *out) {
  unsigned char *bytes[2] = {NULL, NULL};
  size_t size[2] = {0, 0};
  *out = false;
  if (!same_names(a->input, a->n_input, b->input, b->n_input) ||
      !same_names(a->output, a->n_output, b->output, b->n_output))
    return EGRAPH_OK;
  EG_TRY(pack_nodes(alloc, a->node, a->n_node, &bytes[0], &size[0]));
  egraph_status status = pack_nodes(alloc, b->node, b->n_node, &bytes[1], &size[1]);
  if (status == EGRAPH_OK)
    *out = size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0;
  eg_free(alloc, bytes[0], size[0], 1);
  eg_free(alloc, bytes[1], size[1], 1);
  return status;
}

egraph_status eg_onnx_is_own_body(egraph_allocator alloc, const eg_onnx_item *item,
                                  const Onnx__FunctionProto *function, bool *out) {
  eg_onnx_writer w;
  Onnx__FunctionProto own = ONNX__FUNCTION_PROTO__INIT;
  int64_t opset =
      eg_onnx_standard_opset(function->opset_import, function->n_opset_import);
  *out = false;
  if (opset < 1 || opset > eg_onnx_newest_opset() || !eg_onnx_needs_function(item))
    return EGRAPH_OK;
  eg_onnx_writer_init(&w, alloc, NULL, opset);
  eg_onnx_body body = {
      .writer = &w, .is_function = true, .has_constant_nodes = true, .stem = "t"};
  eg_onnx_nodes_init(&body.nodes, alloc);
  egraph_status status = fill_function(&w, item, &body, &own);
  if (status == EGRAPH_OK) status = compare_bodies(alloc, &own, function, out);
  if (w.is_faulty) status = EGRAPH_OK; // a set in which we would not write it
  eg_onnx_nodes_deinit(&body.nodes);
  eg_onnx_writer_deinit(&w);
  return status;
}

// ---- calls --------------------------------------------------------------------------

static egraph_status find_function(eg_onnx_writer *w, const eg_onnx_item *item,
                                   const char *signature, Onnx__FunctionProto **out) {
  uint32_t index;
  if (eg_strmap_find(&w->signatures, signature, &index)) {
    *out = w->functions.data[index];
    return EGRAPH_OK;
  }
  EG_TRY(add_function(w, item, out));
  return eg_strmap_put(&w->signatures, signature, (uint32_t)w->functions.len - 1);
}

// Numbers are written as text: an ONNX float has 32 bits, our attributes have 64.
static egraph_status put_own_float(eg_onnx_body *body, Onnx__NodeProto *node,
                                   const char *name, double value) {
  eg_text text;
  const char *copy = NULL;
  eg_text_init(&text, body->writer->alloc);
  egraph_status status = eg_text_double(&text, value);
  if (status == EGRAPH_OK)
    status =
        eg_arena_string(&body->writer->arena, eg_text_of(&text), text.chars.len, &copy);
  eg_text_deinit(&text);
  EG_TRY(status);
  return eg_onnx_put_string(body, node, name, copy);
}

static egraph_status put_own_slot(eg_onnx_body *body, Onnx__NodeProto *node,
                                  const eg_attr_info *info, const eg_attr *value) {
  return value->kind == EG_ATTR_FLOAT ? put_own_float(body, node, info->name, value->f)
                                      : eg_onnx_put_slot(body, node, info, value);
}

static egraph_status write_call(eg_onnx_body *body, const eg_onnx_item *item,
                                const char *signature) {
  const eg_op_info *op = eg_op_info_of((eg_op)item->attrs->op);
  Onnx__FunctionProto *function;
  Onnx__NodeProto *node;
  EG_TRY(find_function(body->writer, item, signature, &function));
  EG_TRY(eg_onnx_put_node(body, function->name, item->input_names, item->input_count,
                          item->result_names, item->result_count, &node));
  node->domain = function->domain;
  if (item->name[0] != '\0') node->name = (char *)(uintptr_t)item->name;
  for (uint16_t i = 0; i < op->attr_count; i++)
    EG_TRY(put_own_slot(body, node, &op->attrs[i], &item->attrs->slots[i]));
  return EGRAPH_OK;
}

egraph_status eg_onnx_write_item(eg_onnx_body *body, const eg_onnx_item *item) {
  if (!eg_onnx_needs_function(item)) return eg_onnx_write_standard(body, item);
  eg_text signature;
  eg_text_init(&signature, body->writer->alloc);
  egraph_status status = print_signature(item, &signature);
  if (status == EGRAPH_OK) status = write_call(body, item, eg_text_of(&signature));
  eg_text_deinit(&signature);
  return status;
}
