// What a training step is asked for: checks; names are declared in training.h.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_TRAINING_OPTIONS_H
#define EG_PCG_TRAINING_OPTIONS_H

#include "pcg/training/training.h"

/// That the output, the loss and the optimizer are there. Fails with
/// EGRAPH_E_ARGUMENT.
egraph_status eg_training_options_check(const eg_graph *forward,
                                        const eg_training_options *options);

#endif
