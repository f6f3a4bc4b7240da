// Callbacks by which planning asks for prices of nodes and exchanges, their answers for a
// mesh of a machine, and the seconds of strategies and plans at these prices.
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
  // Source of the seconds, a number of the callback's own; 0: free or unused
  uint32_t basis;
} eg_node_price;

/// Factors of the seconds of a plan: of computing (with exchanges of borders, as in the
/// seconds of a step) and of exchanges along each axis.
typedef struct eg_cost_weights {
  double forward, later;                  // computing of FORWARD, of later phases
  double exchange[EG_MAX_MESH_AXES];      // of entries and of values of FORWARD
  double late_exchange[EG_MAX_MESH_AXES]; // of values of later phases
} eg_cost_weights;
/// Returns the factor of the seconds of a node in a phase; `weights` NULL: 1.
double eg_node_weight(const eg_cost_weights *weights, eg_phase phase);
/// Returns the factor of a transition's seconds in a phase; `made`: the phase that makes
/// the value, FORWARD for an input of the step.
double eg_transition_weight(const eg_cost_weights *weights,
                            const eg_transition *transition, eg_phase phase,
                            eg_phase made);

typedef struct eg_plan_costs {
  void *self;
  /// Prices a node with local types.
  egraph_status (*node)(void *self, const eg_node_spec *local, eg_node_price *out);
  /// Returns the seconds of a collective; `bytes` is eg_transition_bytes. It is not
  /// called for transitions within a device, which are free.
  double (*transition)(void *self, const eg_transition *transition, double bytes);
  /// Returns the seconds in which neighbours exchange borders of operand 0; `local` is
  /// its type on one device without the borders.
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

/// Returns the price callbacks of a machine, which borrow `self`. A node that the device
/// cannot run costs a second. The basis of a price is an eg_price_basis.
eg_plan_costs eg_machine_plan_costs(eg_machine_costs *self);

/// Returns the mask (eg_operand_bit) of weights among the operands of a node that runs in
/// every step, given the mask of its constant operands: 0 if all are constant, because
/// the node then transforms constants.
uint64_t eg_constant_operands(uint64_t constants, uint32_t count);
/// Prices one run of an operator in a strategy, with exchanges of borders. The arena
/// is scratch.
egraph_status eg_strategy_price(const eg_plan_costs *costs, const eg_spread *spread,
                                const eg_mesh *mesh, const eg_strategy *strategy,
                                eg_arena *arena, eg_node_price *out);
/// Prices a change of the memory format on one device; the types are its local types.
egraph_status eg_reorder_price(const eg_plan_costs *costs, const eg_type *from,
                               const eg_type *to, eg_node_price *out);
/// Prices every step of a plan that was edited or made for another machine; the plan
/// passes eg_plan_check. On failure only some steps have new seconds.
egraph_status eg_plan_price(eg_plan *plan, egraph_allocator alloc,
                            const eg_plan_costs *costs);

#endif
