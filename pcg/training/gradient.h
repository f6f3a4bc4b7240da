// Reverse-mode gradients of a graph: nodes appended to it, from the vjp of each operator
// (ops/vjp.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_GRADIENT_H
#define EG_PCG_GRADIENT_H

#include "base/vec.h"
#include "pcg/graph/node_cons.h"

/// A value and the cotangent it starts with, of the value's type.
typedef struct eg_gradient_seed {
  eg_value value, cotangent;
} eg_gradient_seed;

/// Appends what computes the cotangents of wrt[0 .. wrt_count), and nothing else.
/// EG_VALUE_NONE in out_cotangents: zero, no seed depends on it. Cotangents of one value
/// are added in the order in which its users stand, the last first. Node and value order
/// are the same in every run. Fails with EGRAPH_E_UNSUPPORTED where the way leads through
/// an operator without a gradient, naming the node. Stamps what it makes, if the others
/// are stamped (pcg/graph/node_cons.h). O(values + nodes).
egraph_status eg_graph_gradient(eg_node_cons *cons, const eg_gradient_seed *seeds,
                                uint32_t seed_count, const eg_value *wrt,
                                uint32_t wrt_count, eg_value *out_cotangents);

#endif
