// Prices the moves of a plan by alpha-beta formulas, for an axis of n devices:
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
// L is log2 n, rounded up; B counts the ones in the binary forms of all numbers below n.
// `tree` takes the better of its two rows, `auto` the better of ring and tree. A ring
// pays the beta between neighbours; a tree or an all-to-all pays the beta between any two
// devices. Where many devices share a port, rings are better for large tensors, trees for
// small ones.
//
// Sources. Ring, pairwise exchange, recursive doubling and halving, and Rabenseifner's
// combination of the last two: Thakur, Rabenseifner, Gropp, "Optimization of Collective
// Communication Operations in MPICH", 2005. All-gather and all-to-all in L rounds for any
// n: Bruck et al., 1997; where n is no power of two, the formulas assume that reductions
// are as good. alpa: Alpa's device mesh (OSDI'22): its all-to-all, (n-1)/n^2 * n/2, has a
// penalty of n/2, and each collective has a constant that breaks ties: all-gather 0.1,
// reduce-scatter 0.001, all-reduce 0.01, all-to-all 0.001.
//
// An exchange that was measured on the machine's link (eg_link_curve) takes the seconds
// of its class of sizes: latency + bytes * seconds per byte.
//
// Slices and masks are local and cost nothing. Any move along an axis of one device costs
// nothing either.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_COLLECTIVE_H
#define EG_SIM_COLLECTIVE_H

#include "pcg/parallel/machine.h"
#include "pcg/parallel/strategy.h"

/// The algorithms by which the devices of an exchange send to each other.
/// sim/collective_rounds.h lists the rounds of each.
typedef enum eg_collective_algorithm {
  EG_ALGORITHM_NONE,         // no rounds: Alpa's formulas
  EG_ALGORITHM_RING,         // ring, and pairwise exchange
  EG_ALGORITHM_HALVING,      // tree, least data
  EG_ALGORITHM_DOUBLING,     // tree, few rounds
  EG_ALGORITHM_TREE,         // two binary trees
  EG_ALGORITHM_HIERARCHICAL, // rings of each level of the machine
  EG_ALGORITHMS
} eg_collective_algorithm;

/// Returns the seconds of a transition of `bytes` (eg_transition_bytes) in which all
/// devices of the mesh take part.
double eg_collective_seconds(const eg_machine_mesh *mesh, const eg_transition *transition,
                             double bytes);
/// Returns the algorithm of the cheapest formula for a move, also where the exchange was
/// measured; NONE: the move is free, or the formula is Alpa's.
eg_collective_algorithm eg_collective_algorithm_of(const eg_machine_mesh *mesh,
                                                   const eg_transition *transition,
                                                   double bytes);
/// Returns the seconds to exchange a halo (rows for neighbours) of operand 0; `local` is
/// its local type without halo: each neighbour that needs rows gets a message, through
/// one port.
double eg_collective_halo_seconds(const eg_machine_mesh *mesh, const eg_halo *halo,
                                  const eg_type *local);

#endif
