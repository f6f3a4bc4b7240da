// Deep copies of node specs, for programs that outlive the graph they came from.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_SPEC_COPY_H
#define EG_PCG_SPEC_COPY_H

#include "pcg/graph/node_spec.h"

/// Copies attributes and types into the arena. Fails with EGRAPH_E_MEMORY.
egraph_status eg_spec_copy(eg_arena *arena, const eg_node_spec *spec, eg_node_spec *out);
/// Bit of an operand in a mask; operands past 63 have none.
static inline uint64_t eg_operand_bit(uint32_t operand) {
  return operand < 64 ? UINT64_C(1) << operand : 0;
}
static inline bool eg_spec_is_weight(const eg_node_spec *spec, uint32_t operand) {
  return (spec->weight_mask & eg_operand_bit(operand)) != 0;
}
/// The same type, row-major.
eg_type eg_type_plain(const eg_type *type);

#endif
