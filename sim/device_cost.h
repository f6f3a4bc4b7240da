// Seconds that one device of a machine takes for its part of an operator.
//
// Where computing is free: 0. Otherwise the cost in a model of this device, times the
// machine's slowdown, if the model has enough entries to calibrate estimates, or gets
// other costs on demand (from a caller's own function or a prober). Without such a model:
// 0 for free nodes (sim/cost.h), and for others, from the machine's figures:
//
//   seconds = max(flops / peak(dtype of operand 0), bytes / bandwidth) + overhead
//
// Peaks of narrow types hold for multiply-adds; other operators are rarely bound by them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_DEVICE_COST_H
#define EG_SIM_DEVICE_COST_H

#include "pcg/parallel/machine.h"
#include "sim/cost.h"

/// The least number of supported entries with which a cost model is used.
enum { EG_DEVICE_COST_MIN_ENTRIES = 16 };

typedef struct eg_device_cost {
  const eg_machine *machine; // borrowed
  eg_cost_model *model;      // borrowed; NULL: the machine's figures
  bool plain_only;           // plans use no memory format other than plain
} eg_device_cost;

/// `model` has the entries of the machine's profile (eg_machine.profile); NULL: none.
/// Keeps both; later measurements do not count as entries.
egraph_status eg_device_cost_init(eg_device_cost *cost, const eg_machine *machine,
                                  eg_cost_model *model);
/// Seconds of one execution of a local node (its types are of one device's part);
/// INFINITY for a node that the device is known not to run. *out_source may be NULL.
egraph_status eg_device_cost_seconds(const eg_device_cost *cost,
                                     const eg_node_spec *local, double *out_seconds,
                                     eg_cost_source *out_source);
/// Memory formats other than plain in which the device has kernels, a bit per eg_format;
/// 0 where only the machine's figures are known, and with plain_only.
uint32_t eg_device_cost_formats(const eg_device_cost *cost);
/// Operators that multiply and add. Where computing is free, plans may not replicate them
/// (everything replicated would cost nothing); all others they may.
bool eg_device_cost_is_heavy(const eg_node_spec *spec);

#endif
