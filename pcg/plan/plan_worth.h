// What a plan wins over one device, and how many of the devices it needs. An axis along
// which every tensor is whole is idle: its devices repeat each other's work.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_WORTH_H
#define EG_PCG_PLAN_WORTH_H

#include "pcg/plan/plan_summary.h"

/// Bit per axis of several devices that is idle. O(states).
uint32_t eg_plan_idle_axes(const eg_plan *plan);
/// Devices that would do: the product of the axes that are not idle.
uint32_t eg_plan_useful_devices(const eg_plan *plan);
/// Text for people: a line for the speedup over one device where it is known, and a line
/// for idle axes; nothing for a plan of one device.
egraph_status eg_plan_worth_print(eg_text *text, const eg_plan *plan,
                                  const eg_plan_summary *summary);
/// Members of a JSON object that has others before:
///   , "useful_devices", "idle_axes": [names], "single_device_seconds" (null: not known)
egraph_status eg_plan_worth_write_members(eg_text *text, const eg_plan *plan);

#endif
