// Threads that run parallel regions: the calling thread, and workers that last as long as
// the team. A region has pieces, one for each of its threads. Workers begin with one
// piece each; a thread that ends a piece takes the next one that no thread has begun. So
// a region waits for a worker that has no processor only when the worker stopped within
// its piece; otherwise another thread runs that piece.
//
//   caller  |piece 0|piece 1|            |piece 0|wait|
//   worker          .           .late        |piece 1|
//
// Pieces may wait for each other (eg_team_barrier, or by spinning as oneDNN does). All
// pieces begin, for two reasons: each waiting piece has its own thread, and a region has
// no more pieces than the team has threads, so that for each piece that has not begun
// there is a thread without a piece. That thread is awake, or the region wakes it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_TEAM_H
#define EG_EXEC_CPU_TEAM_H

#include "base/memory.h"

typedef struct eg_team eg_team;

/// Creates a team. Fails with EGRAPH_E_MEMORY when the system cannot create that many
/// threads. Workers get no asynchronous signals.
egraph_status eg_team_create(egraph_allocator alloc, uint32_t threads, eg_team **out);
void eg_team_destroy(eg_team *team); // NULL is allowed
/// Returns the number of threads, the caller included.
uint32_t eg_team_size(const eg_team *team);
/// Calls body(argument) once for each of `pieces` <= size pieces; returns when all have
/// ended. One thread at a time may call this function. A call within a piece, of any
/// team, runs the body as one piece on the calling thread. When a piece raised the
/// floating-point flag "invalid operation", the flag is raised for the caller.
void eg_team_run(eg_team *team, void (*body)(void *), void *argument, uint32_t pieces);

/// The piece of a parallel region that the calling thread runs.
typedef struct eg_team_piece {
  eg_team *team;
  uint32_t index, count;
} eg_team_piece;
/// Finds the region's piece that the calling thread runs; false outside of pieces.
bool eg_team_piece_of_caller(eg_team_piece *out);
/// Called within a piece of a region: waits until all its pieces have called it.
void eg_team_barrier(void);

#endif
