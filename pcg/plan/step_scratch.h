// What a step of a plan takes beside its operands and results while it runs. Collectives
// work on contiguous buffers, so blocks that are not are put in order before they are
// sent and after they have come; the operand of a window is copied, with the rows of its
// neighbours (less is taken where strips are, exec/strips.h).
//
//   all-gather along dimension 1     sent: as it is     came: [n][rows][columns / n]
//
// What kernels and channels take for themselves is not in here: it depends on the
// back-end (eg_program_info.scratch_bytes), and on the number of ranks only.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_STEP_SCRATCH_H
#define EG_PCG_STEP_SCRATCH_H

#include "pcg/plan/plan.h"

/// A tensor whose dimension `dim` is cut into `parts`: [outer][parts][bytes] in memory.
typedef struct eg_cut {
  size_t outer, parts, bytes;
} eg_cut;
/// The size of the dimension is a multiple of `parts`, which is not 0; of channels in
/// blocks, their number is.
eg_cut eg_cut_of(const eg_type *type, uint32_t dim, size_t parts);
/// The parts lie behind each other as they are.
static inline bool eg_cut_is_packed(const eg_cut *cut) {
  return cut->outer <= 1 || cut->parts == 1;
}

/// How both ends of a transition are cut; parts 0: not at all.
typedef struct eg_move_cuts {
  eg_cut packed;   // of what is sent
  eg_cut unpacked; // of what has come
} eg_move_cuts;
/// `from` and `to` are what a rank holds.
eg_move_cuts eg_move_cuts_of(const eg_mesh *mesh, const eg_transition *transition,
                             const eg_type *from, const eg_type *to);

/// Bytes of a rank, of a move between what it holds. Local ones take none.
size_t eg_move_scratch(const eg_mesh *mesh, const eg_transition *transition,
                       const eg_type *from, const eg_type *to);
/// Bytes of the rows that go to neighbours and come from them; `local` is what a rank
/// holds without these.
size_t eg_halo_scratch(const eg_type *local, const eg_halo *halo);
/// Bytes of a rank, of a node spread by a strategy: what its halos take.
size_t eg_strategy_scratch(const eg_mesh *mesh, const eg_spread *spread,
                           const eg_strategy *strategy);
/// Bytes of a step on a device. The arena is for scratch. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_step_scratch(const eg_plan *plan, const eg_plan_step *step,
                                   eg_arena *arena, double *out);

#endif
