// Finds classes of devices that have the same times, from the flows of exchanges.
//
// All devices of a mesh do the same work. Devices are in one class when, in every round
// of every exchange, they send the same shares over links of the same classes to devices
// of the same class. Links are in one class when they carry equally many flows of every
// class. Refined until nothing changes (color refinement), classes are equitable: every
// flow of a class passes equally many links of a class, every link of a class carries
// equally many flows of a class, and flows of a class wait for flows of the same classes.
// Take one flow of each class, and on one link of each class weight it by the number of
// the class's flows that pass this link. This flow has the rate of all flows of its
// class: these rates make all flows max-min fair, and max-min fair rates are unique.
// Therefore a simulation of one device of each class gives the times of all devices.
//
// On a switch all devices of a ring are one class; on a fat tree, the devices in the same
// position below their switches are. With `all` (exchange_flows.h) each device is a
// class: the simulation covers all devices.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_EQUAL_DEVICES_H
#define EG_SIM_EQUAL_DEVICES_H

#include "base/vec.h"

/// A message between two devices. Groups of devices that exchange at once share
/// a `round`.
typedef struct eg_real_flow {
  uint32_t round, from, to; // devices
  uint32_t first_link, link_count;
  uint32_t class; // found by eg_equal_devices_find
  double share, latency;
} eg_real_flow;
EG_VEC_DEFINE(eg_real_flows, eg_real_flow);

typedef struct eg_equal_devices {
  eg_real_flows flows;
  eg_u32s links;        // links that flows pass
  eg_u32s device_class; // [devices]
  // [links of the machine] class of each link; on entry: links with different numbers
  // stay in different classes.
  eg_u32s link_class;
  uint32_t device_classes, flow_classes, link_classes;
} eg_equal_devices;

void eg_equal_devices_init(eg_equal_devices *devices, egraph_allocator alloc);
void eg_equal_devices_deinit(eg_equal_devices *devices);
/// Finds the largest classes of devices with equal times that refine the classes given on
/// entry. Classes of devices are numbered from 0 in the order of their first devices.
/// O(rounds of refinement x flows log flows).
egraph_status eg_equal_devices_find(eg_equal_devices *devices);

#endif
