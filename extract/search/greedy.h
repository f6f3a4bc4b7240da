// Greedy extraction: fast and always acyclic. Gives the first upper bounds, and choices
// from reduced costs and relaxations.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_GREEDY_H
#define EG_EXTRACT_SEARCH_GREEDY_H

#include "extract/class_graph.h"

typedef enum eg_greedy_kind {
  EG_GREEDY_TREE, // a shared class is paid by every user (Knuth 1977)
  EG_GREEDY_DAG   // a shared class is paid once below each candidate
} eg_greedy_kind;

/// Greedy extraction fills choice[class_count] with the node on which each derivable
/// class settles, or EG_EXTRACT_NONE. `cost` (one per node) replaces the problem's costs;
/// negative costs count as zero. Classes settle in the order of their cost, so the choice
/// is acyclic. TREE: O(edges + nodes log nodes). DAG: O(nodes * classes / 64) and
/// class_count^2 / 8 bytes; if this exceeds `dag_memory_bytes`, TREE runs instead,
/// without notice. Fails with EGRAPH_E_MEMORY.
typedef struct eg_greedy {
  egraph_allocator alloc;
  const eg_extract_problem *problem;
  const eg_class_index *index;
  size_t dag_memory_bytes;
} eg_greedy;

/// True when the problem is small enough for greedy extraction by DAG cost.
bool eg_greedy_fits(const eg_greedy *greedy);
/// Returns the approximate steps of greedy extraction by tree cost and by DAG cost.
uint64_t eg_greedy_steps(const eg_greedy *greedy);

egraph_status eg_greedy_run(const eg_greedy *greedy, eg_greedy_kind kind,
                            const double *cost, uint32_t *choice);
/// As eg_greedy_run, but TREE replaces DAG when DAG does not end by `deadline`, a time
/// of eg_clock_seconds().
egraph_status eg_greedy_run_until(const eg_greedy *greedy, eg_greedy_kind kind,
                                  const double *cost, double deadline, uint32_t *choice);
/// Runs greedy extraction by tree cost until `deadline`; classes not reached by then get
/// no choice. The choice of the other classes is acyclic.
egraph_status eg_greedy_run_some(const eg_greedy *greedy, const double *cost,
                                 double deadline, uint32_t *choice);

#endif
