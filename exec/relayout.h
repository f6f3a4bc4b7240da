// Moves between the shardings of a value, and halos, as one rank runs them: what a block
// looks like in memory is worked out here, channels only see contiguous buffers.
//
//   all-gather along dimension 1, two ranks      [a b]   [e f]      [a b e f]
//                                                [c d]   [g h]  ->  [c d g h]
//   received: a b c d e f g h, unpacked into rows
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_RELAYOUT_H
#define EG_EXEC_RELAYOUT_H

#include "exec/channel.h"
#include "pcg/parallel/strategy.h"

typedef struct eg_relayout {
  eg_transition transition;
  eg_type from, to;     // what a rank holds
  size_t scratch_bytes; // needed while it runs
  bool lends;           // operand, result and scratch, to other ranks (channel.h)
} eg_relayout;

/// `transition` leads from `layout` and is no REORDER; `type` is global.
eg_relayout eg_relayout_of(const eg_mesh *mesh, const eg_type *type,
                           const eg_layout *layout, const eg_transition *transition);
/// Tensors of types from and to, in their memory format, in the channel's memory, which
/// do not overlap. Fails as the channel does.
egraph_status eg_relayout_run(const eg_relayout *move, eg_channel *channel,
                              const void *from, void *to, void *scratch);

/// A tensor of which a dimension counts rows.
typedef struct eg_rows {
  eg_type type;
  void *data;
} eg_rows;
/// Copies rows along a dimension; the types differ in it only. `memory` NULL: of the
/// host.
egraph_status eg_rows_copy(eg_backend *memory, uint32_t dim, int64_t count,
                           const eg_rows *to, int64_t to_row, const eg_rows *from,
                           int64_t from_row);

/// A tensor with the rows of its neighbours before and after it.
typedef struct eg_halo_move {
  eg_halo halo;
  eg_type from, to; // what a rank holds, without and with the rows
  size_t scratch_bytes;
  bool lends; // scratch
} eg_halo_move;

eg_halo_move eg_halo_move_of(const eg_type *local, const eg_halo *halo);
/// The neighbours' rows, in the scratch memory; where there is no neighbour, anything.
typedef struct eg_halo_rows {
  eg_rows before, after;
} eg_halo_rows;
egraph_status eg_halo_exchange(const eg_halo_move *move, eg_channel *channel,
                               const void *from, void *scratch, eg_halo_rows *out);
/// The tensor and these rows, the fill where there is no neighbour, in one.
egraph_status eg_halo_move_run(const eg_halo_move *move, eg_channel *channel,
                               const void *from, void *to, void *scratch);

/// True when the block of `rank`, row-major, lies together in a row-major global tensor:
/// *out_offset bytes from its beginning.
bool eg_block_find(const eg_mesh *mesh, uint32_t rank, const eg_type *type,
                   const eg_layout *layout, size_t *out_offset);
/// Copies the block of `rank` out of a global tensor, both row-major. The first rank
/// along the axis of a partial sum gets the value, the others zeros; all ranks of a
/// partial maximum get it.
void eg_block_read(const eg_mesh *mesh, uint32_t rank, const eg_type *type,
                   const eg_layout *layout, const void *global, void *local);

#endif
