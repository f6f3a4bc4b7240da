// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_build.h"

// ---- addresses --------------------------------------------------------------------

static void *at_offset(const eg_device_memory *memory, size_t offset) {
  return memory->address == NULL ? NULL : (char *)memory->address + offset;
}

static egraph_status create_memory(eg_rank_program *p) {
  size_t kept = 0;
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    eg_rank_state *state = &p->states[s];
    if (state->region != EG_REGION_NONE || !state->is_kept) continue;
    state->offset = kept;
    EG_TRY(eg_rank_room_add(&kept, eg_type_bytes(&state->type)));
  }
  eg_backend *backend = p->backend;
  EG_TRY(backend->vtable->memory_create(backend, p->arena_bytes, &p->memory));
  return backend->vtable->memory_create(backend, kept, &p->weights);
}

/// A run allocates nothing, so there is room for the largest block that enters.
static egraph_status create_host_room(eg_rank_program *p) {
  size_t most = 0;
  if (p->backend->vtable->host_memory) return EGRAPH_OK;
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    size_t bytes = eg_type_bytes(&p->states[s].type);
    if (p->plan->states.data[s].step == EG_PLAN_NONE && bytes > most) most = bytes;
  }
  EG_TRY(eg_alloc(p->alloc, most, 1, &p->host));
  p->host_bytes = most;
  return EGRAPH_OK;
}

static void *region_address(eg_rank_program *p, uint32_t region) {
  eg_region_place place = eg_regions_find(&p->regions, region);
  return at_offset(&p->memory, p->regions.data[place.root].offset + place.offset);
}

static void find_addresses(eg_rank_program *p) {
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    eg_rank_state *state = &p->states[s];
    if (state->region != EG_REGION_NONE)
      state->address = region_address(p, state->region);
    else
      state->address = state->is_kept ? at_offset(&p->weights, state->offset) : NULL;
  }
  for (uint32_t i = 0; i < p->steps.len; i++)
    if (p->steps.data[i].scratch_region != EG_REGION_NONE)
      p->steps.data[i].scratch = region_address(p, p->steps.data[i].scratch_region);
}

// ---- launches ---------------------------------------------------------------------

/// Where the operand lies that the halos are gathered into: behind the program's scratch
/// memory, one tensor after another.
static void *halo_address(const eg_rank_step *step, uint32_t halo) {
  size_t at = eg_rank_aligned(step->program->info.scratch_bytes);
  for (uint32_t h = 0; h < halo; h++)
    at += eg_rank_aligned(eg_type_bytes(&step->halos[h].to));
  return eg_rank_scratch(step, at);
}

static egraph_status create_constants(eg_rank_program *p, eg_rank_step *step) {
  const eg_program_info *info = &step->program->info;
  EG_TRY(eg_arena_alloc(&p->arena, info->constant_count, sizeof *step->constants,
                        &step->constants));
  for (uint32_t i = 0; i < info->constant_count; i++) {
    EG_TRY(eg_memory_list_reserve(&p->constants, p->constants.len + 1));
    eg_device_memory *block = &p->constants.data[p->constants.len];
    EG_TRY(p->backend->vtable->memory_create(p->backend, info->constant_bytes[i], block));
    p->constants.len++;
    step->constants[i] = block->address;
  }
  return EGRAPH_OK;
}

static egraph_status bind_node(eg_rank_program *p, const eg_plan_step *from,
                               eg_rank_step *step) {
  eg_graph_node_info info = eg_graph_node_at(p->plan->graph, from->node);
  const uint32_t *states = p->plan->operands.data + from->operands;
  void **results;
  EG_TRY(eg_arena_alloc(&p->arena, info.input_count, sizeof *step->operands,
                        &step->operands));
  EG_TRY(eg_arena_alloc(&p->arena, info.result_count, sizeof *results, &results));
  for (uint32_t i = 0; i < info.input_count; i++)
    step->operands[i] = p->states[states[i]].address;
  for (uint32_t r = 0; r < info.result_count; r++)
    results[r] = p->states[states[info.input_count + r]].address;
  if (step->halo_count != 0) {
    step->from = step->operands[0];
    step->operands[0] = halo_address(step, step->halo_count - 1);
  }
  EG_TRY(create_constants(p, step));
  eg_bindings bindings = {step->operands, results, step->constants, step->scratch};
  return step->program->vtable->bind(step->program, &bindings, &step->launch);
}

egraph_status eg_rank_bind(eg_rank_program *p) {
  EG_TRY(create_memory(p));
  EG_TRY(create_host_room(p));
  find_addresses(p);
  for (uint32_t i = 0; i < p->steps.len; i++) {
    const eg_plan_step *from = &p->plan->steps.data[i];
    eg_rank_step *step = &p->steps.data[i];
    if (from->is_move) {
      step->from = p->states[from->from].address;
      step->to = p->states[from->to].address;
    } else if (!step->is_view) {
      egraph_status status = bind_node(p, from, step);
      if (status != EGRAPH_OK) return eg_rank_blame(p, i, status);
    }
  }
  return EGRAPH_OK;
}
