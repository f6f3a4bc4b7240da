// The solver with parts of it switched off or made small; for tests.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_RUN_H
#define EG_EXTRACT_SHARD_SHARD_RUN_H

#include "extract/shard/shard_solve.h"

/// eg_shard_solve without the passes in `disabled`: bit 1 << eg_shard_pass
/// (shard_reduce.h). `tiny`: tables of a few entries and searches of a few visits, so
/// that small problems split tables and branch. The optimum depends on neither.
egraph_status eg_shard_solve_without(egraph_allocator alloc,
                                     const eg_shard_problem *problem,
                                     const eg_shard_options *options, uint32_t disabled,
                                     bool tiny, eg_shard_result *result);

#endif
