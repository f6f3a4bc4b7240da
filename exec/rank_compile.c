// Memory of what is carried is shared with nothing but its own exit: whatever else lay
// over an entry could be overwritten when the exits are copied to their entries.
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_build.h"
#include "exec/views.h"
#include "pcg/spec_copy.h"

egraph_status eg_rank_blame(const eg_rank_program *p, uint32_t step,
                            egraph_status status) {
  const eg_plan_step *s = &p->plan->steps.data[step];
  if (s->is_move)
    return eg_fail_context(status, "step %u, %s of '%s'", step,
                           eg_transition_name(s->transition.kind),
                           eg_rank_value(p, s->from)->name);
  eg_graph_node_info info = eg_graph_node_at(p->plan->graph, s->node);
  return eg_fail_context(status, "step %u, %s '%s'", step,
                         eg_op_info_of((eg_op)info.attrs->op)->name, info.name);
}

// ---- moves ------------------------------------------------------------------------

static bool may_share(const eg_rank_program *p, uint32_t state) {
  return p->states[state].region != EG_REGION_NONE && !p->states[state].is_carried;
}

/// What is made after its entry has been read for the last time is made there.
static void place_exits(eg_rank_program *p) {
  for (size_t i = 0; i < p->carries.len; i++) {
    const eg_rank_carry *carry = &p->carries.data[i];
    uint32_t entry = p->states[carry->entry].region;
    uint32_t exit = p->states[carry->exit].region;
    bool is_read = p->regions.data[entry].last > p->plan->states.data[carry->exit].step;
    if (is_read || p->states[carry->exit].is_placed) continue;
    p->states[carry->exit].is_placed = eg_regions_join(&p->regions, exit, entry, 0);
  }
}

/// A slice is a view when its rows lie together.
static bool is_slice_view(const eg_relayout *move) {
  if (move->transition.kind != EG_TRANSITION_SLICE) return false;
  uint32_t dim = eg_digit_dim(move->transition.to);
  for (uint32_t d = 0; d < dim; d++)
    if (move->from.dims[d] != 1) return false;
  return true;
}

static bool works_in_place(const eg_relayout *move) {
  return move->transition.kind == EG_TRANSITION_ALL_REDUCE ||
         move->transition.kind == EG_TRANSITION_MASK;
}

static void compile_move(eg_rank_program *p, uint32_t index) {
  const eg_plan_step *step = &p->plan->steps.data[index];
  eg_rank_step *out = &p->steps.data[index];
  const eg_plan_state *from = &p->plan->states.data[step->from];
  eg_type whole = eg_rank_value(p, step->from)->type;
  whole.layout = (eg_layout){0};
  out->move = eg_relayout_of(&p->plan->mesh, &whole, &from->layout, &step->transition);
  out->scratch_bytes = out->move.scratch_bytes;
  if (!may_share(p, step->from) || p->states[step->to].is_placed) return;
  uint32_t source = p->states[step->from].region, target = p->states[step->to].region;
  if (is_slice_view(&out->move)) {
    size_t place =
        eg_mesh_coordinate(&p->plan->mesh, p->channel->rank, step->transition.axis);
    out->is_view = eg_regions_join(&p->regions, target, source,
                                   place * eg_type_bytes(&out->move.to));
  } else if (works_in_place(&out->move) &&
             eg_regions_dying(&p->regions, &source, 1, target, index + 1) != 0) {
    (void)eg_regions_join(&p->regions, target, source, 0);
  }
}

// ---- nodes ------------------------------------------------------------------------

/// A node while it is compiled.
typedef struct part {
  eg_node_spec spec; // local; in `arena`
  eg_halo halos[EG_MAX_MESH_AXES];
  uint32_t halo_count, count;
  const uint32_t *operands, *results; // states
  eg_arena arena;
} part;

