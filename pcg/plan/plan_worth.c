// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_worth.h"

#include <inttypes.h>

#include "base/json_text.h"

static const double NOTHING = 1.0005; // a speedup that rounds to 1

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

static egraph_status print_speedup(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary) {
  double speedup = plan->single_seconds / summary->seconds;
  EG_TRY(eg_text_printf(text, "speedup   %.3g over one device (", speedup));
  EG_TRY(eg_text_seconds(text, plan->single_seconds));
  return eg_text_append(
      text, speedup < NOTHING ? "): this plan wins nothing over one device\n" : ")\n");
}

static egraph_status print_idle(eg_text *text, const eg_plan *plan, uint32_t idle) {
  uint32_t devices = eg_plan_useful_devices(plan);
  EG_TRY(eg_text_append(text, "idle      all devices along"));
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if ((idle >> a & 1) != 0)
      EG_TRY(eg_text_printf(text, " %s=%" PRIu32, plan->mesh.axes[a].name,
                            plan->mesh.axes[a].size));
  return eg_text_printf(
      text, " do the same work: %" PRIu32 " device%s of %" PRIu32 " would do\n", devices,
      devices == 1 ? "" : "s", eg_mesh_devices(&plan->mesh));
}

egraph_status eg_plan_worth_print(eg_text *text, const eg_plan *plan,
                                  const eg_plan_summary *summary) {
  uint32_t idle = eg_plan_idle_axes(plan);
  if (eg_mesh_devices(&plan->mesh) == 1) return EGRAPH_OK;
  if (plan->single_seconds > 0 && summary->seconds > 0)
    EG_TRY(print_speedup(text, plan, summary));
  return idle == 0 ? EGRAPH_OK : print_idle(text, plan, idle);
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
  return plan->single_seconds > 0 ? eg_text_json_double(text, plan->single_seconds)
                                  : eg_text_append(text, "null");
}
