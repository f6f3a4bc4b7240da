// Implements eg_plan_costs for a machine; prices strategies and plans.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/price/plan_price.h"

#include <math.h>

#include "optimize/price/predict.h"
#include "pcg/graph/node_spec.h"
#include "pcg/plan/plan_words.h"
// ---- the answers of a machine ---------------------------------------------------------

static eg_price_basis basis_of(const eg_device_cost *device, const eg_node_spec *local,
                               eg_cost_source source) {
  switch (source) {
  case EG_COST_FREE: return EG_PRICE_FREE;
  case EG_COST_USER: return EG_PRICE_GIVEN;
  case EG_COST_MEASURED: return EG_PRICE_MEASURED;
  case EG_COST_UNPRICED: // in no plan
  case EG_COST_ESTIMATED: break;
  }
  bool is_calibrated =
      device->model != NULL && eg_cost_is_calibrated(device->model, local);
  if (is_calibrated) return EG_PRICE_ESTIMATED;
  return eg_device_cost_is_reached(device, local) ? EG_PRICE_REACHED : EG_PRICE_GUESSED;
}

static egraph_status answer_node(void *self, const eg_node_spec *local,
                                 eg_node_price *out) {
  const eg_machine_costs *costs = self;
  eg_cost_source source;
  EG_TRY(eg_device_cost_seconds(&costs->device, local, &out->seconds, &source));
  out->basis = (uint32_t)basis_of(&costs->device, local, source);
  if (!isfinite(out->seconds) && eg_node_spec_is_plain(local))
    *out = (eg_node_price){.seconds = EG_UNPRICED_SECONDS, .basis = EG_PRICE_GUESSED};
  return EGRAPH_OK;
}

static double transition_seconds(void *self, const eg_transition *transition,
                                 double bytes) {
  const eg_machine_costs *costs = self;
  return eg_collective_seconds(costs->mesh, transition, bytes);
}

static double halo_seconds(void *self, const eg_halo *halo, const eg_type *local) {
  const eg_machine_costs *costs = self;
  return eg_collective_halo_seconds(costs->mesh, halo, local);
}

eg_plan_costs eg_machine_plan_costs(eg_machine_costs *self) {
  return (eg_plan_costs){.self = self,
                         .node = answer_node,
                         .transition = transition_seconds,
                         .halo = halo_seconds,
                         .compute_is_free = self->device.machine->compute_is_free,
                         .formats = eg_device_cost_formats(&self->device),
                         .weights = self->weights};
}

double eg_node_weight(const eg_cost_weights *weights, eg_phase phase) {
  if (weights == NULL) return 1;
  return phase == EG_PHASE_FORWARD ? weights->forward : weights->later;
}

double eg_transition_weight(const eg_cost_weights *weights,
                            const eg_transition *transition, eg_phase phase,
                            eg_phase made) {
  if (weights == NULL) return 1;
  if (eg_transition_is_local(transition->kind)) return eg_node_weight(weights, phase);
  return (made == EG_PHASE_FORWARD ? weights->exchange
                                   : weights->late_exchange)[transition->axis];
}

// ---- prices ---------------------------------------------------------------------------

egraph_status eg_strategy_price(const eg_plan_costs *costs, const eg_spread *spread,
                                const eg_mesh *mesh, const eg_strategy *strategy,
                                eg_arena *arena, eg_node_price *out) {
  eg_node_spec local;
  uint32_t rank = eg_spread_busiest(spread, mesh, strategy);
  EG_TRY(eg_spread_local(spread, mesh, strategy, rank, arena, &local));
  eg_halo halos[EG_MAX_MESH_AXES];
  uint32_t count = eg_spread_halos(spread, mesh, strategy, halos);
  if (count != 0) local.weight_mask &= ~eg_operand_bit(0); // assembled in each run
  EG_TRY(costs->node(costs->self, &local, out));
  if (count == 0) return EGRAPH_OK;
  eg_type operand =
      eg_sharding_local(mesh, &spread->spec.inputs[0], &strategy->inputs[0]);
  for (uint32_t i = 0; i < count; i++)
    out->seconds += costs->halo(costs->self, &halos[i], &operand);
  return EGRAPH_OK;
}

egraph_status eg_reorder_price(const eg_plan_costs *costs, const eg_type *from,
                               const eg_type *to, eg_node_price *out) {
  static const eg_attrs identity = {.op = EG_OP_IDENTITY};
  const eg_node_spec spec = {.attrs = &identity,
                             .inputs = from,
                             .input_count = 1,
                             .results = to,
                             .result_count = 1};
  return costs->node(costs->self, &spec, out);
}

uint64_t eg_constant_operands(uint64_t constants, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if ((constants & eg_operand_bit(i)) == 0) return constants;
  return 0;
}

/// Returns a mask of operands that exist before a run. `ahead`: eg_plan_ahead.
static uint64_t constants_of(const eg_plan *plan, const eg_plan_step *step,
                             uint32_t count, const bool *ahead) {
  uint64_t mask = 0;
  for (uint32_t i = 0; i < count; i++)
    if (ahead[plan->operands.data[step->operands + i]]) mask |= eg_operand_bit(i);
  return eg_constant_operands(mask, count);
}

static egraph_status price_node(const eg_plan *plan, eg_plan_step *step,
                                const eg_plan_costs *costs, const bool *ahead,
                                eg_arena *arena) {
  const eg_spread *spread;
  const eg_strategy *strategy;
  EG_TRY(eg_plan_spread(plan, step, arena, &spread, &strategy));
  eg_spread mine = *spread;
  mine.spec.weight_mask = constants_of(plan, step, spread->spec.input_count, ahead);
  eg_node_price price = {.basis = 0};
  EG_TRY(eg_strategy_price(costs, &mine, &plan->mesh, strategy, arena, &price));
  step->seconds = price.seconds;
  step->basis = price.basis;
  return EGRAPH_OK;
}

static eg_type local_type(const eg_plan *plan, uint32_t state) {
  const eg_plan_state *row = &plan->states.data[state];
  return eg_sharding_local(&plan->mesh, &eg_graph_value(plan->graph, row->value)->type,
                           &row->layout);
}

static egraph_status price_move(const eg_plan *plan, eg_plan_step *step,
                                const eg_plan_costs *costs) {
  eg_type from = local_type(plan, step->from), to = local_type(plan, step->to);
  eg_node_price price = {.basis = 0};
  if (step->transition.kind == EG_TRANSITION_REORDER) {
    EG_TRY(eg_reorder_price(costs, &from, &to, &price));
    step->seconds = price.seconds;
    step->basis = price.basis;
    return EGRAPH_OK;
  }
  step->seconds = eg_transition_is_local(step->transition.kind)
                      ? 0
                      : costs->transition(costs->self, &step->transition,
                                          eg_plan_move_bytes(plan, step));
  return EGRAPH_OK;
}

egraph_status eg_plan_price(eg_plan *plan, egraph_allocator alloc,
                            const eg_plan_costs *costs) {
  EG_LOCAL(eg_arena, rows, alloc);
  bool *ahead;
  EG_NEW(&rows, plan->states.len, ahead);
  EG_TRY(eg_plan_ahead(plan, alloc, ahead));
  for (size_t i = 0; i < plan->steps.len; i++) {
    EG_LOCAL(eg_arena, arena, alloc);
    eg_plan_step *step = &plan->steps.data[i];
    EG_TRY(step->is_move ? price_move(plan, step, costs)
                         : price_node(plan, step, costs, ahead, &arena));
  }
  return EGRAPH_OK;
}
