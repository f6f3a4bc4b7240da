// What planning must know of a training step (pcg/training/training.h), of a graph as it
// is or with its blocks folded (pcg/graph/blocks.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_TRAINING_INFO_H
#define EG_OPTIMIZE_SPACE_TRAINING_INFO_H

#include "optimize/space/step_info.h"
#include "pcg/graph/blocks.h"
#include "pcg/training/training.h"

/// Which of the repeated blocks of a model (pcg/graph/blocks.h) the values of its step
/// belong to: of a whole step, or of a folded one. A value is of the block of what it was
/// made for (pcg/graph/provenance.h), and a node of that of its results.
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

typedef struct eg_training_info {
  eg_step_info info; // points into the arena
  eg_arena arena;
} eg_training_info;

/// `folded` is what the step was made of; NULL: a graph that is not folded. There is no
/// memory limit. Fails with EGRAPH_E_MEMORY.
egraph_status eg_training_info_init(eg_training_info *info, egraph_allocator alloc,
                                    const eg_training *training, const eg_folded *folded);
/// The same of a forward graph alone, as it is (`folded` is NULL) or folded. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_forward_info_init(eg_training_info *info, egraph_allocator alloc,
                                   const eg_folded *folded);
void eg_training_info_deinit(eg_training_info *info);

/// Notes the equal blocks of a step that is not folded; `training` is made of `forward`,
/// NULL: the step is that. Fails with EGRAPH_E_MEMORY.
egraph_status eg_training_info_mark(eg_training_info *info, egraph_allocator alloc,
                                    const eg_graph *forward, const eg_blocks *blocks,
                                    const eg_training *training);

#endif
