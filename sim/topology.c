// SPDX-License-Identifier: Apache-2.0
#include "sim/topology.h"

#include <inttypes.h>

// The ranges of links of a class with a switch, in this order; SHARED_OUT and SHARED_IN
// exist only where devices share ports; UP and DOWN of every level follow. The ranges of
// a torus are FORWARD and BACK of every axis of the class.
enum { OUT, IN, SHARED_OUT, SHARED_IN };

// ---- links ------------------------------------------------------------------------

static egraph_status add_both_ways(eg_topology *t, uint32_t link, uint32_t devices,
                                   double bandwidth) {
  uint32_t count = (t->devices + devices - 1) / devices;
  for (int i = 0; i < 2; i++) {
    if (count > EG_TOPOLOGY_MOST_LINKS - t->link_count)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "the %" PRIu32 " devices of '%s' have more than %d links, too many "
                     "to simulate; take fewer nodes",
                     t->devices, t->machine->name, EG_TOPOLOGY_MOST_LINKS);
    t->parts[t->part_count++] =
        (eg_topology_part){link, t->link_count, devices, bandwidth};
    t->link_count += count;
  }
  return EGRAPH_OK;
}

static egraph_status add_class(eg_topology *t, uint32_t l) {
  const eg_machine_link *link = &t->machine->links[l];
  double bandwidth =
      link->bandwidth_bytes != 0 ? link->bandwidth_bytes : 1 / link->seconds_per_byte;
  t->first_part[l] = t->part_count;
  if (link->ports == EG_PORTS_UNKNOWN) return EGRAPH_OK;
  if (link->ports == EG_PORTS_TORUS) {
    for (uint32_t a = 0; a < t->machine->axis_count; a++)
      if (t->machine->axes[a].link == l) EG_TRY(add_both_ways(t, l, 1, bandwidth));
    return EGRAPH_OK;
  }
  EG_TRY(add_both_ways(t, l, 1, bandwidth));
  if (link->sharers > 1) EG_TRY(add_both_ways(t, l, link->sharers, bandwidth));
  for (uint32_t i = 0; i < link->level_count; i++) {
    double ports = (double)link->levels[i].devices / link->sharers;
    EG_TRY(add_both_ways(t, l, link->levels[i].devices,
                         ports * bandwidth / link->levels[i].oversubscription));
  }
  return EGRAPH_OK;
}

egraph_status eg_topology_make(const eg_machine *machine, eg_topology *out) {
  *out = (eg_topology){.machine = machine, .devices = eg_machine_devices(machine)};
  for (uint32_t l = 0; l < machine->link_count; l++)
    EG_TRY(add_class(out, l));
  return EGRAPH_OK;
}

uint32_t eg_topology_part_of(const eg_topology *t, uint32_t link) {
  uint32_t part = t->part_count - 1;
  while (t->parts[part].first > link)
    part--;
  return part;
}

// ---- paths ------------------------------------------------------------------------

typedef struct way {
  const eg_topology *topology;
  eg_u32s *links;
  double latency;
} way;

static egraph_status pass(way *w, uint32_t part, uint32_t rank) {
  const eg_topology_part *p = &w->topology->parts[part];
  return eg_u32s_push(w->links, p->first + rank / p->devices);
}

/// Adds the links through the switch levels below the first switch that both ranks share:
/// up on one side, down on the other.
static egraph_status pass_tree(way *w, uint32_t l, uint32_t from, uint32_t to) {
  const eg_machine_link *link = &w->topology->machine->links[l];
  uint32_t part = w->topology->first_part[l] + (link->sharers > 1 ? 4 : 2), top = 0;
  while (top < link->level_count &&
         from / link->levels[top].devices != to / link->levels[top].devices)
    top++;
  for (uint32_t i = 0; i < top; i++)
    EG_TRY(pass(w, part + 2 * i, from));
  for (uint32_t i = top; i-- > 0;)
    EG_TRY(pass(w, part + 2 * i + 1, to));
  return EGRAPH_OK;
}

static egraph_status pass_ports(way *w, uint32_t l, uint32_t from, uint32_t to) {
  const eg_machine_link *link = &w->topology->machine->links[l];
  uint32_t part = w->topology->first_part[l];
  bool leaves = from / link->sharers != to / link->sharers && link->sharers > 1;
  EG_TRY(pass(w, part + OUT, from));
  if (leaves) EG_TRY(pass(w, part + SHARED_OUT, from));
  EG_TRY(pass_tree(w, l, from, to));
  if (leaves) EG_TRY(pass(w, part + SHARED_IN, to));
  return pass(w, part + IN, to);
}

static uint32_t stride_of(const eg_machine *machine, uint32_t axis) {
  uint32_t stride = 1;
  for (uint32_t a = axis + 1; a < machine->axis_count; a++)
    stride *= machine->axes[a].size;
  return stride;
}

/// Adds the links of the shorter direction around each axis of a torus; of the forward
/// direction where both are equally long.
static egraph_status pass_torus(way *w, uint32_t l, uint32_t *inout_at, uint32_t to) {
  const eg_machine *machine = w->topology->machine;
  uint32_t part = w->topology->first_part[l];
  for (uint32_t a = 0; a < machine->axis_count; a++) {
    if (machine->axes[a].link != l) continue;
    uint32_t size = machine->axes[a].size, stride = stride_of(machine, a);
    uint32_t place = *inout_at / stride % size, goal = to / stride % size;
    uint32_t forward = (goal + size - place) % size, back = size - forward;
    for (; place != goal; w->latency += machine->links[l].latency_seconds) {
      EG_TRY(pass(w, forward <= back ? part : part + 1, *inout_at));
      uint32_t next = forward <= back ? (place + 1) % size : (place + size - 1) % size;
      *inout_at = *inout_at - place * stride + next * stride;
      place = next;
    }
    part += 2;
  }
  return EGRAPH_OK;
}

egraph_status eg_topology_path(const eg_topology *t, uint32_t from, uint32_t to,
                               eg_u32s *out_links, double *out_latency) {
  const eg_machine *machine = t->machine;
  assert(from < t->devices && to < t->devices);
  way w = {.topology = t, .links = out_links};
  for (uint32_t a = 0; a < machine->axis_count && from != to; a++) {
    uint32_t stride = stride_of(machine, a), size = machine->axes[a].size;
    uint32_t l = machine->axes[a].link, through = machine->links[l].through;
    if (from / stride % size == to / stride % size) continue;
    if (machine->links[l].ports == EG_PORTS_TORUS) {
      EG_TRY(pass_torus(&w, l, &from, to));
      continue;
    }
    if (through != EG_LINK_AUTO) EG_TRY(pass_ports(&w, through, from, to));
    EG_TRY(pass_ports(&w, l, from, to));
    w.latency += machine->links[l].latency_seconds;
    break;
  }
  *out_latency = w.latency;
  return EGRAPH_OK;
}
