// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/plan_price.h"

#include "pcg/plan_words.h"

egraph_status eg_strategy_price(const eg_plan_costs *costs, const eg_spread *spread,
                                const eg_mesh *mesh, const eg_strategy *strategy,
                                eg_arena *arena, double *out) {
  eg_node_spec local;
  EG_TRY(eg_spread_local(spread, mesh, strategy, 0, arena, &local));
  EG_TRY(costs->node(costs->self, &local, out));
  eg_halo halos[EG_MAX_MESH_AXES];
  uint32_t count = eg_spread_halos(spread, mesh, strategy, halos);
  if (count == 0) return EGRAPH_OK;
  eg_type operand =
      eg_sharding_local(mesh, &spread->spec.inputs[0], &strategy->inputs[0]);
  for (uint32_t i = 0; i < count; i++)
    *out += costs->halo(costs->self, &halos[i], &operand);
  return EGRAPH_OK;
}

static egraph_status price_node(const eg_plan *plan, eg_plan_step *step,
                                const eg_plan_costs *costs, eg_arena *arena) {
  eg_node_spec spec;
  eg_spread spread;
  eg_strategy strategy;
  EG_TRY(eg_plan_spec(plan, step, arena, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  if (!eg_spread_combine(&spread, &plan->mesh, step->action, &strategy))
    return EG_FAIL(EGRAPH_E_INTERNAL, "a plan to be priced with a broken step");
  return eg_strategy_price(costs, &spread, &plan->mesh, &strategy, arena, &step->seconds);
}

static void price_move(const eg_plan *plan, eg_plan_step *step,
                       const eg_plan_costs *costs) {
  bool is_local = step->transition.kind == EG_TRANSITION_SLICE ||
                  step->transition.kind == EG_TRANSITION_MASK;
  step->seconds = is_local ? 0
                           : costs->transition(costs->self, &step->transition,
                                               eg_plan_move_bytes(plan, step));
}

egraph_status eg_plan_price(eg_plan *plan, egraph_allocator alloc,
                            const eg_plan_costs *costs) {
  eg_arena arena; // of one step
  eg_arena_init(&arena, alloc);
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; status == EGRAPH_OK && i < plan->steps.len; i++) {
    eg_plan_step *step = &plan->steps.data[i];
    if (step->is_move)
      price_move(plan, step, costs);
    else
      status = price_node(plan, step, costs, &arena);
    eg_arena_deinit(&arena);
  }
  return status;
}
