// Finds values that share memory, compiles programs, and plans the memory. Views and
// concatenations are found before the steps are compiled, so that earlier steps can write
// to the final place.
//
// The entry of a carried value shares memory only with its own exit: when exits are
// copied to their entries, any other value there would be overwritten.
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_program_internal.h"

#include <assert.h>

#include "exec/regions.h"

// ---- compiled programs by their specs -----------------------------------------------

void eg_program_cache_init(eg_program_cache *cache, egraph_allocator alloc) {
  eg_program_refs_init(&cache->programs, alloc);
  eg_strmap_init(&cache->index, alloc);
}

void eg_program_cache_deinit(eg_program_cache *cache) {
  for (size_t i = 0; i < cache->programs.len; i++)
    eg_program_destroy(cache->programs.data[i]);
  eg_program_refs_deinit(&cache->programs);
  eg_strmap_deinit(&cache->index);
}

egraph_status eg_program_cache_find(eg_program_cache *cache, eg_backend *backend,
                                    const eg_compile_request *request, eg_program **out) {
  EG_LOCAL(eg_text, key, cache->programs.alloc);
  uint32_t index;
  EG_TRY(eg_node_spec_print(&key, request->spec));
  for (uint32_t i = 0; i < request->link_count; i++) {
    (void)eg_text_printf(&key, " operand %u of ", request->links[i].operand);
    EG_TRY(eg_node_spec_print(&key, request->links[i].spec));
  }
  EG_TRY(eg_text_printf(&key, " dying %llx", (unsigned long long)request->dying));
  if (eg_strmap_find(&cache->index, eg_text_of(&key), &index)) {
    *out = cache->programs.data[index];
    return EGRAPH_OK;
  }
  index = (uint32_t)cache->programs.len;
  EG_TRY(eg_program_refs_reserve(&cache->programs, index + 1u));
  EG_TRY(backend->vtable->compile(backend, request, out));
  cache->programs.data[cache->programs.len++] = *out;
  return eg_strmap_put(&cache->index, eg_text_of(&key), index);
}

// ---- steps --------------------------------------------------------------------------

egraph_status eg_rank_blame(const eg_rank_program *p, uint32_t step,
                            egraph_status status) {
  assert(status != EGRAPH_OK && step < p->plan->steps.len);
  const eg_plan_step *s = &p->plan->steps.data[step];
  if (s->is_move)
    return eg_fail_context(status, "step %u, %s of '%s'", step,
                           eg_transition_name(s->transition.kind),
                           eg_rank_value(p, s->from)->name);
  eg_graph_node_info info = eg_graph_node_at(p->plan->graph, s->node);
  const char *name = info.name[0] != '\0'
                         ? info.name
                         : eg_graph_value(p->plan->graph, info.results[0])->name;
  return eg_fail_context(status, "step %u, %s '%s'", step,
                         eg_op_info_of((eg_op)info.attrs->op)->name, name);
}

// ---- shared memory ------------------------------------------------------------------

static uint32_t region_of(const eg_rank_program *p, uint32_t state) {
  assert(state < p->plan->states.len);
  return p->states[state].region;
}

static bool may_share(const eg_rank_program *p, uint32_t state) {
  return region_of(p, state) != EG_REGION_NONE && !p->states[state].is_carried;
}

/// Places the value that a step gives to the next step in the memory of the old value,
/// when the old value has no later reader.
static void place_exits(eg_rank_program *p) {
  for (size_t i = 0; i < p->carries.len; i++) {
    const eg_rank_carry *carry = &p->carries.data[i];
    uint32_t entry = region_of(p, carry->entry), exit = region_of(p, carry->exit);
    bool is_read = p->regions.data[entry].last > p->plan->states.data[carry->exit].step;
    if (is_read || p->states[carry->exit].is_placed) continue;
    p->states[carry->exit].is_placed = eg_regions_join(&p->regions, exit, entry, 0);
  }
}

