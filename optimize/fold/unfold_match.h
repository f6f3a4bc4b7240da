// Which value of the step that was planned stands for each value of the whole step, when
// blocks were folded before planning (pcg/graph/blocks.h).
//
//   forward graph  -> folded graph     what folding knows (eg_folded.value)
//        |                |
//   whole step ------> small step      the same training step made of each
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_UNFOLD_MATCH_H
#define EG_OPTIMIZE_FOLD_UNFOLD_MATCH_H

#include "optimize/space/step_blocks.h"

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
} eg_unfold_match;

const eg_graph *eg_unfold_whole(const eg_unfold_steps *steps);
const eg_graph *eg_unfold_small(const eg_unfold_steps *steps);
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_unfold_match_init(eg_unfold_match *match, egraph_allocator alloc,
                                   const eg_unfold_steps *steps);
void eg_unfold_match_deinit(eg_unfold_match *match);

#endif
