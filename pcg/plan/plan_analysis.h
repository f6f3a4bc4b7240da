// Reports faults and limits of a plan besides its figures: devices that it does not need,
// the layouts of its outputs, sizes that do not allow a split, and operators that cannot
// be split.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_ANALYSIS_H
#define EG_PCG_PLAN_ANALYSIS_H

#include "pcg/plan/plan_cost.h"

/// Returns a bit for each idle axis of several devices: every tensor is whole along the
/// axis, and its devices repeat the same work. O(states).
uint32_t eg_plan_idle_axes(const eg_plan *plan);
/// Returns the number of devices that the plan needs: the product of the axes not idle.
uint32_t eg_plan_useful_devices(const eg_plan *plan);

/// Prints text for people, after an empty line: rivals, outputs that are not whole on
/// every device, uneven splits, operators that cannot be split; at most five lines
/// of each.
egraph_status eg_plan_remarks_print(eg_text *text, const eg_plan *plan,
                                    const eg_plan_summary *summary);
/// Writes members of a JSON object, without its braces:
///   "baselines": eg_plan_rivals_write_json,
///   "uneven": {"operators", "splits", "worst": [{"value", "operator", "tensor",
///     "dimension", "size", "axis", "devices", "splits", "seconds", "saved_seconds"}]},
///   "repeated": {"operators", "worst": [{"value", "operator", "why", "seconds"}]},
///   "delivered": [{"output", "layout"}] of outputs that are not carried,
///   "useful_devices", "idle_axes": [names], "single_device_seconds" and "peak_seconds"
///   (null: not known)
egraph_status eg_plan_remarks_write_members(eg_text *text, const eg_plan *plan);

#endif
