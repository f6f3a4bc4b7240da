// Phases of a training step. In a graph that is no training step, all nodes are FORWARD.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PHASE_H
#define EG_PCG_PHASE_H

typedef enum eg_phase {
  EG_PHASE_FORWARD,  // once per micro-batch
  EG_PHASE_BACKWARD, // likewise
  EG_PHASE_UPDATE,   // once per step
  EG_PHASE_COUNT
} eg_phase;

#endif
