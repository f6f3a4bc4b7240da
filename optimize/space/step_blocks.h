// Which of the repeated blocks of a model (pcg/graph/blocks.h) the values of its step
// belong to: of a whole step, or of a folded one. A value is of the block of what it was
// made for (pcg/graph/provenance.h), and a node of that of its results.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_STEP_BLOCKS_H
#define EG_OPTIMIZE_SPACE_STEP_BLOCKS_H

#include "optimize/space/step_info.h"
#include "pcg/training/training.h"

typedef struct eg_step_blocks {
  eg_u32s value; // [values of the step] number of the block, or OUTSIDE
  eg_u32s later; // [values of the step] the same value one block later, UINT32_MAX: none
} eg_step_blocks;

/// `training` is made of `forward`; NULL: the step is `forward` itself. Fails with
/// EGRAPH_E_MEMORY. O(values * values made for one).
egraph_status eg_step_blocks_init(eg_step_blocks *blocks, egraph_allocator alloc,
                                  const eg_graph *forward, const eg_blocks *of_forward,
                                  const eg_training *training);
void eg_step_blocks_deinit(eg_step_blocks *blocks);
static inline uint32_t eg_step_blocks_of(const eg_step_blocks *blocks,
                                         const eg_graph *step, uint32_t node) {
  return blocks->value.data[eg_graph_node_at(step, (eg_graph_node){node}).results[0].id];
}

/// What rules must keep to in a folded step, so that what they find in the block in the
/// middle holds in all that it stands for. Appends what they must not look through: what
/// goes from block to block, and what the outside hands to ends only; and what they must
/// leave as it is: what the optimizer makes for several (a norm of all gradients).
egraph_status eg_step_blocks_limits(const eg_step_blocks *blocks,
                                    const eg_training *training, const eg_graph *step,
                                    uint32_t count, eg_u32s *sealed, eg_u32s *fixed);

#endif
