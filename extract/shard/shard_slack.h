// What is left of every memory row while a choice is built: a range is added to, and the
// least of all rows says whether the choice fits.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_SLACK_H
#define EG_EXTRACT_SHARD_SHARD_SLACK_H

#include "extract/shard/shard_model.h"

typedef struct eg_shard_slack {
  uint32_t leaves; // a power of two
  eg_i64s least;   // [2 * leaves] minimum below a tree node, without what is above it
  eg_i64s added;   // [2 * leaves] to everything below
} eg_shard_slack;

void eg_shard_slack_init(eg_shard_slack *slack, egraph_allocator alloc);
void eg_shard_slack_deinit(eg_shard_slack *slack);
/// Starts from the model's capacities. O(rows).
egraph_status eg_shard_slack_start(eg_shard_slack *slack, const eg_shard_model *model);
/// Adds to rows [first, last). O(log rows).
void eg_shard_slack_add(eg_shard_slack *slack, uint32_t first, uint32_t last,
                        int64_t amount);
/// Takes (sign = -1) or gives back (+1) the memory of a value.
void eg_shard_slack_value(eg_shard_slack *slack, const eg_shard_model *model,
                          uint32_t node, uint32_t value, int64_t sign);
/// Whether every row has something left, or exactly nothing.
static inline bool eg_shard_slack_fits(const eg_shard_slack *slack) {
  return slack->least.data[1] >= 0;
}

#endif
