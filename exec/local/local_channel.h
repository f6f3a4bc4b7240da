// Channels between the threads of one process: ranks read each other's buffers.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_LOCAL_LOCAL_CHANNEL_H
#define EG_EXEC_LOCAL_LOCAL_CHANNEL_H

#include "exec/channel.h"

typedef struct eg_local_hub eg_local_hub;

/// The channels of all ranks of a mesh. Fails with EGRAPH_E_MEMORY.
egraph_status eg_local_hub_create(const egraph_allocator *alloc, const eg_mesh *mesh,
                                  const eg_channel_options *options, eg_local_hub **out);
/// When no rank uses its channel any more. NULL is allowed.
void eg_local_hub_destroy(eg_local_hub *hub);
/// Borrowed from the hub; destroying it does nothing.
eg_channel *eg_local_hub_channel(eg_local_hub *hub, uint32_t rank);

/// The work of a rank. A failure aborts the channel.
typedef egraph_status (*eg_rank_body)(void *user, eg_channel *channel);
/// Runs the body once per rank of the mesh, each on a thread of its own, and waits for
/// all. Fails as the first rank did that failed: "rank 2 failed: ...". The allocator is
/// called from all threads.
egraph_status eg_local_ranks_run(const egraph_allocator *alloc, const eg_mesh *mesh,
                                 const eg_channel_options *options, eg_rank_body body,
                                 void *user);

#endif
