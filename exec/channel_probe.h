// Measures what a message costs on a channel: alpha and beta of sim/collective.h.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CHANNEL_PROBE_H
#define EG_EXEC_CHANNEL_PROBE_H

#include "exec/channel.h"

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
