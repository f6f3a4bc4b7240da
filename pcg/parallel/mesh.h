// Meshes of devices and the sharding of tensors on them (DESIGN section 3; DTensor's
// placements, GSPMD, Shardy).
//
// A mesh has named axes; a device is a coordinate per axis, ranks count row-major, axis 0
// slowest. A sharding has a digit per axis: R (every device along it has the same), S(d)
// (dimension d is cut into equal blocks along it), P(sum), P(max) (the value is the sum
// or maximum over the devices along it). Several axes on one dimension cut it in the
// order of the axes: the first one is the coarsest.
//
//   mesh node=2,gpu=4    float32[8,8] @ S0,S1    a device holds float32[4,2]
//                        float32[8,8] @ S0,S0    float32[1,8]
//
// A sharding is legal for a type when every sharded dimension exists, divides evenly, and
// partial sums are of numbers.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_MESH_H
#define EG_PCG_MESH_H

#include "base/names.h"
#include "ops/ops.h"

enum { EG_MESH_NAME_SIZE = 16 };

typedef struct eg_mesh_axis {
  char name[EG_MESH_NAME_SIZE]; // NUL-terminated, letters, digits, - and _
  uint32_t size;                // >= 1
} eg_mesh_axis;

typedef struct eg_mesh {
  uint32_t axis_count; // at most EG_MAX_MESH_AXES; 0: a single device
  eg_mesh_axis axes[EG_MAX_MESH_AXES];
} eg_mesh;

/// Reads "node=2,gpu=4"; "" is a single device. Fails with EGRAPH_E_PARSE; more than 2^20
/// devices are refused.
egraph_status eg_mesh_parse(const char *text, eg_mesh *out);
egraph_status eg_mesh_print(eg_text *text, const eg_mesh *mesh);
bool eg_mesh_same(const eg_mesh *a, const eg_mesh *b);
uint32_t eg_mesh_devices(const eg_mesh *mesh);
/// Finds the axis with a name; false when the mesh has none.
bool eg_mesh_find_axis(const eg_mesh *mesh, const char *name, uint32_t *out);
/// Return a rank's position along an axis, and the rank difference of neighbours there.
uint32_t eg_mesh_coordinate(const eg_mesh *mesh, uint32_t rank, uint32_t axis);
uint32_t eg_mesh_stride(const eg_mesh *mesh, uint32_t axis);

// ---- shardings --------------------------------------------------------------------

static inline bool eg_digit_is_shard(uint8_t digit) { return digit >= EG_SHARD_S0; }
static inline bool eg_digit_is_partial(uint8_t digit) {
  return digit == EG_SHARD_P_SUM || digit == EG_SHARD_P_MAX;
}
static inline uint8_t eg_digit_shard(uint32_t dim) {
  return (uint8_t)(EG_SHARD_S0 + dim);
}
static inline uint32_t eg_digit_dim(uint8_t digit) {
  return (uint32_t)digit - EG_SHARD_S0;
}

/// The reasons why a sharding is not legal, in the order of the checks.
typedef enum eg_sharding_fault {
  EG_SHARDING_LEGAL,
  EG_SHARDING_NO_DIM,    // a dimension that the type lacks
  EG_SHARDING_UNEVEN,    // a dimension that does not divide
  EG_SHARDING_NOT_NUMBER // partial sums of bool
} eg_sharding_fault;
/// Checks the letters of a sharding on the mesh's axes; type->layout is not read.
eg_sharding_fault eg_sharding_check(const eg_mesh *mesh, const eg_type *type,
                                    const eg_layout *layout);
/// Returns the type of one device's part, in the layout's memory format. The sharding
/// is legal.
eg_type eg_sharding_local(const eg_mesh *mesh, const eg_type *type,
                          const eg_layout *layout);
/// True when two layouts have the same sharding and memory format.
bool eg_layout_same(const eg_mesh *mesh, const eg_layout *a, const eg_layout *b);
/// Appends "S0,R,P" in the order of the axes; P is P(sum), M is P(max). A memory format
/// other than plain follows: "S0,R:nhwc".
egraph_status eg_layout_print(eg_text *text, const eg_mesh *mesh,
                              const eg_layout *layout);
egraph_status eg_layout_parse(const eg_mesh *mesh, const char *text, eg_layout *out);

// ---- transitions of one axis, or of the memory format -------------------------------

