// What the dual solution (shard_dual.h) proves, in exact integers: a lower bound, and the
// values and pairs that no solution below the cutoff has.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_BOUND_H
#define EG_EXTRACT_SHARD_SHARD_BOUND_H

#include "extract/shard/shard_model.h"

/// Lower bound of the model's cost by its messages and prices, rounded to fixed point
/// first and summed up exactly: valid whatever they are. *out is at most the cutoff. With
/// `filter` values and pairs go that cannot be in a solution below the cutoff, and
/// *changed says whether any did; the model may become closed. O(entries + items + rows).
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_shard_bound_run(eg_shard_model *model, bool filter, int64_t *out,
                                 bool *changed);

/// Prices in fixed point: charge(v) = sum over items of usage * (sum[last] - sum[first])
/// / 2^shift, rounded down; the capacities cost `capacity`, rounded up. All in units of
/// 2^-scale. Prices that cost more than 2^60 count as 0.
typedef struct eg_shard_prices {
  int scale, shift;
  eg_i64s sum; // [rows + 1] of the prices of the rows before
  int64_t capacity;
} eg_shard_prices;

void eg_shard_prices_init(eg_shard_prices *prices, egraph_allocator alloc);
void eg_shard_prices_deinit(eg_shard_prices *prices);
egraph_status eg_shard_prices_fix(eg_shard_prices *prices, const eg_shard_model *model,
                                  int scale);
/// Node cost and charge in units of 2^-scale, at most `most` (<= 2^61).
int64_t eg_shard_prices_of(const eg_shard_prices *prices, const eg_shard_model *model,
                           uint32_t node, uint32_t value, int64_t most);
/// Largest scale at which everything below the cutoff stays below 2^55, at most 20.
int eg_shard_scale_of(const eg_shard_model *model);

#endif
