// Copies of a graph that leave something out: pruned and folded ones; and which values
// depend on weights only.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_GRAPH_COPY_H
#define EG_PCG_GRAPH_COPY_H

#include "pcg/graph/graph.h"

/// A copy without nodes and weights that no output needs (inputs stay). Names are kept.
egraph_status eg_graph_pruned(const eg_graph *graph, eg_graph **out);
/// Values that folding leaves alone; NULL and SIZE_MAX: none.
typedef struct eg_fold_options {
  size_t max_bytes; // larger results stay
  const bool *kept; // [value_count] weights that stay, and all that needs them
  // Counts results that were computed, not moved, and hold NaN or infinity, or are
  // products of which none is large enough for the type; NULL: not wanted.
  uint32_t *out_lost;
} eg_fold_options;
/// A copy in which computed values that need only weights with data (and fills) become
/// weights, by the reference kernels. Names are kept.
egraph_status eg_graph_folded(const eg_graph *graph, const eg_fold_options *options,
                              eg_graph **out);
/// True for values computed from weights and fills only (weights included): [value_count]
/// flags.
egraph_status eg_graph_weight_only(const eg_graph *graph, bool *out_flags);
/// How many nodes a run executes: all that need more than weights and fills. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_graph_running_nodes(const eg_graph *graph, uint32_t *out);
/// Of computed values, sets the flags of those that are made of flagged values, and of
/// fills, and of no other.
void eg_graph_flag_computed(const eg_graph *graph, bool *inout_flags);

#endif