/// True when a slice is a view: its rows are contiguous.
static bool is_slice_view(const eg_relayout *move) {
  if (move->transition.kind != EG_TRANSITION_SLICE) return false;
  uint32_t dim = eg_digit_dim(move->transition.to);
  for (uint32_t d = 0; d < dim; d++)
    if (move->from.dims[d] != 1) return false;
  return true;
}

static bool share_slice(eg_rank_program *p, uint32_t index) {
  assert(p->plan->steps.data[index].is_move);
  const eg_plan_step *from = &p->plan->steps.data[index];
  const eg_relayout *move = &p->steps.data[index].move;
  if (!is_slice_view(move) || !may_share(p, from->from)) return false;
  size_t place =
      eg_mesh_coordinate(&p->plan->mesh, eg_rank_number(p), from->transition.axis);
  return eg_regions_join(&p->regions, region_of(p, from->to), region_of(p, from->from),
                         place * eg_type_bytes(&move->to));
}

static bool share_view(eg_rank_program *p, const eg_rank_step *step,
                       const eg_rank_part *part) {
  if (step->operand_count != 1 || part->halo_count != 0 ||
      !may_share(p, step->operands[0]) || !eg_node_is_view(&part->spec))
    return false;
  for (uint32_t r = 0; r < step->result_count; r++) {
    size_t offset = 0;
    (void)eg_view_of(&part->spec, r, &offset);
    (void)eg_regions_join(&p->regions, region_of(p, step->results[r]),
                          region_of(p, step->operands[0]), offset);
  }
  return true;
}

/// Counts the operands from `first` on that lie one behind the other in one whole region,
/// fill it, and can move with it because no exit lies in it. The region belongs to the
/// one operand, or to the result of an earlier concatenation. 0: no such operands.
///
///   a = concat(x, y), b = concat(x, y, z):   x and y fill a, which moves into b
static uint32_t count_in_region(eg_rank_program *p, const eg_rank_step *step,
                                uint32_t first) {
  uint32_t root = EG_REGION_NONE, count = 0;
  size_t end = 0;
  for (uint32_t i = first; i < step->operand_count; i++, count++) {
    uint32_t state = step->operands[i];
    if (!may_share(p, state) || p->states[state].is_placed) return 0;
    eg_region_place place = eg_regions_find(&p->regions, region_of(p, state));
    if (count == 0) root = place.root;
    if (count != 0 && end == p->regions.data[root].bytes) return count;
    if (place.root != root || place.offset != end) return 0;
    end += p->regions.data[region_of(p, state)].bytes;
  }
  return end == p->regions.data[root].bytes ? count : 0;
}

/// True when all operands of a concatenation can move into the result's memory. Operands
/// in one region of memory move together.
static bool can_gather(eg_rank_program *p, const eg_rank_step *step) {
  uint32_t count;
  for (uint32_t i = 0; i < step->operand_count; i += count) {
    count = count_in_region(p, step, i);
    if (count == 0) return false;
    uint32_t root = eg_regions_find(&p->regions, region_of(p, step->operands[i])).root;
    for (uint32_t j = 0; j < i; j++)
      if (root == eg_regions_find(&p->regions, region_of(p, step->operands[j])).root)
        return false;
  }
  return true;
}

static bool share_concat(eg_rank_program *p, const eg_rank_step *step,
                         const eg_rank_part *part) {
  size_t offset = 0;
  if (!eg_concat_is_region(&part->spec) || !can_gather(p, step)) return false;
  uint32_t result = region_of(p, step->results[0]);
  for (uint32_t i = 0; i < step->operand_count; i++) {
    uint32_t root = eg_regions_find(&p->regions, region_of(p, step->operands[i])).root;
    (void)eg_regions_join(&p->regions, root, result,
                          offset); // false: an operand in the same region has moved it
    offset += eg_type_bytes(&part->spec.inputs[i]);
  }
  return true;
}

