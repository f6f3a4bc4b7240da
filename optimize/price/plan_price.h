// The prices that planning needs of a machine, the answers of one of its meshes, and
// seconds of strategies and of the steps of an existing plan by these.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_PLAN_PRICE_H
#define EG_OPTIMIZE_PRICE_PLAN_PRICE_H

#include "pcg/parallel/strategy.h"
#include "pcg/plan/plan.h"
#include "sim/collective.h"
#include "sim/device_cost.h"

/// The cost of a node on one device.
typedef struct eg_node_price {
  double seconds; // >= 0, and finite where all types are plain. INFINITY: the device has
                  // no kernel for these memory formats
  uint32_t basis; // what the seconds rest on, as the one who answers numbers it; 0: free,
                  // or unused
} eg_node_price;

/// Factors of the seconds of a plan: of computing (halos included, as in the seconds of a
/// step) and of exchanges along each axis.
typedef struct eg_cost_weights {
  double forward, later;                  // computing of FORWARD, of later phases
  double exchange[EG_MAX_MESH_AXES];      // of entries, and of what FORWARD makes
  double late_exchange[EG_MAX_MESH_AXES]; // of what later phases make
} eg_cost_weights;
/// Returns the factor of a node of a phase; NULL: 1.
double eg_node_weight(const eg_cost_weights *weights, eg_phase phase);
/// Returns the factor of a transition in a phase; `made`: the phase that makes the value,
/// FORWARD for an entry.
double eg_transition_weight(const eg_cost_weights *weights,
                            const eg_transition *transition, eg_phase phase,
                            eg_phase made);

typedef struct eg_plan_costs {
  void *self;
  /// The price of a node, local types.
  egraph_status (*node)(void *self, const eg_node_spec *local, eg_node_price *out);
  /// Seconds of a collective, bytes as eg_transition_bytes has them; local ones are free
  /// and not asked for.
  double (*transition)(void *self, const eg_transition *transition, double bytes);
  /// Seconds of an exchange of rows of operand 0, whose local type (without them) is
  /// given.
  double (*halo)(void *self, const eg_halo *halo, const eg_type *local);
  /// Compute costs nothing, so that operators with multiplications must be split along
  /// every axis: replicating them everywhere would be free.
  bool compute_is_free;
  uint32_t formats; // memory formats worth considering besides plain, a bit per eg_format
  const eg_cost_weights *weights; // of the answers in a plan; NULL: 1
} eg_plan_costs;

/// The answers of a mesh of a machine.
typedef struct eg_machine_costs {
  eg_device_cost device;
  const eg_machine_mesh *mesh;
  const eg_cost_weights *weights; // eg_plan_costs
} eg_machine_costs;

/// `self` is borrowed by the result. A node that the device cannot run costs a second.
/// The basis of a price is an eg_price_basis.
eg_plan_costs eg_machine_plan_costs(eg_machine_costs *self);

/// The weights among the operands of a node that runs in every step, of a mask of
/// constants (eg_operand_bit): none where all are, as it is there to make something of
/// them.
uint64_t eg_constant_operands(uint64_t constants, uint32_t count);
/// The price of one execution of an operator in a strategy, its halos included. The arena
/// is scratch.
egraph_status eg_strategy_price(const eg_plan_costs *costs, const eg_spread *spread,
                                const eg_mesh *mesh, const eg_strategy *strategy,
                                eg_arena *arena, eg_node_price *out);
/// The price of a change of the memory format; local types.
egraph_status eg_reorder_price(const eg_plan_costs *costs, const eg_type *from,
                               const eg_type *to, eg_node_price *out);
/// Prices every step of a plan that passes eg_plan_check anew: one that was edited, or
/// made for another machine. On failure some steps have their old seconds.
egraph_status eg_plan_price(eg_plan *plan, egraph_allocator alloc,
                            const eg_plan_costs *costs);

#endif
