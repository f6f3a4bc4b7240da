// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/machine_costs.h"

#include <math.h>

static const double UNPRICED_SECONDS = 1.0;

static bool is_plain(const eg_node_spec *spec) {
  bool plain = true;
  for (uint32_t i = 0; i < spec->input_count; i++)
    plain = plain && spec->inputs[i].layout.format == EG_FORMAT_PLAIN;
  for (uint32_t r = 0; r < spec->result_count; r++)
    plain = plain && spec->results[r].layout.format == EG_FORMAT_PLAIN;
  return plain;
}

static egraph_status node_seconds(void *self, const eg_node_spec *local, double *out) {
  const eg_machine_costs *costs = self;
  EG_TRY(eg_device_cost_seconds(&costs->device, local, out, NULL));
  if (!isfinite(*out) && is_plain(local)) *out = UNPRICED_SECONDS;
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
                         .node = node_seconds,
                         .transition = transition_seconds,
                         .halo = halo_seconds,
                         .compute_is_free = self->device.machine->compute_is_free,
                         .formats = eg_device_cost_formats(&self->device)};
}
