// Moves of elements: what every operator does that only picks elements of its operand.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_MOVE_H
#define EG_OPS_MOVE_H

#include "base/memory.h"
#include "ops/tensor.h"

/// result[i0, i1, ...] = input[map[0][i0] + map[1][i1] + ...], or the fill element
/// when one of the map entries is EG_MOVE_FILL. Every operator that only picks
/// elements is one of these.
enum { EG_MOVE_FILL = -1 };
typedef struct eg_move {
  uint32_t rank;
  int64_t dims[EGRAPH_MAX_RANK]; // of the result
  int64_t *map[EGRAPH_MAX_RANK]; // offsets in elements, dims[d] of them
  size_t element;                // bytes: 1, 2, 4 or 8
  unsigned char fill[8];
} eg_move;

/// Allocates the maps of a move onto `result` from the arena, zeroed.
egraph_status eg_move_init(eg_move *move, eg_arena *arena, const eg_type *result);
void eg_move_run(const eg_move *move, const void *from, void *to);

#endif
