// A thread that runs the exchanges of a rank, in the order in which they are started,
// while the rank computes. Collectives on the lane's channel run after the exchanges
// started before, and wait. The owner of a lane uses the channel below it only while the
// lane is idle.
//
//   rank      start x   kernel   kernel   start y   kernel   wait y
//   lane              [x .............]           [y .........]
//
// A failed exchange fails the next wait, and later exchanges are not run. A lane starts
// its thread at creation, and allocates nothing later.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_LANE_H
#define EG_EXEC_LANE_H

#include "exec/channel.h"

typedef struct eg_lane eg_lane;
/// The work of the lane, over the channel below it.
typedef egraph_status (*eg_lane_work)(void *user, const void *what, eg_channel *channel);

/// `below` is borrowed, in host memory. Fails with EGRAPH_E_UNSUPPORTED where only the
/// thread that opened it may use it, with EGRAPH_E_MEMORY where there is no thread.
egraph_status eg_lane_create(egraph_allocator alloc, eg_channel *below, eg_lane **out);
/// Runs what was started, unless something has failed, and ends. NULL is allowed.
void eg_lane_destroy(eg_lane *lane);
/// Borrowed; destroying it does nothing.
eg_channel *eg_lane_channel(eg_lane *lane);

/// Returns a number to wait for. `what` is borrowed until then. Waits only where very
/// many are started that have not ended.
uint32_t eg_lane_start(eg_lane *lane, eg_lane_work work, void *user, const void *what);
/// Waits until this and all that was started before has ended. Fails as that did.
egraph_status eg_lane_wait(eg_lane *lane, uint32_t number);

#endif
