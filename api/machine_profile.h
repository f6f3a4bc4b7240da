// Machines to plan for, and what a profile database has of their device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_MACHINE_PROFILE_H
#define EG_API_MACHINE_PROFILE_H

#include "api/measured_host.h"
#include "include/egraph.h"

/// Reads the entries of the device that `machine` names; nothing is written. *out is NULL
/// when the machine names none. Fails as eg_cost_model_create does.
egraph_status eg_machine_profile_open(const egraph_allocator *alloc,
                                      const eg_machine *machine, const char *database,
                                      eg_cost_model **out);

/// The machine that the options of planning name, and what is known of its device: this
/// host measured (host->stop and user are set), the entries of a database, or NULL.
/// Whatever it returns, the model, `host` and the machine are given back in this order.
egraph_status eg_planning_machine_open(const egraph_allocator *alloc,
                                       const egraph_plan_options *options,
                                       eg_measured_host *host, eg_machine *out_machine,
                                       eg_cost_model **out_costs);

#endif
