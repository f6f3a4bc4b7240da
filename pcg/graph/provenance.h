// Provenance: of every value of a training step, what of the forward graph it was made
// for. Whoever makes nodes says so before (eg_node_cons.stamp), so that nobody has to
// guess it afterwards: which block of a model a value belongs to, which value it is one
// block later, which value of a folded step stands for it.
//
// The same maker, asked for the same thing, asks for the same nodes in the same order. So
// values made for two like values of the forward graph are like each other when the rest
// of their stamps is the same. A node that several ask for has the stamp of the first.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PROVENANCE_H
#define EG_PCG_PROVENANCE_H

#include "base/vec.h"

typedef enum eg_made {
  EG_MADE_COPY,      // the value itself
  EG_MADE_CAST,      // in another element type
  EG_MADE_LOSS,      // of an output: target and loss
  EG_MADE_SEED,      // of an output: the gradient that backward begins with
  EG_MADE_GRADIENT,  // of the node that makes it; of a weight without one: zeros
  EG_MADE_COTANGENT, // of a node: what it adds to the cotangents of its operands
  EG_MADE_SUM,       // of a weight: of its gradients over micro-batches
  EG_MADE_STATE,  // of a weight: sum and states as they enter; of the optimizer: inputs
  EG_MADE_NORM,   // of a weight: its part of the norm of all gradients
  EG_MADE_UPDATE, // of a weight: what it and its states become
  EG_MADE_COMMON  // for the updates of all weights
} eg_made;

#define EG_STAMP_OF_NONE UINT32_MAX

typedef struct eg_stamp {
  uint32_t of; // value of the forward graph; EG_STAMP_OF_NONE: none in particular
  eg_made made;
  uint32_t variant; // under which conditions, where the nodes asked for depend on any
  uint32_t index;   // of the results asked for
} eg_stamp;
EG_VEC_DEFINE(eg_stamps, eg_stamp);

/// Finds, of each value of a step, the value of another step (or of the same) that was
/// made in the same way for like[its `of`]; UINT32_MAX: none. `like` maps the values of
/// the forward graph, UINT32_MAX: to none; what was made for none in particular is like
/// itself. `out` is initialized and empty. O(values * values made for one). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_stamps_map(const eg_stamps *from, const eg_stamps *to,
                            const eg_u32s *like, eg_u32s *out);

#endif