// Kinds of transitions: id, spelling in files.
#define EG_TRANSITION_LIST(X)                                                            \
  X(EG_TRANSITION_SLICE, "slice")                   /* R -> S(d), local */               \
  X(EG_TRANSITION_MASK, "mask")                     /* R -> P, local: zero but on one */ \
  X(EG_TRANSITION_REORDER, "reorder")               /* of memory formats, local */       \
  X(EG_TRANSITION_ALL_GATHER, "all-gather")         /* S(d) -> R */                      \
  X(EG_TRANSITION_REDUCE_SCATTER, "reduce-scatter") /* P -> S(d) */                      \
  X(EG_TRANSITION_ALL_REDUCE, "all-reduce")         /* P -> R */                         \
  X(EG_TRANSITION_ALL_TO_ALL, "all-to-all")         /* S(d) -> S(e) */
typedef enum eg_transition_kind {
  EG_TRANSITION_LIST(EG_ENUM_ID) EG_TRANSITION_KINDS
} eg_transition_kind;
const char *eg_transition_name(eg_transition_kind kind);
/// True when each device makes a transition alone, without messages.
bool eg_transition_is_local(eg_transition_kind kind);

/// Kinds of exchanges: the transitions, and the exchange of rows with neighbours before
/// a window.
enum { EG_EXCHANGE_HALO = EG_TRANSITION_KINDS, EG_EXCHANGES };
const char *eg_exchange_name(uint32_t exchange);
/// True when devices send data to each other in this kind of exchange.
bool eg_exchange_is_remote(uint32_t exchange);

typedef struct eg_transition {
  eg_transition_kind kind;
  uint32_t axis;    // 0 for a reorder
  uint8_t from, to; // digits; memory formats for a reorder
} eg_transition;

/// Finds the transition between two legal layouts of a type, which differ on exactly one
/// axis or in the memory format. False when there is none: the layouts differ in more, R
/// -> P(max), a dimension that a finer axis cuts further (blocks would not be in the
/// order of the mesh), or channels that are not cut between the blocks of a memory
/// format. The type is read only if channels are in blocks; it may be NULL if both
/// layouts are plain.
bool eg_transition_between(const eg_mesh *mesh, const eg_type *type,
                           const eg_layout *from, const eg_layout *to,
                           eg_transition *out);
/// Returns the bytes that a transition moves between devices, i.e. the bytes of the local
/// tensor if the axis were R: the gathered result of an all-gather, the operand of a
/// reduce-scatter or all-reduce, all blocks of an all-to-all. 0 for local transitions.
double eg_transition_bytes(const eg_mesh *mesh, const eg_type *type,
                           const eg_layout *from, const eg_transition *transition);

// ---- parallel operators ---------------------------------------------------------------
//
// The four parallel operators of parallel computation graphs (Unity, section 3), as
// changes of a layout along one axis. None of them changes the value.
//
//   partition  R -> S(d)    every device keeps its block
//   combine    S(d) -> R    every device gets all blocks
//   replicate  R -> R       copies, of which every device has one from the start; or
//              R -> P(sum)  one copy keeps the value, the others are zero
//   reduce     P -> R       the sum (or maximum) of all devices
//
// Unity's values without parallel operators are on one device; here every device has all
// of them.

// Kind, spelling in rule files, Unity's name, true if the operator names a dimension.
#define EG_PARALLEL_LIST(X)                                                              \
  X(EG_PARALLEL_PARTITION, "partition", "Partition", true)                               \
  X(EG_PARALLEL_COMBINE, "combine", "Combine", true)                                     \
  X(EG_PARALLEL_REPLICATE, "replicate", "Replicate", false)                              \
  X(EG_PARALLEL_REDUCE, "reduce", "Reduce", false)
typedef enum eg_parallel_kind {
  EG_PARALLEL_LIST(EG_ENUM_ID) EG_PARALLEL_KINDS
} eg_parallel_kind;

typedef struct eg_parallel_op {
  eg_parallel_kind kind;
  uint32_t axis;  // of the mesh
  uint32_t dim;   // of the value, for PARTITION and COMBINE
  bool keeps_one; // REPLICATE: the other copies are zero
} eg_parallel_op;

const char *eg_parallel_name(eg_parallel_kind kind);  // "partition"
const char *eg_parallel_unity(eg_parallel_kind kind); // "Partition"
bool eg_parallel_has_dim(eg_parallel_kind kind);
bool eg_parallel_find(const char *name, eg_parallel_kind *out);

/// Applies a parallel operator to a layout; false when the operator does not accept it.
/// The caller checks that the result is legal for the type.
bool eg_parallel_apply(const eg_mesh *mesh, const eg_parallel_op *op, eg_layout *inout);

#endif
