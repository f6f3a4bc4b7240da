// Values on simulated ranks: every rank's part of a tensor, in one address space; how
// parts are cut of a whole, put together again, and moved by parallel operators, and
// what their adjoints do with cotangents of parts.
//
//   value        cotangent of it          x whole on ranks 0, 1      dx = dx0 + dx1
//   R            partial sums             x = x0 + x1                dx0 = dx1 = dx
//   S(d)         the same blocks          x = [x0 x1]                dx = [dx0 dx1]
//   P(sum)       R
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RANK_PARTS_H
#define EG_REWRITES_RANK_PARTS_H

#include "base/hash.h"
#include "pcg/parallel/mesh.h"
#include "pcg/parallel/strategy.h"

/// Ranks that are simulated at most.
enum { EG_RANKS_MOST = 64 };

typedef struct eg_rank_value {
  eg_layout layout;
  eg_type type;     // of the whole
  eg_tensor *parts; // [ranks]
} eg_rank_value;

/// A tensor of zeros in the arena, dense, with at least one byte.
egraph_status eg_rank_tensor(eg_arena *arena, eg_type type, eg_tensor *out);
/// Parts of zeros. The layout is legal. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rank_zeros(eg_arena *arena, const eg_mesh *mesh, const eg_type *type,
                            const eg_layout *layout, eg_rank_value *out);
/// The whole in parts: partial sums are drawn so that they sum up to it, of partial
/// maxima a rank that is drawn for each element has the largest. `is_plain`: one rank has
/// the partial sum, all others zeros; all have the maximum.
egraph_status eg_rank_spread(eg_arena *arena, const eg_mesh *mesh, eg_rng *rng,
                             bool is_plain, const eg_tensor *whole,
                             const eg_layout *layout, eg_rank_value *out);
/// The cotangent of a whole in parts: a rank that is drawn has all of what is whole or a
/// maximum, so that no copy is counted twice.
egraph_status eg_rank_spread_cotangent(eg_arena *arena, const eg_mesh *mesh, eg_rng *rng,
                                       const eg_tensor *whole, const eg_layout *layout,
                                       eg_rank_value *out);
/// Joins the parts to a whole as if they lay in `layout`: blocks, sums, and maxima;
/// `copy` is the number of the copy that is read. False: the type of a part is not the
/// type that it has in that layout.
bool eg_rank_join(const eg_mesh *mesh, const eg_rank_value *value,
                  const eg_layout *layout, uint32_t copy, const eg_tensor *out_whole);
/// Joins the cotangents of the parts of a value in value->layout to the cotangent of the
/// whole: copies are summed; every rank of a partial sum has all of it, and `copy` says
/// which is taken.
void eg_rank_join_cotangent(const eg_mesh *mesh, const eg_rank_value *value,
                            uint32_t copy, const eg_tensor *out_whole);
/// How many copies eg_rank_join and eg_rank_join_cotangent can take; ranks->layout
/// counts.
uint32_t eg_rank_copies(const eg_mesh *mesh, const eg_layout *layout, bool is_cotangent);

/// A parallel operator takes the value. It applies (eg_parallel_apply).
egraph_status eg_rank_move(eg_arena *arena, const eg_mesh *mesh, const eg_parallel_op *op,
                           const eg_rank_value *from, eg_rank_value *out);
/// Adds to the cotangent of `from` its part of the cotangent of `to`, its result.
void eg_rank_move_back(const eg_mesh *mesh, const eg_parallel_op *op,
                       const eg_rank_value *from, const eg_rank_value *to,
                       const eg_rank_value *to_cotangent,
                       const eg_rank_value *inout_cotangent);

/// Parts with the rows that a window reads of neighbours, and the fill at the borders.
egraph_status eg_rank_halo(eg_arena *arena, const eg_mesh *mesh, const eg_halo *halo,
                           const eg_tensor *parts, eg_tensor **out);
/// The cotangents of the parts without them: rows of neighbours are added there.
egraph_status eg_rank_halo_back(eg_arena *arena, const eg_mesh *mesh, const eg_halo *halo,
                                const eg_tensor *cotangents, eg_tensor **out);

/// inout += of, elements of one shape.
void eg_rank_add(const eg_tensor *of, const eg_tensor *inout);

// ---- operators: each rank runs its part (eg_spread_local) with the reference kernels,
// windows on rows of neighbours; backwards by the gradient of each part ----

/// A node, and how it is spread. Everything is borrowed.
typedef struct eg_rank_node {
  const eg_mesh *mesh;
  eg_node_spec spec; // of the whole
  const eg_strategy *strategy;
} eg_rank_node;

/// `inputs` lie as the strategy says; out[results] is filled in. Fails as eg_op_run and
/// eg_spread_local do.
egraph_status eg_rank_node_run(eg_arena *arena, const eg_rank_node *node,
                               const eg_rank_value *const *inputs, eg_rank_value *out);
/// Adds to the cotangents of the floating-point inputs their part of the cotangents of
/// the results. Fails with EGRAPH_E_UNSUPPORTED where the operator has no gradient.
egraph_status eg_rank_node_back(eg_arena *arena, const eg_rank_node *node,
                                const eg_rank_value *const *inputs,
                                const eg_rank_value *result_cotangents,
                                const eg_rank_value *const *inout_cotangents);

#endif
