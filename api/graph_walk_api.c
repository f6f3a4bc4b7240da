// Public functions that walk a graph: they return views of data of pcg/.
// SPDX-License-Identifier: Apache-2.0
#include "api/tensors.h"
#include "pcg/graph/graph.h"

static const egraph_value NO_VALUE = {EGRAPH_NONE};

uint32_t egraph_graph_node_count(const egraph_graph *graph) {
  return graph != NULL ? eg_graph_node_count(graph) : 0;
}

uint32_t egraph_graph_value_count(const egraph_graph *graph) {
  return graph != NULL ? eg_graph_value_count(graph) : 0;
}

egraph_value egraph_graph_input_value(const egraph_graph *graph, uint32_t index) {
  if (graph == NULL || index >= eg_graph_input_count(graph)) return NO_VALUE;
  return (egraph_value){eg_graph_input(graph, index).id};
}

egraph_value egraph_graph_output_value(const egraph_graph *graph, uint32_t index) {
  const char *name;
  if (graph == NULL || index >= eg_graph_output_count(graph)) return NO_VALUE;
  return (egraph_value){eg_graph_output(graph, index, &name).id};
}

bool egraph_graph_find_value(const egraph_graph *graph, const char *name,
                             egraph_value *out) {
  eg_value value;
  if (graph == NULL || name == NULL || out == NULL ||
      !eg_graph_find_value(graph, name, &value))
    return false;
  *out = (egraph_value){value.id};
  return true;
}

// ---- values -----------------------------------------------------------------------

static const eg_value_info *value_of(const egraph_graph *graph, egraph_value value) {
  return value.id < egraph_graph_value_count(graph)
             ? eg_graph_value(graph, (eg_value){value.id})
             : NULL;
}

egraph_value_kind egraph_value_kind_of(const egraph_graph *graph, egraph_value value) {
  static const egraph_value_kind KINDS[] = {[EG_VALUE_INPUT] = EGRAPH_VALUE_INPUT,
                                            [EG_VALUE_WEIGHT] = EGRAPH_VALUE_WEIGHT,
                                            [EG_VALUE_COMPUTED] = EGRAPH_VALUE_COMPUTED};
  const eg_value_info *info = value_of(graph, value);
  return info != NULL ? KINDS[info->kind] : EGRAPH_VALUE_INPUT;
}

const char *egraph_value_name(const egraph_graph *graph, egraph_value value) {
  const eg_value_info *info = value_of(graph, value);
  return info != NULL ? info->name : NULL;
}

bool egraph_value_type(const egraph_graph *graph, egraph_value value,
                       egraph_tensor *out) {
  const eg_value_info *info = value_of(graph, value);
  if (info == NULL || !info->typed || out == NULL) return false;
  *out = eg_tensor_from_value(info);
  return true;
}

const char *egraph_value_format(const egraph_graph *graph, egraph_value value) {
  const eg_value_info *info = value_of(graph, value);
  return info != NULL ? eg_format_name((eg_format)info->type.layout.format) : NULL;
}

bool egraph_value_producer(const egraph_graph *graph, egraph_value value,
                           egraph_node *out, uint32_t *out_result) {
  const eg_value_info *info = value_of(graph, value);
  if (info == NULL || info->kind != EG_VALUE_COMPUTED || out == NULL) return false;
  *out = (egraph_node){info->node.id};
  if (out_result != NULL) *out_result = info->result;
  return true;
}

// ---- nodes ------------------------------------------------------------------------

/// Returns a node of the graph; zeros when there is no such node.
static eg_graph_node_info node_info(const egraph_graph *graph, egraph_node node) {
  return node.id < egraph_graph_node_count(graph)
             ? eg_graph_node_at(graph, (eg_graph_node){node.id})
             : (eg_graph_node_info){.name = NULL};
}

static egraph_value value_among(const eg_value *values, uint32_t count, uint32_t index) {
  return index < count ? (egraph_value){values[index].id} : NO_VALUE;
}

