// Turns exchanges of a mesh into rounds of flows over the machine's links, for one device
// of each class (sim/equal_devices.h).
//
//   shapes (axis, kind, algorithm) -> eg_exchange_flows_make -> links of a task graph,
//   and the flows of each exchange
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_EXCHANGE_FLOWS_H
#define EG_SIM_EXCHANGE_FLOWS_H

#include "sim/collective_rounds.h"
#include "sim/task_graph.h"
#include "sim/topology.h"

/// The shape of an exchange: its properties other than its bytes.
typedef struct eg_exchange_shape {
  uint32_t axis;
  eg_transition_kind kind;
  eg_collective_algorithm algorithm;
  uint32_t first_round, round_count; // in eg_exchange_flows.rounds
  double tasks, flows; // flows of one device of each class, and of all devices
} eg_exchange_shape;
EG_VEC_DEFINE(eg_exchange_shapes, eg_exchange_shape);

/// The messages of one round from devices of class `from` to devices of class `to`.
typedef struct eg_flow_class {
  uint32_t from, to; // classes
  uint32_t first_link, link_count;
  double share, latency;
} eg_flow_class;
EG_VEC_DEFINE(eg_flow_classes, eg_flow_class);

typedef struct eg_exchange_flows {
  eg_topology topology;
  eg_mesh mesh;
  eg_exchange_shapes shapes;
  eg_round_list rounds; // ranges of `flows`
  eg_flow_classes flows;
  eg_u32s links, weights; // links of flow classes (by class), and their weights
  eg_u32s device_class;   // [devices]
  uint32_t class_count;   // classes of devices
  eg_doubles bandwidth;   // [classes of links]
  eg_doubles carried;     // [classes of links] bytes of all flows added so far
  uint32_t first_number;  // number of the first link in the task graph
} eg_exchange_flows;

/// The streams on which devices exchange and the tasks before and after, by device class.
typedef struct eg_exchange_ends {
  const uint32_t *enter; // tasks after which a device begins the exchange
  uint32_t *leave; // output: tasks in which a device has sent and received all messages
  const uint32_t *streams;
  const uint32_t *processors; // links that a flow slows down while it sends; NULL: none
} eg_exchange_ends;

void eg_exchange_flows_init(eg_exchange_flows *flows, egraph_allocator alloc);
void eg_exchange_flows_deinit(eg_exchange_flows *flows);
/// True when an axis of the mesh uses ports that the machine's file describes.
bool eg_exchange_is_known(const eg_machine *machine, const eg_machine_mesh *mesh,
                          uint32_t axis);
/// Finds or adds an exchange's shape; call it before eg_exchange_flows_make.
egraph_status eg_exchange_flows_shape(eg_exchange_flows *flows, uint32_t axis,
                                      eg_transition_kind kind,
                                      eg_collective_algorithm algorithm,
                                      uint32_t *out_shape);
/// Finds the classes of devices with equal times for all shapes of exchanges, whose axes
/// must be known (eg_exchange_is_known). `all`: every device is a class. Borrows the
/// machine. Fails with EGRAPH_E_ARGUMENT on too many messages.
egraph_status eg_exchange_flows_make(eg_exchange_flows *flows, const eg_machine *machine,
                                     const eg_mesh *mesh, bool all);
/// Adds a link to a task graph for each class of equally loaded links.
egraph_status eg_exchange_flows_add_links(eg_exchange_flows *flows, eg_task_graph *graph);
/// Adds the flows of an exchange of `bytes` (eg_transition_bytes), and the tasks in which
/// the devices leave the exchange, on their streams.
egraph_status eg_exchange_flows_add(eg_exchange_flows *flows, eg_task_graph *graph,
                                    uint32_t shape, double bytes,
                                    const eg_exchange_ends *ends);
/// Returns the seconds of the busiest link at full bandwidth: a step takes at
/// least these.
double eg_exchange_flows_most_busy(const eg_exchange_flows *flows);

#endif
