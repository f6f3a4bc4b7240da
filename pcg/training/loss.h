// The loss of a training step, and the cotangent that backward begins with.
//
// Losses are sums and maxima, so that the classes may be split: a softmax as one operator
// would need all of them in one place.
//
//   y [.., classes], m = max y, e = exp(y - m), s = sum e, p the target as probabilities
//   loss     mean over rows of  w (log s + m) - sum(p y),   w = sum p (1 for labels)
//   y'       (w e / s - p) / rows; m drops out
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_LOSS_H
#define EG_PCG_LOSS_H

#include "ops/build.h"

// Losses: id, spelling. All are means over the elements, or over the rows of classes in
// the last dimension. Targets: int64 labels within [0, classes), probabilities, values.
#define EG_LOSS_LIST(X)                                                                  \
  X(EG_LOSS_CROSS_ENTROPY, "softmax-cross-entropy")                                      \
  X(EG_LOSS_CROSS_ENTROPY_OF, "softmax-cross-entropy-of-probabilities")                  \
  X(EG_LOSS_SQUARED_ERROR, "mean-squared-error")
#define EG_LOSS_ENUM(id, name) id,
typedef enum eg_loss { EG_LOSS_LIST(EG_LOSS_ENUM) EG_LOSS_COUNT } eg_loss;
#undef EG_LOSS_ENUM

/// What the backward part reads of the forward part.
typedef struct eg_loss_terms {
  eg_loss kind;
  double share;                              // 1 / number of rows or elements
  eg_ref exponentials, sums, target, weight; // cross entropy: e^(y - max), ...
  eg_ref difference;                         // squared error
} eg_loss_terms;

/// The type of the target for the output y. Fails with EGRAPH_E_TYPE.
egraph_status eg_loss_target(eg_loss kind, const eg_type *y, eg_type *out);
/// Emits the loss. b->dtype is set to y's.
eg_ref eg_loss_emit(eg_builder *b, eg_loss kind, eg_ref y, eg_ref target,
                    eg_loss_terms *out);
/// Emits the cotangent of y.
eg_ref eg_loss_emit_gradient(eg_builder *b, const eg_loss_terms *terms);

#endif