/// True when a result already lies in the memory of the value that it replaces in the
/// next step, and therefore in no other region.
static bool makes_placed_exit(const eg_rank_program *p, const eg_rank_step *step) {
  for (uint32_t r = 0; r < step->result_count; r++)
    if (p->states[step->results[r]].is_placed) return true;
  return false;
}

static void find_view(eg_rank_program *p, uint32_t index) {
  eg_rank_step *step = &p->steps.data[index];
  const eg_rank_part *part = &p->parts[index];
  const eg_plan_step *from = &p->plan->steps.data[index];
  bool is_relayout = part->spec.attrs == NULL;
  if (step->is_view) return; // a view of a value that exists before a run
  if (is_relayout)
    step->move =
        eg_relayout_of(&p->plan->mesh, &eg_rank_value(p, from->from)->type,
                       &p->plan->states.data[from->from].layout, &from->transition);
  if (makes_placed_exit(p, step)) return;
  step->is_view = is_relayout ? share_slice(p, index)
                              : share_view(p, step, part) || share_concat(p, step, part);
}

// ---- moves --------------------------------------------------------------------------

/// Keeps a memory region alive until step number `step`; EG_PLAN_NONE: changes nothing.
static void keep_until(eg_rank_program *p, uint32_t region, uint32_t step) {
  if (region == EG_REGION_NONE || step == EG_PLAN_NONE) return;
  eg_region *root = &p->regions.data[eg_regions_find(&p->regions, region).root];
  if (root->last < step) root->last = step;
}

static void compile_relayout(eg_rank_program *p, uint32_t index) {
  assert(p->steps.data[index].operand_count == 1 &&
         p->steps.data[index].result_count == 1);
  eg_rank_step *step = &p->steps.data[index];
  uint32_t from = step->operands[0], source = region_of(p, from);
  uint32_t target = region_of(p, step->results[0]);
  step->figures.kernel = eg_transition_name(step->move.transition.kind);
  step->scratch_bytes = step->move.scratch_bytes;
  step->move.lends = !step->overlaps;
  eg_transition_kind kind = step->move.transition.kind;
  bool works_in_place = kind == EG_TRANSITION_ALL_REDUCE || kind == EG_TRANSITION_MASK;
  p->states[from].is_kept = true;
  if (may_share(p, from) && !makes_placed_exit(p, step) && works_in_place &&
      eg_regions_dying(&p->regions, &source, 1, target, index + 1) != 0)
    (void)eg_regions_join(&p->regions, target, source, 0);
  keep_until(p, source, step->until);
}

// ---- programs -----------------------------------------------------------------------

static egraph_status list_regions(eg_rank_program *p, const eg_rank_step *step,
                                  uint32_t **out) {
  EG_TRY(eg_arena_alloc(&p->part_arena, step->operand_count, sizeof **out, out));
  for (uint32_t i = 0; i < step->operand_count; i++)
    (*out)[i] = region_of(p, step->operands[i]);
  return EGRAPH_OK;
}

/// Returns a bit for each operand that no later step reads: a result may use its memory.
static uint64_t dying_operands(eg_rank_program *p, uint32_t index,
                               const uint32_t *regions, uint32_t result) {
  assert(result < p->steps.data[index].result_count);
  const eg_rank_step *step = &p->steps.data[index];
  const eg_rank_state *made = &p->states[step->results[result]];
  if (made->is_placed) return 0;
  uint64_t mask = eg_regions_dying(&p->regions, regions, step->operand_count,
                                   made->region, index + 1);
  for (uint32_t i = 0; i < step->operand_count && i < 64; i++)
    if ((i == 0 && p->parts[index].halo_count != 0) ||
        (p->states[step->operands[i]].is_carried && made->carry != step->operands[i]))
      mask &= ~eg_operand_bit(i);
  return mask;
}

