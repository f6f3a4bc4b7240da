// Landmarks (landmarks.h) of large problems, as sets with shared structure.
//
// Dense rows take classes^2 / 8 bytes. Here a row takes what it adds to the rows that it
// is made of, and all rows together stay below a limit.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LANDMARK_SETS_H
#define EG_EXTRACT_LANDMARK_SETS_H

#include "extract/class_index.h"
#include "extract/patience.h"
#include "extract/shared_sets.h"

typedef struct eg_landmark_sets {
  eg_sets sets;
  eg_u32s row;      // [class] set of positions
  eg_u32s order;    // [position] class, children first
  eg_u32s position; // [class]
  bool gave_up;     // on the fixpoint of some part
} eg_landmark_sets;

/// What a search for landmarks may take. A strongly connected part of the class graph
/// beyond its steps, and all rows from the one on that would exceed the nodes, get
/// fewer landmarks than there are.
typedef struct eg_landmark_limits {
  uint32_t set_nodes;      // some 25 to 35 bytes each; one per class comes on top
  uint64_t steps_per_edge; // of a strongly connected part
  eg_patience patience;
} eg_landmark_limits;

void eg_landmark_sets_init(eg_landmark_sets *landmarks, egraph_allocator alloc);
void eg_landmark_sets_deinit(eg_landmark_sets *landmarks);
/// *out_done: before patience ended; else the rows mean nothing. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_landmark_sets_find(eg_landmark_sets *landmarks,
                                    const eg_extract_problem *problem,
                                    const eg_class_index *index,
                                    eg_landmark_limits limits, bool *out_done);

#endif
