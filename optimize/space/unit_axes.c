// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/unit_axes.h"

#include <assert.h>
#include <string.h>

/// Where the axes of `part` are in `whole`; returns how many of them are there, one after
/// the other.
static uint32_t find_axes(const eg_mesh *part, const eg_mesh *whole,
                          uint32_t out[EG_MAX_MESH_AXES]) {
  uint32_t count = 0;
  for (uint32_t a = 0; a < whole->axis_count && count < part->axis_count; a++)
    if (whole->axes[a].size == part->axes[count].size &&
        strcmp(whole->axes[a].name, part->axes[count].name) == 0)
      out[count++] = a;
  return count;
}

bool eg_unit_axes_are_of(const eg_mesh *part, const eg_mesh *whole) {
  uint32_t axes[EG_MAX_MESH_AXES];
  return find_axes(part, whole, axes) == part->axis_count;
}

eg_machine_mesh eg_unit_axes_drop(const eg_machine_mesh *mesh) {
  eg_machine_mesh out = {.collectives = mesh->collectives};
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++) {
    if (mesh->mesh.axes[a].size == 1 || (mesh->idle >> a & 1) != 0) continue;
    out.mesh.axes[out.mesh.axis_count] = mesh->mesh.axes[a];
    out.links[out.mesh.axis_count++] = mesh->links[a];
  }
  return out;
}

eg_layout eg_unit_axes_narrow(const eg_layout *layout, const eg_mesh *whole,
                              const eg_mesh *part) {
  uint32_t axes[EG_MAX_MESH_AXES], count = find_axes(part, whole, axes);
  eg_layout out = *layout;
  memset(out.sharding, 0, sizeof out.sharding);
  for (uint32_t a = 0; a < count; a++)
    out.sharding[a] = layout->sharding[axes[a]];
  return out;
}

/// Per axis of the mesh one of `count` digits or actions; 0, R and REPLICATE, elsewhere.
static void spread(uint8_t *digits, const uint32_t *axes, uint32_t count) {
  uint8_t narrow[EG_MAX_MESH_AXES];
  memcpy(narrow, digits, sizeof narrow);
  memset(digits, 0, sizeof narrow);
  for (uint32_t a = 0; a < count; a++)
    digits[axes[a]] = narrow[a];
}

void eg_unit_axes_restore(eg_plan *plan, const eg_mesh *whole) {
  _Static_assert(EG_SHARD_R == 0 && EG_ACTION_REPLICATE == 0, "left out means 0");
  uint32_t axes[EG_MAX_MESH_AXES], count = find_axes(&plan->mesh, whole, axes);
  assert(count == plan->mesh.axis_count);
  plan->mesh = *whole;
  for (size_t i = 0; i < plan->states.len; i++)
    spread(plan->states.data[i].layout.sharding, axes, count);
  for (size_t i = 0; i < plan->steps.len; i++) {
    eg_plan_step *step = &plan->steps.data[i];
    if (!step->is_move)
      spread(step->action, axes, count);
    else if (step->transition.kind != EG_TRANSITION_REORDER)
      step->transition.axis = axes[step->transition.axis];
  }
}
