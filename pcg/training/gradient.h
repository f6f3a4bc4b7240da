// Appends reverse-mode gradients to a graph, from the vjp of each operator (ops/vjp.h),
// and the losses with which training begins the backward pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_GRADIENT_H
#define EG_PCG_GRADIENT_H

#include "base/names.h"
#include "base/vec.h"
#include "pcg/graph/node_cons.h"

/// A value and its first cotangent, of the value's type.
typedef struct eg_gradient_seed {
  eg_value value, cotangent;
} eg_gradient_seed;

/// Appends the nodes that compute the cotangents of the values wrt[0 .. wrt_count), and
/// no others. EG_VALUE_NONE in out_cotangents: the cotangent is zero, as no seed depends
/// on the value. Cotangents of one value are added in the reverse order of its users.
/// Node and value order are the same in every run. Fails with EGRAPH_E_UNSUPPORTED,
/// naming the node, where an operator between seeds and values has no gradient. Stamps
/// the new values if the graph's other values are stamped (pcg/graph/node_cons.h).
/// O(values + nodes).
egraph_status eg_graph_gradient(eg_node_cons *cons, const eg_gradient_seed *seeds,
                                uint32_t seed_count, const eg_value *wrt,
                                uint32_t wrt_count, eg_value *out_cotangents);

// ---- losses ---------------------------------------------------------------------------
//
// Losses are sums and maxima, so that the classes may be split: a softmax as one operator
// would need all classes on one device.
//
//   y [.., classes], m = max y, e = exp(y - m), s = sum e, p the target as probabilities
//   loss     mean over rows of  w (log s + m) - sum(p y),   w = sum p (1 for labels)
//   y'       (w e / s - p) / rows; m drops out

// Loss functions: id, spelling. All are means over the elements, or over the rows of
// classes in the last dimension. Their targets, in this order: int64 labels within [0,
// classes), probabilities, values.
#define EG_LOSS_LIST(X)                                                                  \
  X(EG_LOSS_CROSS_ENTROPY, "softmax-cross-entropy")                                      \
  X(EG_LOSS_CROSS_ENTROPY_OF, "softmax-cross-entropy-of-probabilities")                  \
  X(EG_LOSS_SQUARED_ERROR, "mean-squared-error")
typedef enum eg_loss { EG_LOSS_LIST(EG_ENUM_ID) EG_LOSS_COUNT } eg_loss;

/// The values of a loss that its gradient reads.
typedef struct eg_loss_terms {
  eg_loss kind;
  double share;                              // 1 / number of rows or elements
  eg_ref exponentials, sums, target, weight; // cross entropy: e^(y - max), ...
  eg_ref difference;                         // squared error
} eg_loss_terms;

/// Returns the type of the target for the output y. Fails with EGRAPH_E_TYPE.
egraph_status eg_loss_target(eg_loss kind, const eg_type *y, eg_type *out);
/// Emits the loss, and sets b->dtype to the element type of y.
eg_ref eg_loss_emit(eg_builder *b, eg_loss kind, eg_ref y, eg_ref target,
                    eg_loss_terms *out);
/// Emits the cotangent of y: the gradient of the loss by y.
eg_ref eg_loss_emit_gradient(eg_builder *b, const eg_loss_terms *terms);

#endif
