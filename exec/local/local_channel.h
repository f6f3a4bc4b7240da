// Channels between the threads of one process: ranks read each other's buffers.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_LOCAL_LOCAL_CHANNEL_H
#define EG_EXEC_LOCAL_LOCAL_CHANNEL_H

#include "exec/channel.h"

typedef struct eg_local_hub eg_local_hub;

/// Creates the channels of all ranks of a mesh. Fails with EGRAPH_E_MEMORY.
egraph_status eg_local_hub_create(const egraph_allocator *alloc, const eg_mesh *mesh,
                                  const eg_channel_options *options, eg_local_hub **out);
/// Destroys the channels; no rank may use its channel any more. NULL is allowed.
void eg_local_hub_destroy(eg_local_hub *hub);
/// Returns the channel of a rank, borrowed from the hub; destroying it does nothing.
eg_channel *eg_local_hub_channel(eg_local_hub *hub, uint32_t rank);

/// The work of a rank. When it fails, the channel is aborted.
typedef egraph_status (*eg_rank_body)(void *user, eg_channel *channel);
/// Runs the body once per rank of the mesh, each on its own thread, and waits for all.
/// Fails with the error of the rank that failed first: "rank 2 failed: ...". All threads
/// call the allocator.
egraph_status eg_local_ranks_run(const egraph_allocator *alloc, const eg_mesh *mesh,
                                 const eg_channel_options *options, eg_rank_body body,
                                 void *user);

#endif
