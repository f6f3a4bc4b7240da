// Greedy extraction: fast and always acyclic. It gives the first upper bounds, and the
// choices that reduced costs and relaxations suggest.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_GREEDY_H
#define EG_EXTRACT_SEARCH_GREEDY_H

#include "extract/class_graph.h"

typedef enum eg_greedy_kind {
  EG_GREEDY_TREE, // a shared class is paid by every user (Knuth 1977)
  EG_GREEDY_DAG   // a shared class is paid once below each candidate
} eg_greedy_kind;

/// Fills choice[class_count] with the node each derivable class settles on, or
/// EG_EXTRACT_NONE. `cost` replaces the problem's costs (one per node); negative ones
/// count as zero. Classes settle in the order of their cost, so the choice is acyclic.
/// TREE: O(edges + nodes log nodes). DAG: O(nodes * classes / 64) and class_count^2 / 8
/// bytes; past `dag_memory_bytes` it silently does TREE. Fails with EGRAPH_E_MEMORY.
typedef struct eg_greedy {
  egraph_allocator alloc;
  const eg_extract_problem *problem;
  const eg_class_index *index;
  size_t dag_memory_bytes;
} eg_greedy;

/// Whether the problem is small enough for DAG.
bool eg_greedy_fits(const eg_greedy *greedy);
/// Steps of both kinds together, about.
uint64_t eg_greedy_steps(const eg_greedy *greedy);

egraph_status eg_greedy_run(const eg_greedy *greedy, eg_greedy_kind kind,
                            const double *cost, uint32_t *choice);
/// The same, but DAG turns into TREE when it is not done by `deadline`, a time of
/// eg_clock_seconds().
egraph_status eg_greedy_run_until(const eg_greedy *greedy, eg_greedy_kind kind,
                                  const double *cost, double deadline, uint32_t *choice);
/// TREE, but classes not reached by `deadline` stay without a choice. Those that have one
/// are acyclic among themselves.
egraph_status eg_greedy_run_some(const eg_greedy *greedy, const double *cost,
                                 double deadline, uint32_t *choice);

#endif
