// SPDX-License-Identifier: Apache-2.0
#include "optimize/price/machine_costs.h"

#include <math.h>

#include "optimize/price/predict.h"

static eg_price_basis basis_of(const eg_device_cost *device, const eg_node_spec *local,
                               eg_cost_source source) {
  switch (source) {
  case EG_COST_FREE: return EG_PRICE_FREE;
  case EG_COST_USER: return EG_PRICE_GIVEN;
  case EG_COST_MEASURED: return EG_PRICE_MEASURED;
  case EG_COST_ESTIMATED: break;
  }
  bool is_calibrated =
      device->model != NULL && eg_cost_is_calibrated(device->model, local);
  return is_calibrated ? EG_PRICE_ESTIMATED : EG_PRICE_GUESSED;
}

static egraph_status price_node(void *self, const eg_node_spec *local,
                                eg_node_price *out) {
  const eg_machine_costs *costs = self;
  eg_cost_source source;
  EG_TRY(eg_device_cost_seconds(&costs->device, local, &out->seconds, &source));
  out->basis = (uint32_t)basis_of(&costs->device, local, source);
  if (!isfinite(out->seconds) && eg_node_spec_is_plain(local))
    *out = (eg_node_price){.seconds = EG_UNPRICED_SECONDS, .basis = EG_PRICE_GUESSED};
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
