// Channels carry data between the ranks of a mesh. A channel belongs to one rank; along
// an axis it reaches the ranks that differ in that coordinate only (the group, in the
// order of the coordinate).
//
//   mesh node=2,gpu=3     rank 4 = (1, 1)     group along gpu: 3 4 5     along node: 1 4
//
// Collectives work on contiguous buffers in host memory, or in the memory of a back-end.
// Every rank of a group begins the same collectives in the same order. If the channel is
// ordered, reductions combine values in the order of the group, so the result has the
// same bits on every rank and in every run.
//
// No call waits for ever: when a rank does not come within the deadline, or aborts, every
// pending and later collective of all ranks fails with one error. When all ranks of a
// group have begun a collective, all of them finish it. Therefore buffers are free when a
// call returns, also when it fails (between processes the channel copies the data that it
// sends; a transport between devices gives up its part).
//
// A collective may lend its buffers instead: other ranks may still read the rank's send
// buffer, or its result of an all-reduce, when the call returns. The rank must not write
// or free this memory before it settles or begins the next collective of the group;
// other ranks join that one after they have read. Settling only waits for readers, so it
// never fails.
//
// Thread-compatible: one thread at a time per channel.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CHANNEL_H
#define EG_EXEC_CHANNEL_H

#include "exec/backend.h"
#include "pcg/parallel/mesh.h"

// Kind, spelling. `count` is the number of elements of a part, n the number of ranks in
// the group, i the place of this rank in the group:
#define EG_COLLECTIVE_LIST(X)                                                            \
  /* send [count], recv [n][count]: what everyone sent. MPI_Allgather, ncclAllGather */  \
  X(EG_COLLECTIVE_ALL_GATHER, "all-gather")                                              \
  /* send [n][count], recv [count]: the combined i-th parts. ncclReduceScatter */        \
  X(EG_COLLECTIVE_REDUCE_SCATTER, "reduce-scatter")                                      \
  /* send [count], recv [count]: all combined; both may be one buffer. MPI_Allreduce */  \
  X(EG_COLLECTIVE_ALL_REDUCE, "all-reduce")                                              \
  /* send [n][count], recv [n][count]: everyone's i-th part. MPI_Alltoall */             \
  X(EG_COLLECTIVE_ALL_TO_ALL, "all-to-all")                                              \
  /* send [count + count_back], recv the same: the first part goes to the next rank, the \
     second one back to the previous rank. The first rank gets no first part, the last   \
     no second one: recv keeps what was there. */                                        \
  X(EG_COLLECTIVE_NEIGHBOURS, "neighbour exchange")                                      \
  /* no data; all ranks of the mesh */                                                   \
  X(EG_COLLECTIVE_BARRIER, "barrier")
#define EG_COLLECTIVE_ENUM(id, name) id,
typedef enum eg_collective_kind {
  EG_COLLECTIVE_LIST(EG_COLLECTIVE_ENUM) EG_COLLECTIVE_KINDS
} eg_collective_kind;
#undef EG_COLLECTIVE_ENUM
const char *eg_collective_name(eg_collective_kind kind);

typedef enum eg_combining { EG_COMBINE_SUM, EG_COMBINE_MAX } eg_combining;

typedef struct eg_collective {
  eg_collective_kind kind;
  eg_combining combining; // REDUCE_SCATTER, ALL_REDUCE; of numbers
  uint32_t axis;          // axis of the mesh; BARRIER: not read
  egraph_dtype dtype;
  size_t count, count_back;
  const void *send; // buffers do not overlap, except for ALL_REDUCE in place
  void *recv;
  bool lends; // memory that others read stays lent when the call returns
} eg_collective;

typedef struct eg_channel eg_channel;

typedef struct eg_channel_vtable {
  const char *name;
  bool is_ordered;                      // reductions combine in the order of the group
  void (*destroy)(eg_channel *channel); // optional: NULL where another object owns it
  /// required. Runs a collective whose arguments are checked; in host memory the group
  /// has at least two ranks.
  egraph_status (*run)(eg_channel *channel, const eg_collective *what);
  void (*settle)(
      eg_channel *channel); // optional: NULL means that collectives lend no memory
  /// required. Ends the channel for all ranks. If several ranks end it or miss a
  /// deadline, the first failure becomes the channel's error.
  void (*end)(eg_channel *channel, egraph_status status, const char *message);
  /// required. Fails with the channel's error if the channel has ended; never waits.
  egraph_status (*look)(eg_channel *channel);
} eg_channel_vtable;

