// SPDX-License-Identifier: Apache-2.0
#include "sim/exchange_flows.h"

#include <stdlib.h>

#include "base/owner.h"
#include "sim/equal_devices.h"

#define NONE UINT32_MAX
enum { MOST_FLOWS = 1 << 22, MOST_LINKS = 1 << 26 };

EG_OWNER_DEFINE(eg_exchange_flows, (eg_exchange_shapes, shapes), (eg_round_list, rounds),
                (eg_flow_classes, flows), (eg_u32s, links, weights, device_class),
                (eg_doubles, bandwidth, carried))

// ---- axes -------------------------------------------------------------------------

/// Finds the part of a machine's axis that a mesh axis of this stride and size covers:
/// devices `lo` to `hi` ranks apart; false: it covers no part.
static bool covers(uint64_t stride, uint64_t size, uint64_t own_stride, uint64_t own_size,
                   uint64_t *out_lo, uint64_t *out_hi) {
  *out_lo = stride > own_stride ? stride : own_stride;
  *out_hi = stride * size < own_stride * own_size ? stride * size : own_stride * own_size;
  return *out_lo < *out_hi;
}

bool eg_exchange_is_known(const eg_machine *machine, const eg_machine_mesh *mesh,
                          uint32_t axis) {
  uint64_t stride = eg_mesh_stride(&mesh->mesh, axis), size = mesh->mesh.axes[axis].size;
  uint64_t own = 1, lo, hi;
  bool is_covered = false, is_known = true;
  for (uint32_t a = machine->axis_count; a-- > 0; own *= machine->axes[a].size) {
    uint32_t link = machine->axes[a].link;
    if (machine->axes[a].size == 1 ||
        !covers(stride, size, own, machine->axes[a].size, &lo, &hi))
      continue;
    is_covered |= link == mesh->links[axis].link;
    is_known &= machine->links[link].ports != EG_PORTS_UNKNOWN;
  }
  return is_covered && is_known;
}

/// Fills the ring sizes of a hierarchical exchange, the innermost first: one level for
/// each axis of the machine; a single level where the mesh axis cuts across machine axes.
static uint32_t levels_of(const eg_machine *machine, uint64_t stride, uint32_t size,
                          uint32_t out[EG_MAX_MESH_AXES]) {
  uint64_t own = 1, lo, hi, product = 1;
  uint32_t count = 0;
  for (uint32_t a = machine->axis_count; a-- > 0; own *= machine->axes[a].size) {
    if (!covers(stride, size, own, machine->axes[a].size, &lo, &hi)) continue;
    if (hi % lo != 0 || lo != stride * product) product = (uint64_t)size + 1; // across
    out[count] = (uint32_t)(hi / lo);
    product *= out[count++];
  }
  if (product == size) return count;
  out[0] = size;
  return 1;
}

egraph_status eg_exchange_flows_shape(eg_exchange_flows *f, uint32_t axis,
                                      eg_transition_kind kind,
                                      eg_collective_algorithm algorithm,
                                      uint32_t *out_shape) {
  for (*out_shape = 0; *out_shape < f->shapes.len; ++*out_shape) {
    const eg_exchange_shape *s = &f->shapes.data[*out_shape];
    if (s->axis == axis && s->kind == kind && s->algorithm == algorithm) return EGRAPH_OK;
  }
  return eg_exchange_shapes_push(
      &f->shapes,
      (eg_exchange_shape){.axis = axis, .kind = kind, .algorithm = algorithm});
}

// ---- all flows --------------------------------------------------------------------

static egraph_status add_real_flow(const eg_exchange_flows *f, eg_equal_devices *all,
                                   uint32_t round, uint32_t from, uint32_t to,
                                   double share) {
  eg_real_flow flow = {.round = round,
                       .from = from,
                       .to = to,
                       .share = share,
                       .first_link = (uint32_t)all->links.len};
  if (all->flows.len == MOST_FLOWS || all->links.len > MOST_LINKS)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a round of every kind of exchange is more than %d messages among %u "
                   "devices, too many to simulate; take fewer nodes, or closed forms",
                   MOST_FLOWS, f->topology.devices);
  EG_TRY(eg_topology_path(&f->topology, from, to, &all->links, &flow.latency));
  flow.link_count = (uint32_t)all->links.len - flow.first_link;
  return eg_real_flows_push(&all->flows, flow);
}

