// Maximum flow and minimum cut in a small directed graph with real capacities.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_FLOW_H
#define EG_EXTRACT_FLOW_H

#include "extract/bits.h"

typedef struct eg_flow {
  uint32_t vertices;
  eg_u32s first;       // [vertex] 1 + first arc, 0: none
  eg_u32s next, head;  // [arc]; arc ^ 1 is its reverse
  eg_doubles capacity; // [arc] what is left
  eg_u32s queue, via;  // search; via: [vertex] 1 + arc that reached it
} eg_flow;

void eg_flow_init(eg_flow *flow, egraph_allocator alloc);
void eg_flow_deinit(eg_flow *flow);
/// Empties the graph and sets its number of vertices.
egraph_status eg_flow_start(eg_flow *flow, uint32_t vertices);
egraph_status eg_flow_add(eg_flow *flow, uint32_t from, uint32_t to, double capacity);
/// Flags, for every vertex but the source, the sink side of a minimum cut: the largest
/// one (all that the source does not reach) or the smallest (all that reach the sink).
/// Shortest augmenting paths, O(vertices * arcs^2) at worst.
egraph_status eg_flow_min_cut(eg_flow *flow, uint32_t source, uint32_t sink, bool largest,
                              uint8_t *sink_side);

#endif
