// Prices one device's part of an operator, in seconds.
//
// The price is 0 where computing is free. Otherwise it is the cost in a model of this
// device, times the machine's slowdown, if the model has enough entries to calibrate
// estimates, or gets other costs on demand (from the caller's own function or a prober).
// Without such a model, free nodes (sim/cost.h) cost 0, and others cost, from the
// machine's figures:
//
//   seconds = max(flops / peak(dtype of operand 0), bytes / bandwidth) + overhead
//
// and where plans follow what the machine reaches (eg_machine.uses_reached), both by the
// curves of eg_reach, as far as there are any.
//
// Peaks of narrow types hold for multiply-adds; other operators are rarely bound by them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_DEVICE_COST_H
#define EG_SIM_DEVICE_COST_H

#include "pcg/parallel/machine.h"
#include "sim/cost.h"

/// The least number of measured nodes with which a cost model is used.
enum { EG_DEVICE_COST_MIN_ENTRIES = 16 };

typedef struct eg_device_cost {
  const eg_machine *machine; // borrowed
  eg_cost_model *model;      // borrowed; NULL: the machine's figures
  bool plain_only;           // plans use no memory format other than plain
} eg_device_cost;

/// Keeps machine and cost model. `model` has the measurements of the machine's profile
/// (eg_machine.profile); NULL: none. Only measurements before this call count.
egraph_status eg_device_cost_init(eg_device_cost *cost, const eg_machine *machine,
                                  eg_cost_model *model);
/// Returns the seconds of one run of a node with the types of one device's part; INFINITY
/// where the device cannot run it. *out_source may be NULL.
egraph_status eg_device_cost_seconds(const eg_device_cost *cost,
                                     const eg_node_spec *local, double *out_seconds,
                                     eg_cost_source *out_source);
/// True when a curve of what the machine reaches decides the seconds of a node.
bool eg_device_cost_is_reached(const eg_device_cost *cost, const eg_node_spec *local);
/// Returns the memory formats other than row-major in which the device has kernels, a bit
/// per eg_format; 0 with plain_only, or where only the machine's figures are known.
uint32_t eg_device_cost_formats(const eg_device_cost *cost);
/// True for operators that multiply and add. Where computing is free, plans may replicate
/// all operators except these (a plan that replicates everything would cost nothing).
bool eg_device_cost_is_heavy(const eg_node_spec *spec);

#endif
