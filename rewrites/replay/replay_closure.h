// Finds the equalities of terms that follow from equations, because equal operands make
// equal terms.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_REPLAY_CLOSURE_H
#define EG_REWRITES_REPLAY_CLOSURE_H

#include "egraph/ground.h"

typedef struct eg_replay_closure {
  const eg_ground_terms *terms; // borrowed; no more are added
  eg_u32s up;                   // [terms] towards the representative, which is its own
  eg_u32s uses, next;  // [terms] first use of a representative; [operands] the next use
  eg_u32s last, sizes; // [terms] last use of a representative; number of its uses
  eg_u32s user;        // [operands] the term that has this operand
  eg_flatmap table;    // terms by operator, payload and representatives of the operands
  eg_u32s pending;     // pairs to be united
} eg_replay_closure;

void eg_replay_closure_init(eg_replay_closure *closure, egraph_allocator alloc);
void eg_replay_closure_deinit(eg_replay_closure *closure);
/// Enters all terms into the congruence closure. Fails with EGRAPH_E_MEMORY.
egraph_status eg_replay_closure_start(eg_replay_closure *closure,
                                      const eg_ground_terms *terms);
/// States that two terms are equal. O(log terms) amortized per operand. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_replay_closure_unite(eg_replay_closure *closure, uint32_t a, uint32_t b);
bool eg_replay_closure_are_equal(const eg_replay_closure *closure, uint32_t a,
                                 uint32_t b);

#endif
