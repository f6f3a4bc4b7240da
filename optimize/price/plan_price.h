// The prices that planning asks of a machine, how one of its meshes answers, and the
// seconds of strategies and of the steps of an existing plan at these prices.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_PLAN_PRICE_H
#define EG_OPTIMIZE_PRICE_PLAN_PRICE_H

#include "pcg/parallel/strategy.h"
#include "pcg/plan/plan.h"
#include "sim/collective.h"
#include "sim/device_cost.h"

/// The cost of a node on one device.
typedef struct eg_node_price {
  // >= 0, and finite where all types are plain. INFINITY: the device has no kernel for
  // these memory formats
  double seconds;
  // Source of the seconds, numbered by the callback that answers; 0: free or unused
  uint32_t basis;
} eg_node_price;

/// Factors of the seconds of a plan: of computing (halos included, as in the seconds of a
/// step) and of exchanges along each axis.
typedef struct eg_cost_weights {
  double forward, later;                  // computing of FORWARD, of later phases
  double exchange[EG_MAX_MESH_AXES];      // of entries and of values of FORWARD
  double late_exchange[EG_MAX_MESH_AXES]; // of values of later phases
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
  /// Prices a node with local types.
  egraph_status (*node)(void *self, const eg_node_spec *local, eg_node_price *out);
  /// Returns the seconds of a collective; `bytes` is eg_transition_bytes. Local
  /// transitions are free and not asked for.
  double (*transition)(void *self, const eg_transition *transition, double bytes);
  /// Returns the seconds of an exchange of rows of operand 0; `local` is its local type
  /// without these rows.
  double (*halo)(void *self, const eg_halo *halo, const eg_type *local);
  /// True when computing costs nothing. Operators with multiplications must then be split
  /// along every axis, because replicating them would be free.
  bool compute_is_free;
  uint32_t formats; // memory formats worth considering besides plain, a bit per eg_format
  const eg_cost_weights *weights; // factors of the seconds in a plan; NULL: 1
} eg_plan_costs;

/// The state of the callbacks for a mesh of a machine.
typedef struct eg_machine_costs {
  eg_device_cost device;
  const eg_machine_mesh *mesh;
  const eg_cost_weights *weights; // eg_plan_costs
} eg_machine_costs;

/// Returns the callbacks, which borrow `self`. A node that the device cannot run costs a
/// second. The basis of a price is an eg_price_basis.
eg_plan_costs eg_machine_plan_costs(eg_machine_costs *self);

/// Returns the mask (eg_operand_bit) of weights among the operands of a node that runs in
/// every step, given the mask of its constant operands: 0 if all are constant, because
/// the node then transforms constants.
uint64_t eg_constant_operands(uint64_t constants, uint32_t count);
/// Prices one execution of an operator in a strategy, halos included. The arena
/// is scratch.
egraph_status eg_strategy_price(const eg_plan_costs *costs, const eg_spread *spread,
                                const eg_mesh *mesh, const eg_strategy *strategy,
                                eg_arena *arena, eg_node_price *out);
/// Prices a change of the memory format; types are local.
egraph_status eg_reorder_price(const eg_plan_costs *costs, const eg_type *from,
                               const eg_type *to, eg_node_price *out);
/// Prices every step of a plan that was edited or made for another machine; the plan
/// passes eg_plan_check. On failure some steps have their old seconds.
egraph_status eg_plan_price(eg_plan *plan, egraph_allocator alloc,
                            const eg_plan_costs *costs);

#endif
