// Values on simulated ranks: the parts of a tensor on all ranks, in one address space.
// Functions cut a tensor into parts, join parts, apply parallel operators to them, and
// apply the adjoints of these operators to cotangents.
//
//   value        its cotangent             x whole on ranks 0, 1      dx = dx0 + dx1
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

/// The largest number of ranks that are simulated.
enum { EG_RANKS_MOST = 64 };

typedef struct eg_rank_value {
  eg_layout layout;
  eg_type type;     // type of the whole tensor
  eg_tensor *parts; // [ranks]
} eg_rank_value;

/// Creates a dense tensor of zeros in the arena, with at least one byte.
egraph_status eg_rank_tensor(eg_arena *arena, eg_type type, eg_tensor *out);
/// Creates a value on simulated ranks, all zeros, in a legal layout. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_rank_zeros(eg_arena *arena, const eg_mesh *mesh, const eg_type *type,
                            const eg_layout *layout, eg_rank_value *out);
/// Cuts a whole tensor into parts. Partial sums are random, and their sum is the whole
/// tensor; for partial maxima, one random rank per element has the maximum. If
/// `is_plain`, one rank has the whole tensor as its partial sum and the other ranks have
/// zeros; all ranks have the maximum.
egraph_status eg_rank_spread(eg_arena *arena, const eg_mesh *mesh, eg_rng *rng,
                             bool is_plain, const eg_tensor *whole,
                             const eg_layout *layout, eg_rank_value *out);
/// Cuts the cotangent of a whole tensor into parts. Of ranks with copies or partial
/// maxima, one random rank has the whole cotangent, so that no copy is counted twice.
egraph_status eg_rank_spread_cotangent(eg_arena *arena, const eg_mesh *mesh, eg_rng *rng,
                                       const eg_tensor *whole, const eg_layout *layout,
                                       eg_rank_value *out);
/// Joins the ranks' parts to a whole tensor as if their layout were `layout`:
/// concatenates blocks, adds partial sums, takes maxima. `copy` selects one of equal
/// copies. Returns false when a part does not have the type that the layout gives it.
bool eg_rank_join(const eg_mesh *mesh, const eg_rank_value *value,
                  const eg_layout *layout, uint32_t copy, const eg_tensor *out_whole);
/// Joins the cotangents of the parts of a value in value->layout to the cotangent of the
/// whole: copies are summed; every rank of a partial sum has the whole cotangent, and
/// `copy` selects the rank to read.
void eg_rank_join_cotangent(const eg_mesh *mesh, const eg_rank_value *value,
                            uint32_t copy, const eg_tensor *out_whole);
/// Returns the number of copies that eg_rank_join, or eg_rank_join_cotangent if
/// `is_cotangent`, can read.
uint32_t eg_rank_copies(const eg_mesh *mesh, const eg_layout *layout, bool is_cotangent);

/// Applies a parallel operator (partition, combine, ...) to a tensor on simulated ranks;
/// the operator must be applicable (eg_parallel_apply).
egraph_status eg_rank_move(eg_arena *arena, const eg_mesh *mesh, const eg_parallel_op *op,
                           const eg_rank_value *from, eg_rank_value *out);
/// Adds to the cotangent of `from` the contribution of the cotangent of `to`, the result
/// of the parallel operator `op` on `from`.
void eg_rank_move_back(const eg_mesh *mesh, const eg_parallel_op *op,
                       const eg_rank_value *from, const eg_rank_value *to,
                       const eg_rank_value *to_cotangent,
                       const eg_rank_value *inout_cotangent);

/// Adds tensor `of` to tensor `inout`, of the same shape, element by element.
void eg_rank_add(const eg_tensor *of, const eg_tensor *inout);

// ---- operators: each rank runs its part (eg_spread_local) with the reference kernels,
// windows on rows of neighbours; backwards by the gradient of each part ----

/// A node and its strategy (how it is split on the mesh). All pointers are borrowed.
typedef struct eg_rank_node {
  const eg_mesh *mesh;
  eg_node_spec spec; // types of whole tensors
  const eg_strategy *strategy;
} eg_rank_node;

/// Runs a node on all simulated ranks. `inputs` must have the layouts that the node's
/// strategy requires; fills out[results]. Fails as eg_op_run and eg_spread_local do.
egraph_status eg_rank_node_run(eg_arena *arena, const eg_rank_node *node,
                               const eg_rank_value *const *inputs, eg_rank_value *out);
/// Adds to the cotangents of a node's floating-point inputs the contributions of the
/// cotangents of its results. Fails with EGRAPH_E_UNSUPPORTED where the operator has
/// no gradient.
egraph_status eg_rank_node_back(eg_arena *arena, const eg_rank_node *node,
                                const eg_rank_value *const *inputs,
                                const eg_rank_value *result_cotangents,
                                const eg_rank_value *const *inout_cotangents);

#endif
