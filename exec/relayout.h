// Moves between the shardings of a value, and halos, as one rank runs them. This module
// packs and unpacks blocks; channels see contiguous buffers only.
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
  eg_type from, to;     // local types of a rank
  size_t scratch_bytes; // bytes of memory needed while the move runs
  bool lends; // lends operand, result and scratch memory to other ranks (channel.h)
} eg_relayout;

/// Describes a change of sharding (move) of a value whose global type is `type` and whose
/// layout is `layout`. `transition` starts from this layout and is no REORDER.
eg_relayout eg_relayout_of(const eg_mesh *mesh, const eg_type *type,
                           const eg_layout *layout, const eg_transition *transition);
/// Runs a change of sharding. `from` and `to` have its local types, lie in the channel's
/// memory and do not overlap. Fails as the channel does.
egraph_status eg_relayout_run(const eg_relayout *move, eg_channel *channel,
                              const void *from, void *to, void *scratch);

/// A tensor, and the number of the dimension that counts its rows.
typedef struct eg_rows {
  eg_type type;
  void *data;
} eg_rows;
/// Copies rows along a dimension; the types differ only in this dimension. `memory` NULL:
/// host memory.
egraph_status eg_rows_copy(eg_backend *memory, uint32_t dim, int64_t count,
                           const eg_rows *to, int64_t to_row, const eg_rows *from,
                           int64_t from_row);

/// Extends a rank's block by rows (halos) of the neighbour ranks before and after it.
typedef struct eg_halo_move {
  eg_halo halo;
  eg_type from, to; // local types, without and with the neighbours' rows
  size_t scratch_bytes;
  bool lends; // lends scratch memory
} eg_halo_move;

eg_halo_move eg_halo_move_of(const eg_type *local, const eg_halo *halo);
/// The neighbour ranks' rows, in scratch memory; undefined where there is no neighbour.
typedef struct eg_halo_rows {
  eg_rows before, after;
} eg_halo_rows;
egraph_status eg_halo_exchange(const eg_halo_move *move, eg_channel *channel,
                               const void *from, void *scratch, eg_halo_rows *out);
/// Copies a rank's block and its neighbours' rows into one tensor; rows of a missing
/// neighbour are filled with the value that pads the window.
egraph_status eg_halo_move_run(const eg_halo_move *move, eg_channel *channel,
                               const void *from, void *to, void *scratch);

/// True when the block of `rank`, row-major, is contiguous in a row-major global tensor:
/// *out_offset bytes from its beginning.
bool eg_block_find(const eg_mesh *mesh, uint32_t rank, const eg_type *type,
                   const eg_layout *layout, size_t *out_offset);
/// Copies the block of `rank` out of a global tensor, both row-major. For a partial sum,
/// the first rank along the axis gets the value, the others get zeros; for a partial
/// maximum, all ranks get the value.
void eg_block_read(const eg_mesh *mesh, uint32_t rank, const eg_type *type,
                   const eg_layout *layout, const void *global, void *local);

#endif
