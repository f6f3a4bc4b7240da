// The machine that a target names, with the costs of its device; and this host as a
// machine, measured: operators one by one as planning asks for them, messages at once.
// Both are kept in a profile database.
//
// The caller brings the functions that measure, since this room has no executor.
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
  eg_cost_model *own;   // of a device that is not of this host; NULL
  // While this host is measured:
  const eg_host_costs *host; // NULL: it is not
  eg_cost_prober prober;
  bool (*stop)(void *user); // asked before each operator: true leaves it to an estimate
  void *user;
  uint32_t measured; // operators
} eg_target_machine;

/// Opens the machine of a target: this host, measured where `costs` (may be NULL) say so,
/// or with what they have; or another one, with the entries of its device in the database
/// of the costs. Of one that is zeros, but for `stop` and its user; it stays where it is.
/// Operators that would take long, or much memory, are never measured. Fails as
/// eg_machine_load and eg_cost_model_create do; eg_target_machine_close follows in any
/// case.
egraph_status eg_target_machine_open(eg_target_machine *target, egraph_allocator alloc,
                                     const egraph_target *options,
                                     const eg_host_costs *costs);
void eg_target_machine_close(eg_target_machine *target);

/// Prices the steps of a plan that passes eg_plan_check for a target, in half a minute of
/// measuring. On failure the plan keeps its prices.
egraph_status eg_target_price_plan(eg_plan *plan, egraph_allocator alloc,
                                   const egraph_target *options,
                                   const eg_host_costs *costs, double *out_memory_bytes);

/// Measures one processor of this host, and messages between `ranks` ranks.
egraph_status eg_host_measure(egraph_allocator alloc, const eg_host_meter *meter,
                              uint32_t ranks, eg_host_figures *out);

#endif
