// What planning must know of a training step (pcg/training/training.h), of a graph as it
// is or with its blocks folded (pcg/graph/blocks.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_TRAINING_INFO_H
#define EG_OPTIMIZE_SPACE_TRAINING_INFO_H

#include "optimize/space/step_info.h"
#include "pcg/graph/blocks.h"
#include "pcg/training/training.h"

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
