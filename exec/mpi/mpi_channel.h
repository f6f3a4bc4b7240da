// Channels between the processes that mpirun started, one rank each.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_MPI_MPI_CHANNEL_H
#define EG_EXEC_MPI_MPI_CHANNEL_H

#include "exec/channel.h"

/// The channel of this process; its rank is that in MPI_COMM_WORLD, which has as many
/// processes as the mesh has devices (otherwise EGRAPH_E_ARGUMENT). All processes create
/// theirs together, and use it from one thread.
///
/// When the program has not called MPI_Init, this does, and destroy calls MPI_Finalize;
/// MPI starts once per process, so a second such channel fails with EGRAPH_E_ARGUMENT.
/// A channel that has failed neither waits for others nor finalizes when it is destroyed:
/// the process should end, and mpirun will end the others.
egraph_status eg_mpi_channel_create(const egraph_allocator *alloc, const eg_mesh *mesh,
                                    const eg_channel_options *options, eg_channel **out);

#endif
