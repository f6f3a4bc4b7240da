// A forward graph alone: one phase, nothing carried.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "optimize/space/training_info.h"

egraph_status eg_forward_info_init(eg_training_info *info, egraph_allocator alloc,
                                   const eg_folded *folded) {
  *info = (eg_training_info){.info = {.micro_batches = 1, .memory_limit = INFINITY}};
  eg_arena_init(&info->arena, alloc);
  egraph_status status =
      folded == NULL ? EGRAPH_OK : eg_training_info_fold(info, folded, NULL);
  if (status != EGRAPH_OK) eg_training_info_deinit(info);
  return status;
}
