// The optimizer's part of a training step.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_TRAINING_UPDATE_H
#define EG_PCG_TRAINING_UPDATE_H

#include "pcg/graph/node_cons.h"
#include "pcg/training/training.h"

/// True for optimizers that count steps.
bool eg_optimizer_counts(eg_optimizer optimizer);
uint32_t eg_optimizer_states(eg_optimizer optimizer);
/// Name of a state of a parameter: "m".
const char *eg_optimizer_state_name(eg_optimizer optimizer, uint32_t state);

/// Emits phase O: sets value.exit and state[].exit of every parameter from gradient, or
/// sum.exit where there is one, and the entries. Fails with EGRAPH_E_MEMORY.
egraph_status eg_training_emit_update(eg_node_cons *cons, const eg_graph *forward,
                                      const eg_training_options *options,
                                      eg_training *training);

#endif