/// Reserves scratch memory of a step: the tensors extended by neighbours' rows (halos)
/// one after another, then the memory of their exchange.
static egraph_status add_halos(eg_rank_program *p, const eg_rank_part *part,
                               eg_rank_step *step) {
  assert(part->halo_count != 0 && part->halo_count <= EG_MAX_MESH_AXES);
  eg_halo_move *moves;
  size_t exchange = 0;
  eg_type type = p->states[step->operands[0]].type;
  EG_TRY(eg_arena_alloc(&p->arena, part->halo_count, sizeof *moves, &moves));
  for (uint32_t h = 0; h < part->halo_count; h++) {
    moves[h] = eg_halo_move_of(&type, &part->halos[h]);
    moves[h].lends = true;
    type = moves[h].to;
    if (!part->strips.is_used)
      EG_TRY(eg_rank_room_add(&step->scratch_bytes, eg_type_bytes(&type)));
    if (moves[h].scratch_bytes > exchange) exchange = moves[h].scratch_bytes;
  }
  step->exchange = step->scratch_bytes;
  EG_TRY(eg_rank_room_add(&step->scratch_bytes, exchange));
  step->halos = moves;
  step->halo_count = part->halo_count;
  p->states[step->operands[0]].is_kept = true;
  return EGRAPH_OK;
}

static egraph_status count_constants(eg_rank_program *p, const eg_program_info *info) {
  for (uint32_t i = 0; i < info->constant_count; i++)
    EG_TRY(eg_rank_room_add(&p->packed_bytes, info->constant_bytes[i]));
  return EGRAPH_OK;
}

static void keep_constants(eg_rank_program *p, const eg_rank_step *step,
                           const eg_program_info *info, uint64_t weights) {
  for (uint32_t i = 0; i < step->operand_count; i++)
    if (i >= 64 || ((info->kept | ~weights) & eg_operand_bit(i)) != 0)
      p->states[step->operands[i]].is_kept = true;
}

/// Reserves scratch memory for strips (border rows of a window), after the scratch memory
/// of kernels, which strips and step share.
static egraph_status add_strips(eg_rank_program *p, const eg_rank_part *part,
                                eg_rank_step *step) {
  const eg_strips *strips = &part->strips;
  step->has_strips = strips->is_used;
  step->strip_count = strips->count;
  EG_TRY(eg_arena_alloc(&p->arena, strips->count, sizeof *step->strips, &step->strips));
  for (uint32_t i = 0; i < strips->count; i++) {
    eg_rank_strip *strip = &step->strips[i];
    *strip = (eg_rank_strip){.strip = strips->strips[i]};
    EG_TRY(eg_program_cache_find(&p->programs, p->backend,
                                 &(eg_compile_request){.spec = &strips->specs[i]},
                                 &strip->program));
    const eg_program_info *info = &strip->program->info;
    EG_TRY(count_constants(p, info));
    keep_constants(p, step, info, part->spec.weight_mask);
    if (eg_device_aligned(info->scratch_bytes) > step->scratch_bytes)
      step->scratch_bytes = eg_device_aligned(info->scratch_bytes);
  }
  for (uint32_t i = 0; i < strips->count; i++) {
    eg_rank_strip *strip = &step->strips[i];
    strip->operand = step->scratch_bytes;
    EG_TRY(eg_rank_room_add(&step->scratch_bytes, eg_type_bytes(&strip->strip.operand)));
    strip->result = step->scratch_bytes;
    EG_TRY(eg_rank_room_add(&step->scratch_bytes, eg_type_bytes(&strip->strip.result)));
  }
  return EGRAPH_OK;
}

