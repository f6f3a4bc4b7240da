// Machines, the links of their meshes, and parts of meshes.
//
// An axis of a mesh of stride t and size s joins ranks r, r + t, ..., r + (s - 1) t. It
// does not change the coordinate along a machine's axis of stride q and size m when it
// stays within blocks of q ranks (t s divides q) or passes over whole rounds of the
// coordinate (q m divides t).
// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/machine.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

EG_NAME_DEFINE(eg_collectives, eg_collectives_name, EG_COLLECTIVES_LIST)
EG_NAME_DEFINE(eg_ports, eg_ports_name, EG_PORTS_LIST)

uint32_t eg_machine_devices(const eg_machine *machine) {
  uint32_t devices = 1;
  for (uint32_t i = 0; i < machine->axis_count; i++)
    devices *= machine->axes[i].size;
  return devices;
}

void eg_machine_deinit(eg_machine *machine) {
  eg_arena_deinit(&machine->memory);
  *machine = (eg_machine){0};
}

// ---- links of meshes ------------------------------------------------------------------

// ---- what a device reaches ------------------------------------------------------------

EG_NAME_DEFINE(uint32_t, eg_reach_kind_name, EG_REACH_LIST)

double eg_reach_seconds(const eg_reach *reach, double work, double peak) {
  const eg_reach_point *p = reach->points, *last = p + reach->point_count - 1;
  assert(reach->point_count != 0 && peak > 0);
  if (work <= p->work) return work / (peak * p->share);
  while (p < last && work > p[1].work)
    p++;
  if (p == last) return work / (peak * p->share);
  double low = p->work / p->share, high = p[1].work / p[1].share;
  return (low + (high - low) * (work - p->work) / (p[1].work - p->work)) / peak;
}

const eg_reach *eg_machine_reach(const eg_machine *machine, eg_reach_kind kind,
                                 egraph_dtype dtype) {
  const eg_reach *found = NULL;
  for (uint32_t i = 0; machine->uses_reached && i < machine->reach_count; i++) {
    const eg_reach *reach = &machine->reaches[i];
    bool is_own = reach->dtype == (uint32_t)dtype;
    if (reach->kind != (uint32_t)kind || !(is_own || reach->dtype == EGRAPH_DTYPE_COUNT))
      continue;
    if (found == NULL || is_own) found = reach;
  }
  return found;
}

egraph_status eg_machine_use_reached(eg_machine *machine) {
  if (machine->reach_count == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the machine '%s' does not say what it reaches; add (efficiency ...) "
                   "to its file, or leave ':reached' out",
                   machine->name);
  machine->uses_reached = true;
  for (uint32_t l = 0; l < machine->link_count; l++) {
    eg_machine_link *link = &machine->links[l];
    link->seconds_per_byte /= link->reached;
    link->bandwidth_bytes *= link->reached;
  }
  for (uint32_t m = 0; m < machine->mesh_count; m++)
    for (uint32_t a = 0; a < machine->meshes[m].mesh.axis_count; a++) {
      eg_mesh_link *link = &machine->meshes[m].links[a];
      if (link->link == EG_LINK_AUTO) continue;
      link->seconds_per_byte /= machine->links[link->link].reached;
      link->exchange_seconds_per_byte /= machine->links[link->link].reached;
    }
  return EGRAPH_OK;
}

// ---- links of meshes ----------------------------------------------------------------

typedef struct span {
  uint64_t stride, size; // distance of neighbours in ranks; devices
} span;

/// True when an axis of a mesh changes the coordinate along an axis of the machine.
static bool changes_coordinate(span axis, span physical) {
  return physical.size > 1 && physical.stride % (axis.stride * axis.size) != 0 &&
         axis.stride % (physical.stride * physical.size) != 0;
}

/// Counts the rings along a mesh axis that pass through a port of `sharers`
/// neighbouring ranks.
static uint64_t count_rings(span axis, uint64_t sharers) {
  if (axis.stride >= sharers) return sharers;
  if (axis.stride * axis.size >= sharers) return axis.stride;
  return (sharers + axis.size - 1) / axis.size;
}

static eg_mesh_link link_of_axis(const eg_machine *machine, span axis, uint32_t link) {
  const eg_machine_link *l = &machine->links[link];
  return (eg_mesh_link){.link = link,
                        .latency_seconds = l->latency_seconds,
                        .seconds_per_byte =
                            l->seconds_per_byte * (double)count_rings(axis, l->sharers),
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
    if (changes_coordinate(axis, (span){stride, physical->size})) {
      eg_mesh_link link = link_of_axis(machine, axis, physical->link);
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
                        ? link_of_axis(machine, axis, links[i])
                        : slowest_link(machine, axis);
    stride *= axis.size;
  }
  return EGRAPH_OK;
}

// ---- parts --------------------------------------------------------------------------

static const char IDLE[] = "idle";

static uint32_t least_factor(uint32_t size) {
  uint32_t factor = 2;
  while (size % factor != 0 && factor * factor <= size)
    factor++;
  return size % factor == 0 ? factor : size;
}

/// Makes the mesh whose axes before `axis` are idle, and in which `axis` has
/// `size` devices.
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

/// Makes a mesh with idle axes from a mesh of the machine; its axes have the links that
/// the machine file names for the whole mesh.
static egraph_status cut_mesh(const eg_machine *machine, const eg_machine_mesh *whole,
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

/// Inserts a mesh before meshes with longer idle axes, unless the list has an equal mesh.
static egraph_status insert_part(eg_machine_meshes *out, const eg_machine_mesh *part) {
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
  uint32_t idle;
  if (eg_mesh_find_axis(mesh, IDLE, &idle)) return EGRAPH_OK;
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    for (uint32_t size = mesh->axes[a].size; size > 1;) {
      eg_machine_mesh part;
      size /= least_factor(size);
      if (is_full && a == 0 && size > 1) continue;
      EG_TRY(cut_mesh(machine, whole, a, size, &part));
      EG_TRY(insert_part(out, &part));
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

// ---- look-up ------------------------------------------------------------------------

egraph_status eg_machine_find_mesh(const eg_machine *machine, const eg_mesh *mesh,
                                   eg_machine_mesh *out) {
  for (uint32_t i = 0; i < machine->mesh_count; i++)
    if (eg_mesh_same(&machine->meshes[i].mesh, mesh)) {
      *out = machine->meshes[i];
      return EGRAPH_OK;
    }
  EG_LOCAL(eg_machine_meshes, parts, machine->memory.alloc);
  EG_TRY(eg_mesh_parts_add(machine, &parts));
  for (size_t i = parts.len; i-- > 0;)
    if (eg_mesh_same(&parts.data[i].mesh, mesh)) {
      *out = parts.data[i];
      out->idle = 0;
      return EGRAPH_OK;
    }
  return eg_machine_mesh_of(machine, mesh, NULL, out);
}
