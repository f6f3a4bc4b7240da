// The text form of a graph (grammar in README.md), and Graphviz.
//
// Statements stand in the order of values, so that reading them back gives every value
// its number again.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "base/sexpr.h"
#include "pcg/graph/graph_internal.h"

// Names that need no quotes: no delimiters, and neither a keyword (":name") nor a
// comment.
static bool is_plain_name(const char *name) {
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
  static const char others[] = "+-:@#$%&*<>=~^!?,'|{}";
  if (strchr(letters, name[0]) == NULL) return false;
  for (const char *c = name; *c != '\0'; c++)
    if (strchr(letters, *c) == NULL && strchr(others, *c) == NULL) return false;
  return true;
}

static egraph_status print_name(eg_text *out, const char *name) {
  if (name[0] != '\0' && is_plain_name(name)) return eg_text_append(out, name);
  return eg_text_quoted(out, name);
}

static egraph_status print_value_name(const eg_graph *graph, eg_value value,
                                      eg_text *out) {
  return print_name(out, graph->values.data[value.id]->name);
}

static egraph_status print_type(eg_text *out, const eg_type *type) {
  eg_type plain = *type;
  plain.layout.format = EG_FORMAT_PLAIN;
  EG_TRY(eg_text_append(out, "\""));
  EG_TRY(eg_type_print(out, &plain));
  return eg_text_append(out, "\"");
}

static egraph_status print_data(eg_text *out, const eg_value_info *info) {
  // Reading accessors do not write through the pointer.
  eg_tensor tensor = {.type = info->type,
                      .data = (void *)(uintptr_t)eg_buffer_data(info->data)};
  int64_t count = eg_type_elements(&info->type);
  EG_TRY(eg_text_append(out, " ["));
  for (int64_t i = 0; i < count; i++) {
    if (i != 0) EG_TRY(eg_text_append(out, " "));
    if (eg_dtype_is_float(info->type.dtype))
      EG_TRY(eg_text_double(out, eg_tensor_get_double(&tensor, i)));
    else
      EG_TRY(eg_text_printf(out, "%" PRId64, eg_tensor_get_int(&tensor, i)));
  }
  return eg_text_append(out, "]");
}

static egraph_status print_leaf(eg_text *out, const eg_value_info *info) {
  EG_TRY(eg_text_append(out, info->kind == EG_VALUE_INPUT ? "(input " : "(weight "));
  EG_TRY(print_name(out, info->name));
  EG_TRY(eg_text_append(out, " "));
  EG_TRY(print_type(out, &info->type));
  if (info->data != NULL && eg_type_elements(&info->type) <= EG_GRAPH_TEXT_ELEMENTS)
    EG_TRY(print_data(out, info));
  return eg_text_append(out, ")\n");
}

static egraph_status print_results(const eg_graph *graph, const eg_graph_node_info *node,
                                   eg_text *out) {
  if (node->result_count == 1) return print_value_name(graph, node->results[0], out);
  EG_TRY(eg_text_append(out, "["));
  for (uint32_t i = 0; i < node->result_count; i++) {
    if (i != 0) EG_TRY(eg_text_append(out, " "));
    EG_TRY(print_value_name(graph, node->results[i], out));
  }
  return eg_text_append(out, "]");
}

static egraph_status print_formats(const eg_graph *graph, const eg_graph_node_info *node,
                                   eg_text *out) {
  bool plain = true;
  for (uint32_t i = 0; i < node->result_count; i++)
    plain = plain && graph->values.data[node->results[i].id]->type.layout.format ==
                         EG_FORMAT_PLAIN;
  if (plain) return EGRAPH_OK;
  EG_TRY(eg_text_append(out, " :formats ["));
  for (uint32_t i = 0; i < node->result_count; i++) {
    const eg_type *type = &graph->values.data[node->results[i].id]->type;
    EG_TRY(eg_text_printf(out, "%s%s", i == 0 ? "" : " ",
                          eg_format_name((eg_format)type->layout.format)));
  }
  return eg_text_append(out, "]");
}

// Bytes in base 16.
static egraph_status print_record(eg_text *out, const unsigned char *bytes, size_t size) {
  EG_TRY(eg_text_append(out, "\""));
  for (size_t i = 0; i < size; i++)
    EG_TRY(eg_text_printf(out, "%02x", bytes[i]));
  return eg_text_append(out, "\"");
}

