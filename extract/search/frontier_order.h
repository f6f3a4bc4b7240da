// The order of a walk over states (frontier.h): parents before children but for cycles,
// with few classes open at a time, which are those that one before needs and that are yet
// to be looked at.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_FRONTIER_ORDER_H
#define EG_EXTRACT_SEARCH_FRONTIER_ORDER_H

#include "extract/class_graph.h"

/// The order in which classes are looked at, and the bits that they have in a state.
typedef struct eg_frontier {
  const eg_extract_problem *problem; // borrowed, as the index
  const eg_class_index *index;
  eg_u32s order; // classes, parents first but for cycles
  eg_u32s place; // [class] in order
  eg_u32s slot;  // [class] its bit, or EG_EXTRACT_NONE: nothing before it needs it
  uint32_t width, mean_width; // classes that are open at a time: bits; on average
} eg_frontier;

void eg_frontier_init(eg_frontier *frontier, egraph_allocator alloc);
void eg_frontier_deinit(eg_frontier *frontier);
/// Takes the order with the least open classes of a few. O(nodes + edges). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_frontier_find(eg_frontier *frontier, const eg_extract_problem *problem,
                               const eg_class_index *index);

#endif
