// Seconds of the moves of a plan: alpha-beta formulas for an axis of n devices.
//
//   seconds = rounds * alpha + volume * bytes * beta      bytes: eg_transition_bytes
//
//                      all-gather,
//                      reduce-scatter    all-reduce            all-to-all
//             n > 1    rounds  volume    rounds   volume       rounds  volume
//   ring               n-1     (n-1)/n   2(n-1)   2(n-1)/n     n-1     (n-1)/n^2
//   tree, least data   L       (n-1)/n   2L       2(n-1)/n
//   tree, few rounds                     L        L            L       B/n^2
//   alpa               1       (n-1)/n   1        2(n-1)/n     1       (n-1)/(2n)
//
// L is log2 n, rounded up; B the ones in the binary forms of all numbers below n. `tree`
// is the better of its rows, `auto` the better of ring and tree. A ring pays the beta of
// neighbours, a tree and an all-to-all the beta of any two devices: where many share a
// port, rings are better for large tensors, trees for small ones.
//
// Sources. Ring, pairwise exchange, recursive doubling and halving, and the two together
// (Rabenseifner): Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication
// Operations in MPICH", 2005. All-gather and all-to-all in L rounds for any n: Bruck et
// al., 1997; reductions are taken to be as good where n is no power of two. alpa: Alpa's
// device mesh (OSDI'22): its all-to-all, (n-1)/n^2 * n/2, has a penalty of n/2, and each
// has a constant that breaks ties: all-gather 0.1, reduce-scatter 0.001, all-reduce 0.01,
// all-to-all 0.001.
//
// An exchange that was measured on the machine's link (eg_link_curve) takes the seconds
// of its class of sizes: latency + bytes * seconds per byte.
//
// Slices and masks are local and cost nothing, nor does anything along an axis of one
// device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_COLLECTIVE_H
#define EG_SIM_COLLECTIVE_H

#include "pcg/parallel/machine.h"
#include "pcg/parallel/strategy.h"

// How the devices of an exchange send to each other: id, spelling. The rounds of each are
// in sim/collective_rounds.h.
#define EG_ALGORITHM_LIST(X)                                                             \
  X(EG_ALGORITHM_NONE, "")               /* no rounds: Alpa's formulas */                \
  X(EG_ALGORITHM_RING, "ring")           /* ring, and pairwise exchange */               \
  X(EG_ALGORITHM_HALVING, "halving")     /* tree, least data */                          \
  X(EG_ALGORITHM_DOUBLING, "doubling")   /* tree, few rounds */                          \
  X(EG_ALGORITHM_TREE, "tree")           /* two binary trees */                          \
  X(EG_ALGORITHM_HIERARCHICAL, "levels") /* rings of each level of the machine */
#define EG_ALGORITHM_ENUM(id, name) id,
typedef enum eg_collective_algorithm {
  EG_ALGORITHM_LIST(EG_ALGORITHM_ENUM) EG_ALGORITHMS
} eg_collective_algorithm;
#undef EG_ALGORITHM_ENUM
const char *eg_collective_algorithm_name(eg_collective_algorithm algorithm);

/// Seconds of a transition of `bytes` (eg_transition_bytes), when all devices of the mesh
/// take part.
double eg_collective_seconds(const eg_machine_mesh *mesh, const eg_transition *transition,
                             double bytes);
/// The algorithm whose formula gives these seconds; NONE: it is free, or Alpa's.
eg_collective_algorithm eg_collective_algorithm_of(const eg_machine_mesh *mesh,
                                                   const eg_transition *transition,
                                                   double bytes);
/// Seconds of the exchange of a halo of operand 0, whose local type (without halo) is
/// given: a message to each neighbour that needs rows, through one port.
double eg_collective_halo_seconds(const eg_machine_mesh *mesh, const eg_halo *halo,
                                  const eg_type *local);

#endif
