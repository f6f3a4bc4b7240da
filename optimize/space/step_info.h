// The properties of a step that planning needs beyond its graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_STEP_INFO_H
#define EG_OPTIMIZE_SPACE_STEP_INFO_H

#include "pcg/graph/blocks.h"
#include "pcg/graph/node_cons.h"
#include "pcg/plan/plan.h"
#include "pcg/training/training.h"

/// A value that leaves the step and enters the next one: parameters, optimizer
/// states. A sum over micro-batches leaves one micro-batch and enters the next; it is
/// zero at first.
typedef struct eg_carried_value {
  eg_value entry;  // input or weight
  uint32_t output; // index of the graph output
  bool is_sum;
} eg_carried_value;

/// Equal blocks of a step. If the step is folded, one block represents several blocks.
typedef struct eg_step_fold {
  const uint32_t *block; // [graph values] number of its block, or EG_BLOCK_OUTSIDE
  const uint32_t *later; // [graph values] one block later; UINT32_MAX: none
  uint32_t count;        // blocks of the step
  uint32_t middle; // block that represents others; in a step that is not folded: count
  uint32_t times;  // blocks that it represents; 0: the step is not folded
} eg_step_fold;

/// Returns how many equal blocks `block` represents: 1, except for the middle block.
static inline uint32_t eg_step_fold_times(const eg_step_fold *fold, uint32_t block) {
  return fold->block != NULL && block == fold->middle ? fold->times : 1;
}

typedef struct eg_step_info {
  uint32_t micro_batches; // >= 1
  bool may_make_twice; // a value in two layouts; then loops are useful (plan_operators.c)
  const eg_phase *phases; // [graph nodes], or NULL: all forward
  eg_step_fold fold;      // block NULL: none, or unknown
  const eg_carried_value *carried;
  uint32_t carried_count;
  const eg_value *gradients; // of trained weights, for one micro-batch
  uint32_t gradient_count;
  // [graph values] Source in the forward graph; NULL: the graph is the forward graph.
  const eg_stamp *stamps;
  // Values of a folded step (one block for many). `sealed`: rules do not match through
  // these values, which go from block to block, or differ between blocks. `fixed`: rules
  // leave these values unchanged.
  const uint32_t *sealed;
  uint32_t sealed_count;
  const uint32_t *fixed;
  uint32_t fixed_count;
  // Values that go from block to block (eg_training_info_seams). They are not inside of
  // groups (groups.h): all foldings of a step, and the whole step, have the same groups.
  const uint32_t *seams;
  uint32_t seam_count;
  // [graph values] number of the repeated block, or EG_BLOCK_OUTSIDE; NULL: there are no
  // blocks. `fold` numbers groups of them, and leaves out those that make no group
  const uint32_t *single_block;
  // A value of FORWARD that BACKWARD reads may be made again there (plan_model.h); a
  // value that goes from block to block is not
  bool makes_again;
  bool is_small;       // the whole step has few nodes
  double memory_limit; // bytes of a device; INFINITY: none
} eg_step_info;

// The step info of a training step (pcg/training/training.h), whole or with its blocks
// folded (pcg/graph/blocks.h).

/// The repeated blocks of a model (pcg/graph/blocks.h) to which the values of its step
/// belong, whole or folded. A value belongs to the block of the forward value for which
/// it was made (pcg/graph/node_cons.h), and a node to the block of its results. A value
/// that blocks share, and into which nothing of a block goes, belongs to no block.
typedef struct eg_step_blocks {
  eg_u32s value; // [values of the step] number of the block, or OUTSIDE
  eg_u32s later; // [values of the step] the same value one block later, UINT32_MAX: none
} eg_step_blocks;

/// Fills the block of each value of a step. `training` is made from `forward`; NULL: the
/// step is `forward` itself. Fails with EGRAPH_E_MEMORY. O(values * values made for one).
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

/// Fills the info of a training step, without a memory limit. `folded`: the graph from
/// which the step was made; NULL: it is not folded. Fails with EGRAPH_E_MEMORY.
egraph_status eg_training_info_init(eg_training_info *info, egraph_allocator alloc,
                                    const eg_training *training, const eg_folded *folded);
/// Fills the info of a forward graph alone, folded or whole (`folded` is NULL). Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_forward_info_init(eg_training_info *info, egraph_allocator alloc,
                                   const eg_folded *folded);
void eg_training_info_deinit(eg_training_info *info);

/// Notes the equal blocks of a step that is not folded; `training` is made from
/// `forward`; NULL: the step is `forward`. Fails with EGRAPH_E_MEMORY.
egraph_status eg_training_info_mark(eg_training_info *info, egraph_allocator alloc,
                                    const eg_graph *forward, const eg_blocks *blocks,
                                    const eg_training *training);
/// Notes the values that would be sealed or fixed in a step folded by single blocks, and
/// the single block of each value.
/// `forward` has these blocks, also where groups of them are folded. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_training_info_seams(eg_training_info *info, egraph_allocator alloc,
                                     const eg_graph *forward, const eg_blocks *of_forward,
                                     const eg_training *training);

#endif
