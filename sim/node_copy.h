// Deep copies of node specifications, for those that outlive the graph they came from.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_NODE_COPY_H
#define EG_SIM_NODE_COPY_H

#include "pcg/node_spec.h"

/// Copies a specification with attributes and types into arena memory. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_node_spec_copy(eg_arena *arena, const eg_node_spec *spec,
                                eg_node_spec *out);

#endif
