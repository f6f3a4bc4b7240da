// Dual ascent on landmark cuts: a lower bound and reduced costs without a linear program.
//
// For a set S of classes that contains a root, every solution has a chosen node of a
// class in S with no child in S (else the choice below the root would never leave S, and
// be infinite or cyclic). So its cheapest price may be charged once and taken off all
// nodes of that cut; repeated until every root is derivable for free. Wong 1984 does
// this for Steiner arborescences, LM-cut (Helmert, Domshlak 2009) in planning.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_DUAL_ASCENT_H
#define EG_EXTRACT_DUAL_ASCENT_H

#include "extract/class_index.h"

/// Rows of nodes: in row r at least one node is chosen.
typedef struct eg_cuts {
  eg_u32s begin, nodes;
} eg_cuts;

egraph_status eg_cuts_init(eg_cuts *cuts, egraph_allocator alloc);
void eg_cuts_deinit(eg_cuts *cuts);
static inline uint32_t eg_cuts_count(const eg_cuts *cuts) {
  return (uint32_t)cuts->begin.len - 1;
}

/// When to stop early. Zeros mean no limit.
typedef struct eg_ascent_limits {
  uint32_t max_cuts;
  uint64_t max_work;              // looks at nodes, some 1e8 a second
  double deadline;                // of eg_clock_seconds()
  struct eg_incumbent *incumbent; // asked whether to stop
} eg_ascent_limits;

/// Serves the roots in the order given. `price` holds the costs on entry and reduced
/// costs on return; *out_bound is the sum of the charges, INFINITY when a root has no
/// derivation. Appends the cuts used to `cuts` unless NULL. Bound and prices are valid,
/// only weaker, when a limit strikes. Fails with EGRAPH_E_MEMORY.
egraph_status eg_dual_ascent_run(const eg_extract_problem *problem,
                                 const eg_class_index *index, const eg_u32s *order,
                                 eg_ascent_limits limits, double *price,
                                 double *out_bound, eg_cuts *cuts);

#endif
