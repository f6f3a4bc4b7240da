// Large neighbourhood search: solve a window of the problem exactly, the rest held as in
// the best solution, and slide the window. The upper bounds of large, deep problems.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_LNS_H
#define EG_EXTRACT_SEARCH_LNS_H

#include "extract/class_graph.h"
#include "extract/incumbent.h"

typedef struct eg_lns_options {
  uint64_t seed;
  uint32_t window_classes; // first window; it adapts
  uint32_t max_failures;   // windows in a row without improvement
  uint64_t steps;          // of work, at most
  /// Improves the incumbent of a window; *out_nodes tells how hard it was (nodes after
  /// presolve).
  egraph_status (*solve)(egraph_allocator alloc, eg_incumbent *window,
                         uint32_t *out_nodes);
} eg_lns_options;

/// Improves the incumbent, which must hold a solution. Deterministic unless time runs
/// out.
egraph_status eg_lns_run(egraph_allocator alloc, eg_incumbent *incumbent,
                         const eg_class_index *index, const eg_lns_options *options);

#endif