static egraph_status localize(const eg_rank_program *p, const eg_plan_step *step,
                              part *out) {
  const eg_mesh *mesh = &p->plan->mesh;
  eg_node_spec *spec;
  eg_spread *spread;
  eg_strategy *strategy;
  EG_TRY(eg_arena_alloc(&out->arena, 1, sizeof *spec, &spec));
  EG_TRY(eg_arena_alloc(&out->arena, 1, sizeof *spread, &spread));
  EG_TRY(eg_arena_alloc(&out->arena, 1, sizeof *strategy, &strategy));
  EG_TRY(eg_plan_spec(p->plan, step, &out->arena, spec));
  EG_TRY(eg_spread_init(spec, spread));
  if (!eg_spread_combine(spread, mesh, step->action, strategy))
    return EG_FAIL(EGRAPH_E_INTERNAL,
                   "actions that do not combine"); // the plan is checked
  EG_TRY(
      eg_spread_local(spread, mesh, strategy, p->channel->rank, &out->arena, &out->spec));
  out->halo_count = eg_spread_halos(spread, mesh, strategy, out->halos);
  out->count = spec->input_count;
  out->operands = p->plan->operands.data + step->operands;
  out->results = out->operands + out->count;
  for (uint32_t i = out->halo_count != 0; i < out->count; i++)
    if (p->states[out->operands[i]].region == EG_REGION_NONE)
      out->spec.weight_mask |= eg_operand_bit(i);
  return EGRAPH_OK;
}

static egraph_status list_regions(const eg_rank_program *p, part *n, uint32_t **out) {
  EG_TRY(eg_arena_alloc(&n->arena, n->count, sizeof **out, out));
  for (uint32_t i = 0; i < n->count; i++)
    (*out)[i] = p->states[n->operands[i]].region;
  return EGRAPH_OK;
}

static bool join_views(eg_rank_program *p, const part *n) {
  if (n->count != 1 || n->halo_count != 0 || !may_share(p, n->operands[0]) ||
      !eg_node_is_view(&n->spec))
    return false;
  for (uint32_t r = 0; r < n->spec.result_count; r++)
    if (p->states[n->results[r]].is_placed) return false;
  for (uint32_t r = 0; r < n->spec.result_count; r++) {
    size_t offset = 0;
    (void)eg_view_of(&n->spec, r, &offset);
    (void)eg_regions_join(&p->regions, p->states[n->results[r]].region,
                          p->states[n->operands[0]].region, offset);
  }
  return true;
}

/// The operands that the result may be laid over.
static uint64_t dying_operands(eg_rank_program *p, const part *n, const uint32_t *regions,
                               uint32_t result, uint32_t time) {
  if (p->states[n->results[result]].is_placed) return 0;
  uint64_t mask = eg_regions_dying(&p->regions, regions, n->count,
                                   p->states[n->results[result]].region, time);
  for (uint32_t i = 0; i < n->count && i < 64; i++)
    if ((i == 0 && n->halo_count != 0) ||
        (p->states[n->operands[i]].is_carried &&
         p->states[n->results[result]].carry != n->operands[i]))
      mask &= ~eg_operand_bit(i);
  return mask;
}

static egraph_status add_halos(eg_rank_program *p, const part *n, eg_rank_step *out) {
  eg_halo_move *moves;
  size_t exchange = 0;
  eg_type type = p->states[n->operands[0]].type;
  EG_TRY(eg_arena_alloc(&p->arena, n->halo_count, sizeof *moves, &moves));
  for (uint32_t h = 0; h < n->halo_count; h++) {
    moves[h] = eg_halo_move_of(&type, &n->halos[h]);
    type = moves[h].to;
    EG_TRY(eg_rank_room_add(&out->scratch_bytes, eg_type_bytes(&type)));
    if (moves[h].scratch_bytes > exchange) exchange = moves[h].scratch_bytes;
  }
  EG_TRY(eg_rank_room_add(&out->scratch_bytes, exchange));
  out->halos = moves;
  out->halo_count = n->halo_count;
  p->states[n->operands[0]].is_kept = true;
  return EGRAPH_OK;
}

