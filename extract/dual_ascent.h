// Dual ascent on landmark cuts: a lower bound and reduced costs without a linear program.
//
// For a set S of classes that contains a root, every solution has a chosen node of a
// class in S with no child in S (else the choice below the root would never leave S, and
// be infinite or cyclic). The nodes without a child in S are the cut of S. Each step
// charges the cheapest price in a cut to the bound and subtracts it from all nodes of the
// cut, until every root is derivable for free. Wong 1984 does this for Steiner
// arborescences, LM-cut (Helmert, Domshlak 2009) in planning.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_DUAL_ASCENT_H
#define EG_EXTRACT_DUAL_ASCENT_H

#include "extract/class_graph.h"
#include "extract/incumbent.h"

/// Limits at which a dual ascent stops early. Zeros mean no limit.
typedef struct eg_ascent_limits {
  uint32_t max_cuts;
  uint64_t max_work;              // nodes visited, some 1e8 a second
  double deadline;                // a time of eg_clock_seconds()
  struct eg_incumbent *incumbent; // the search to ask whether to stop
} eg_ascent_limits;

/// Makes the roots derivable for free, in the order of `order`. `price` holds the
/// costs on entry and the reduced costs on return; *out_bound is the sum of the
/// charges, INFINITY when a root has no derivation. Appends the cuts used to `cuts`
/// unless NULL. If a limit ends the ascent early, bound and prices are valid but
/// weaker. Fails with EGRAPH_E_MEMORY.
egraph_status eg_dual_ascent_run(const eg_extract_problem *problem,
                                 const eg_class_index *index, const eg_u32s *order,
                                 eg_ascent_limits limits, double *price,
                                 double *out_bound, eg_cuts *cuts);

// ---- in bulk: ascent by levels ----------------------------------------------------

// Charges a whole family of nested cuts at a time, for problems too large for one cut
// after the other.

/// Raises a lower bound by levels. `price` holds costs (>= 0) on entry and reduced costs
/// on return. The cost of every solution is at least *out_bound + its reduced costs;
/// *out_bound is INFINITY when a root has no derivation. Each round charges the root that
/// is hardest to derive. The ascent ends after `max_rounds`, after a round that gains
/// little, or when patience ends; bound and prices are valid in each case. O(edges +
/// nodes log nodes) a round. Fails with EGRAPH_E_MEMORY.
egraph_status eg_level_ascent_run(egraph_allocator alloc,
                                  const eg_extract_problem *problem,
                                  const eg_class_index *index, uint32_t max_rounds,
                                  eg_patience patience, double *price, double *out_bound);

#endif
