// Devices that have the same times: flows of exchanges, sorted into classes.
//
// All devices of a mesh do the same. Put those into one class that send the same, over
// links of the same classes, to devices of the same class, in every round of every
// exchange; and links that carry as many flows of every class. Refined until nothing
// changes (color refinement), classes are equitable: every flow of a class passes as many
// links of a class as any other, every link of a class carries as many flows of a class
// as any other, and what a flow waits for is of the same classes. Then one flow of each
// class, which counts on one link of each class for as many as really pass it (its weight
// there), has the rates that all have: those make all flows max-min fair, and these rates
// are the only ones that do. So a simulation of one device of each class is one of all
// devices.
//
// On a switch all devices of a ring are one class; on a fat tree those at the same place
// below their switch are. `all` makes a class of each device: the simulation of
// everything.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_EQUAL_DEVICES_H
#define EG_SIM_EQUAL_DEVICES_H

#include "base/vec.h"

/// A message as it is: the `round` is that of an exchange, the same number in all groups
/// that exchange at once.
typedef struct eg_real_flow {
  uint32_t round, from, to; // devices
  uint32_t first_link, link_count;
  uint32_t class; // found by eg_equal_devices_find
  double share, latency;
} eg_real_flow;
EG_VEC_DEFINE(eg_real_flows, eg_real_flow);

typedef struct eg_equal_devices {
  eg_real_flows flows;
  eg_u32s links;        // of flows
  eg_u32s device_class; // [devices]
  eg_u32s link_class;   // [links of the machine]; given: what is different from the start
  uint32_t device_classes, flow_classes, link_classes;
} eg_equal_devices;

void eg_equal_devices_init(eg_equal_devices *devices, egraph_allocator alloc);
void eg_equal_devices_deinit(eg_equal_devices *devices);
/// Finds the coarsest equitable classes that are finer than those given: numbers from 0,
/// of devices in the order of their first ones. O(rounds of refinement x flows log
/// flows).
egraph_status eg_equal_devices_find(eg_equal_devices *devices);

#endif
