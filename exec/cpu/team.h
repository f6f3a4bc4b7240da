// Threads that run parallel regions: the calling thread, and workers that last as long as
// the team. A region has pieces, one for each of its threads. Workers begin a piece each;
// a thread that ends one takes the next that no thread has begun. So a worker that has no
// processor, because others are busy, is not waited for unless it stopped in the midst of
// its piece: the caller runs the piece instead.
//
//   caller  |piece 0|piece 1|            |piece 0|wait|
//   worker          .           .late        |piece 1|
//
// Pieces may wait for each other (eg_team_barrier, or by spinning as oneDNN does): each
// waiting piece has a thread of its own, and for each piece that is not begun there is a
// thread without one, since a region has no more pieces than the team has threads. That
// thread is awake, or is woken when the region begins; so all pieces begin.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_TEAM_H
#define EG_EXEC_CPU_TEAM_H

#include "base/memory.h"

typedef struct eg_team eg_team;

/// Fails with EGRAPH_E_MEMORY when the system does not give that many threads. Workers
/// get no asynchronous signals.
egraph_status eg_team_create(egraph_allocator alloc, uint32_t threads, eg_team **out);
void eg_team_destroy(eg_team *team); // NULL is allowed
/// Threads, the caller included.
uint32_t eg_team_size(const eg_team *team);
/// Calls body(argument) once for each of `pieces` <= size pieces; returns when all have
/// ended. From one thread at a time. Within a piece, of any team, the body is one piece
/// that is run at once. Of the floating-point flags "invalid operation" is handed to the
/// caller when a piece raised it.
void eg_team_run(eg_team *team, void (*body)(void *), void *argument, uint32_t pieces);

/// The piece that the calling thread runs.
typedef struct eg_team_piece {
  eg_team *team;
  uint32_t index, count;
} eg_team_piece;
/// False outside of pieces.
bool eg_team_piece_of_caller(eg_team_piece *out);
/// Within a piece: waits until all pieces of the region have called it.
void eg_team_barrier(void);

#endif