static void keep_constants(eg_rank_program *p, const part *n, const eg_program *program) {
  for (uint32_t i = 0; i < n->count; i++)
    if (i >= 64 || (program->info.kept & eg_operand_bit(i)) != 0 ||
        (n->spec.weight_mask & eg_operand_bit(i)) == 0)
      p->states[n->operands[i]].is_kept = true;
}

/// What the kernel does not mind where it lies.
static void work_in_place(eg_rank_program *p, const part *n, const uint32_t *regions,
                          const eg_program_info *info, uint32_t time) {
  for (uint32_t r = info->overlay >= 0; r < n->spec.result_count && r < n->count; r++)
    if ((info->in_place & eg_operand_bit(r) & dying_operands(p, n, regions, r, time)) !=
        0)
      (void)eg_regions_join(&p->regions, p->states[n->results[r]].region, regions[r], 0);
}

static egraph_status compile_part(eg_rank_program *p, uint32_t index, part *n) {
  eg_rank_step *out = &p->steps.data[index];
  uint32_t *regions;
  EG_TRY(localize(p, &p->plan->steps.data[index], n));
  out->is_view = join_views(p, n);
  if (out->is_view) return EGRAPH_OK;
  EG_TRY(list_regions(p, n, &regions));
  eg_compile_request request = {.spec = &n->spec,
                                .dying = dying_operands(p, n, regions, 0, index + 1)};
  EG_TRY(eg_program_cache_find(&p->programs, p->backend, &request, &out->program));
  const eg_program_info *info = &out->program->info;
  out->scratch_bytes = eg_rank_aligned(info->scratch_bytes);
  keep_constants(p, n, out->program);
  if (n->halo_count != 0) EG_TRY(add_halos(p, n, out));
  if (info->overlay >= 0 && !eg_regions_join(&p->regions, p->states[n->results[0]].region,
                                             regions[info->overlay], 0))
    return EG_FAIL(EGRAPH_E_INTERNAL, "result cannot be laid over operand %d",
                   (int)info->overlay);
  work_in_place(p, n, regions, info, index + 1);
  return EGRAPH_OK;
}

// ---- all --------------------------------------------------------------------------

/// What a step takes while it runs is placed like a value of that step.
static egraph_status add_scratch(eg_rank_program *p, uint32_t index) {
  eg_rank_step *step = &p->steps.data[index];
  step->scratch_region = EG_REGION_NONE;
  if (step->scratch_bytes == 0) return EGRAPH_OK;
  step->scratch_region = (uint32_t)p->regions.len;
  return eg_regions_add(&p->regions, step->scratch_bytes, index + 1, index + 1);
}

static egraph_status compile_step(eg_rank_program *p, uint32_t index) {
  if (p->plan->steps.data[index].is_move) {
    compile_move(p, index);
  } else {
    part n = {.count = 0};
    eg_arena_init(&n.arena, p->alloc);
    egraph_status status = compile_part(p, index, &n);
    eg_arena_deinit(&n.arena);
    EG_TRY(status);
  }
  return add_scratch(p, index);
}

/// Entries hold their value between the micro-batches, or the steps.
static void extend_carried(eg_rank_program *p) {
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    if (!p->states[s].is_carried) continue;
    uint32_t root = eg_regions_find(&p->regions, p->states[s].region).root;
    p->regions.data[root].first = 0;
    p->regions.data[root].last = eg_rank_end(p);
  }
}

egraph_status eg_rank_compile(eg_rank_program *p) {
  EG_TRY(eg_rank_steps_resize(&p->steps, p->plan->steps.len));
  place_exits(p);
  for (uint32_t i = 0; i < p->steps.len; i++) {
    egraph_status status = compile_step(p, i);
    if (status != EGRAPH_OK) return eg_rank_blame(p, i, status);
  }
  extend_carried(p);
  return eg_regions_place(&p->regions, &p->arena_bytes);
}
