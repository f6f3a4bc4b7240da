// What this host's processor reaches, by the operators that its profile database has.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_HOST_REACHES_H
#define EG_OPTIMIZE_PRICE_HOST_REACHES_H

#include "optimize/price/host_costs.h"
#include "pcg/parallel/machine.h"

/// Raises the peak and the bandwidth of the figures to the fastest operators of the
/// database, and appends (efficiency ...) clauses of a machine file, which refer to them.
/// Fails with EGRAPH_E_ARGUMENT when the database has no operators of this host.
egraph_status eg_host_reaches_print(egraph_allocator alloc, const eg_host_costs *host,
                                    eg_host_figures *inout_figures, eg_text *text);

#endif
