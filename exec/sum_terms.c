// SPDX-License-Identifier: Apache-2.0
#include "exec/sum_terms.h"

#include <math.h>

#include "base/memory.h"
#include "base/vec.h"

EG_VEC_DEFINE(operand_types, eg_type);

/// Loops that leave no dimension in the result.
static double terms_of_factors(const eg_factors *factors) {
  double terms = 1;
  for (uint32_t f = 0; f < factors->count; f++) {
    const eg_factor *factor = &factors->factor[f];
    bool is_summed = factor->output_dim[0] == EG_NO_DIM && !factor->is_no_loop;
    if (is_summed) terms *= (double)factor->size;
  }
  return terms;
}

static egraph_status terms_of_node(const eg_graph *graph, const eg_graph_node_info *node,
                                   operand_types *types, double *out) {
  eg_factors factors;
  bool is_typed = eg_graph_value(graph, node->results[0])->typed;
  types->len = 0;
  *out = 1;
  for (uint32_t i = 0; i < node->input_count; i++)
    EG_TRY(operand_types_push(types, eg_graph_value(graph, node->inputs[i])->type));
  if (is_typed &&
      eg_op_factors(node->attrs, types->data, node->input_count, &factors) == EGRAPH_OK)
    *out = terms_of_factors(&factors);
  return EGRAPH_OK;
}

egraph_status eg_sum_terms(const eg_graph *graph, egraph_allocator alloc, double *out) {
  operand_types types;
  egraph_status status = EGRAPH_OK;
  operand_types_init(&types, alloc);
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++)
    out[v] = 1;
  for (uint32_t n = 0; n < eg_graph_node_count(graph) && status == EGRAPH_OK; n++) {
    eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    double most;
    status = terms_of_node(graph, &node, &types, &most);
    for (uint32_t i = 0; status == EGRAPH_OK && i < node.input_count; i++)
      most = fmax(most, out[node.inputs[i].id]);
    for (uint32_t r = 0; status == EGRAPH_OK && r < node.result_count; r++)
      out[node.results[r].id] = most;
  }
  operand_types_deinit(&types);
  return status;
}
