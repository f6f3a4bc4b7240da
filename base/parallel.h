// Runs one loop on threads that live as long as the call, or runs all its turns at once.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_PARALLEL_H
#define EG_BASE_PARALLEL_H

#include <sys/select.h> // sigset_t, also when <signal.h> is the header of ISO C

#include "base/memory.h"

/// Runs one turn of the loop. `worker` < threads is the number of the thread that runs
/// it; 0 is the caller. A turn may write only data of its index or of its worker. The
/// worker of an index differs from call to call; no result may depend on `worker`.
typedef egraph_status (*eg_parallel_step)(void *user, size_t index, uint32_t worker);

/// Calls step(user, index, worker) once for every index < count, from at most `threads`
/// threads: the caller, and threads that this function starts and joins. Calls begin in
/// ascending order of the index. With threads <= 1 or count <= 1 it is a plain loop. When
/// the system refuses a thread, the loop runs without it.
///
/// Fails as the lowest failing index does, with its message: all indices below it have
/// run, higher indices may have run. Fails with EGRAPH_E_MEMORY, before any turn, when
/// there is no memory for the list of threads.
///
/// `alloc` allocates that list. When threads > 1, several threads at once call the
/// allocator that turns use; it must allow that, as the C heap does. Asynchronous signals
/// are blocked in the threads that this function starts: signal handlers run on the same
/// threads as before. A thread costs about 20 us; turns should take longer.
egraph_status eg_parallel_for(egraph_allocator alloc, uint32_t threads, size_t count,
                              eg_parallel_step step, void *user);

/// Calls step(user, index, index) once for every index < count, each on a thread of its
/// own, all at the same time: turns may wait for each other. All turns run to their end;
/// the function fails as the lowest failing index does. Fails with EGRAPH_E_MEMORY,
/// before any turn, when there is no memory or the system does not give that many
/// threads. Otherwise like eg_parallel_for.
egraph_status eg_parallel_all(egraph_allocator alloc, size_t count, eg_parallel_step step,
                              void *user);

/// Fills *out with all signals except the signals that a thread causes itself, whose
/// blocking would kill the thread. For threads that the library starts, or borrows.
void eg_signals_asynchronous(sigset_t *out);

#endif
