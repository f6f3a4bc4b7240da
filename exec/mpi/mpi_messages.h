// Messages between the ranks of a channel over MPI. For the files mpi_*.c only.
//
// Every collective is rounds of messages between pairs of ranks: what it wants, then at
// most a chunk of data. Pairs are enough for an order of reductions of our own, for
// deadlines, and for naming who is missing; MPI's collectives have none of these.
//
//   span of a peer     what goes to it and what comes from it, in rounds
//   slots              a message to and one from each peer; the channel's own memory, so
//                      that a failure leaves no request on a buffer of the caller
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_MPI_MPI_MESSAGES_H
#define EG_EXEC_MPI_MPI_MESSAGES_H

#include <mpi.h>

#include "exec/channel.h"

enum { EG_MPI_CHUNK = 1 << 16 };

typedef struct eg_mpi_slot {
  eg_collective what; // pointers are not read
  char data[EG_MPI_CHUNK];
} eg_mpi_slot;

typedef struct eg_mpi_note {
  int32_t status;
  char message[EG_MESSAGE_BYTES];
} eg_mpi_note;

typedef struct eg_mpi_span {
  const char *send;
  char *recv; // NULL: what comes is combined
  size_t send_bytes, recv_bytes;
  bool is_peer;
} eg_mpi_span;

typedef struct eg_mpi_channel {
  eg_channel base;
  MPI_Comm comm;
  bool owns_mpi, has_comm;
  bool is_opening;                  // MPI may still write to `comm`
  uint32_t ranks, places;           // places: of the largest group
  eg_mpi_slot *outgoing, *incoming; // [places]
  eg_mpi_span *spans;               // [places]
  const void **parts;               // [places]
  MPI_Request *receives, *sends;    // [places]
  MPI_Request *notes;               // [ranks]
  eg_mpi_note own_note;             // what they send
  egraph_status failed;
  char message[EG_MESSAGE_BYTES];
} eg_mpi_channel;

/// Translates MPI's codes: EGRAPH_E_IO with its own words.
egraph_status eg_mpi_check(int code, const char *what);
/// Ends the channel here and tells all others; the first failure stays.
egraph_status eg_mpi_fail_all(eg_mpi_channel *channel, egraph_status status,
                              const char *message);
/// Fails when this or another rank has ended the channel.
egraph_status eg_mpi_look_for_end(eg_mpi_channel *channel);
/// Runs all rounds of channel->spans. With `out`, what comes is combined into it in the
/// order of the group; own elements stand in the own span.
egraph_status eg_mpi_exchange(eg_mpi_channel *channel, const eg_group *group,
                              const eg_collective *what, char *out);

#endif
