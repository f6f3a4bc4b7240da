// A sliding window over a rank's block without the neighbours' rows in it: those are read
// by the first and last rows of the result alone. The window runs over the block as if
// the fill lay around it, and then over short strips around both borders, whose rows take
// the place of those that lacked the neighbours'. The other way is to copy the block
// together with the rows (relayout.h), which takes longer where a window does little with
// an element (depthwise convolutions, pooling).
//
//   block          1 2 3 4 5 6         windows of 3 rows, a row before and after
//   whole        . 1 2 3 4 5 6 .   ->  a b c d e f      a, f lack a neighbour's row
//   strip before n 1 2             ->  a
//   strip after          5 6 n     ->  f
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_STRIPS_H
#define EG_EXEC_STRIPS_H

#include "exec/relayout.h"

typedef struct eg_strip {
  eg_type operand, result;
  uint32_t dim; // that counts rows
  bool is_after;
  int64_t own_from, own_count; // rows of the block
  int64_t result_from;         // row of the block's result
} eg_strip;

enum { EG_MOST_STRIPS = 2 };

typedef struct eg_strips {
  bool is_used; // otherwise the block is to be copied
  eg_node_spec whole;
  uint32_t count;
  eg_strip strips[EG_MOST_STRIPS];
  eg_node_spec specs[EG_MOST_STRIPS];
} eg_strips;

/// Replaces a node by strips, on a rank with or without neighbours before and after it.
/// `spec` is local, its operand 0 with the rows of the halo. Specs live in the arena.
egraph_status eg_strips_of(const eg_node_spec *spec, const eg_halo *halo, bool has_before,
                           bool has_after, eg_arena *arena, eg_strips *out);

/// The strip's operand, of rows of the block and of a neighbour.
egraph_status eg_strip_gather(const eg_strip *strip, eg_backend *memory,
                              const eg_rows *block, const eg_halo_rows *rows, void *to);
/// Its result, where it belongs.
egraph_status eg_strip_place(const eg_strip *strip, eg_backend *memory, void *from,
                             const eg_rows *result);

#endif
