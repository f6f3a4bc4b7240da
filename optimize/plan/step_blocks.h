// Which of the repeated blocks of a model (pcg/blocks.h) the nodes and values of its step
// belong to: of a whole step, or of one with three blocks.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_STEP_BLOCKS_H
#define EG_OPTIMIZE_PLAN_STEP_BLOCKS_H

#include "extract/bits.h"
#include "optimize/plan/step_info.h"
#include "pcg/blocks.h"
#include "pcg/training.h"

#define EG_BLOCK_OUTSIDE UINT32_MAX
#define EG_BLOCK_SEVERAL (UINT32_MAX - 1) // made of values of several blocks

typedef struct eg_step_blocks {
  eg_u32s node;       // [nodes of the step] number of the block, OUTSIDE, or SEVERAL
  eg_u32s value;      // [values of the step] likewise
  eg_bytes is_common; // [values of the step] made in UPDATE for weights of several blocks
} eg_step_blocks;

/// `training` is made of `forward`; NULL: the step is `forward` itself. Fails with
/// EGRAPH_E_MEMORY. O(values + operands).
egraph_status eg_step_blocks_init(eg_step_blocks *blocks, egraph_allocator alloc,
                                  const eg_graph *forward, const eg_blocks *of_forward,
                                  const eg_training *training);
void eg_step_blocks_deinit(eg_step_blocks *blocks);

/// What rules must keep to in a step of three blocks, so that what they find in the
/// middle one holds in all that it stands for. Appends what they must not look through:
/// what goes from block to block, and what the outside hands to one end only; and what
/// they must leave as it is: what the optimizer makes for several (a norm of all
/// gradients).
egraph_status eg_step_blocks_limits(const eg_step_blocks *blocks, const eg_graph *step,
                                    eg_u32s *sealed, eg_u32s *fixed);

#endif
