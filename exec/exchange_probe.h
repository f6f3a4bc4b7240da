// Measures the cost of messages: the seconds of every kind of exchange by size, and the
// latency and bandwidth of a link. An exchange is measured as in a program: after some
// computing, which all ranks do at the same time. Therefore its time includes waiting for
// other ranks and for a shared processor.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_EXCHANGE_PROBE_H
#define EG_EXEC_EXCHANGE_PROBE_H

#include "exec/channel.h"
#include "pcg/parallel/machine.h"

/// Limits the reported slowdown of computing; reported when computing stops.
#define EG_MOST_BESIDE 1000.0

/// Measures exchanges between `ranks` ranks over a channel: "local", threads of this
/// process; or a name for eg_channel_open, where this process is one rank. For every n >
/// 1 that divides the number of ranks, all groups of n ranks are measured at the same
/// time. *out_rank is the rank of this process, 0 where the process has all ranks; only
/// rank 0 gets points, in the order of devices, kinds and bytes. *out_beside is the
/// slowdown of a rank's computing while an exchange of all ranks runs (lane.h); 0: the
/// channel does not let another thread use it. Fails with EGRAPH_E_ARGUMENT for fewer
/// than two ranks, and as the channel does.
egraph_status eg_exchange_probe(egraph_allocator alloc, const char *channel,
                                uint32_t ranks, eg_exchange_points *out,
                                double *out_beside, uint32_t *out_rank);

// ---- latency and bandwidth of a link ------------------------------------------------

typedef struct eg_link_figures {
  double latency_seconds;  // seconds of a round of a collective
  double seconds_per_byte; // seconds for each byte that a device sends
} eg_link_figures;

/// Measures a link; all ranks of the axis, two or more, call it together and get the
/// figures of rank 0. Times small and large all-gathers, reduce-scatters and all-reduces,
/// each the lower quartile of several. Fails with EGRAPH_E_MEMORY and as collectives do.
egraph_status eg_channel_probe(eg_channel *channel, uint32_t axis, eg_link_figures *out);
/// Measures a link between `ranks` threads (exec/local), all of which call the allocator.
egraph_status eg_local_probe(const egraph_allocator *alloc, uint32_t ranks,
                             eg_link_figures *out);

#endif
