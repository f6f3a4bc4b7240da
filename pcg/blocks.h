// Repeated blocks of a graph: the layers of a deep network (DESIGN section 8).
//
//   prefix | block | block | ... | block | suffix      count blocks of `period` nodes
//
// Two nodes are the same in neighbouring blocks when they have the same attributes and
// operand types, and their operands stand equally far back: in the block, in the one
// before, or outside and common to all; or they are weights that the block has for
// itself, with the same number everywhere in them or with none.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_BLOCKS_H
#define EG_PCG_BLOCKS_H

#include "pcg/graph.h"

typedef struct eg_blocks {
  uint32_t first;  // node where the first block begins
  uint32_t period; // nodes of a block
  uint32_t count;  // blocks; 0: nothing is repeated often enough
} eg_blocks;

/// The repetition that covers most nodes, of at least 4 blocks, cut where fewest values
/// cross. O(nodes * period) for the periods that come into question. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_blocks_find(const eg_graph *graph, eg_blocks *out);

/// The graph with three blocks: the first, one that stands for all in the middle, the
/// last.
typedef struct eg_folded {
  eg_graph *graph;
  eg_blocks blocks; // of it: these three
  uint32_t *times;  // [its nodes] blocks that a node stands for
  uint32_t middle;  // as many as the middle one stands for
  // Values that leave the first block and the same ones that leave the middle one; both
  // are made in one layout, so that the middle can follow itself.
  eg_value *left_first, *left_middle;
  uint32_t crossing;
  egraph_allocator alloc;
} eg_folded;

/// Copies; names of what is kept stay. `blocks` has a count of at least 4. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_blocks_fold(const eg_graph *graph, const eg_blocks *blocks,
                             eg_folded *out);
void eg_folded_deinit(eg_folded *folded);

#endif