/// Adds the messages of an exchange in all groups of devices along its axis.
static egraph_status add_shape(eg_exchange_flows *f, eg_equal_devices *all,
                               eg_exchange_shape *shape, const eg_rounds *rounds) {
  uint32_t stride = eg_mesh_stride(&f->mesh, shape->axis);
  uint32_t size = f->mesh.axes[shape->axis].size, groups = f->topology.devices / size;
  shape->first_round = (uint32_t)f->rounds.len;
  shape->round_count = (uint32_t)rounds->rounds.len;
  for (uint32_t r = 0; r < shape->round_count; r++) {
    const eg_round *round = &rounds->rounds.data[r];
    uint32_t number = (uint32_t)f->rounds.len;
    EG_TRY(eg_round_list_push(&f->rounds, (eg_round){.repeat = round->repeat}));
    shape->flows += (double)groups * round->count * round->repeat;
    for (uint32_t g = 0; g < groups; g++) {
      uint32_t base = g / stride * stride * size + g % stride;
      for (uint32_t i = round->first; i < round->first + round->count; i++) {
        const eg_message *m = &rounds->messages.data[i];
        EG_TRY(add_real_flow(f, all, number, base + m->from * stride,
                             base + m->to * stride, m->share));
      }
    }
  }
  return EGRAPH_OK;
}

static egraph_status expand_shape(eg_exchange_flows *f, eg_equal_devices *all,
                                  eg_exchange_shape *shape) {
  uint32_t levels[EG_MAX_MESH_AXES], size = f->mesh.axes[shape->axis].size;
  uint32_t count =
      levels_of(f->topology.machine, eg_mesh_stride(&f->mesh, shape->axis), size, levels);
  EG_LOCAL(eg_rounds, rounds, f->flows.alloc);
  EG_TRY(eg_rounds_make(shape->algorithm, shape->kind, size, levels, count, &rounds));
  return add_shape(f, all, shape, &rounds);
}

static egraph_status expand_all(eg_exchange_flows *f, eg_equal_devices *all,
                                bool are_apart) {
  EG_TRY(eg_u32s_resize(&all->device_class, f->topology.devices));
  EG_TRY(eg_u32s_resize(&all->link_class, f->topology.link_count));
  for (uint32_t d = 0; d < f->topology.devices && are_apart; d++)
    all->device_class.data[d] = d;
  for (uint32_t l = 0; l < f->topology.link_count; l++)
    all->link_class.data[l] = are_apart ? l : eg_topology_part_of(&f->topology, l);
  for (size_t i = 0; i < f->shapes.len; i++)
    EG_TRY(expand_shape(f, all, &f->shapes.data[i]));
  return eg_equal_devices_find(all);
}

// ---- one of each class ------------------------------------------------------------

/// The numbers of flows and of links in each class of equal ones.
typedef struct census {
  eg_u32s flows, links; // [classes] number of members
  eg_u32s seen;         // [classes of flows] 1: the class already has a flow class
} census;
EG_OWNER_DEFINE_STATIC(census, (eg_u32s, flows, links, seen))

static egraph_status count_classes(const eg_equal_devices *all, census *c) {
  EG_TRY(eg_u32s_resize(&c->flows, all->flow_classes));
  EG_TRY(eg_u32s_resize(&c->seen, all->flow_classes));
  EG_TRY(eg_u32s_resize(&c->links, all->link_classes));
  for (size_t i = 0; i < all->flows.len; i++)
    c->flows.data[all->flows.data[i].class]++;
  for (size_t i = 0; i < all->link_class.len; i++)
    c->links.data[all->link_class.data[i]]++;
  return EGRAPH_OK;
}

/// Adds the links that a flow passes: each class of links once, weighted by the number of
/// the flow's class that one link carries.
static egraph_status add_flow_links(eg_exchange_flows *f, const eg_equal_devices *all,
                                    const census *c, const eg_real_flow *flow,
                                    eg_flow_class *out) {
  out->first_link = (uint32_t)f->links.len;
  for (uint32_t k = 0; k < flow->link_count; k++) {
    uint32_t class = all->link_class.data[all->links.data[flow->first_link + k]];
    uint32_t at = out->first_link, passes = 0;
    while (at < f->links.len && f->links.data[at] != class)
      at++;
    if (at < f->links.len) continue;
    for (uint32_t i = 0; i < flow->link_count; i++)
      passes += all->link_class.data[all->links.data[flow->first_link + i]] == class;
    uint64_t on_all = (uint64_t)c->flows.data[flow->class] * passes;
    if (on_all % c->links.data[class] != 0)
      return EG_FAIL(EGRAPH_E_INTERNAL, "classes of flows and links are not equitable");
    EG_TRY(eg_u32s_push(&f->links, class));
    EG_TRY(eg_u32s_push(&f->weights, (uint32_t)(on_all / c->links.data[class])));
  }
  out->link_count = (uint32_t)f->links.len - out->first_link;
  return EGRAPH_OK;
}

