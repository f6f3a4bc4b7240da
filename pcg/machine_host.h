// This host as a machine: one rank per processor, over shared memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_MACHINE_HOST_H
#define EG_PCG_MACHINE_HOST_H

#include "pcg/machine.h"

/// Appends the text of a machine of `ranks` ranks (0: one per processor that is online),
/// each with its part of the memory, and of a processor where there are fewer. Peak,
/// bandwidth and overhead are those of a plain core, not measured: the entries of a
/// profile database are to be preferred.
egraph_status eg_machine_host_print(eg_text *text, uint32_t ranks);

#endif
