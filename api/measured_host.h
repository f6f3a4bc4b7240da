// This host as a machine whose figures are measured as planning asks for them: what
// messages cost at once, operators one by one. Both are kept in a profile database.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_MEASURED_HOST_H
#define EG_API_MEASURED_HOST_H

#include "exec/profile.h"
#include "pcg/machine.h"
#include "sim/cost.h"

typedef struct eg_measured_host {
  egraph_allocator alloc;
  eg_profiler *profiler;
  eg_text fingerprint;
  eg_cost_prober prober;
  bool (*stop)(void *user); // asked before each operator: true leaves it to an estimate
  void *user;
  uint32_t measured; // operators
} eg_measured_host;

/// Opens the machine and the cost model of `ranks` ranks (0: one per processor) of this
/// host; `database` NULL: nothing is kept. Of a host that is zeros, but for `stop` and
/// its user. The model goes before the host. Operators that would take long, or much
/// memory, are never measured. Fails with EGRAPH_E_IO, EGRAPH_E_BUSY, EGRAPH_E_PARSE as
/// the database does; eg_measured_host_close follows in any case.
egraph_status eg_measured_host_open(eg_measured_host *host, egraph_allocator alloc,
                                    const char *database, uint32_t ranks,
                                    eg_machine *out_machine, eg_cost_model **out_costs);
void eg_measured_host_close(eg_measured_host *host);

#endif
