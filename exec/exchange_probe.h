// Measures what messages cost: the seconds of every kind of exchange by size, and the
// latency and bandwidth of a link. Exchanges are measured as programs run them: after a
// piece of computing, which all ranks do at the same time, so that waiting for other
// ranks and for a shared processor counts.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_EXCHANGE_PROBE_H
#define EG_EXEC_EXCHANGE_PROBE_H

#include "exec/channel.h"
#include "pcg/parallel/machine.h"

/// The largest slowdown of computing during an exchange that is reported: computing
/// stops.
#define EG_MOST_BESIDE 1000.0

/// Measures exchanges between `ranks` ranks over a channel: "local", threads of this
/// process; or another that eg_channel_open takes, of which this process is one rank. All
/// groups of n ranks for every n > 1 that divides the ranks, all at the same time.
/// *out_rank is the rank of this process, 0 where it has all ranks; only rank 0 has
/// points, in the order of devices, kinds and bytes. *out_beside is the slowdown of a
/// rank's computing while an exchange of all ranks runs (lane.h); 0: the channel does not
/// let another thread use it. Fails with EGRAPH_E_ARGUMENT for fewer than two ranks, and
/// as the channel does.
egraph_status eg_exchange_probe(egraph_allocator alloc, const char *channel,
                                uint32_t ranks, eg_exchange_points *out,
                                double *out_beside, uint32_t *out_rank);

// ---- latency and bandwidth of a link ------------------------------------------------

typedef struct eg_link_figures {
  double latency_seconds;  // of a round of a collective
  double seconds_per_byte; // of what passes a device
} eg_link_figures;

/// All ranks of the axis, which has two or more; all get the same figures, rank 0's.
/// Times small and large all-gathers, reduce-scatters and all-reduces, each the lower
/// quartile of several. Fails with EGRAPH_E_MEMORY and as collectives do.
egraph_status eg_channel_probe(eg_channel *channel, uint32_t axis, eg_link_figures *out);
/// The same between `ranks` threads of this process (exec/local). The allocator is called
/// from all of them.
egraph_status eg_local_probe(const egraph_allocator *alloc, uint32_t ranks,
                             eg_link_figures *out);

#endif
