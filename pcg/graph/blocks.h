// Repeated blocks of a graph: the layers of a deep network (DESIGN section 8).
//
//   prefix | block | block | ... | block | suffix      count blocks of `period` nodes
//
// Two nodes are the same in neighbouring blocks when they have the same attributes and
// operand types, and their operands are equally far back: in the block, in the block
// before, or outside and common to all; or the operands are weights that only this block
// uses: two weights that are filled with the same number, or that are both not uniform.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_BLOCKS_H
#define EG_PCG_BLOCKS_H

#include "base/vec.h"
#include "pcg/graph/graph.h"

#define EG_BLOCK_OUTSIDE UINT32_MAX

typedef struct eg_blocks {
  uint32_t first;  // node where the first block begins
  uint32_t period; // nodes of a block
  uint32_t count;  // blocks; 0: nothing is repeated often enough
} eg_blocks;

/// Finds the run of at least 4 equal blocks that covers most nodes, cut where the fewest
/// values cross. O(nodes * period) for the possible periods. Fails with EGRAPH_E_MEMORY.
egraph_status eg_blocks_find(const eg_graph *graph, eg_blocks *out);

/// The numbers of blocks at the two ends that stay when the other blocks are folded
/// into one.
typedef struct eg_fold_ends {
  uint32_t lead, trail; // >= 1
} eg_fold_ends;

/// True when at least two blocks are neither among the `lead` first nor the `trail` last:
/// these can be folded, that is, be represented by one of them.
static inline bool eg_blocks_can_fold(const eg_blocks *blocks, eg_fold_ends ends) {
  return blocks->count >= ends.lead + ends.trail + 2;
}
/// Returns the block that represents block `number` after folding: itself if it is among
/// the first or last, otherwise block number ends.lead.
static inline uint32_t eg_blocks_standing(const eg_blocks *blocks, eg_fold_ends ends,
                                          uint32_t number) {
  bool is_end = number < ends.lead || number >= blocks->count - ends.trail;
  return is_end ? number : ends.lead;
}
/// Returns the block to which a node belongs, or EG_BLOCK_OUTSIDE.
static inline uint32_t eg_blocks_of(const eg_blocks *blocks, uint32_t node) {
  bool is_inside =
      node >= blocks->first && node - blocks->first < blocks->period * blocks->count;
  return is_inside ? (node - blocks->first) / blocks->period : EG_BLOCK_OUTSIDE;
}
/// Returns the same run of equal blocks, cut into groups of `size` neighbouring blocks,
/// so that the blocks of a group may be planned differently.
static inline eg_blocks eg_blocks_group(const eg_blocks *blocks, uint32_t size) {
  return (eg_blocks){blocks->first, blocks->period * size, blocks->count / size};
}

/// Lists the block of every value, or EG_BLOCK_OUTSIDE; and the same value one block
/// later, UINT32_MAX: there is none. A computed value belongs to its node's block, an
/// input or weight to the only block that reads it. Both lists are initialized and empty.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_blocks_places(const eg_graph *graph, const eg_blocks *blocks,
                               eg_u32s *out_block, eg_u32s *out_later);

/// A graph in which one block represents all equal blocks except some at the ends.
typedef struct eg_folded {
  eg_graph *graph;
  eg_blocks blocks; // blocks of the folded graph
  uint32_t middle;  // number of the block that represents others
  uint32_t times;   // blocks that it represents
  eg_u32s value; // [values of the whole graph] value of the folded graph, or UINT32_MAX
  egraph_allocator alloc;
} eg_folded;

/// Folds a copy of the graph; values that stay keep their names. Requires
/// eg_blocks_can_fold. Fails with EGRAPH_E_MEMORY.
egraph_status eg_blocks_fold(const eg_graph *graph, const eg_blocks *blocks,
                             eg_fold_ends ends, eg_folded *out);
void eg_folded_deinit(eg_folded *folded);

#endif
