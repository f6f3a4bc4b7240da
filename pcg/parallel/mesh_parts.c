// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/mesh_parts.h"

#include <string.h>

static const char IDLE[] = "idle";

static uint32_t least_factor(uint32_t size) {
  uint32_t factor = 2;
  while (size % factor != 0 && factor * factor <= size)
    factor++;
  return size % factor == 0 ? factor : size;
}

static bool is_named(const eg_mesh *mesh, const char *name) {
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (strcmp(mesh->axes[a].name, name) == 0) return true;
  return false;
}

/// The mesh whose axes before `axis` are idle, and of that one all but `size` places.
static void cut_axes(const eg_mesh *mesh, uint32_t axis, uint32_t size, eg_mesh *out) {
  uint32_t idle = mesh->axes[axis].size / size;
  for (uint32_t a = 0; a < axis; a++)
    idle *= mesh->axes[a].size;
  *out = (eg_mesh){.axis_count = 1, .axes[0].size = idle};
  memcpy(out->axes[0].name, IDLE, sizeof IDLE);
  for (uint32_t a = axis; a < mesh->axis_count; a++) {
    if (a == axis && size == 1) continue;
    out->axes[out->axis_count] = mesh->axes[a];
    if (a == axis) out->axes[out->axis_count].size = size;
    out->axis_count++;
  }
}

/// Axes go over the links that they have in the whole mesh, where a file names those.
static egraph_status cut(const eg_machine *machine, const eg_machine_mesh *whole,
                         uint32_t axis, uint32_t size, eg_machine_mesh *out) {
  eg_machine_mesh usual;
  eg_mesh mesh;
  uint32_t links[EG_MAX_MESH_AXES];
  EG_TRY(eg_machine_mesh_of(machine, &whole->mesh, NULL, &usual));
  cut_axes(&whole->mesh, axis, size, &mesh);
  links[0] = EG_LINK_AUTO;
  for (uint32_t a = 1; a < mesh.axis_count; a++) {
    uint32_t from = whole->mesh.axis_count - mesh.axis_count + a;
    bool is_usual = usual.links[from].link == whole->links[from].link;
    links[a] = is_usual ? EG_LINK_AUTO : whole->links[from].link;
  }
  EG_TRY(eg_machine_mesh_of(machine, &mesh, links, out));
  out->collectives = whole->collectives;
  out->idle = 1;
  return EGRAPH_OK;
}

static egraph_status add_new(eg_machine_meshes *out, const eg_machine_mesh *part) {
  for (size_t i = 0; i < out->len; i++)
    if (eg_mesh_idle_places(&out->data[i]) == eg_mesh_idle_places(part) &&
        eg_mesh_covers(&out->data[i], part))
      return EGRAPH_OK;
  EG_TRY(eg_machine_meshes_push(out, *part));
  size_t at = out->len - 1;
  for (; at > 0 && eg_mesh_idle_places(&out->data[at - 1]) > eg_mesh_idle_places(part);
       at--)
    out->data[at] = out->data[at - 1];
  out->data[at] = *part;
  return EGRAPH_OK;
}

static egraph_status add_parts(const eg_machine *machine, const eg_machine_mesh *whole,
                               eg_machine_meshes *out) {
  const eg_mesh *mesh = &whole->mesh;
  bool is_full = mesh->axis_count == EG_MAX_MESH_AXES;
  for (uint32_t a = 0; a < mesh->axis_count && !is_named(mesh, IDLE); a++)
    for (uint32_t size = mesh->axes[a].size; size > 1;) {
      eg_machine_mesh part;
      size /= least_factor(size);
      if (is_full && a == 0 && size > 1) continue;
      EG_TRY(cut(machine, whole, a, size, &part));
      EG_TRY(add_new(out, &part));
    }
  return EGRAPH_OK;
}

egraph_status eg_mesh_parts_add(const eg_machine *machine, eg_machine_meshes *out) {
  for (uint32_t i = 0; i < machine->mesh_count; i++)
    EG_TRY(add_parts(machine, &machine->meshes[i], out));
  return EGRAPH_OK;
}

uint32_t eg_mesh_idle_places(const eg_machine_mesh *mesh) {
  uint32_t places = 1;
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++)
    if ((mesh->idle >> a & 1) != 0) places *= mesh->mesh.axes[a].size;
  return places;
}

static bool is_same_axis(const eg_machine_mesh *mesh, uint32_t a,
                         const eg_machine_mesh *part, uint32_t b) {
  const eg_mesh_link *mine = &mesh->links[a], *other = &part->links[b];
  return mesh->mesh.axes[a].size == part->mesh.axes[b].size &&
         mine->link == other->link && mine->latency_seconds == other->latency_seconds &&
         mine->seconds_per_byte == other->seconds_per_byte &&
         mine->exchange_seconds_per_byte == other->exchange_seconds_per_byte;
}

bool eg_mesh_covers(const eg_machine_mesh *mesh, const eg_machine_mesh *part) {
  uint32_t a = mesh->mesh.axis_count, b = part->mesh.axis_count;
  while (b > 0 && (part->idle >> (b - 1) & 1) == 0) {
    if (a == 0 || (mesh->idle >> (a - 1) & 1) != 0) return false;
    if (!is_same_axis(mesh, --a, part, --b)) return false;
  }
  return true;
}
