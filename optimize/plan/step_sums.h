// Sums over all blocks in a step of three: the gradient of a weight that all of them
// read, the norm of all gradients. What a block adds to goes from block to block like any
// other value.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_STEP_SUMS_H
#define EG_OPTIMIZE_PLAN_STEP_SUMS_H

#include "optimize/plan/step_blocks.h"

/// A sum as it enters the middle block and as it leaves it.
typedef struct eg_step_sum {
  eg_value entering, leaving;
} eg_step_sum;
EG_VEC_DEFINE(eg_step_sums, eg_step_sum);

/// Appends the sums, those of gradients first; of a kind of which not as many leave the
/// middle block as enter it, none. Fails with EGRAPH_E_MEMORY. O(operands).
egraph_status eg_step_sums_find(eg_step_sums *sums, const eg_step_blocks *blocks,
                                const eg_graph *step);

#endif
