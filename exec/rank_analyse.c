// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_program_internal.h"

// ---- states -----------------------------------------------------------------------

/// The state that a value enters with; EG_PLAN_NONE: nothing uses it.
static uint32_t find_entry(const eg_rank_program *p, uint32_t value) {
  for (uint32_t s = 0; s < p->plan->states.len; s++)
    if (p->plan->states.data[s].value.id == value &&
        p->plan->states.data[s].step == EG_PLAN_NONE)
      return s;
  return EG_PLAN_NONE;
}

static bool makes_update(const eg_rank_program *p, uint32_t state) {
  uint32_t step = p->given->states.data[state].step;
  return p->given->steps.data[step].phase == EG_PHASE_UPDATE;
}

/// An exit that is its entry, unchanged, needs nothing.
static egraph_status add_carry(eg_rank_program *p, uint32_t output, uint32_t value) {
  eg_rank_carry carry = {.entry = find_entry(p, value),
                         .exit = p->plan->output_states.data[output]};
  if (carry.entry == EG_PLAN_NONE) return EGRAPH_OK;
  p->states[carry.entry].is_carried = true;
  if (carry.entry == carry.exit) return EGRAPH_OK;
  if (p->plan->states.data[carry.exit].step == EG_PLAN_NONE)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "'%s' becomes another input as it is",
                   eg_rank_value(p, carry.entry)->name);
  carry.is_summed = !makes_update(p, carry.exit);
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
  for (uint32_t s = 0; s < plan->states.len; s++)
    p->states[s] =
        (eg_rank_state){.type = eg_sharding_local(&plan->mesh, &eg_rank_value(p, s)->type,
                                                  &plan->states.data[s].layout),
                        .region = EG_REGION_NONE,
                        .carry = EG_PLAN_NONE};
  return EGRAPH_OK;
}

/// What a run reads; nothing where a value is carried, or is not used.
static egraph_status find_inputs(eg_rank_program *p) {
  uint32_t count = eg_graph_input_count(p->plan->graph);
  EG_TRY(eg_arena_alloc(&p->arena, count, sizeof *p->inputs, &p->inputs));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t entry = find_entry(p, eg_graph_input(p->plan->graph, i).id);
    bool is_read = entry != EG_PLAN_NONE && !p->states[entry].is_carried;
    p->inputs[i] = is_read ? entry : EG_PLAN_NONE;
  }
  return EGRAPH_OK;
}

static egraph_status add_regions(eg_rank_program *p, const bool *is_ahead) {
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    uint32_t step = p->plan->states.data[s].step;
    uint32_t time = step == EG_PLAN_NONE ? 0 : step + 1;
    if (is_ahead[s]) continue;
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
  for (uint32_t i = 0; i < p->steps.len; i++)
    for (uint32_t k = 0; k < p->steps.data[i].operand_count; k++)
      use_until(p, p->steps.data[i].operands[k], i + 1);
  for (uint32_t i = 0; i < plan->output_states.len; i++) {
    use_until(p, plan->output_states.data[i], eg_rank_end(p));
    p->states[plan->output_states.data[i]].is_kept = true;
  }
}

// ---- steps --------------------------------------------------------------------------

/// A move to what is there before a run has nothing to do, and nothing to read.
static egraph_status list_states(eg_rank_program *p, const bool *is_ahead) {
  const eg_plan *plan = p->plan;
  EG_TRY(eg_rank_steps_resize(&p->steps, plan->steps.len));
  for (uint32_t i = 0; i < p->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    eg_rank_step out = {.operands = &step->from,
                        .results = &step->to,
                        .operand_count = step->is_move && !is_ahead[step->to],
                        .result_count = 1,
                        .is_view = step->is_move && is_ahead[step->to],
                        .scratch_region = EG_REGION_NONE,
                        .until = EG_PLAN_NONE,
                        .awaits = EG_PLAN_NONE,
                        .figures.node = {UINT32_MAX}};
    if (!step->is_move) {
      eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
      out.operand_count = info.input_count;
      out.result_count = info.result_count;
      out.operands = plan->operands.data + step->operands;
      out.results = out.operands + info.input_count;
      out.figures.node = step->node;
    }
    out.is_update = makes_update(p, out.results[0]);
    p->steps.data[i] = out;
  }
  return EGRAPH_OK;
}

