// Phases of a training step. In a graph that is no training step, all nodes are FORWARD.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PHASE_H
#define EG_PCG_PHASE_H

#include "base/names.h"

// Phases: id, spelling.
#define EG_PHASE_LIST(X)                                                                 \
  X(EG_PHASE_FORWARD, "forward")   /* once per micro-batch */                            \
  X(EG_PHASE_BACKWARD, "backward") /* once per micro-batch */                            \
  X(EG_PHASE_UPDATE, "update")     /* once per step */
typedef enum eg_phase { EG_PHASE_LIST(EG_ENUM_ID) EG_PHASE_COUNT } eg_phase;

#endif
