// Which node of the step that was planned stands for each node of the whole step, when
// blocks were folded before planning (pcg/blocks.h).
//
//   forward graph  -> folded graph     a node of a block that is gone: the middle one's
//        |                |
//   whole step ------> small step      the same training step made of each
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_UNFOLD_MATCH_H
#define EG_OPTIMIZE_PLAN_UNFOLD_MATCH_H

#include "extract/bits.h"
#include "optimize/plan/step_blocks.h"

/// A step with all its blocks, and the one that was planned.
typedef struct eg_unfold_steps {
  const eg_graph *forward; // all blocks
  const eg_blocks *blocks;
  eg_fold_ends ends;
  const eg_folded *folded;
  const eg_training *whole,
      *small; // of `forward` and of `folded`; NULL: these themselves
} eg_unfold_steps;

typedef struct eg_unfold_match {
  eg_step_blocks blocks; // of the whole step
  eg_u32s value; // [values of the whole step] of the small step, or UINT32_MAX: none
  eg_u32s node;  // [nodes of the whole step] likewise
  eg_bytes is_similar; // [nodes of the whole step] of one kind with the node that stands
                       // for it, but on other operands: sums over more blocks
} eg_unfold_match;

const eg_graph *eg_unfold_whole(const eg_unfold_steps *steps);
const eg_graph *eg_unfold_small(const eg_unfold_steps *steps);
/// Reads the small step; only its pool of attributes may grow. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_unfold_match_init(eg_unfold_match *match, egraph_allocator alloc,
                                   const eg_unfold_steps *steps);
void eg_unfold_match_deinit(eg_unfold_match *match);

/// Whether two nodes of two graphs have the same attributes and types of operands.
bool eg_unfold_same_kind(const eg_graph *graph, const eg_graph_node_info *node,
                         const eg_graph *other, const eg_graph_node_info *like);
/// The node of `other` of the same kind that shares most operands, the first of these;
/// UINT32_MAX: none. `map` has, of each value of `graph`, the value of `other`.
uint32_t eg_unfold_similar(const eg_graph *graph, const eg_graph_node_info *node,
                           const eg_graph *other, const eg_u32s *map);

#endif
