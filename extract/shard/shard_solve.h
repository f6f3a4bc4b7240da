// Finds the cheapest choice of strategies, with a proven bound: the entry point of the
// sharding solver.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_SOLVE_H
#define EG_EXTRACT_SHARD_SHARD_SOLVE_H

#include "extract/problem.h"
#include "extract/shard/shard_problem.h"

typedef struct eg_shard_options {
  double time_limit_seconds; // > 0
  uint64_t work_limit;       // steps (base/work.h); 0: none
  uint64_t seed;
  const char *certificate;   // path to write the certificate to, or NULL
  const uint32_t *incumbent; // [node] strategy, or NULL; ignored when it does not fit
  /// Called at most ten times a second with the best cost and bound; true stops. Or NULL.
  bool (*progress)(void *user, int64_t cost, int64_t bound, double seconds);
  void *user;
} eg_shard_options;
#define EG_SHARD_OPTIONS_DEFAULT                                                         \
  { .time_limit_seconds = 60.0 }

typedef struct eg_shard_result {
  eg_extract_status status; // OPTIMAL only with an integer-safe proof
  int64_t cost;             // certified; EG_SHARD_INFINITE: there is no choice
  int64_t bound;            // valid lower bound, only rounded down
  int64_t checked;          // the part of the bound that the certificate proves
  int64_t peak;             // most memory in use at any time
  double gap;               // (cost - bound) / cost
  double seconds;           // total time
  uint64_t work;            // steps in total
  double best_seconds;      // time when the best choice was found
  uint32_t reduced_nodes, reduced_strategies; // after the exact reductions
  eg_u32s choice;                             // [node] strategy
} eg_shard_result;

/// Solves a problem. `result` must be initialized by eg_shard_result_init; limits are
/// results, not errors. Deterministic for a seed unless the time limit strikes. Fails
/// with EGRAPH_E_ARGUMENT (malformed problem), EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_shard_solve(egraph_allocator alloc, const eg_shard_problem *problem,
                             const eg_shard_options *options, eg_shard_result *result);
void eg_shard_result_init(eg_shard_result *result, egraph_allocator alloc);
void eg_shard_result_deinit(eg_shard_result *result);

/// As eg_shard_solve without the passes in `disabled`, for tests: bit 1 << eg_shard_pass
/// (shard_model.h). `tiny`: tables of a few entries and searches of a few visits, so that
/// small problems split tables and branch. The optimum depends on neither.
egraph_status eg_shard_solve_without(egraph_allocator alloc,
                                     const eg_shard_problem *problem,
                                     const eg_shard_options *options, uint32_t disabled,
                                     bool tiny, eg_shard_result *result);

#endif
