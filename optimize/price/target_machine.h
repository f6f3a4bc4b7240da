// Opens the machine that a target names, with the costs of its device. For this host,
// operators are measured one by one as planning asks for them, messages all at once; a
// profile database keeps the measurements.
//
// The caller supplies the functions that measure, because this room has no executor.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_TARGET_MACHINE_H
#define EG_OPTIMIZE_PRICE_TARGET_MACHINE_H

#include "include/egraph.h"
#include "optimize/price/host_costs.h"
#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"
#include "sim/cost.h"

typedef struct eg_target_machine {
  eg_machine machine;
  eg_cost_model *costs; // borrowed; NULL: the machine's figures
  eg_cost_model *own;   // costs of a device outside this host, or NULL
  // State while this host is measured:
  const eg_host_costs *host; // NULL: it is not
  eg_cost_prober prober;
  bool (*stop)(void *user); // called before each operator: true: estimate it instead
  void *user;
  uint32_t measured; // operators
} eg_target_machine;

/// Opens the machine of a target: this host, measured if `costs` (may be NULL) allow it,
/// otherwise with the known costs in `costs`; or another machine, with the measurements
/// of its device in their database. `target` is zeros, except `stop` and its user, and
/// must not move. Operators that would take long, or much memory, are never measured.
/// Fails as eg_machine_load and eg_cost_model_create do; eg_target_machine_close follows
/// in any case.
egraph_status eg_target_machine_open(eg_target_machine *target, egraph_allocator alloc,
                                     const egraph_target *options,
                                     const eg_host_costs *costs);
void eg_target_machine_close(eg_target_machine *target);

/// Prices the steps of a plan, which passes eg_plan_check, on a target machine, with at
/// most half a minute of measuring. On failure the plan keeps its prices.
egraph_status eg_target_price_plan(eg_plan *plan, egraph_allocator alloc,
                                   const egraph_target *options,
                                   const eg_host_costs *costs, double *out_memory_bytes);

/// Measures one processor of this host, and messages between `ranks` ranks.
egraph_status eg_host_measure(egraph_allocator alloc, const eg_host_meter *meter,
                              uint32_t ranks, eg_host_figures *out);

#endif
