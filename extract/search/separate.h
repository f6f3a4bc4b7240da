// Finds rows that all solutions satisfy and the current fractional x does not.
//
// S-cut (loop formula, directed cut): for a class set S and a class c in S,
//   sum { x_n : class(n) in S, no child of n in S }  >=  y_c,   y_c = sum of c's nodes
// Exact for acyclicity, and the strongest tightening known here.
// Landmark row: y_c <= y_d for every landmark d of c.
// Usage row: y_c <= sum of the users of c, unless c is a root: not every solution
// satisfies it, but solutions without superfluous classes do, and one of them is optimal.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_SEPARATE_H
#define EG_EXTRACT_SEARCH_SEPARATE_H

#include "base/hash.h"
#include "base/owner.h"
#include "extract/containers.h"
#include "extract/ilp_glpk.h"
#include "extract/presolve/presolve.h"

// ---- maximum flow -----------------------------------------------------------------

/// Arc a ^ 1 is the reverse of arc a.
typedef struct eg_flow_arc {
  uint32_t next, head; // next: 1 + next arc of the same vertex, 0: none
  double capacity;     // remaining
} eg_flow_arc;
EG_VEC_DEFINE(eg_flow_arcs, eg_flow_arc);

/// Maximum flow and minimum cut in a small directed graph with real capacities.
typedef struct eg_flow {
  eg_u32s first; // [vertex] 1 + first arc, 0: none
  eg_flow_arcs arcs;
  eg_u32s queue, via; // search; via: [vertex] 1 + arc that reached it
} eg_flow;
EG_OWNER_DEFINE_STATIC(eg_flow, (eg_u32s, first, queue, via), (eg_flow_arcs, arcs))

/// Empties the graph and sets its number of vertices.
egraph_status eg_flow_start(eg_flow *flow, uint32_t vertices);
egraph_status eg_flow_add(eg_flow *flow, uint32_t from, uint32_t to, double capacity);
/// Flags, for every vertex but the source, the sink side of a minimum cut: the largest
/// (all vertices that the source does not reach) or the smallest (all that reach the
/// sink). Shortest augmenting paths, O(vertices * arcs^2) at worst.
void eg_flow_min_cut(eg_flow *flow, uint32_t source, uint32_t sink, bool largest,
                     uint8_t *sink_side);

// ---- separation -------------------------------------------------------------------

typedef struct eg_separate_options {
  const eg_presolve *presolve; // model, index and landmarks
  const double *x;             // [node]
  double violation;            // least violation of a row
  uint32_t max_rows;
  eg_rng *rng;
} eg_separate_options;

/// Appends violated rows to `rows`: at least one when x is integral and cyclic. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_separate_run(egraph_allocator alloc, const eg_separate_options *options,
                              eg_lp_rows *rows);

#endif
