// This host as a machine whose figures are measured as planning asks for them: what
// messages cost at once, operators one by one. Both are kept in a profile database.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_MEASURED_HOST_H
#define EG_API_MEASURED_HOST_H

#include "api/costs.h"
#include "pcg/parallel/machine.h"

typedef struct eg_measured_host {
  egraph_costs *costs; // of which it is a part while it is open; NULL: it is not
  eg_cost_prober prober;
  bool (*stop)(void *user); // asked before each operator: true leaves it to an estimate
  void *user;
  uint32_t measured; // operators
} eg_measured_host;

/// Opens the machine of `ranks` ranks (0: one per processor) of this host; the model of
/// the costs measures what it is asked for until eg_measured_host_close, which follows in
/// any case. Of a host that is zeros, but for `stop` and its user. Operators that would
/// take long, or much memory, are never measured. Fails with EGRAPH_E_IO, EGRAPH_E_BUSY,
/// EGRAPH_E_PARSE as the database does.
egraph_status eg_measured_host_open(eg_measured_host *host, egraph_costs *costs,
                                    uint32_t ranks, eg_machine *out_machine);
void eg_measured_host_close(eg_measured_host *host);

#endif
