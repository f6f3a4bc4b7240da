// Writes a choice of e-nodes by the plain extractor as a graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SINGLE_SINGLE_EMIT_H
#define EG_OPTIMIZE_SINGLE_SINGLE_EMIT_H

#include "base/strmap.h"
#include "optimize/single/single_problem.h"

/// The origin of a node of the emitted graph, found by the name of its first result.
typedef struct eg_origin {
  uint32_t reason; // rule number, EG_REASON_SEED, or EG_REORDER for a change of format
  double seconds;  // 0 for nodes on weights alone
  eg_cost_source source;
} eg_origin;
#define EG_REORDER (UINT32_MAX - 2)
EG_VEC_DEFINE(eg_origins, eg_origin);

typedef struct eg_emission {
  eg_graph *graph;
  eg_strmap origin_of; // name of a node's first result -> index into origins
  eg_origins origins;
} eg_emission;

/// Writes the chosen nodes as a graph with the original's inputs, outputs and, for values
/// that survive, names. `choice` covers the problem's roots. A value of weights alone
/// gets the derivation with the fewest bytes written. `before` (may be NULL): the origins
/// of the e-graph's own graph, if an earlier round emitted it.
egraph_status eg_emission_init(eg_emission *emission, egraph_allocator alloc,
                               const eg_single_problem *single, const uint32_t *choice,
                               const eg_emission *before);
/// Destroys the graph too, unless the caller took it and set it to NULL.
void eg_emission_deinit(eg_emission *emission);

#endif