struct eg_channel {
  const eg_channel_vtable *vtable;
  egraph_allocator alloc;
  eg_mesh mesh;
  uint32_t rank;
  double deadline_seconds; // > 0
  eg_backend *backend;     // back-end in whose memory the buffers are; NULL: host memory
  bool is_bound;           // only the thread that opened the channel may use it
};

typedef struct eg_channel_options {
  double deadline_seconds; // how long ranks wait for another rank
} eg_channel_options;
#define EG_CHANNEL_OPTIONS_DEFAULT                                                       \
  { .deadline_seconds = 60 }
/// Fails with EGRAPH_E_ARGUMENT unless the deadline is in (0, 10^6] seconds.
egraph_status eg_channel_options_check(const eg_channel_options *options);

typedef egraph_status eg_channel_create(const egraph_allocator *alloc,
                                        const eg_mesh *mesh,
                                        const eg_channel_options *options,
                                        eg_channel **out);
/// Opens the channel of this process, which is one of several ranks. `name` is
/// "mpi", a plugin (exec/plugins.c). Fails with EGRAPH_E_UNSUPPORTED when the plugin
/// cannot be loaded, with EGRAPH_E_ARGUMENT for other names. Ranks that are threads
/// use local/local_channel.h.
egraph_status eg_channel_open(const egraph_allocator *alloc, const char *name,
                              const eg_mesh *mesh, const eg_channel_options *options,
                              eg_channel **out);
void eg_channel_destroy(eg_channel *channel); // NULL is allowed
/// Runs a collective. Fails with EGRAPH_E_ARGUMENT when ranks begin different
/// collectives, and with the channel's error when a rank has ended the channel:
/// EGRAPH_E_CANCELLED after a missed deadline.
egraph_status eg_channel_run(eg_channel *channel, const eg_collective *what);
/// Waits until no rank reads memory of this rank that a collective has lent to other
/// ranks; works also after the channel has ended.
void eg_channel_settle(eg_channel *channel);
egraph_status eg_channel_barrier(eg_channel *channel);
/// Ends the channel for all ranks, because this rank failed. The channel's error is
/// `status`, with the message "rank 2 failed: " and this thread's last error.
/// Returns `status`.
egraph_status eg_channel_abort(eg_channel *channel, egraph_status status);

// ---- groups -----------------------------------------------------------------------

/// The ranks along an axis: rank(i) = first + i * stride, i < size. This rank
/// is rank(place).
typedef struct eg_group {
  uint32_t first, stride, size, place;
} eg_group;
/// Returns the ranks along the mesh axis of the collective; all ranks for a BARRIER.
eg_group eg_group_of(const eg_channel *channel, const eg_collective *what);
static inline uint32_t eg_group_rank(const eg_group *group, uint32_t place) {
  return group->first + place * group->stride;
}

// ---- for implementations ----------------------------------------------------------

/// Sets out[i] to parts[0][i] + parts[1][i] + ..., added in this order, or to the maximum
/// of the parts. 16-bit floats are added in float32 and rounded once; integers wrap; a
/// maximum is NaN if an element is NaN. Not for bool. part_count >= 1; `out` may be one
/// of the parts.
void eg_combine(egraph_dtype dtype, eg_combining combining, const void *const *parts,
                uint32_t part_count, size_t count, void *out);

/// True when the collectives that two ranks begin match, so that they can run as one.
bool eg_collective_matches(const eg_collective *a, const eg_collective *b);
/// Fails with EGRAPH_E_ARGUMENT because a rank begins another collective: "rank 1 begins
/// all-gather of 3 float32 along 'gpu', rank 0 ...".
egraph_status eg_collective_mismatch(const eg_channel *channel, uint32_t rank,
                                     const eg_collective *a, uint32_t other,
                                     const eg_collective *b);
/// Fails with EGRAPH_E_CANCELLED: "rank 3 did not come to ... within 5 s" (deadline).
egraph_status eg_collective_missed(const eg_channel *channel, uint32_t rank,
                                   const eg_collective *what);

#endif
