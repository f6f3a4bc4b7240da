// How what weights alone make is made, once, before anything runs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_DERIVATIONS_H
#define EG_OPTIMIZE_SPACE_DERIVATIONS_H

#include "rewrites/saturation/tensor_egraph.h"

/// Fills `out`, [class limit of the engine]: of each class that weights alone make the
/// node of its derivation with the fewest bytes written, of all others EG_NODE_NONE. The
/// operands of a node that is chosen have derivations, and there are no cycles.
egraph_status eg_derivations_find(egraph_allocator alloc, const eg_tensor_egraph *egraph,
                                  eg_node *out);

#endif