/// Places results in the memory of the operands that the kernel may overwrite.
static void work_in_place(eg_rank_program *p, uint32_t index, const uint32_t *regions) {
  const eg_rank_step *step = &p->steps.data[index];
  const eg_program_info *info = &step->program->info;
  uint32_t count =
      step->result_count < step->operand_count ? step->result_count : step->operand_count;
  for (uint32_t r = info->overlay >= 0; r < count; r++)
    if ((info->in_place & eg_operand_bit(r) & dying_operands(p, index, regions, r)) != 0)
      (void)eg_regions_join(&p->regions, region_of(p, step->results[r]), regions[r], 0);
}

/// Counts operations of a chain's nodes, and the bytes that it reads and writes.
static void count_work(const eg_compile_request *request, eg_step_figures *out) {
  out->flops = eg_node_spec_flops(request->spec);
  out->bytes = eg_node_spec_bytes(request->spec);
  const eg_type *passed = &request->spec->results[0];
  for (uint32_t i = 0; i < request->link_count; i++) {
    const eg_node_spec *spec = request->links[i].spec;
    out->flops += eg_node_spec_flops(spec);
    out->bytes += eg_node_spec_bytes(spec) - 2 * (double)eg_type_bytes(passed);
    passed = &spec->results[0];
  }
}

/// Returns a bit for each weight operand; in a chain, for each constant operand.
static uint64_t weights_of(const eg_rank_program *p, uint32_t index) {
  const eg_rank_step *step = &p->steps.data[index];
  uint64_t weights = 0;
  if (p->parts[index].first == NULL) return p->parts[index].spec.weight_mask;
  for (uint32_t i = 0; i < step->operand_count; i++)
    if (region_of(p, step->operands[i]) == EG_REGION_NONE) weights |= eg_operand_bit(i);
  return weights;
}

static egraph_status compile_program(eg_rank_program *p, uint32_t index) {
  eg_rank_step *step = &p->steps.data[index];
  const eg_rank_part *part = &p->parts[index];
  uint32_t *regions;
  EG_TRY(list_regions(p, step, &regions));
  eg_compile_request request = {.spec = part->first != NULL ? part->first : &part->spec,
                                .dying = dying_operands(p, index, regions, 0),
                                .links = part->links,
                                .link_count = part->link_count};
  EG_TRY(eg_program_cache_find(&p->programs, p->backend, &request, &step->program));
  const eg_program_info *info = &step->program->info;
  step->figures.kernel = info->kernel;
  count_work(&request, &step->figures);
  step->scratch_bytes = eg_device_aligned(info->scratch_bytes);
  EG_TRY(count_constants(p, info));
  keep_constants(p, step, info, weights_of(p, index));
  EG_TRY(add_strips(p, part, step));
  if (part->halo_count != 0) EG_TRY(add_halos(p, part, step));
  if (info->overlay >= 0 && !eg_regions_join(&p->regions, region_of(p, step->results[0]),
                                             regions[info->overlay], 0))
    return EG_FAIL(EGRAPH_E_INTERNAL, "result cannot be laid over operand %d",
                   (int)info->overlay);
  work_in_place(p, index, regions);
  return EGRAPH_OK;
}

// ---- steps that run as one ----------------------------------------------------------

// Finds chains: steps that run as one kernel. The steps of a chain follow each other with
// only views in between, and each value passed between them has one reader, so it needs
// no memory. The last step of the chain then does the work of all its steps and has their
// operands; the other steps do nothing.
//
//   step 4   y = batch-normalization x s t m v        nothing
//   step 5   z = relu y                               z = relu(batch-normalization x ...)
//
// The back-end decides which nodes it fuses (`fuses` of backend.h). Costs do not model
// fusion: the predicted cost of a chain is the sum of its nodes, an upper bound.

enum { MOST_LINKS = 8 };

typedef struct chain {
  uint32_t steps[MOST_LINKS + 1]; // in order
  eg_chain_link links[MOST_LINKS];
  uint32_t link_count;
} chain;

typedef struct finder {
  eg_rank_program *p;
  uint32_t *reads; // [states] number of steps and outputs that read it
} finder;