static egraph_status add_flow_class(eg_exchange_flows *f, const eg_equal_devices *all,
                                    census *c, const eg_real_flow *flow) {
  eg_round *round = &f->rounds.data[flow->round];
  eg_flow_class made = {.from = all->device_class.data[flow->from],
                        .to = all->device_class.data[flow->to],
                        .share = flow->share,
                        .latency = flow->latency};
  if (c->seen.data[flow->class] != 0) return EGRAPH_OK;
  c->seen.data[flow->class] = 1;
  EG_TRY(add_flow_links(f, all, c, flow, &made));
  if (round->count++ == 0) round->first = (uint32_t)f->flows.len;
  return eg_flow_classes_push(&f->flows, made);
}

static egraph_status keep_links(eg_exchange_flows *f, const eg_equal_devices *all) {
  EG_TRY(eg_doubles_resize(&f->bandwidth, all->link_classes));
  EG_TRY(eg_doubles_resize(&f->carried, all->link_classes));
  for (uint32_t l = 0; l < f->topology.link_count; l++)
    f->bandwidth.data[all->link_class.data[l]] =
        f->topology.parts[eg_topology_part_of(&f->topology, l)].bandwidth;
  return EGRAPH_OK;
}

static egraph_status keep_classes(eg_exchange_flows *f, const eg_equal_devices *all) {
  EG_LOCAL(census, c, f->flows.alloc);
  f->class_count = all->device_classes;
  EG_TRY(eg_u32s_append(&f->device_class, all->device_class.data, all->device_class.len));
  EG_TRY(keep_links(f, all));
  EG_TRY(count_classes(all, &c));
  for (size_t i = 0; i < all->flows.len; i++)
    EG_TRY(add_flow_class(f, all, &c, &all->flows.data[i]));
  return EGRAPH_OK;
}

egraph_status eg_exchange_flows_make(eg_exchange_flows *f, const eg_machine *machine,
                                     const eg_mesh *mesh, bool all) {
  EG_LOCAL(eg_equal_devices, devices, f->flows.alloc);
  EG_TRY(eg_topology_make(machine, &f->topology));
  f->mesh = *mesh;
  EG_TRY(expand_all(f, &devices, all));
  EG_TRY(keep_classes(f, &devices));
  for (size_t i = 0; i < f->shapes.len; i++)
    for (uint32_t r = 0; r < f->shapes.data[i].round_count; r++) {
      const eg_round *round = &f->rounds.data[f->shapes.data[i].first_round + r];
      f->shapes.data[i].tasks += (double)round->count * round->repeat;
    }
  return EGRAPH_OK;
}

// ---- tasks ------------------------------------------------------------------------

egraph_status eg_exchange_flows_add_links(eg_exchange_flows *f, eg_task_graph *graph) {
  for (size_t i = 0; i < f->bandwidth.len; i++) {
    uint32_t link;
    EG_TRY(eg_task_graph_add_link(graph, f->bandwidth.data[i], &link));
    if (i == 0) f->first_number = link;
  }
  return EGRAPH_OK;
}

/// A flow that a class of devices sends or gets; the class's flows are a linked list.
typedef struct known_flow {
  uint32_t task, next;
} known_flow;
EG_VEC_DEFINE(known_flows, known_flow);

typedef struct adding {
  eg_exchange_flows *f;
  eg_task_graph *graph;
  const eg_exchange_ends *ends;
  known_flows known;
  eg_u32s last; // [classes] lists of flows in the last round in which the class took part
  eg_u32s tasks;          // tasks of the round
  eg_u32s links, weights; // links and weights of a flow
} adding;
EG_OWNER_DEFINE_STATIC(adding, (known_flows, known),
                       (eg_u32s, last, tasks, links, weights))

