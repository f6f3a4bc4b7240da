// Lists the messages of an exchange among a group of n devices, round by round. Devices
// are places 0 .. n-1 of the group. A message is sent when its two devices have sent and
// received all their messages of earlier rounds; they wait for no other device.
//
//                      ring                 halving                  doubling
//   all-gather         n-1 to the next      L, blocks double         as halving
//   reduce-scatter     n-1 to the next      L, blocks halve          as halving
//   all-reduce         one after the other  one after the other      L, everything
//   all-to-all         n-1, each to one     L, ones of the distance  as halving
//
//   tree          all-reduce: two binary trees, each for half of the data in PIECES
//                 pieces, up and down again; else as halving
//   hierarchical  a ring per level: all-gathers from the outermost level in,
//                 reduce-scatters from the innermost out, all-reduces out and in again,
//                 all-to-alls each level on its own
//
// L is log2 n, rounded up. Where n is no power of two, halving goes round the circle by
// distances 1, 2, 4, ... (Bruck et al., 1997). An all-reduce by doubling then has two
// more rounds: surplus devices first send their data to a partner, and get the result
// back at the end.
//
// Sources: as sim/collective.h. Two trees: Sanders, Speck, Träff, "Two-tree algorithms
// for full bandwidth broadcast, reduction and scan", 2009; the trees are NCCL's.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_COLLECTIVE_ROUNDS_H
#define EG_SIM_COLLECTIVE_ROUNDS_H

#include "base/vec.h"
#include "sim/collective.h"

enum { EG_ROUNDS_PIECES = 8, EG_ROUNDS_MOST_MESSAGES = 1 << 22 };

/// A message between two devices of a group; `share` of the
/// exchange's eg_transition_bytes.
typedef struct eg_message {
  uint32_t from, to;
  double share;
} eg_message;
EG_VEC_DEFINE(eg_messages, eg_message);

/// A round: a list of messages at the same time; `repeat` such rounds follow each other.
typedef struct eg_round {
  uint32_t first, count, repeat;
} eg_round;
EG_VEC_DEFINE(eg_round_list, eg_round);

typedef struct eg_rounds {
  eg_messages messages;
  eg_round_list rounds;
} eg_rounds;

void eg_rounds_init(eg_rounds *rounds, egraph_allocator alloc);
void eg_rounds_deinit(eg_rounds *rounds);
/// Appends the rounds of messages of an exchange that is not local, by an algorithm other
/// than EG_ALGORITHM_NONE. `levels`: sizes of a hierarchy, the innermost first, whose
/// product is n; only EG_ALGORITHM_HIERARCHICAL reads them. `out` is initialized and
/// empty. Fails with EGRAPH_E_ARGUMENT on more than EG_ROUNDS_MOST_MESSAGES messages.
egraph_status eg_rounds_make(eg_collective_algorithm algorithm, eg_transition_kind kind,
                             uint32_t n, const uint32_t *levels, uint32_t level_count,
                             eg_rounds *out);
/// Appends the rounds of a broadcast: device 0 of n sends all data to all others, in log2
/// n rounds (rounded up) along a binomial tree.
egraph_status eg_rounds_make_broadcast(uint32_t n, eg_rounds *out);
/// Appends the two rounds of a halo exchange: each of n devices sends to the next one,
/// then to the previous one; the first and the last device are no neighbours.
egraph_status eg_rounds_make_neighbours(uint32_t n, eg_rounds *out);

#endif