static void count_reads(finder *f) {
  const eg_rank_program *p = f->p;
  for (uint32_t i = 0; i < p->steps.len; i++)
    for (uint32_t k = 0; k < p->steps.data[i].operand_count; k++)
      f->reads[p->steps.data[i].operands[k]]++;
  for (size_t i = 0; i < p->plan->output_states.len; i++)
    f->reads[p->plan->output_states.data[i]]++;
}

/// True for a node with one result that reads operands without neighbours' rows (halos).
static bool is_plain_node(const finder *f, uint32_t index) {
  const eg_rank_program *p = f->p;
  const eg_rank_step *step = &p->steps.data[index];
  const eg_rank_part *part = &p->parts[index];
  return !step->is_view && !p->plan->steps.data[index].is_move &&
         part->spec.attrs != NULL && part->halo_count == 0 && step->result_count == 1 &&
         step->operand_count <= 64 &&
         p->states[step->results[0]].region != EG_REGION_NONE;
}

/// True when a value has one reader and no fixed memory: a chain may pass it on.
static bool is_passed_on(const finder *f, uint32_t state) {
  const eg_rank_state *s = &f->p->states[state];
  return f->reads[state] == 1 && !s->is_carried && !s->is_placed &&
         s->carry == EG_PLAN_NONE;
}

/// Returns the next step that is no view; the number of steps: there is no such step.
static uint32_t next_step(const eg_rank_program *p, uint32_t index) {
  do
    index++;
  while (index < p->steps.len && p->steps.data[index].is_view);
  return index;
}

/// Adds the next step to the chain (one kernel), if the back-end fuses it.
static bool extend(finder *f, chain *c) {
  const eg_rank_program *p = f->p;
  uint32_t last = c->steps[c->link_count], next = next_step(p, last), at = 0;
  uint32_t passed = p->steps.data[last].results[0];
  if (c->link_count == MOST_LINKS || next == p->steps.len || !is_passed_on(f, passed) ||
      !is_plain_node(f, next) ||
      p->plan->steps.data[next].phase != p->plan->steps.data[last].phase)
    return false;
  const eg_rank_step *step = &p->steps.data[next];
  while (at < step->operand_count && step->operands[at] != passed)
    at++;
  if (at == step->operand_count) return false;
  c->links[c->link_count] = (eg_chain_link){.spec = &p->parts[next].spec, .operand = at};
  eg_compile_request request = {.spec = &p->parts[c->steps[0]].spec,
                                .links = c->links,
                                .link_count = c->link_count + 1};
  if (!p->backend->vtable->fuses(p->backend, &request)) return false;
  c->steps[++c->link_count] = next;
  return true;
}

/// Lists the operands of a chain's steps in order, without values passed between steps.
static egraph_status list_operands(eg_rank_program *p, const chain *c, uint32_t **out,
                                   uint32_t *out_count) {
  uint32_t count = 0;
  for (uint32_t i = 0; i <= c->link_count; i++)
    count += p->steps.data[c->steps[i]].operand_count - (i != 0);
  EG_TRY(eg_arena_alloc(&p->arena, count, sizeof **out, out));
  *out_count = 0;
  for (uint32_t i = 0; i <= c->link_count; i++) {
    const eg_rank_step *step = &p->steps.data[c->steps[i]];
    for (uint32_t k = 0; k < step->operand_count; k++)
      if (i == 0 || k != c->links[i - 1].operand)
        (*out)[(*out_count)++] = step->operands[k];
  }
  return EGRAPH_OK;
}

