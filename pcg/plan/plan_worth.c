// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_worth.h"

#include <inttypes.h>

#include "base/json_text.h"
#include "pcg/plan/plan_words.h"

uint32_t eg_plan_idle_axes(const eg_plan *plan) {
  uint32_t idle = 0;
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if (plan->mesh.axes[a].size > 1) idle |= 1u << a;
  for (size_t i = 0; i < plan->states.len; i++)
    for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
      if (plan->states.data[i].layout.sharding[a] != EG_SHARD_R) idle &= ~(1u << a);
  return idle;
}

uint32_t eg_plan_useful_devices(const eg_plan *plan) {
  uint32_t idle = eg_plan_idle_axes(plan), devices = 1;
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if ((idle >> a & 1) == 0) devices *= plan->mesh.axes[a].size;
  return devices;
}

/// Seconds of all devices at their peak for the operations of a node, whole.
static egraph_status add_peak(const eg_plan *plan, const eg_plan_step *step,
                              const eg_machine *machine, eg_arena *arena, double *inout) {
  eg_node_spec spec;
  EG_TRY(eg_plan_spec(plan, step, arena, &spec));
  if (spec.input_count == 0 || spec.attrs->op == EG_OP_OPAQUE) return EGRAPH_OK;
  double peak = machine->peak_flops[spec.inputs[0].dtype];
  if (peak > 0)
    *inout += eg_phase_runs(plan, step->phase) * eg_plan_step_blocks(step) *
              eg_node_spec_flops(&spec) / (peak * eg_mesh_devices(&plan->mesh));
  return EGRAPH_OK;
}

egraph_status eg_plan_find_peak(eg_plan *plan, egraph_allocator alloc,
                                const eg_machine *machine) {
  double seconds = 0;
  egraph_status status = EGRAPH_OK;
  eg_arena arena;
  eg_arena_init(&arena, alloc);
  for (size_t i = 0; i < plan->steps.len && status == EGRAPH_OK; i++) {
    if (plan->steps.data[i].is_move) continue;
    status = add_peak(plan, &plan->steps.data[i], machine, &arena, &seconds);
    eg_arena_deinit(&arena);
  }
  bool is_known = !machine->compute_is_free && !machine->has_assumed_peak;
  if (status == EGRAPH_OK) plan->peak_seconds = is_known ? seconds : 0;
  return status;
}

static egraph_status write_known(eg_text *text, double seconds) {
  return seconds > 0 ? eg_text_json_double(text, seconds) : eg_text_append(text, "null");
}

egraph_status eg_plan_worth_write_members(eg_text *text, const eg_plan *plan) {
  uint32_t idle = eg_plan_idle_axes(plan), written = 0;
  EG_TRY(eg_text_printf(text, ", \"useful_devices\": %" PRIu32 ", \"idle_axes\": [",
                        eg_plan_useful_devices(plan)));
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if ((idle >> a & 1) != 0)
      EG_TRY(eg_text_printf(text, "%s\"%s\"", written++ == 0 ? "" : ", ",
                            plan->mesh.axes[a].name));
  EG_TRY(eg_text_append(text, "], \"single_device_seconds\": "));
  EG_TRY(write_known(text, plan->single_seconds));
  EG_TRY(eg_text_append(text, ", \"peak_seconds\": "));
  return write_known(text, plan->peak_seconds);
}
