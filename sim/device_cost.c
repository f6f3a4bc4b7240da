// SPDX-License-Identifier: Apache-2.0
#include "sim/device_cost.h"

#include "sim/reach_fit.h"

egraph_status eg_device_cost_init(eg_device_cost *cost, const eg_machine *machine,
                                  eg_cost_model *model) {
  uint32_t entries = 0, unsupported = 0;
  if (model != NULL) EG_TRY(eg_cost_counts(model, &entries, &unsupported));
  bool enough = (model != NULL && eg_cost_is_asked_for(model)) ||
                entries - unsupported >= EG_DEVICE_COST_MIN_ENTRIES;
  *cost = (eg_device_cost){.machine = machine, .model = enough ? model : NULL};
  return EGRAPH_OK;
}

/// The seconds that a device needs for one resource, and where they come from.
typedef struct demand {
  double seconds;
  const eg_reach *reach; // NULL: the data sheet
} demand;

static demand demand_of(const eg_machine *machine, eg_reach_kind kind, egraph_dtype dtype,
                        double work, double peak) {
  const eg_reach *reach = eg_machine_reach(machine, kind, dtype);
  return (demand){reach != NULL ? eg_reach_seconds(reach, work, peak) : work / peak,
                  reach};
}

/// Returns the larger of the seconds of computing and of moving bytes.
static demand demand_of_node(const eg_machine *machine, const eg_node_spec *spec) {
  const eg_type *type = spec->input_count != 0 ? &spec->inputs[0] : &spec->results[0];
  egraph_dtype dtype = (egraph_dtype)type->dtype;
  demand compute = demand_of(machine, eg_reach_kind_of((eg_op)spec->attrs->op), dtype,
                             eg_node_spec_flops(spec), machine->peak_flops[dtype]);
  demand move = demand_of(machine, EG_REACH_BYTES, dtype, eg_node_spec_bytes(spec),
                          machine->bandwidth_bytes);
  return compute.seconds > move.seconds ? compute : move;
}

bool eg_device_cost_is_reached(const eg_device_cost *cost, const eg_node_spec *local) {
  return cost->model == NULL && demand_of_node(cost->machine, local).reach != NULL;
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
  *out_seconds = is_free ? 0
                         : demand_of_node(cost->machine, local).seconds +
                               cost->machine->overhead_seconds;
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
