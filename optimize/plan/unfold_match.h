// Which node of a planned graph stands for each node of the whole step, when blocks were
// folded before planning (pcg/blocks.h).
//
//   forward graph  -> folded graph     a node of a block that is gone: the middle one's
//        |                |
//   whole step        small step       the same training step made of each
//        |                |
//        '----> planned graph <------  what planning has made of the small step
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_UNFOLD_MATCH_H
#define EG_OPTIMIZE_PLAN_UNFOLD_MATCH_H

#include "pcg/blocks.h"
#include "pcg/training.h"

/// A step with all its blocks, and the one that was planned.
typedef struct eg_unfold_steps {
  const eg_graph *forward; // all blocks
  const eg_blocks *blocks;
  const eg_folded *folded;
  const eg_training *whole,
      *small; // of `forward` and of `folded`; NULL: these themselves
} eg_unfold_steps;

typedef struct eg_unfold_match {
  eg_u32s value; // [values of the whole step] of the planned graph, or UINT32_MAX: none
  eg_u32s node;  // [nodes of the whole step] likewise
} eg_unfold_match;

const eg_graph *eg_unfold_whole(const eg_unfold_steps *steps);
const eg_graph *eg_unfold_small(const eg_unfold_steps *steps);
/// A node that has none in the planned graph (nothing needs it, or rules have replaced
/// it) stays without. `planned` is read; only its pool of attributes may grow. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_unfold_match_init(eg_unfold_match *match, egraph_allocator alloc,
                                   const eg_unfold_steps *steps, eg_graph *planned);
void eg_unfold_match_deinit(eg_unfold_match *match);

#endif
