// Prints the text form of a graph (grammar in README.md).
//
// Statements are in the order of values, so that reading them back gives every value its
// number again.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "base/sexpr.h"
#include "pcg/graph/graph_internal.h"

/// True for names that need no quotes: no delimiters, and neither a keyword (":name") nor
/// a comment.
static bool is_plain_name(const char *name) {
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
  static const char others[] = "+-:@#$%&*<>=~^!?,'|{}";
  if (strchr(letters, name[0]) == NULL) return false;
  for (const char *c = name; *c != '\0'; c++)
    if (strchr(letters, *c) == NULL && strchr(others, *c) == NULL) return false;
  return true;
}

static void print_name(eg_text *out, const char *name) {
  if (name[0] != '\0' && is_plain_name(name))
    eg_text_append(out, name);
  else
    eg_text_quoted(out, name);
}

static void print_value_name(const eg_graph *graph, eg_value value, eg_text *out) {
  print_name(out, graph->values.data[value.id]->name);
}

static void print_type(eg_text *out, const eg_type *type) {
  eg_type plain = *type;
  plain.layout.format = EG_FORMAT_PLAIN;
  eg_text_append(out, "\"");
  eg_type_print(out, &plain);
  eg_text_append(out, "\"");
}

static void print_data(eg_text *out, const eg_value_info *info) {
  // Reading accessors do not write through the pointer.
  eg_tensor tensor = {.type = info->type,
                      .data = (void *)(uintptr_t)eg_buffer_data(info->data)};
  int64_t count = eg_type_elements(&info->type);
  eg_text_append(out, " [");
  for (int64_t i = 0; i < count; i++) {
    if (i != 0) eg_text_append(out, " ");
    if (eg_dtype_is_float(info->type.dtype))
      eg_text_double(out, eg_tensor_get_double(&tensor, i));
    else
      eg_text_printf(out, "%" PRId64, eg_tensor_get_int(&tensor, i));
  }
  eg_text_append(out, "]");
}

static void print_leaf_statement(eg_text *out, const eg_value_info *info) {
  eg_text_append(out, info->kind == EG_VALUE_INPUT ? "(input " : "(weight ");
  print_name(out, info->name);
  eg_text_append(out, " ");
  print_type(out, &info->type);
  if (info->data != NULL && eg_type_elements(&info->type) <= EG_GRAPH_TEXT_ELEMENTS)
    print_data(out, info);
  eg_text_append(out, ")\n");
}

static void print_results(const eg_graph *graph, const eg_graph_node_info *node,
                          eg_text *out) {
  if (node->result_count != 1) eg_text_append(out, "[");
  for (uint32_t i = 0; i < node->result_count; i++) {
    if (i != 0) eg_text_append(out, " ");
    print_value_name(graph, node->results[i], out);
  }
  if (node->result_count != 1) eg_text_append(out, "]");
}

static void print_formats(const eg_graph *graph, const eg_graph_node_info *node,
                          eg_text *out) {
  bool plain = true;
  for (uint32_t i = 0; i < node->result_count; i++)
    plain = plain && graph->values.data[node->results[i].id]->type.layout.format ==
                         EG_FORMAT_PLAIN;
  if (plain) return;
  eg_text_append(out, " :formats [");
  for (uint32_t i = 0; i < node->result_count; i++) {
    const eg_type *type = &graph->values.data[node->results[i].id]->type;
    eg_text_printf(out, "%s%s", i == 0 ? "" : " ",
                   eg_format_name((eg_format)type->layout.format));
  }
  eg_text_append(out, "]");
}

/// Prints bytes in base 16.
static void print_record(eg_text *out, const unsigned char *bytes, size_t size) {
  eg_text_append(out, "\"");
  for (size_t i = 0; i < size; i++)
    eg_text_printf(out, "%02x", bytes[i]);
  eg_text_append(out, "\"");
}

/// Prints the fields that only opaque nodes have: types of results, and the ONNX record.
static void print_opaque(const eg_graph *graph, const eg_node_row *row, eg_text *out) {
  const eg_opaque *opaque = &graph->opaques.data[row->opaque];
  eg_text_append(out, " :types [");
  for (uint32_t i = 0; i < row->info.result_count; i++) {
    const eg_value_info *result = graph->values.data[row->info.results[i].id];
    if (i != 0) eg_text_append(out, " ");
    if (result->typed)
      print_type(out, &result->type);
    else
      eg_text_append(out, "none");
  }
  eg_text_append(out, "] :record ");
  print_record(out, opaque->record, opaque->record_size);
}

static void print_let_statement(const eg_graph *graph, uint32_t id, eg_text *out) {
  const eg_node_row *row = graph->nodes.data[id];
  const eg_graph_node_info *node = &row->info;
  eg_text_append(out, "(let ");
  print_results(graph, node, out);
  eg_text_printf(out, " (%s", eg_op_info_of((eg_op)node->attrs->op)->name);
  if (node->attrs->op == EG_OP_OPAQUE) {
    eg_text_append(out, " ");
    print_name(out, graph->opaques.data[row->opaque].type);
  } else {
    eg_attrs_print(out, node->attrs);
  }
  for (uint32_t i = 0; i < node->input_count; i++) {
    eg_text_append(out, " ");
    print_value_name(graph, node->inputs[i], out);
  }
  eg_text_append(out, ")");
  if (node->name[0] != '\0') {
    eg_text_append(out, " :node ");
    print_name(out, node->name);
  }
  print_formats(graph, node, out);
  if (node->attrs->op == EG_OP_OPAQUE) print_opaque(graph, row, out);
  eg_text_append(out, ")\n");
}

/// Prints nodes from *next up to `end`, so that nodes without results, which no value
/// names, are printed too.
static void print_nodes_to(const eg_graph *graph, uint32_t *next, uint32_t end,
                           eg_text *out) {
  for (; *next < end; ++*next)
    print_let_statement(graph, *next, out);
}

static void print_output_statement(const eg_graph *graph,
                                   const eg_graph_output_row *output, eg_text *out) {
  const char *own = graph->values.data[output->value.id]->name;
  eg_text_append(out, "(output ");
  print_name(out, output->name);
  if (strcmp(own, output->name) != 0) {
    eg_text_append(out, " ");
    print_name(out, own);
  }
  eg_text_append(out, ")\n");
}

egraph_status eg_graph_print(const eg_graph *graph, eg_text *out) {
  uint32_t next = 0;
  eg_text_append(out, "(egraph-graph 1)\n");
  for (uint32_t i = 0; i < graph->values.len; i++) {
    const eg_value_info *info = graph->values.data[i];
    if (info->kind == EG_VALUE_COMPUTED)
      print_nodes_to(graph, &next, info->node.id + 1, out);
    else
      print_leaf_statement(out, info);
  }
  print_nodes_to(graph, &next, (uint32_t)graph->nodes.len, out);
  for (size_t i = 0; i < graph->outputs.len; i++)
    print_output_statement(graph, &graph->outputs.data[i], out);
  if (graph->header != NULL) {
    eg_text_append(out, "(header ");
    print_record(out, eg_buffer_data(graph->header), eg_buffer_size(graph->header));
    eg_text_append(out, ")\n");
  }
  return eg_text_status(out);
}
