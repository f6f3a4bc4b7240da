// A node without its graph: operator, attributes, operand and result types with their
// layouts. Costs, profiles and programs refer to specs. The text of a spec is the key of
// the profile database.
//
//   conv :strides [1 1] ... (float32[1,64,56,56]@nhwc weight:float32[64,64,3,3]) ->
//   float32[1,64,56,56]@nhwc
//
// A transition between memory formats is an `identity` whose operand and result formats
// differ.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_NODE_SPEC_H
#define EG_PCG_NODE_SPEC_H

#include "ops/ops.h"

typedef struct eg_node_spec {
  const eg_attrs *attrs;
  const eg_type *inputs;
  uint32_t input_count;
  const eg_type *results;
  uint32_t result_count;
  uint64_t weight_mask; // bit i: operand i is a weight (constant at run time); i < 64
  double opaque_bytes;  // of an opaque node (eg_graph_opaque_estimate)
} eg_node_spec;

/// Appends the canonical text of a node: equal specs give equal texts.
egraph_status eg_node_spec_print(eg_text *text, const eg_node_spec *spec);
double eg_node_spec_flops(const eg_node_spec *spec);
double eg_node_spec_bytes(const eg_node_spec *spec);
bool eg_node_spec_is_reorder(const eg_node_spec *spec);
/// True when all operands and results of a node are row-major.
bool eg_node_spec_is_plain(const eg_node_spec *spec);

/// Copies attributes and types into the arena, so that they outlive the graph. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_spec_copy(eg_arena *arena, const eg_node_spec *spec, eg_node_spec *out);
/// Copies a spec into the arena, with example sizes for open dimensions (ops/size.h);
/// *out = *spec if none is open. Fails with EGRAPH_E_MEMORY, and with
/// EGRAPH_E_UNSUPPORTED where the node does not admit these sizes.
egraph_status eg_spec_at_example(eg_arena *arena, const eg_node_spec *spec,
                                 eg_node_spec *out);
/// Returns the bit of an operand in a mask; 0 for operands past 63.
static inline uint64_t eg_operand_bit(uint32_t operand) {
  return operand < 64 ? UINT64_C(1) << operand : 0;
}
static inline bool eg_spec_is_weight(const eg_node_spec *spec, uint32_t operand) {
  return (spec->weight_mask & eg_operand_bit(operand)) != 0;
}
/// Returns the type with row-major memory format.
eg_type eg_type_plain(const eg_type *type);

#endif
