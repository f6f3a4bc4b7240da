// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/unfold_match.h"

const eg_graph *eg_unfold_whole(const eg_unfold_steps *steps) {
  return steps->whole != NULL ? steps->whole->graph : steps->forward;
}

const eg_graph *eg_unfold_small(const eg_unfold_steps *steps) {
  return steps->small != NULL ? steps->small->graph : steps->folded->graph;
}

egraph_status eg_unfold_match_init(eg_unfold_match *match, egraph_allocator alloc,
                                   const eg_unfold_steps *steps) {
  const eg_u32s *folded = &steps->folded->value;
  EG_TRY(eg_step_blocks_init(&match->blocks, alloc, steps->forward, steps->blocks,
                             steps->whole));
  eg_u32s_init(&match->value, alloc);
  egraph_status status = steps->whole == NULL
                             ? eg_u32s_append(&match->value, folded->data, folded->len)
                             : eg_stamps_map(&steps->whole->stamps, &steps->small->stamps,
                                             folded, &match->value);
  if (status != EGRAPH_OK) eg_unfold_match_deinit(match);
  return status;
}

void eg_unfold_match_deinit(eg_unfold_match *match) {
  eg_step_blocks_deinit(&match->blocks);
  eg_u32s_deinit(&match->value);
}
