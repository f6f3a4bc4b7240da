// The loss of a training step, in the two phases it has parts in.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_TRAINING_LOSS_H
#define EG_PCG_TRAINING_LOSS_H

#include "ops/build.h"
#include "pcg/training/training.h"

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
eg_ref eg_loss_forward(eg_builder *b, eg_loss kind, eg_ref y, eg_ref target,
                       eg_loss_terms *out);
/// Emits the cotangent of y.
eg_ref eg_loss_backward(eg_builder *b, const eg_loss_terms *terms);

#endif
