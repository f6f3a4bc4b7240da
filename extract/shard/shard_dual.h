// Message passing: the dual of the relaxation, in floating point.
//
// Messages move cost between the ends of an edge and its table, prices charge memory
// rows; the sum of all minima is then a lower bound. Floating point only searches for
// messages and prices; the bound in integers (below) is the valid one. TRW-S:
// Kolmogorov 2006.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_DUAL_H
#define EG_EXTRACT_SHARD_SHARD_DUAL_H

#include "base/owner.h"
#include "extract/shard/shard_model.h"

typedef struct eg_shard_dual {
  eg_shard_model *model;      // its messages and prices are the state
  eg_doubles table, flipped;  // [edge] by rows and by columns; forbidden: `big`
  eg_sizes table_at;          // [edge]
  eg_doubles priced, unary;   // like model->cost: with prices, with messages too
  eg_u32s earlier, later;     // [node] edges to smaller and larger numbers
  eg_u32s choice, least;      // [node] rounding and minimum of the last pass
  eg_doubles direction, load; // [row]
  eg_doubles best_price;      // [row]
  eg_doubles scratch;
  double big;
  double bound, best_bound; // bound of the last pass; bound at the best prices
  double step;              // factor of the next price step
  uint32_t stalled;         // steps since the best bound rose
  uint64_t work;            // table entries visited
} eg_shard_dual;
EG_OWNER_DEFINE_STATIC(eg_shard_dual,
                       (eg_doubles, table, flipped, priced, unary, direction, load,
                        best_price, scratch),
                       (eg_sizes, table_at), (eg_u32s, earlier, later, choice, least))

/// Starts from the messages and prices of a model, which must not change.
egraph_status eg_shard_dual_start(eg_shard_dual *dual, eg_shard_model *model);
/// Passes messages forward and back; bound, choice, least belong to the backward sweep.
void eg_shard_dual_sweep(eg_shard_dual *dual);
/// Moves the memory prices along the violation of the capacities by the last sweep's
/// minima (subgradient with momentum, Polyak's length towards `target`).
void eg_shard_dual_reprice(eg_shard_dual *dual, double target);
/// Fills load[row] with (the memory of a choice in the row) - (the row's capacity);
/// `load` has rows + 1 entries.
void eg_shard_dual_load(const eg_shard_model *model, const uint32_t *choice,
                        double *load);
/// Restores the memory prices that gave the best bound.
void eg_shard_dual_return(eg_shard_dual *dual);

// ---- the bound in integers ----------------------------------------------------------
// The proof by the dual solution, in exact integers: a lower bound, and the values and
// pairs that no solution below the cutoff has.

/// Computes a lower bound of the model's cost from its messages and prices, rounded to
/// fixed point and summed exactly: valid for any messages and prices. *out is at most the
/// cutoff. With `filter`, drops values and pairs that are in no solution below the cutoff
/// and then sets *changed; the model may become closed. O(entries + items + rows). Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_shard_bound_run(eg_shard_model *model, bool filter, int64_t *out,
                                 bool *changed);

/// Memory prices in fixed point, in units of 2^-scale. The charge of value v is the sum
/// over its items of usage * (sum[last] - sum[first]) / 2^shift, rounded down. The
/// capacities cost `capacity`, rounded up. Prices that cost more than 2^60 count as 0.
typedef struct eg_shard_prices {
  int scale, shift;
  eg_i64s sum; // [rows + 1] of the prices of the rows before
  int64_t capacity;
} eg_shard_prices;
EG_OWNER_DEFINE_STATIC(eg_shard_prices, (eg_i64s, sum))

egraph_status eg_shard_prices_fix(eg_shard_prices *prices, const eg_shard_model *model,
                                  int scale);
/// Returns a value's cost plus memory charge in units of 2^-scale, at most `most`
/// <= 2^61.
int64_t eg_shard_prices_of(const eg_shard_prices *prices, const eg_shard_model *model,
                           uint32_t node, uint32_t value, int64_t most);
/// Returns the largest scale, at most 20, at which all costs below the cutoff stay
/// below 2^55.
int eg_shard_scale_of(const eg_shard_model *model);

#endif
