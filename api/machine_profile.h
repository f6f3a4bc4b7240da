// What a profile database has of a machine's device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_MACHINE_PROFILE_H
#define EG_API_MACHINE_PROFILE_H

#include "pcg/machine.h"
#include "sim/cost.h"

/// Reads the entries of the device that `machine` names; nothing is written. *out is NULL
/// when the machine names none. Fails as eg_cost_model_create does.
egraph_status eg_machine_profile_open(const egraph_allocator *alloc,
                                      const eg_machine *machine, const char *database,
                                      eg_cost_model **out);

#endif
