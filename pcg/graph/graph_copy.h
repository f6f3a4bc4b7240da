// Copies of a graph without unneeded nodes (pruned), or with constants computed (folded);
// and the values that depend only on weights.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_GRAPH_COPY_H
#define EG_PCG_GRAPH_COPY_H

#include "pcg/graph/graph.h"

/// Copies a graph without the nodes and weights that no output needs (inputs stay). Names
/// are kept.
egraph_status eg_graph_pruned(const eg_graph *graph, eg_graph **out);
/// Options of computing constants ahead; `kept` NULL, `max_bytes` SIZE_MAX: no limits.
typedef struct eg_fold_options {
  size_t max_bytes; // larger results stay
  const bool *kept; // [value_count] weights that stay, and all values computed from them
  // Receives the number of computed (not moved) results that contain NaN or infinity, or
  // whose products are all too small for the type. May be NULL.
  uint32_t *out_lost;
} eg_fold_options;
/// Copies a graph and computes, by the reference kernels, values that need only weights
/// with data (and fills); they become weights. Names are kept.
egraph_status eg_graph_folded(const eg_graph *graph, const eg_fold_options *options,
                              eg_graph **out);
/// Sets the flags [value_count] of weights and of values computed from weights and
/// fills only.
egraph_status eg_graph_weight_only(const eg_graph *graph, bool *out_flags);
/// Counts the nodes that a run of the graph executes: all that depend on more than
/// weights and fills. Fails with EGRAPH_E_MEMORY.
egraph_status eg_graph_running_nodes(const eg_graph *graph, uint32_t *out);
/// Flags the values that outputs need. A value with an entry in `data` needs no operands.
/// `data`: [values] or NULL.
void eg_graph_flag_needed(const eg_graph *graph, eg_buffer *const *data,
                          bool *inout_flags);
/// Sets the flag of every computed value: true when it is computed from flagged values
/// and fills alone.
void eg_graph_flag_computed(const eg_graph *graph, bool *inout_flags);

#endif
