// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_build.h"

// ---- states -----------------------------------------------------------------------

/// The state that a value enters with; EG_PLAN_NONE: nothing uses it.
static uint32_t find_entry(const eg_rank_program *p, uint32_t value) {
  for (uint32_t s = 0; s < p->plan->states.len; s++)
    if (p->plan->states.data[s].value.id == value &&
        p->plan->states.data[s].step == EG_PLAN_NONE)
      return s;
  return EG_PLAN_NONE;
}

/// An exit that is its entry, unchanged, needs nothing.
static egraph_status add_carry(eg_rank_program *p, uint32_t output, uint32_t value) {
  eg_rank_carry carry = {.entry = find_entry(p, value),
                         .exit = p->plan->output_states.data[output]};
  if (carry.entry == EG_PLAN_NONE) return EGRAPH_OK;
  p->states[carry.entry].is_carried = true;
  if (carry.entry == carry.exit) return EGRAPH_OK;
  uint32_t step = p->plan->states.data[carry.exit].step;
  if (step == EG_PLAN_NONE)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "'%s' becomes another input as it is",
                   eg_rank_value(p, carry.entry)->name);
  carry.is_summed = step < p->body;
  p->states[carry.exit].carry = carry.entry;
  return eg_rank_carries_push(&p->carries, carry);
}

static egraph_status find_carries(eg_rank_program *p) {
  const eg_u32s *carried = &p->plan->carried;
  for (size_t i = 0; i + 1 < carried->len; i += 2)
    EG_TRY(add_carry(p, carried->data[i], carried->data[i + 1]));
  return EGRAPH_OK;
}

static egraph_status make_states(eg_rank_program *p) {
  const eg_plan *plan = p->plan;
  EG_TRY(eg_alloc(p->alloc, plan->states.len, sizeof *p->states, &p->states));
  for (uint32_t s = 0; s < plan->states.len; s++) {
    eg_type whole = eg_rank_value(p, s)->type;
    whole.layout = (eg_layout){0};
    p->states[s] = (eg_rank_state){
        .type = eg_sharding_local(&plan->mesh, &whole, &plan->states.data[s].layout),
        .region = EG_REGION_NONE,
        .carry = EG_PLAN_NONE};
  }
  return EGRAPH_OK;
}

static bool is_constant(const eg_rank_program *p, uint32_t state) {
  return p->plan->states.data[state].step == EG_PLAN_NONE &&
         eg_rank_value(p, state)->kind == EG_VALUE_WEIGHT && !p->states[state].is_carried;
}

static egraph_status add_regions(eg_rank_program *p) {
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    uint32_t step = p->plan->states.data[s].step;
    uint32_t time = step == EG_PLAN_NONE ? 0 : step + 1;
    if (is_constant(p, s)) continue;
    p->states[s].region = (uint32_t)p->regions.len;
    EG_TRY(eg_regions_add(&p->regions, eg_type_bytes(&p->states[s].type), time, time));
  }
  return EGRAPH_OK;
}

// ---- lifetimes --------------------------------------------------------------------

static void use_until(eg_rank_program *p, uint32_t state, uint32_t time) {
  uint32_t region = p->states[state].region;
  if (region != EG_REGION_NONE && p->regions.data[region].last < time)
    p->regions.data[region].last = time;
}

static void set_last_uses(eg_rank_program *p) {
  const eg_plan *plan = p->plan;
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (step->is_move) {
      use_until(p, step->from, i + 1);
      p->states[step->from].is_kept = true;
      continue;
    }
    uint32_t count = eg_graph_node_at(plan->graph, step->node).input_count;
    for (uint32_t k = 0; k < count; k++)
      use_until(p, plan->operands.data[step->operands + k], i + 1);
  }
  for (uint32_t i = 0; i < plan->output_states.len; i++) {
    use_until(p, plan->output_states.data[i], eg_rank_end(p));
    p->states[plan->output_states.data[i]].is_kept = true;
  }
}

egraph_status eg_rank_analyse(eg_rank_program *p) {
  while (p->body < p->plan->steps.len &&
         p->plan->steps.data[p->body].phase != EG_PHASE_UPDATE)
    p->body++;
  EG_TRY(make_states(p));
  EG_TRY(find_carries(p));
  EG_TRY(add_regions(p));
  set_last_uses(p);
  return EGRAPH_OK;
}