/// Makes a task wait for all messages that a class of devices sent and received in its
/// last round, or, without such a round, for the task by which it enters the exchange.
static egraph_status wait_for(const adding *a, uint32_t task, uint32_t class) {
  uint32_t at = a->last.data[class];
  if (at == NONE) return eg_task_graph_depend(a->graph, task, a->ends->enter[class]);
  for (; at != NONE; at = a->known.data[at].next)
    EG_TRY(eg_task_graph_depend(a->graph, task, a->known.data[at].task));
  return EGRAPH_OK;
}

static egraph_status push_known(adding *a, uint32_t class, uint32_t task) {
  EG_TRY(known_flows_push(&a->known, (known_flow){task, a->last.data[class]}));
  a->last.data[class] = (uint32_t)a->known.len - 1;
  return EGRAPH_OK;
}

static egraph_status mark_processor(adding *a, uint32_t class) {
  EG_TRY(eg_u32s_push(&a->links, a->ends->processors[class]));
  return eg_u32s_push(&a->weights, 0);
}

static egraph_status add_flow(adding *a, const eg_flow_class *flow, double bytes) {
  eg_exchange_flows *f = a->f;
  uint32_t task;
  a->links.len = a->weights.len = 0;
  for (uint32_t k = flow->first_link; k < flow->first_link + flow->link_count; k++) {
    f->carried.data[f->links.data[k]] += f->weights.data[k] * flow->share * bytes;
    EG_TRY(eg_u32s_push(&a->links, f->first_number + f->links.data[k]));
    EG_TRY(eg_u32s_push(&a->weights, f->weights.data[k]));
  }
  if (a->ends->processors != NULL) {
    EG_TRY(mark_processor(a, flow->from));
    if (flow->to != flow->from) EG_TRY(mark_processor(a, flow->to));
  }
  EG_TRY(eg_task_graph_add_flows(a->graph, flow->latency, flow->share * bytes,
                                 a->links.data, a->weights.data, a->links.len, NULL, 0,
                                 &task));
  EG_TRY(eg_u32s_push(&a->tasks, task));
  EG_TRY(wait_for(a, task, flow->from));
  return flow->to == flow->from ? EGRAPH_OK : wait_for(a, task, flow->to);
}

static egraph_status end_round(adding *a, const eg_round *round) {
  const eg_flow_class *flows = a->f->flows.data + round->first;
  for (uint32_t i = 0; i < round->count; i++)
    a->last.data[flows[i].from] = a->last.data[flows[i].to] = NONE;
  for (uint32_t i = 0; i < round->count; i++) {
    EG_TRY(push_known(a, flows[i].from, a->tasks.data[i]));
    if (flows[i].to != flows[i].from)
      EG_TRY(push_known(a, flows[i].to, a->tasks.data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status add_rounds(adding *a, const eg_exchange_shape *shape, double bytes) {
  for (uint32_t c = 0; c < a->f->class_count; c++)
    EG_TRY(eg_u32s_push(&a->last, NONE));
  for (uint32_t r = 0; r < shape->round_count; r++) {
    const eg_round *round = &a->f->rounds.data[shape->first_round + r];
    for (uint32_t turn = 0; turn < round->repeat; turn++) {
      a->tasks.len = 0;
      for (uint32_t i = 0; i < round->count; i++)
        EG_TRY(add_flow(a, &a->f->flows.data[round->first + i], bytes));
      EG_TRY(end_round(a, round));
    }
  }
  for (uint32_t c = 0; c < a->f->class_count; c++) {
    uint32_t *leave = &a->ends->leave[c];
    EG_TRY(eg_task_graph_add_compute(a->graph, 0, &a->ends->streams[c], 1, leave));
    EG_TRY(wait_for(a, *leave, c));
  }
  return EGRAPH_OK;
}

egraph_status eg_exchange_flows_add(eg_exchange_flows *f, eg_task_graph *graph,
                                    uint32_t shape, double bytes,
                                    const eg_exchange_ends *ends) {
  EG_LOCAL(adding, a, f->flows.alloc);
  a.f = f;
  a.graph = graph;
  a.ends = ends;
  return add_rounds(&a, eg_exchange_shapes_at(&f->shapes, shape), bytes);
}

double eg_exchange_flows_most_busy(const eg_exchange_flows *f) {
  double most = 0;
  for (size_t i = 0; i < f->bandwidth.len; i++)
    if (f->carried.data[i] / f->bandwidth.data[i] > most)
      most = f->carried.data[i] / f->bandwidth.data[i];
  return most;
}
