// Improves the best choice. Local search by reference counts, known as exact area
// recovery in technology mapping, finds in near-linear time sharing that greedy choices
// miss. Greedy runs on perturbed costs leave its local optimum.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_LOCAL_SEARCH_H
#define EG_EXTRACT_SEARCH_LOCAL_SEARCH_H

#include "base/hash.h"
#include "extract/class_graph.h"
#include "extract/incumbent.h"
#include "extract/search/greedy.h"

/// Improves the incumbent's solution by sweeps over all classes until they gain little
/// or `steps` of work are done. A sweep takes O(edges), times the classes that a switch
/// of a node adds and removes: at first at most 64, later more. Costs must be >= 0.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_local_search_run(const eg_greedy *greedy, eg_incumbent *incumbent,
                                  uint64_t steps);

/// Runs greedy extraction `rounds` times on costs perturbed by the best solution so far;
/// each improvement goes to the incumbent. Deterministic for a seed. Does nothing above
/// 100,000 nodes. Fails with EGRAPH_E_MEMORY.
egraph_status eg_perturb_run(const eg_greedy *greedy, eg_incumbent *incumbent,
                             uint32_t rounds, uint64_t seed);

// ---- windows ------------------------------------------------------------------------
// Large neighbourhood search: solve a window of the problem exactly, the rest fixed as in
// the best solution, and slide the window. It gives the upper bounds of large, deep
// problems.

typedef struct eg_lns_options {
  uint64_t seed;
  uint32_t window_classes; // size of the first window; later sizes adapt
  uint32_t max_failures;   // windows in a row without improvement
  uint64_t steps;          // limit of work
  /// Improves the incumbent of a window; *out_nodes is the size after presolve, a measure
  /// of its difficulty.
  egraph_status (*solve)(egraph_allocator alloc, eg_incumbent *window,
                         uint32_t *out_nodes);
} eg_lns_options;

/// Improves the incumbent, which must hold a solution. Deterministic unless time ends.
egraph_status eg_lns_run(egraph_allocator alloc, eg_incumbent *incumbent,
                         const eg_class_index *index, const eg_lns_options *options);

#endif
