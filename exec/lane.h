// A thread that runs the exchanges of a rank in the order in which the rank starts them,
// while the rank computes. A collective on the lane's channel runs after the exchanges
// that were started before; its caller waits for it. The owner of a lane uses the channel
// below the lane only while the lane is idle.
//
//   rank      start x   kernel   kernel   start y   kernel   wait y
//   lane              [x .............]           [y .........]
//
// A failed exchange fails the next wait, and later exchanges are not run. eg_lane_create
// creates the thread; later calls allocate nothing.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_LANE_H
#define EG_EXEC_LANE_H

#include "exec/channel.h"

typedef struct eg_lane eg_lane;
/// Runs an exchange over the channel below the lane (the thread for exchanges).
typedef egraph_status (*eg_lane_work)(void *user, const void *what, eg_channel *channel);

/// Creates a lane, a thread that runs exchanges. `below`, the channel that it uses, is
/// borrowed and in host memory. Fails with EGRAPH_E_UNSUPPORTED where only the thread
/// that opened `below` may use it, with EGRAPH_E_MEMORY where no thread can be created.
egraph_status eg_lane_create(egraph_allocator alloc, eg_channel *below, eg_lane **out);
/// Waits for the exchanges that were started (after a failed one, the others are not
/// run), then ends the thread. NULL is allowed.
void eg_lane_destroy(eg_lane *lane);
/// Returns a channel whose collectives run on the lane's thread; it is borrowed,
/// destroying it does nothing.
eg_channel *eg_lane_channel(eg_lane *lane);

/// Starts an exchange on the lane's thread; returns its number for eg_lane_wait. `what`
/// is borrowed until that wait. Blocks only while 64 started exchanges have not ended.
uint32_t eg_lane_start(eg_lane *lane, eg_lane_work work, void *user, const void *what);
/// Waits until exchange `number` and all earlier ones have ended. Fails with the error of
/// a failed one.
egraph_status eg_lane_wait(eg_lane *lane, uint32_t number);

#endif
