// What planning asks of a machine, answered by one of its meshes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_MACHINE_COSTS_H
#define EG_OPTIMIZE_PRICE_MACHINE_COSTS_H

#include "optimize/price/plan_price.h"
#include "pcg/plan/plan.h"
#include "sim/collective.h"
#include "sim/device_cost.h"

typedef struct eg_machine_costs {
  eg_device_cost device;
  const eg_machine_mesh *mesh;
} eg_machine_costs;

/// `self` is borrowed by the result. A node that the device cannot run costs a second.
/// The basis of a price is an eg_price_basis.
eg_plan_costs eg_machine_plan_costs(eg_machine_costs *self);

#endif
