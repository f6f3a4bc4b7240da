// Links of the axes of a mesh. An axis of stride t and size s joins ranks r, r + t, ...,
// r + (s - 1) t; it leaves the coordinate along a machine's axis of stride q and size m
// alone when it stays within blocks of q ranks (t s divides q) or passes over whole
// rounds of the coordinate (q m divides t).
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "pcg/parallel/mesh_parts.h"

// An axis, with the distance of neighbours in ranks.
typedef struct span {
  uint64_t stride, size;
} span;

static bool is_covered(span axis, span physical) {
  return physical.size > 1 && physical.stride % (axis.stride * axis.size) != 0 &&
         axis.stride % (physical.stride * physical.size) != 0;
}

/// Rings along the axis that pass through a port which `sharers` neighbouring ranks
/// share.
static uint64_t groups_of_port(span axis, uint64_t sharers) {
  if (axis.stride >= sharers) return sharers;
  if (axis.stride * axis.size >= sharers) return axis.stride;
  return (sharers + axis.size - 1) / axis.size;
}

static eg_mesh_link link_of(const eg_machine *machine, span axis, uint32_t link) {
  const eg_machine_link *l = &machine->links[link];
  return (eg_mesh_link){.link = link,
                        .latency_seconds = l->latency_seconds,
                        .seconds_per_byte = l->seconds_per_byte *
                                            (double)groups_of_port(axis, l->sharers),
                        .exchange_seconds_per_byte = l->seconds_per_byte * l->sharers,
                        .curve_count = l->curve_count,
                        .curves = l->curves};
}

static bool is_slower(const eg_mesh_link *a, const eg_mesh_link *b) {
  if (a->seconds_per_byte != b->seconds_per_byte)
    return a->seconds_per_byte > b->seconds_per_byte;
  return a->latency_seconds > b->latency_seconds;
}

static eg_mesh_link slowest_link(const eg_machine *machine, span axis) {
  eg_mesh_link slowest = {.link = EG_LINK_AUTO};
  uint64_t stride = 1;
  for (uint32_t i = machine->axis_count; i-- > 0;) {
    const eg_machine_axis *physical = &machine->axes[i];
    if (is_covered(axis, (span){stride, physical->size})) {
      eg_mesh_link link = link_of(machine, axis, physical->link);
      if (slowest.link == EG_LINK_AUTO || is_slower(&link, &slowest)) slowest = link;
    }
    stride *= physical->size;
  }
  return slowest;
}

egraph_status eg_machine_mesh_of(const eg_machine *machine, const eg_mesh *mesh,
                                 const uint32_t *links, eg_machine_mesh *out) {
  uint64_t devices = 1;
  for (uint32_t i = 0; i < mesh->axis_count && devices <= EG_MACHINE_MAX_DEVICES; i++)
    devices *= mesh->axes[i].size;
  if (devices != eg_machine_devices(machine))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the axes of a mesh multiply to %" PRIu64
                   " devices, but the machine '%s' has %" PRIu32
                   "; a mesh has all devices of the machine: change its axes, or name a "
                   "machine of as many (NAME*NODES, or a file: machines/README.md)",
                   devices, machine->name, eg_machine_devices(machine));
  *out = (eg_machine_mesh){.mesh = *mesh, .collectives = machine->collectives};
  uint64_t stride = 1;
  for (uint32_t i = mesh->axis_count; i-- > 0;) {
    span axis = {stride, mesh->axes[i].size};
    out->links[i] = links != NULL && links[i] != EG_LINK_AUTO
                        ? link_of(machine, axis, links[i])
                        : slowest_link(machine, axis);
    stride *= axis.size;
  }
  return EGRAPH_OK;
}

static egraph_status find_part(const eg_machine *machine, const eg_mesh *mesh,
                               bool *out_is_there, eg_machine_mesh *out) {
  eg_machine_meshes parts;
  eg_machine_meshes_init(&parts, machine->memory.alloc);
  egraph_status status = eg_mesh_parts_add(machine, &parts);
  *out_is_there = false;
  for (size_t i = 0; status == EGRAPH_OK && i < parts.len; i++)
    if (eg_mesh_same(&parts.data[i].mesh, mesh)) {
      *out = parts.data[i];
      out->idle = 0;
      *out_is_there = true;
    }
  eg_machine_meshes_deinit(&parts);
  return status;
}

egraph_status eg_machine_find_mesh(const eg_machine *machine, const eg_mesh *mesh,
                                   eg_machine_mesh *out) {
  bool is_part;
  for (uint32_t i = 0; i < machine->mesh_count; i++)
    if (eg_mesh_same(&machine->meshes[i].mesh, mesh)) {
      *out = machine->meshes[i];
      return EGRAPH_OK;
    }
  EG_TRY(find_part(machine, mesh, &is_part, out));
  return is_part ? EGRAPH_OK : eg_machine_mesh_of(machine, mesh, NULL, out);
}
