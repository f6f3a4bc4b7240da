// What every presolve pass takes away, and in what time.
//
// Presolve itself keeps no account; this runs the passes in its order, on a copy, one at
// a time, until none changes anything.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PASS_STATISTICS_H
#define EG_EXTRACT_PASS_STATISTICS_H

#include "extract/extract.h"

typedef struct eg_pass_statistics {
  uint32_t runs;
  double seconds;
  // Taken away, in sum over the runs; negative where merging has made more.
  int64_t nodes, classes, edges;
} eg_pass_statistics;

/// Fills out[EG_PASS_COUNT] and what is left. `best_cost` is the cost of any choice
/// (INFINITY: none known); passes that need a cutoff use it. Takes as long as presolve;
/// stops at options->time_limit_seconds. Costs must be >= 0. Fails with EGRAPH_E_ARGUMENT
/// for negative ones, EGRAPH_E_MEMORY.
egraph_status eg_pass_statistics_run(egraph_allocator alloc,
                                     const eg_extract_problem *problem,
                                     const eg_extract_options *options, double best_cost,
                                     eg_pass_statistics *out, uint32_t *out_nodes,
                                     uint32_t *out_classes);

#endif
