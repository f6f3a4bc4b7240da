// What a plan was compared with: another plan of the same step in figures, and where it
// takes longer (pcg/plan/plan_why.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_RIVAL_H
#define EG_PCG_PLAN_RIVAL_H

#include "base/vec.h"
#include "pcg/parallel/mesh.h"
#include "pcg/training/phase.h"

enum { EG_RIVAL_NAME_SIZE = 192, EG_RIVAL_REASONS = 3 };

// How it ended, spelling.
#define EG_RIVAL_LIST(X)                                                                 \
  X(EG_RIVAL_FITS, "fits")                                                               \
  X(EG_RIVAL_TOO_LARGE, "too large")    /* no such plan fits the memory */               \
  X(EG_RIVAL_IMPOSSIBLE, "impossible")  /* there is no such plan */                      \
  X(EG_RIVAL_FORBIDDEN, "forbidden")    /* none that keeps to the constraints */         \
  X(EG_RIVAL_UNKNOWN, "unknown")        /* none was found in the work given */           \
  X(EG_RIVAL_UNEVEN, "does not divide") /* a size that its axes do not divide */
#define EG_RIVAL_ENUM(id, name) id,
typedef enum eg_rival_outcome {
  EG_RIVAL_LIST(EG_RIVAL_ENUM) EG_RIVAL_OUTCOMES
} eg_rival_outcome;
#undef EG_RIVAL_ENUM

/// Something that takes it longer than the plan, in a step of training.
typedef struct eg_rival_reason {
  uint32_t exchange; // of eg_plan_summary.exchange; EG_EXCHANGES: work, which has no
                     // phase, axis and bytes
  eg_phase phase;
  char axis[EG_MESH_NAME_SIZE]; // of its mesh
  double seconds;               // more
  double bytes;                 // that it exchanges there in all
} eg_rival_reason;

typedef struct eg_plan_rival {
  char name[EG_RIVAL_NAME_SIZE];
  eg_rival_outcome outcome;
  eg_mesh mesh;
  double seconds, memory; // FITS, TOO_LARGE (without the limit; 0: not known)
  double least_memory;    // TOO_LARGE: bytes of a device that would do
  double excess;          // TOO_LARGE: by which that exceeds the limit
  uint32_t parts;         // UNEVEN: in which a dimension should be cut
  uint32_t batch;         // UNEVEN: size of the batch; 0: no weight divides
  uint32_t reason_count;
  eg_rival_reason reasons[EG_RIVAL_REASONS]; // most seconds first
} eg_plan_rival;
EG_VEC_DEFINE(eg_plan_rivals, eg_plan_rival);

#endif
