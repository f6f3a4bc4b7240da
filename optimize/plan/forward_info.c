// A forward graph alone: one phase, nothing carried. What enters a middle block stands
// for what enters all of these, what leaves it is what enters the last one.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "optimize/plan/training_info.h"

static egraph_status fill(eg_training_info *info, const eg_folded *folded) {
  uint32_t *times, middle = 1, nodes = eg_graph_node_count(folded->graph);
  eg_tied_values *tied;
  EG_TRY(eg_arena_alloc(&info->arena, nodes, sizeof *times, &times));
  EG_TRY(eg_arena_alloc(&info->arena, folded->crossing, sizeof *tied, &tied));
  for (uint32_t n = 0; n < nodes; n++) {
    times[n] = folded->times[n];
    if (times[n] > middle) middle = times[n];
  }
  for (uint32_t i = 0; i < folded->crossing; i++)
    tied[i] =
        (eg_tied_values){{folded->left_first[i], folded->left_middle[i]}, {middle, 1}};
  info->info.times = times;
  info->info.tied = tied;
  info->info.tied_count = folded->crossing;
  return eg_training_info_limit(info, folded);
}

egraph_status eg_forward_info_init(eg_training_info *info, egraph_allocator alloc,
                                   const eg_folded *folded) {
  *info = (eg_training_info){.info = {.micro_batches = 1, .memory_limit = INFINITY}};
  eg_arena_init(&info->arena, alloc);
  egraph_status status = folded == NULL ? EGRAPH_OK : fill(info, folded);
  if (status != EGRAPH_OK) eg_training_info_deinit(info);
  return status;
}