const char *egraph_node_name(const egraph_graph *graph, egraph_node node) {
  return node_info(graph, node).name;
}

const char *egraph_node_operator(const egraph_graph *graph, egraph_node node) {
  eg_graph_node_info info = node_info(graph, node);
  if (info.attrs == NULL) return NULL;
  return info.attrs->op == EG_OP_OPAQUE
             ? eg_graph_opaque_type(graph, (eg_graph_node){node.id})
             : eg_op_info_of((eg_op)info.attrs->op)->name;
}

uint32_t egraph_node_operand_count(const egraph_graph *graph, egraph_node node) {
  return node_info(graph, node).input_count;
}

egraph_value egraph_node_operand(const egraph_graph *graph, egraph_node node,
                                 uint32_t index) {
  eg_graph_node_info info = node_info(graph, node);
  return value_among(info.inputs, info.input_count, index);
}

uint32_t egraph_node_result_count(const egraph_graph *graph, egraph_node node) {
  return node_info(graph, node).result_count;
}

egraph_value egraph_node_result(const egraph_graph *graph, egraph_node node,
                                uint32_t index) {
  eg_graph_node_info info = node_info(graph, node);
  return value_among(info.results, info.result_count, index);
}

bool egraph_node_is_opaque(const egraph_graph *graph, egraph_node node) {
  eg_graph_node_info info = node_info(graph, node);
  return info.attrs != NULL && info.attrs->op == EG_OP_OPAQUE;
}

const void *egraph_node_record(const egraph_graph *graph, egraph_node node,
                               size_t *out_size) {
  if (out_size == NULL || !egraph_node_is_opaque(graph, node)) return NULL;
  return eg_graph_opaque_record(graph, (eg_graph_node){node.id}, out_size);
}

// ---- attributes -------------------------------------------------------------------

uint32_t egraph_node_attribute_count(const egraph_graph *graph, egraph_node node) {
  const eg_attrs *attrs = node_info(graph, node).attrs;
  return attrs != NULL && attrs->op != EG_OP_OPAQUE ? attrs->count : 0;
}

/// Converts an attribute, without its name, to its public form, kind by kind.
static egraph_attribute view_attribute(const eg_attr_info *row, const eg_attr *value) {
#define VIEW(id, ...)                                                                    \
  (egraph_attribute) { .kind = EGRAPH_ATTRIBUTE_##id, __VA_ARGS__ }
  switch (value->kind) {
  case EG_ATTR_INT: return VIEW(INTEGER, .count = 1, .integers = &value->i);
  case EG_ATTR_INTS:
    return VIEW(INTEGERS, .count = value->ints.len, .integers = value->ints.data);
  case EG_ATTR_FLOAT: return VIEW(NUMBER, .count = 1, .numbers = &value->f);
  case EG_ATTR_FLOATS:
    return VIEW(NUMBERS, .count = value->floats.len, .numbers = value->floats.data);
  case EG_ATTR_SYMBOL: return VIEW(SYMBOL, .text = row->symbols[value->i]);
  case EG_ATTR_DTYPE: return VIEW(DTYPE, .text = eg_dtype_name((egraph_dtype)value->i));
  case EG_ATTR_STRING: return VIEW(TEXT, .text = value->text);
  }
#undef VIEW
  return (egraph_attribute){.name = NULL};
}

bool egraph_node_attribute(const egraph_graph *graph, egraph_node node, uint32_t index,
                           egraph_attribute *out) {
  if (out == NULL || index >= egraph_node_attribute_count(graph, node)) return false;
  const eg_attrs *attrs = node_info(graph, node).attrs;
  eg_op op = (eg_op)attrs->op;
  const eg_attr *value = &attrs->slots[index];
  const eg_attr usual = eg_attr_default(op, (uint16_t)index);
  *out = view_attribute(&eg_op_info_of(op)->attrs[index], value);
  out->name = eg_op_info_of(op)->attrs[index].name;
  out->is_default = eg_attr_same(value, &usual);
  return true;
}
