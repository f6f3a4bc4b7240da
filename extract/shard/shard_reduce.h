// Exact reductions: after any of them the model keeps an optimal solution, or has none
// below the cutoff.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_REDUCE_H
#define EG_EXTRACT_SHARD_SHARD_REDUCE_H

#include "extract/shard/shard_model.h"

// id, name, meaning. Any subset gives the same optimum.
#define EG_SHARD_PASS_LIST(X)                                                            \
  X(EG_SHARD_PASS_SHIFT, shift, "move minima from tables to nodes to the base")          \
  X(EG_SHARD_PASS_CONSISTENCY, consistency, "drop values without a partner")             \
  X(EG_SHARD_PASS_MERGE, merge, "merge a node that is a function of another")            \
  X(EG_SHARD_PASS_ROWS, rows, "shift usages, drop values and rows by memory")            \
  X(EG_SHARD_PASS_DOMINATED, dominated, "drop values that another one beats")            \
  X(EG_SHARD_PASS_DEGREE, degree, "eliminate nodes with few neighbours and no memory")   \
  X(EG_SHARD_PASS_FILTER, filter, "drop values and pairs by their reduced costs")
#define EG_SHARD_PASS_ENUM(id, run, text) id,
typedef enum eg_shard_pass {
  EG_SHARD_PASS_LIST(EG_SHARD_PASS_ENUM) EG_SHARD_PASS_COUNT
} eg_shard_pass;
#undef EG_SHARD_PASS_ENUM

/// Runs the passes but the last (which needs a dual solution: shard_dual.h) to a
/// fixpoint (or nearly, where the model is large), without those in `disabled` (bit 1 <<
/// pass). The cutoff is that of the model. Fails with EGRAPH_E_MEMORY.
egraph_status eg_shard_reduce(eg_shard_model *model, uint32_t disabled);

#endif
