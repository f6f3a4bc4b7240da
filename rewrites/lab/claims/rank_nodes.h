// An operator on simulated ranks: each one runs its part (eg_spread_local) with the
// reference kernels, windows on rows of neighbours; and the same backwards, by the
// gradient of each part (pcg/training/gradient.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RANK_NODES_H
#define EG_REWRITES_RANK_NODES_H

#include "rewrites/lab/claims/rank_parts.h"

/// A node, and how it is spread. Everything is borrowed.
typedef struct eg_rank_node {
  const eg_mesh *mesh;
  eg_node_spec spec; // of the whole
  const eg_strategy *strategy;
} eg_rank_node;

/// `inputs` lie as the strategy says; out[results] is filled in. Fails as eg_op_run and
/// eg_spread_local do.
egraph_status eg_rank_node_run(eg_arena *arena, const eg_rank_node *node,
                               const eg_rank_value *const *inputs, eg_rank_value *out);
/// Adds to the cotangents of the floating-point inputs what follows of those of the
/// results. Fails with EGRAPH_E_UNSUPPORTED where the operator has no gradient.
egraph_status eg_rank_node_back(eg_arena *arena, const eg_rank_node *node,
                                const eg_rank_value *const *inputs,
                                const eg_rank_value *result_cotangents,
                                const eg_rank_value *const *inout_cotangents);

#endif
