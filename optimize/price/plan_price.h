// Seconds of strategies, and of the steps of a plan that is there already.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_PLAN_PRICE_H
#define EG_OPTIMIZE_PRICE_PLAN_PRICE_H

#include "optimize/price/plan_costs.h"
#include "pcg/plan/plan.h"

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
