// This host as a machine: one rank per processor, over shared memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_MACHINE_HOST_H
#define EG_PCG_MACHINE_HOST_H

#include "pcg/parallel/machine.h"

/// Of one processor, and of messages between two ranks.
typedef struct eg_host_figures {
  double peak_flops, bandwidth_bytes; // per second, float32
  double overhead_seconds;            // of a kernel
  double latency_seconds, link_bytes; // of a message; per second
} eg_host_figures;
/// Of a plain core and threads, not measured.
extern const eg_host_figures eg_host_figures_assumed;

/// Appends the text of a machine of `ranks` ranks (0: one per processor that is online),
/// each with its part of the memory, and of a processor where there are fewer. The
/// entries of a profile database are to be preferred to the figures of the processor.
egraph_status eg_machine_host_print(eg_text *text, uint32_t ranks,
                                    const eg_host_figures *figures);

#endif
