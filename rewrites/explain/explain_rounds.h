// Explains the rounds of a search: the rewrites of each round turn the graph that it
// starts from into the graph that it found. The terms of all rounds are terms over the
// given graph. Weights that a round computes ahead are constants of the next round.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_EXPLAIN_ROUNDS_H
#define EG_REWRITES_EXPLAIN_ROUNDS_H

#include "rewrites/language/rules.h"
#include "rewrites/replay/explained.h"
#include "rewrites/saturation/tensor_egraph.h"

typedef struct eg_explained_rounds {
  eg_explained explained; // explanation of the graph found last
  eg_u32s values;         // [values of that graph] terms
  uint32_t noted;         // rewrites in the e-graphs of the rounds that were explained
} eg_explained_rounds;

/// Starts an explanation of rounds with the given graph. Call eg_explained_rounds_deinit
/// after a failure, too.
egraph_status eg_explained_rounds_init(eg_explained_rounds *rounds,
                                       egraph_allocator alloc, const eg_graph *given);
void eg_explained_rounds_deinit(eg_explained_rounds *rounds);

/// One round: it turns the graph of its e-graph, which the previous round found,
/// into another.
typedef struct eg_explained_round {
  eg_tensor_egraph *egraph; // an explained one (eg_tensor_egraph_create_explained)
  const eg_rules *rules;    // rules of its saturation
  const eg_graph *emitted;  // result of extraction
  const eg_graph *found;    // `emitted`, with weights computed ahead, which have names
} eg_explained_round;
/// Adds the rewrites of a round. Fails with EGRAPH_E_INTERNAL when an output is not known
/// to be equal, or EGRAPH_E_MEMORY.
egraph_status eg_explained_rounds_add(eg_explained_rounds *rounds,
                                      const eg_explained_round *round);

#endif