static egraph_status describe_node(eg_rank_program *p, uint32_t index, eg_arena *scratch,
                                   eg_rank_part *out) {
  const eg_mesh *mesh = &p->plan->mesh;
  const eg_spread *spread;
  const eg_strategy *strategy;
  EG_TRY(
      eg_plan_spread(p->plan, &p->plan->steps.data[index], scratch, &spread, &strategy));
  out->halo_count = eg_spread_halos(spread, mesh, strategy, out->halos);
  return eg_spread_local(spread, mesh, strategy, eg_rank_number(p), &p->part_arena,
                         &out->spec);
}

/// On a device, where copies are fast and launches are not, halos are copied.
static egraph_status cut_strips(eg_rank_program *p, eg_rank_part *part) {
  if (part->halo_count != 1 || !p->backend->vtable->host_memory) return EGRAPH_OK;
  uint32_t axis = part->halos[0].axis;
  uint32_t place = eg_mesh_coordinate(&p->plan->mesh, eg_rank_number(p), axis);
  EG_TRY(eg_strips_of(&part->spec, &part->halos[0], place != 0,
                      place + 1 != p->plan->mesh.axes[axis].size, &p->part_arena,
                      &part->strips));
  if (part->strips.is_used) part->spec = part->strips.whole;
  return EGRAPH_OK;
}

static egraph_status describe_step(eg_rank_program *p, uint32_t index,
                                   eg_arena *scratch) {
  static const eg_attrs identity = {.op = EG_OP_IDENTITY};
  const eg_plan_step *from = &p->plan->steps.data[index];
  const eg_rank_step *step = &p->steps.data[index];
  eg_rank_part *part = &p->parts[index];
  if (!from->is_move)
    EG_TRY(describe_node(p, index, scratch, part));
  else if (from->transition.kind == EG_TRANSITION_REORDER)
    part->spec = (eg_node_spec){.attrs = &identity,
                                .inputs = &p->states[from->from].type,
                                .input_count = 1,
                                .results = &p->states[from->to].type,
                                .result_count = 1};
  for (uint32_t i = part->halo_count != 0; i < part->spec.input_count; i++)
    if (p->states[step->operands[i]].region == EG_REGION_NONE)
      part->spec.weight_mask |= eg_operand_bit(i);
  return cut_strips(p, part);
}

static egraph_status describe_steps(eg_rank_program *p) {
  eg_arena scratch; // of one step
  eg_arena_init(&scratch, p->alloc);
  egraph_status status =
      eg_arena_alloc(&p->part_arena, p->steps.len, sizeof *p->parts, &p->parts);
  for (uint32_t i = 0; status == EGRAPH_OK && i < p->steps.len; i++) {
    status = describe_step(p, i, &scratch);
    if (status != EGRAPH_OK) status = eg_rank_blame(p, i, status);
    eg_arena_deinit(&scratch);
  }
  return status;
}

static egraph_status list_all(eg_rank_program *p) {
  bool *is_ahead;
  size_t count = p->plan->states.len;
  EG_TRY(eg_alloc(p->alloc, count, sizeof *is_ahead, &is_ahead));
  egraph_status status = eg_plan_ahead(p->plan, p->alloc, is_ahead);
  if (status == EGRAPH_OK) status = list_states(p, is_ahead);
  if (status == EGRAPH_OK) status = add_regions(p, is_ahead);
  eg_free(p->alloc, is_ahead, count, sizeof *is_ahead);
  return status;
}

egraph_status eg_rank_analyse(eg_rank_program *p) {
  while (p->body < p->plan->steps.len &&
         (p->lane != NULL || p->plan->steps.data[p->body].phase != EG_PHASE_UPDATE))
    p->body++;
  EG_TRY(make_states(p));
  EG_TRY(find_carries(p));
  EG_TRY(find_inputs(p));
  EG_TRY(list_all(p));
  set_last_uses(p);
  EG_TRY(eg_rank_find_overlaps(p));
  return describe_steps(p);
}