// What only opaque nodes have: types of their results, and the record.
static egraph_status print_opaque(const eg_graph *graph, const eg_node_row *row,
                                  eg_text *out) {
  const eg_opaque *opaque = &graph->opaques.data[row->opaque];
  EG_TRY(eg_text_append(out, " :types ["));
  for (uint32_t i = 0; i < row->info.result_count; i++) {
    const eg_value_info *result = graph->values.data[row->info.results[i].id];
    if (i != 0) EG_TRY(eg_text_append(out, " "));
    EG_TRY(result->typed ? print_type(out, &result->type) : eg_text_append(out, "none"));
  }
  EG_TRY(eg_text_append(out, "] :record "));
  return print_record(out, opaque->record, opaque->record_size);
}

static egraph_status print_node(const eg_graph *graph, uint32_t id, eg_text *out) {
  const eg_node_row *row = graph->nodes.data[id];
  const eg_graph_node_info *node = &row->info;
  EG_TRY(eg_text_append(out, "(let "));
  EG_TRY(print_results(graph, node, out));
  EG_TRY(eg_text_printf(out, " (%s", eg_op_info_of((eg_op)node->attrs->op)->name));
  if (node->attrs->op == EG_OP_OPAQUE) {
    EG_TRY(eg_text_append(out, " "));
    EG_TRY(print_name(out, graph->opaques.data[row->opaque].type));
  } else {
    EG_TRY(eg_attrs_print(out, node->attrs));
  }
  for (uint32_t i = 0; i < node->input_count; i++) {
    EG_TRY(eg_text_append(out, " "));
    EG_TRY(print_value_name(graph, node->inputs[i], out));
  }
  EG_TRY(eg_text_append(out, ")"));
  if (node->name[0] != '\0') {
    EG_TRY(eg_text_append(out, " :node "));
    EG_TRY(print_name(out, node->name));
  }
  EG_TRY(print_formats(graph, node, out));
  if (node->attrs->op == EG_OP_OPAQUE) EG_TRY(print_opaque(graph, row, out));
  return eg_text_append(out, ")\n");
}

// Nodes up to `end`, from where the last call stopped: those without results have no
// value to be met at.
static egraph_status print_nodes_to(const eg_graph *graph, uint32_t *next, uint32_t end,
                                    eg_text *out) {
  for (; *next < end; ++*next)
    EG_TRY(print_node(graph, *next, out));
  return EGRAPH_OK;
}

static egraph_status print_output(const eg_graph *graph,
                                  const eg_graph_output_row *output, eg_text *out) {
  const char *own = graph->values.data[output->value.id]->name;
  EG_TRY(eg_text_append(out, "(output "));
  EG_TRY(print_name(out, output->name));
  if (strcmp(own, output->name) != 0) {
    EG_TRY(eg_text_append(out, " "));
    EG_TRY(print_name(out, own));
  }
  return eg_text_append(out, ")\n");
}

static egraph_status print_header(const eg_buffer *header, eg_text *out) {
  EG_TRY(eg_text_append(out, "(header "));
  EG_TRY(print_record(out, eg_buffer_data(header), eg_buffer_size(header)));
  return eg_text_append(out, ")\n");
}

egraph_status eg_graph_print(const eg_graph *graph, eg_text *out) {
  uint32_t next = 0;
  EG_TRY(eg_text_append(out, "(egraph-graph 1)\n"));
  for (uint32_t i = 0; i < graph->values.len; i++) {
    const eg_value_info *info = graph->values.data[i];
    if (info->kind == EG_VALUE_COMPUTED)
      EG_TRY(print_nodes_to(graph, &next, info->node.id + 1, out));
    else
      EG_TRY(print_leaf(out, info));
  }
  EG_TRY(print_nodes_to(graph, &next, (uint32_t)graph->nodes.len, out));
  for (size_t i = 0; i < graph->outputs.len; i++)
    EG_TRY(print_output(graph, &graph->outputs.data[i], out));
  return graph->header != NULL ? print_header(graph->header, out) : EGRAPH_OK;
}
