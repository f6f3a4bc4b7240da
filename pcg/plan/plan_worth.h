// What a plan wins over one device, and how many of the devices it needs. An axis along
// which every tensor is whole is idle: its devices repeat each other's work.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_WORTH_H
#define EG_PCG_PLAN_WORTH_H

#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"

/// Bit per axis of several devices that is idle. O(states).
uint32_t eg_plan_idle_axes(const eg_plan *plan);
/// Devices that would do: the product of the axes that are not idle.
uint32_t eg_plan_useful_devices(const eg_plan *plan);
/// Fills plan->peak_seconds from the figures of the machine that the plan is for.
egraph_status eg_plan_find_peak(eg_plan *plan, egraph_allocator alloc,
                                const eg_machine *machine);
/// Members of a JSON object that has others before:
///   , "useful_devices", "idle_axes": [names], "single_device_seconds" and
///   "peak_seconds" (null: not known)
egraph_status eg_plan_worth_write_members(eg_text *text, const eg_plan *plan);

#endif
