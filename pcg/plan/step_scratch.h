// Computes the memory of a running step in addition to its operands and results.
// Collectives work on contiguous buffers: other blocks are copied to a buffer before they
// are sent, and from a buffer after they have arrived. The operand of a sliding window is
// copied together with the rows of neighbours (strips take less, exec/strips.h).
//
//   all-gather along dimension 1     sent: as it is     came: [n][rows][columns / n]
//
// The scratch of kernels and channels is not included: it depends on the back-end
// (eg_program_info.scratch_bytes), or only on the number of ranks.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_STEP_SCRATCH_H
#define EG_PCG_STEP_SCRATCH_H

#include "pcg/plan/plan.h"

/// A tensor whose dimension `dim` is cut into `parts`: [outer][parts][bytes] in memory.
typedef struct eg_cut {
  size_t outer, parts, bytes;
} eg_cut;
/// Cuts dimension `dim` of a type into `parts` (not 0), which divide its size, or the
/// number of blocks if channels are in blocks.
eg_cut eg_cut_of(const eg_type *type, uint32_t dim, size_t parts);
/// True when each part of a cut tensor is contiguous in memory.
static inline bool eg_cut_is_packed(const eg_cut *cut) {
  return cut->outer <= 1 || cut->parts == 1;
}

/// The cuts of the tensors before and after a change of layout; parts 0: not cut.
typedef struct eg_move_cuts {
  eg_cut packed;   // cut of the sent tensor
  eg_cut unpacked; // cut of the received tensor
} eg_move_cuts;
/// Returns how a transition cuts tensors; `from` and `to` are types of a rank's part.
eg_move_cuts eg_move_cuts_of(const eg_mesh *mesh, const eg_transition *transition,
                             const eg_type *from, const eg_type *to);

/// Returns the scratch bytes of a rank for a change of layout; `from` and `to` are types
/// of its part. 0 for moves within a device.
size_t eg_move_scratch(const eg_mesh *mesh, const eg_transition *transition,
                       const eg_type *from, const eg_type *to);
/// Returns the bytes of the rows sent to and received from neighbours; `local` is the
/// type of a rank's part without these rows.
size_t eg_halo_scratch(const eg_type *local, const eg_halo *halo);
/// Returns the scratch bytes of a rank for rows from neighbours under a strategy.
size_t eg_strategy_scratch(const eg_mesh *mesh, const eg_spread *spread,
                           const eg_strategy *strategy);
/// Computes the scratch bytes of a step on a device, with the arena as working memory.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_step_scratch(const eg_plan *plan, const eg_plan_step *step,
                                   eg_arena *arena, double *out);

#endif
