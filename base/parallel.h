// One loop, spread over threads that live as long as the call; or all its turns at once.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_PARALLEL_H
#define EG_BASE_PARALLEL_H

#include <sys/select.h> // sigset_t, also where <signal.h> is that of ISO C

#include "base/memory.h"

/// One turn of the loop. `worker` < threads is the thread that runs it, 0 the caller:
/// what a turn may write is what belongs to its index or to its worker. Which worker runs
/// which index differs from call to call, so no result may depend on `worker`.
typedef egraph_status (*eg_parallel_step)(void *user, size_t index, uint32_t worker);

/// Calls step(user, index, worker) once for every index < count, in ascending order of
/// their beginnings, from at most `threads` threads: the caller and others that are
/// started and joined here. With threads <= 1 or count <= 1 it is a plain loop. Threads
/// that the system does not give are done without.
///
/// Fails as the lowest failing index does, with its message: all indices below it have
/// run then, higher ones may have or not. Fails with EGRAPH_E_MEMORY, before any turn,
/// when there is no memory for the list of threads.
///
/// `alloc` gives that list. An allocator that turns use is called from several threads at
/// once when threads > 1 and must allow that, as the C heap does. Asynchronous signals
/// are blocked in the threads started here: handlers run where they ran before. Some 20
/// us a thread, so turns should take longer.
egraph_status eg_parallel_for(egraph_allocator alloc, uint32_t threads, size_t count,
                              eg_parallel_step step, void *user);

/// Calls step(user, index, index) once for every index < count, each on a thread of its
/// own, all at the same time: turns may wait for each other. All run to their end; fails
/// as the lowest failing index does. Fails with EGRAPH_E_MEMORY, before any turn, when
/// there is no memory or the system does not give that many threads. Otherwise as above.
egraph_status eg_parallel_all(egraph_allocator alloc, size_t count, eg_parallel_step step,
                              void *user);

/// All signals but those that a thread causes itself: blocking those would kill it. For
/// threads that the library starts, or borrows.
void eg_signals_asynchronous(sigset_t *out);

#endif
