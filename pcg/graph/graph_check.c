// Checks every invariant of a graph, recomputed from scratch.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "pcg/graph/graph_internal.h"

#define BROKEN(...) EG_FAIL(EGRAPH_E_INTERNAL, __VA_ARGS__)

static egraph_status check_producer(const eg_graph *graph, uint32_t id) {
  const eg_value_info *info = graph->values.data[id];
  if (info->kind != EG_VALUE_COMPUTED) {
    if (info->node.id != UINT32_MAX)
      return BROKEN("leaf value '%.200s' has a producer", info->name);
    if (!info->typed || info->type.layout.format != EG_FORMAT_PLAIN)
      return BROKEN("leaf value '%.200s' is not a typed row-major tensor", info->name);
    return EGRAPH_OK;
  }
  if (info->node.id >= graph->nodes.len)
    return BROKEN("value '%.200s' comes from node %" PRIu32 ", which does not exist",
                  info->name, info->node.id);
  const eg_graph_node_info *node = &graph->nodes.data[info->node.id]->info;
  if (info->result >= node->result_count || node->results[info->result].id != id)
    return BROKEN("value '%.200s' is no result of its producer", info->name);
  return EGRAPH_OK;
}

static egraph_status check_value(const eg_graph *graph, uint32_t id) {
  const eg_value_info *info = graph->values.data[id];
  eg_value found;
  if (!eg_graph_find_value(graph, info->name, &found) || found.id != id)
    return BROKEN("the name '%.200s' does not lead to its value", info->name);
  if (info->typed && eg_type_check(&info->type) != EGRAPH_OK)
    return eg_fail_context(EGRAPH_E_INTERNAL, "value '%.200s'", info->name);
  if (info->data != NULL && info->kind == EG_VALUE_COMPUTED)
    return BROKEN("value '%.200s' has data but is no leaf", info->name);
  if (info->data != NULL && eg_buffer_size(info->data) != eg_type_bytes(&info->type))
    return BROKEN("leaf '%.200s' has data of another size", info->name);
  return check_producer(graph, id);
}

/// Checks that inference gives the types of a node's results, except their layouts.
static egraph_status check_inferred_types(const eg_graph *graph,
                                          const eg_graph_node_info *node,
                                          eg_type *operands, eg_type *results) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    const eg_value_info *operand = graph->values.data[node->inputs[i].id];
    if (!operand->typed)
      return BROKEN("node '%.200s' has an untyped operand", node->name);
    operands[i] = operand->type;
  }
  egraph_status status = eg_op_infer(node->attrs, operands, node->input_count, results);
  if (status == EGRAPH_E_MEMORY) return status;
  if (status != EGRAPH_OK)
    return eg_fail_context(EGRAPH_E_INTERNAL, "node '%.200s'", node->name);
  for (uint32_t i = 0; i < node->result_count; i++) {
    const eg_value_info *result = graph->values.data[node->results[i].id];
    if (!result->typed || result->type.dtype != results[i].dtype ||
        !eg_type_same_shape(&result->type, &results[i]))
      return BROKEN("'%.200s' does not have the type that inference gives", result->name);
  }
  return EGRAPH_OK;
}

static egraph_status check_inference(const eg_graph *graph,
                                     const eg_graph_node_info *node) {
  if (node->result_count != eg_op_results(node->attrs))
    return BROKEN("node '%.200s' has the wrong number of results", node->name);
  EG_LOCAL(eg_arena, arena, graph->alloc);
  eg_type *types;
  size_t count = (size_t)node->input_count + node->result_count;
  EG_NEW(&arena, count, types);
  return check_inferred_types(graph, node, types, types + node->input_count);
}

static egraph_status check_graph_node(const eg_graph *graph, uint32_t id) {
  const eg_node_row *row = graph->nodes.data[id];
  const eg_graph_node_info *node = &row->info;
  for (uint32_t i = 0; i < node->result_count; i++) {
    if (node->results[i].id >= graph->values.len)
      return BROKEN("a result of node '%.200s' does not exist", node->name);
    const eg_value_info *result = graph->values.data[node->results[i].id];
    if (result->kind != EG_VALUE_COMPUTED || result->node.id != id || result->result != i)
      return BROKEN("node '%.200s' and its result '%.200s' disagree", node->name,
                    result->name);
  }
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t operand = node->inputs[i].id;
    if (operand >= graph->values.len ||
        (graph->values.data[operand]->kind == EG_VALUE_COMPUTED &&
         graph->values.data[operand]->node.id >= id))
      return BROKEN("node '%.200s' uses a value that is computed later", node->name);
  }
  bool opaque = node->attrs->op == EG_OP_OPAQUE;
  if (opaque != (row->opaque < graph->opaques.len))
    return BROKEN("node '%.200s' and its record disagree", node->name);
  return opaque ? EGRAPH_OK : check_inference(graph, node);
}

egraph_status eg_graph_check(const eg_graph *graph) {
  for (uint32_t i = 0; i < graph->values.len; i++)
    EG_TRY(check_value(graph, i));
  for (uint32_t i = 0; i < graph->nodes.len; i++)
    EG_TRY(check_graph_node(graph, i));
  for (size_t i = 0; i < graph->inputs.len; i++)
    if (graph->inputs.data[i].id >= graph->values.len ||
        graph->values.data[graph->inputs.data[i].id]->kind != EG_VALUE_INPUT)
      return BROKEN("input %zu is no input value", i);
  for (size_t i = 0; i < graph->outputs.len; i++)
    if (graph->outputs.data[i].value.id >= graph->values.len)
      return BROKEN("output '%.200s' does not exist", graph->outputs.data[i].name);
  for (size_t i = 0; i < graph->opaques.len; i++) {
    eg_graph_node node;
    if (!eg_graph_find_opaque(graph, graph->opaques.data[i].key, &node) ||
        node.id >= graph->nodes.len || graph->nodes.data[node.id]->opaque != i)
      return BROKEN("the key '%.200s' does not lead to its node",
                    graph->opaques.data[i].key);
  }
  return EGRAPH_OK;
}
