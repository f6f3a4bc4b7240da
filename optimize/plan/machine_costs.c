// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/machine_costs.h"

#include <math.h>

#include "optimize/predict.h"

static egraph_status price_node(void *self, const eg_node_spec *local,
                                eg_node_price *out) {
  const eg_machine_costs *costs = self;
  EG_TRY(eg_device_cost_seconds(&costs->device, local, &out->seconds, NULL));
  if (!isfinite(out->seconds) && eg_node_spec_is_plain(local))
    out->seconds = EG_UNPRICED_SECONDS;
  return EGRAPH_OK;
}

static double transition_seconds(void *self, const eg_transition *transition,
                                 double bytes) {
  const eg_machine_costs *costs = self;
  return eg_collective_seconds(costs->mesh, transition, bytes);
}

static double halo_seconds(void *self, const eg_halo *halo, const eg_type *local) {
  const eg_machine_costs *costs = self;
  return eg_collective_halo_seconds(costs->mesh, halo, local);
}

eg_plan_costs eg_machine_plan_costs(eg_machine_costs *self) {
  return (eg_plan_costs){.self = self,
                         .node = price_node,
                         .transition = transition_seconds,
                         .halo = halo_seconds,
                         .compute_is_free = self->device.machine->compute_is_free,
                         .formats = eg_device_cost_formats(&self->device)};
}
