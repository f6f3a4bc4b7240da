// SPDX-License-Identifier: Apache-2.0
#include "sim/device_cost.h"

egraph_status eg_device_cost_init(eg_device_cost *cost, const eg_machine *machine,
                                  eg_cost_model *model) {
  uint32_t entries = 0, unsupported = 0;
  if (model != NULL) EG_TRY(eg_cost_counts(model, &entries, &unsupported));
  bool enough = (model != NULL && eg_cost_is_asked_for(model)) ||
                entries - unsupported >= EG_DEVICE_COST_MIN_ENTRIES;
  *cost = (eg_device_cost){.machine = machine, .model = enough ? model : NULL};
  return EGRAPH_OK;
}

static double roof_of_machine(const eg_machine *machine, const eg_node_spec *spec) {
  const eg_type *type = spec->input_count != 0 ? &spec->inputs[0] : &spec->results[0];
  double compute = eg_node_spec_flops(spec) / machine->peak_flops[type->dtype];
  double move = eg_node_spec_bytes(spec) / machine->bandwidth_bytes;
  return compute > move ? compute : move;
}

egraph_status eg_device_cost_seconds(const eg_device_cost *cost,
                                     const eg_node_spec *local, double *out_seconds,
                                     eg_cost_source *out_source) {
  if (!cost->machine->compute_is_free && cost->model != NULL) {
    EG_TRY(eg_cost_seconds(cost->model, local, out_seconds, out_source));
    *out_seconds *= cost->machine->slowdown;
    return EGRAPH_OK;
  }
  bool is_free = cost->machine->compute_is_free || eg_cost_is_free(local);
  *out_seconds =
      is_free ? 0
              : roof_of_machine(cost->machine, local) + cost->machine->overhead_seconds;
  if (out_source != NULL) *out_source = is_free ? EG_COST_FREE : EG_COST_ESTIMATED;
  return EGRAPH_OK;
}

uint32_t eg_device_cost_formats(const eg_device_cost *cost) {
  bool is_known =
      cost->model != NULL && !cost->machine->compute_is_free && !cost->plain_only;
  return is_known ? eg_cost_formats(cost->model) : 0;
}

bool eg_device_cost_is_heavy(const eg_node_spec *spec) {
  return (eg_op_info_of((eg_op)spec->attrs->op)->flags & EG_OPF_MULTIPLY_ADD) != 0;
}
