// Where a plan of a folded step can be read as one of the whole step: of every
// value of the planned graph, the value of the whole step that it is.
//
// A block is read once for each block that it stands for, everything else once: a *row*
// each. A row knows the values that its nodes make and use. What rules have made
// of these is derived in the row from them; what cannot be derived so, because it uses
// what the row has not, is not read from the plan.
//
//   row 0   outside, first and last block     row k   block k, 1 <= k <= blocks - 2
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_UNFOLD_ROWS_H
#define EG_OPTIMIZE_FOLD_UNFOLD_ROWS_H

#include "optimize/model/plan_emit.h"
#include "optimize/fold/unfold_match.h"

#define EG_ROW_NONE UINT32_MAX
#define EG_ROW_UNCLEAR (UINT32_MAX - 1) // several values, and which one is meant depends

typedef struct eg_unfold_rows {
  uint32_t count;  // rows
  uint32_t values; // of the planned graph
  eg_u32s image;   // [row][value of the planned graph] of the whole step, NONE, UNCLEAR
  eg_bytes can_be; // [row][value of the planned graph] is an image or derived from some
} eg_unfold_rows;

/// Fails with EGRAPH_E_MEMORY. O(rows * size of the planned graph + size of the step).
egraph_status eg_unfold_rows_init(eg_unfold_rows *rows, egraph_allocator alloc,
                                  const eg_unfold_steps *steps,
                                  const eg_unfold_match *match,
                                  const eg_emitted_plan *folded);
void eg_unfold_rows_deinit(eg_unfold_rows *rows);
/// The row of a block of the whole step, or of none.
uint32_t eg_unfold_row_of(const eg_unfold_rows *rows, uint32_t block);
static inline size_t eg_unfold_cell(const eg_unfold_rows *rows, uint32_t row,
                                    uint32_t value) {
  return (size_t)row * rows->values + value;
}
/// Whether the node that makes a value of the planned graph can be read in a row.
bool eg_unfold_rows_can_make(const eg_unfold_rows *rows, const eg_graph *planned,
                             uint32_t row, uint32_t value);

#endif
