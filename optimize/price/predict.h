// Predicts the cost of a graph in its own memory formats, without rewriting it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_PREDICT_H
#define EG_OPTIMIZE_PRICE_PREDICT_H

#include "pcg/graph/graph.h"
#include "sim/cost.h"

/// Types of the operands or results of a node.
EG_VEC_DEFINE(eg_types, eg_type);

/// Returns the attributes and bytes by which an opaque (unknown) operator is priced.
eg_node_spec eg_graph_opaque_spec(const eg_graph *graph, eg_graph_node node);
/// Calls `visit` for every node that runs at run time; nodes on weights alone
/// are skipped.
egraph_status eg_graph_visit_specs(const eg_graph *graph, egraph_allocator alloc,
                                   egraph_status (*visit)(void *user, eg_graph_node node,
                                                          const eg_node_spec *spec),
                                   void *user);
/// Asks the cost model to measure every cost of the graph that it lacks.
egraph_status eg_graph_request_costs(const eg_graph *graph, egraph_allocator alloc,
                                     eg_cost_model *costs);
/// The assumed seconds of a node that no back-end can run.
#define EG_UNPRICED_SECONDS 1.0

/// Sums the costs of the graph's nodes, in seconds.
egraph_status eg_graph_predict(const eg_graph *graph, egraph_allocator alloc,
                               eg_cost_model *costs, double *out_seconds);

#endif
