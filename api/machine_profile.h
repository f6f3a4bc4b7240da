// The machine that a target names, and the costs of its device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_MACHINE_PROFILE_H
#define EG_API_MACHINE_PROFILE_H

#include "api/measured_host.h"
#include "include/egraph.h"

typedef struct eg_target_machine {
  eg_machine machine;
  eg_cost_model *costs; // borrowed; NULL: the machine's figures
  eg_cost_model *own;   // of a device that is not of this host; NULL
  eg_measured_host host;
} eg_target_machine;

/// Opens the machine of a target: this host, measured where `costs` (may be NULL) say so,
/// or with what they have; or another one, with the entries of its device in the database
/// of the costs. Of one that is zeros, but for `stop` of the host and its user. Fails as
/// eg_machine_load and eg_cost_model_create do; eg_target_machine_close follows in any
/// case.
egraph_status eg_target_machine_open(eg_target_machine *target, egraph_allocator alloc,
                                     const egraph_target *options, egraph_costs *costs);
void eg_target_machine_close(eg_target_machine *target);

/// What the caller's own function says of a node; of a cost model whose user are the
/// costs.
bool eg_costs_override(void *costs, const eg_node_spec *spec, double *out);

#endif
