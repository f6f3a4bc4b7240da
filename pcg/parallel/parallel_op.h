// The four parallel operators of parallel computation graphs (Unity, section 3), as
// changes of a layout along one axis. None of them changes the value.
//
//   partition  R -> S(d)    every device keeps its block
//   combine    S(d) -> R    every device gets all blocks
//   replicate  R -> R       copies, of which every device has one from the start; or
//              R -> P(sum)  one copy keeps the value, the others are zero
//   reduce     P -> R       the sum (or maximum) of all devices
//
// There, a value of which nothing is said lies on one device; here, every device has all
// of it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PARALLEL_OP_H
#define EG_PCG_PARALLEL_OP_H

#include "pcg/parallel/mesh.h"

// Kind, spelling in rule files, Unity's name, whether it names a dimension.
#define EG_PARALLEL_LIST(X)                                                              \
  X(EG_PARALLEL_PARTITION, "partition", "Partition", true)                               \
  X(EG_PARALLEL_COMBINE, "combine", "Combine", true)                                     \
  X(EG_PARALLEL_REPLICATE, "replicate", "Replicate", false)                              \
  X(EG_PARALLEL_REDUCE, "reduce", "Reduce", false)
#define EG_PARALLEL_ENUM(id, ...) id,
typedef enum eg_parallel_kind {
  EG_PARALLEL_LIST(EG_PARALLEL_ENUM) EG_PARALLEL_KINDS
} eg_parallel_kind;
#undef EG_PARALLEL_ENUM

typedef struct eg_parallel_op {
  eg_parallel_kind kind;
  uint32_t axis;  // of the mesh
  uint32_t dim;   // of PARTITION and COMBINE
  bool keeps_one; // REPLICATE: the other copies are zero
} eg_parallel_op;

const char *eg_parallel_name(eg_parallel_kind kind);  // "partition"
const char *eg_parallel_unity(eg_parallel_kind kind); // "Partition"
bool eg_parallel_has_dim(eg_parallel_kind kind);
bool eg_parallel_find(const char *name, eg_parallel_kind *out);

/// The layout behind the operator; false when it does not take this one. The caller
/// checks that the result is legal for the type.
bool eg_parallel_apply(const eg_mesh *mesh, const eg_parallel_op *op, eg_layout *inout);

#endif
