// Seconds that one device of a machine takes for its part of an operator.
//
// Where computing is free: 0. Otherwise what a cost model of this device says, times the
// machine's slowdown, when it has enough entries to calibrate an estimate for the rest,
// or when it asks for the rest (a caller's own function, a prober). Without it 0 for free
// nodes (sim/cost.h), and from the machine's figures for others:
//
//   seconds = max(flops / peak(dtype of operand 0), bytes / bandwidth) + overhead
//
// Peaks of narrow types hold for multiply-adds; other operators are rarely bound by them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_DEVICE_COST_H
#define EG_SIM_DEVICE_COST_H

#include "pcg/parallel/machine.h"
#include "sim/cost.h"

/// Supported entries from which on a cost model is asked.
enum { EG_DEVICE_COST_MIN_ENTRIES = 16 };

typedef struct eg_device_cost {
  const eg_machine *machine; // borrowed
  eg_cost_model *model;      // borrowed; NULL: the machine's figures
  bool plain_only;           // no memory formats beside plain are asked for
} eg_device_cost;

/// `model` has the entries of the machine's profile (eg_machine.profile); NULL: none.
/// Keeps both; what is measured later is not counted.
egraph_status eg_device_cost_init(eg_device_cost *cost, const eg_machine *machine,
                                  eg_cost_model *model);
/// Seconds of one execution of a local node (its types are those of one device's part);
/// INFINITY for a node that the device is known not to run. *out_source may be NULL.
egraph_status eg_device_cost_seconds(const eg_device_cost *cost,
                                     const eg_node_spec *local, double *out_seconds,
                                     eg_cost_source *out_source);
/// Memory formats beside plain in which the device has kernels, a bit per eg_format; 0
/// where only the machine's figures are known, and where none are asked for.
uint32_t eg_device_cost_formats(const eg_device_cost *cost);
/// Operators that multiply and add. Where computing is free, plans may not replicate them
/// (everything replicated would cost nothing); all others they may.
bool eg_device_cost_is_heavy(const eg_node_spec *spec);

#endif
