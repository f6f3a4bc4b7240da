// Runs a sliding window on a rank's block without copying the neighbours' rows into it:
// only the first and last rows of the result read these rows. The window runs over the
// block as if the fill lay around it. Then it runs over short strips around both borders,
// and their results replace the rows that lacked the neighbours' rows. The alternative,
// copying the block together with the rows (relayout.h), takes longer where a window does
// little work per element (depthwise convolutions, pooling).
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
  uint32_t dim; // the dimension that counts rows
  bool is_after;
  int64_t own_from, own_count; // rows of the block
  int64_t result_from; // row of the whole result at which the block's result begins
} eg_strip;

enum { EG_MOST_STRIPS = 2 };

typedef struct eg_strips {
  bool is_used; // false: the block must be copied
  eg_node_spec whole;
  uint32_t count;
  eg_strip strips[EG_MOST_STRIPS];
  eg_node_spec specs[EG_MOST_STRIPS];
} eg_strips;

/// Replaces a window's node by strips (rows next to the block's borders), on a rank with
/// or without neighbours before and after it. `spec` is local; its operand 0 includes the
/// rows of the halo. Specs live in the arena.
egraph_status eg_strips_of(const eg_node_spec *spec, const eg_halo *halo, bool has_before,
                           bool has_after, eg_arena *arena, eg_strips *out);

/// Copies the rows that a strip reads to `to`: rows of the block and rows of a neighbour.
egraph_status eg_strip_gather(const eg_strip *strip, eg_backend *memory,
                              const eg_rows *block, const eg_halo_rows *rows, void *to);
/// Copies the strip's result into the rows of `result` that lacked the neighbour's rows.
egraph_status eg_strip_place(const eg_strip *strip, eg_backend *memory, void *from,
                             const eg_rows *result);

#endif