static egraph_status join_chain(eg_rank_program *p, const chain *c) {
  assert(c->link_count != 0 && c->link_count <= MOST_LINKS);
  uint32_t last = c->steps[c->link_count], count, *operands;
  eg_chain_link *links;
  EG_TRY(list_operands(p, c, &operands, &count));
  EG_TRY(eg_arena_alloc(&p->part_arena, c->link_count, sizeof *links, &links));
  memcpy(links, c->links, c->link_count * sizeof *links);
  for (uint32_t i = 0; i < c->link_count; i++) {
    eg_rank_step *step = &p->steps.data[c->steps[i]];
    for (uint32_t k = 0; k < step->operand_count; k++) // the last step reads them
      keep_until(p, region_of(p, step->operands[k]), last + 1);
    p->regions.data[p->states[step->results[0]].region].bytes = 0;
    step->is_view = true;
    step->operand_count = step->result_count = 0;
    step->figures.kernel = "fused with the next";
  }
  eg_rank_step *step = &p->steps.data[last];
  step->operands = operands;
  step->operand_count = count;
  p->parts[last].first = &p->parts[c->steps[0]].spec;
  p->parts[last].links = links;
  p->parts[last].link_count = c->link_count;
  return EGRAPH_OK;
}

static egraph_status fuse_chains(finder *f) {
  eg_rank_program *p = f->p;
  for (uint32_t i = 0; i < p->steps.len; i++) {
    chain c = {.steps = {i}};
    if (!is_plain_node(f, i)) continue;
    while (extend(f, &c))
      ;
    if (c.link_count != 0) EG_TRY(join_chain(p, &c));
    i = c.steps[c.link_count]; // a step belongs to one chain only
  }
  return EGRAPH_OK;
}

static egraph_status find_chains(eg_rank_program *p) {
  finder f = {.p = p};
  size_t states = p->plan->states.len;
  if (p->backend->vtable->fuses == NULL) return EGRAPH_OK;
  EG_TRY(eg_alloc(p->alloc, states, sizeof *f.reads, &f.reads));
  count_reads(&f);
  egraph_status status = fuse_chains(&f);
  eg_free(p->alloc, f.reads, states, sizeof *f.reads);
  return status;
}

// ---- all ----------------------------------------------------------------------------

static egraph_status compile_step(eg_rank_program *p, uint32_t index) {
  assert(index < p->steps.len);
  if (p->steps.data[index].is_view) {
    if (p->steps.data[index].figures.kernel == NULL)
      p->steps.data[index].figures.kernel = "view";
  } else if (p->parts[index].spec.attrs == NULL) {
    compile_relayout(p, index);
  } else {
    EG_TRY(compile_program(p, index));
  }
  // The scratch memory of a step is placed like a value that lives during that step.
  eg_rank_step *step = &p->steps.data[index];
  if (step->scratch_bytes == 0) return EGRAPH_OK;
  step->scratch_region = (uint32_t)p->regions.len;
  uint32_t last = step->overlaps ? step->until : index + 1;
  return eg_regions_add(&p->regions, step->scratch_bytes, index + 1, last);
}

static egraph_status count_kept(eg_rank_program *p) {
  for (uint32_t s = 0; s < p->plan->states.len; s++)
    if (region_of(p, s) == EG_REGION_NONE && p->states[s].is_kept)
      EG_TRY(eg_rank_room_add(&p->kept_bytes, eg_type_bytes(&p->states[s].type)));
  return EGRAPH_OK;
}

egraph_status eg_rank_compile(eg_rank_program *p) {
  place_exits(p);
  for (uint32_t i = 0; i < p->steps.len; i++)
    find_view(p, i);
  EG_TRY(find_chains(p));
  for (uint32_t i = 0; i < p->steps.len; i++) {
    egraph_status status = compile_step(p, i);
    if (status != EGRAPH_OK) return eg_rank_blame(p, i, status);
  }
  // The memory of values that pass from step to step holds them in between.
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    if (!p->states[s].is_carried) continue;
    uint32_t root = eg_regions_find(&p->regions, region_of(p, s)).root;
    p->regions.data[root].first = 0;
    p->regions.data[root].last = eg_rank_end(p);
  }
  EG_TRY(count_kept(p));
  return eg_regions_place(&p->regions, &p->arena_bytes);
}
