// Fills in the block of each value of a step, the values passed to the next step, and the
// values that limit rules in the step.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/step_info.h"

#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "extract/containers.h"

typedef struct filler {
  eg_training_info *out;
  const eg_training *training;
  const eg_folded *folded;
  uint32_t nodes;
} filler;

// ---- blocks of a step --------------------------------------------------------------

/// Finds the block of each value of a step: that of the forward value it was made for.
static egraph_status find_blocks(const eg_stamps *stamps, const eg_u32s *forward,
                                 eg_u32s *out) {
  for (size_t v = 0; v < stamps->len; v++) {
    uint32_t of = stamps->data[v].of;
    EG_TRY(
        eg_u32s_push(out, of == EG_STAMP_OF_NONE ? EG_BLOCK_OUTSIDE : forward->data[of]));
  }
  return EGRAPH_OK;
}

/// Fills `is_same`: nothing of a block goes into the value (zeros, say), and no other
/// block has its own. One node of the step makes it for all readers. O(operands).
static egraph_status find_shared(const eg_graph *step, const eg_step_blocks *blocks,
                                 eg_bytes *is_same) {
  EG_LOCAL(eg_bytes, has_like, is_same->alloc); // [values]
  EG_TRY(eg_bytes_resize(&has_like, blocks->value.len));
  EG_TRY(eg_bytes_resize(is_same, blocks->value.len));
  for (uint32_t v = 0; v < blocks->later.len; v++) {
    if (blocks->later.data[v] == UINT32_MAX) continue;
    has_like.data[v] = has_like.data[blocks->later.data[v]] = 1;
  }
  for (uint32_t v = 0; v < blocks->value.len; v++)
    is_same->data[v] = blocks->value.data[v] == EG_BLOCK_OUTSIDE;
  for (uint32_t n = 0; n < eg_graph_node_count(step); n++) {
    eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
    bool is_all = true;
    for (uint32_t i = 0; i < node.input_count; i++)
      is_all = is_all && is_same->data[node.inputs[i].id] != 0;
    for (uint32_t r = 0; r < node.result_count; r++)
      is_same->data[node.results[r].id] |=
          is_all && has_like.data[node.results[r].id] == 0;
  }
  return EGRAPH_OK;
}

/// Takes values that all blocks share out of the block in which they are made first.
static egraph_status take_out_shared(const eg_graph *step, eg_step_blocks *inout) {
  EG_LOCAL(eg_bytes, is_same, inout->value.alloc); // [values]
  EG_TRY(find_shared(step, inout, &is_same));
  uint32_t *block = inout->value.data;
  for (uint32_t n = eg_graph_node_count(step); n-- > 0;) {
    eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
    uint32_t reader = block[node.results[0].id];
    for (uint32_t i = 0; i < node.input_count; i++) {
      uint32_t v = node.inputs[i].id;
      if (is_same.data[v] != 0 && block[v] != reader) block[v] = EG_BLOCK_OUTSIDE;
    }
  }
  return EGRAPH_OK;
}

static egraph_status map_forward_blocks(eg_step_blocks *out, const eg_graph *forward,
                                        const eg_blocks *of_forward,
                                        const eg_training *training) {
  EG_LOCAL(eg_u32s, block, out->value.alloc); // [values of the forward graph]
  EG_LOCAL(eg_u32s, later, out->value.alloc);
  if (training == NULL)
    return eg_blocks_places(forward, of_forward, &out->value, &out->later);
  EG_TRY(eg_blocks_places(forward, of_forward, &block, &later));
  EG_TRY(find_blocks(&training->stamps, &block, &out->value));
  EG_TRY(eg_stamps_map(&training->stamps, &training->stamps, &later, &out->later));
  for (size_t v = 0; v < out->later.len; v++)
    if (out->value.data[v] == EG_BLOCK_OUTSIDE) out->later.data[v] = UINT32_MAX;
  return take_out_shared(training->graph, out);
}

egraph_status eg_step_blocks_init(eg_step_blocks *blocks, egraph_allocator alloc,
                                  const eg_graph *forward, const eg_blocks *of_forward,
                                  const eg_training *training) {
  eg_u32s_init(&blocks->value, alloc);
  eg_u32s_init(&blocks->later, alloc);
  EG_RETURN_FILLED(map_forward_blocks(blocks, forward, of_forward, training),
                   eg_step_blocks, blocks);
}

void eg_step_blocks_deinit(eg_step_blocks *blocks) {
  eg_u32s_deinit(&blocks->value);
  eg_u32s_deinit(&blocks->later);
}

// ---- limits ---------------------------------------------------------------------------

enum { SEALED = 1, AT_AN_END = 2, IN_THE_MIDDLE = 4 };

/// True when a use of the value differs between blocks: it is in another block, or
/// outside all blocks while the value comes from a block that is not at an end.
static bool crosses(uint32_t count, uint32_t from, uint32_t to) {
  if (from == EG_BLOCK_OUTSIDE || from == to) return false;
  bool is_inner = from != 0 && from != count - 1;
  return is_inner || to != EG_BLOCK_OUTSIDE;
}

static void flag_node(const eg_step_blocks *blocks, const eg_graph *step, uint32_t count,
                      uint32_t n, uint32_t *flags) {
  eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
  uint32_t to = eg_step_blocks_of(blocks, step, n);
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t v = node.inputs[i].id, from = blocks->value.data[v];
    if (crosses(count, from, to)) flags[v] |= SEALED;
    if (from != EG_BLOCK_OUTSIDE || to == EG_BLOCK_OUTSIDE) continue;
    flags[v] |= to == 0 || to == count - 1 ? AT_AN_END : IN_THE_MIDDLE;
  }
}

/// Lists the limits of rules in a folded step, so that their rewrites of the middle block
/// hold in all blocks that it represents. `sealed` gets the values that rules must not
/// match through: values that go from block to block, and outside values that only the
/// first or last block reads. `fixed` gets the values that rules must leave unchanged:
/// values that the optimizer makes for several weights (a norm of all gradients).
static egraph_status find_limits(const eg_step_blocks *blocks,
                                 const eg_training *training, const eg_graph *step,
                                 uint32_t count, eg_u32s *sealed, eg_u32s *fixed) {
  EG_LOCAL(eg_u32s, flags, sealed->alloc);
  EG_TRY(eg_u32s_resize(&flags, eg_graph_value_count(step)));
  for (uint32_t n = 0; n < eg_graph_node_count(step); n++)
    flag_node(blocks, step, count, n, flags.data);
  for (uint32_t v = 0; v < flags.len; v++) {
    bool ends = (flags.data[v] & (AT_AN_END | IN_THE_MIDDLE)) == AT_AN_END;
    bool is_sealed = (flags.data[v] & SEALED) != 0 || ends;
    if (eg_graph_value(step, (eg_value){v})->kind != EG_VALUE_COMPUTED) continue;
    eg_made made = training != NULL ? training->stamps.data[v].made : EG_MADE_COPY;
    if (made == EG_MADE_NORM || made == EG_MADE_COMMON)
      EG_TRY(eg_u32s_push(fixed, v));
    else if (is_sealed)
      EG_TRY(eg_u32s_push(sealed, v));
  }
  return EGRAPH_OK;
}

// ---- carried values -------------------------------------------------------------------

static void add_carried(filler *f, eg_carried_value *carried, eg_training_state state,
                        bool is_sum) {
  uint32_t output = 0;
  if (state.entry.id == EG_VALUE_NONE.id) return;
  while (eg_graph_output(f->training->graph, output, NULL).id != state.exit.id)
    output++;
  carried[f->out->info.carried_count++] =
      (eg_carried_value){.entry = state.entry, .output = output, .is_sum = is_sum};
}

static egraph_status fill_carried(filler *f) {
  const eg_training *training = f->training;
  eg_carried_value *carried;
  EG_NEW(&f->out->arena, (size_t)training->param_count * (2 + EG_MAX_STATES), carried);
  for (uint32_t p = 0; p < training->param_count; p++) {
    const eg_training_param *param = &training->params[p];
    add_carried(f, carried, param->value, false);
    add_carried(f, carried, param->sum, true);
    for (uint32_t s = 0; s < training->state_count; s++)
      add_carried(f, carried, param->state[s], false);
  }
  f->out->info.carried = carried;
  return EGRAPH_OK;
}

// ---- blocks ---------------------------------------------------------------------------

static egraph_status copy_into_arena(eg_arena *arena, const eg_u32s *list,
                                     const uint32_t **out) {
  uint32_t *mine;
  EG_NEW(arena, list->len, mine);
  if (list->len != 0) memcpy(mine, list->data, list->len * sizeof *mine);
  *out = mine;
  return EGRAPH_OK;
}

/// Notes the values of a folded step that rules must not match through or change.
static egraph_status limit(eg_training_info *info, const eg_step_blocks *blocks,
                           const eg_training *training, const eg_graph *step) {
  eg_step_info *out = &info->info;
  EG_LOCAL(eg_u32s, sealed, blocks->value.alloc);
  EG_LOCAL(eg_u32s, fixed, blocks->value.alloc);
  EG_TRY(find_limits(blocks, training, step, out->fold.count, &sealed, &fixed));
  EG_TRY(copy_into_arena(&info->arena, &sealed, &out->sealed));
  EG_TRY(copy_into_arena(&info->arena, &fixed, &out->fixed));
  out->sealed_count = (uint32_t)sealed.len;
  out->fixed_count = (uint32_t)fixed.len;
  return EGRAPH_OK;
}

static egraph_status note_blocks(eg_training_info *info, const eg_step_blocks *blocks,
                                 eg_step_fold fold) {
  info->info.fold = fold;
  EG_TRY(copy_into_arena(&info->arena, &blocks->value, &info->info.fold.block));
  return copy_into_arena(&info->arena, &blocks->later, &info->info.fold.later);
}

/// Fills in the blocks of a folded step's values (one block for many), and the limits
/// of rules.
static egraph_status mark_folded(eg_training_info *info, const eg_folded *folded,
                                 const eg_training *training) {
  EG_OWNED(eg_step_blocks, blocks);
  const eg_step_fold fold = {
      .count = folded->blocks.count, .middle = folded->middle, .times = folded->times};
  EG_TRY(eg_step_blocks_init(&blocks, folded->alloc, folded->graph, &folded->blocks,
                             training));
  EG_TRY(note_blocks(info, &blocks, fold));
  return limit(info, &blocks, training,
               training != NULL ? training->graph : folded->graph);
}

egraph_status eg_training_info_mark(eg_training_info *info, egraph_allocator alloc,
                                    const eg_graph *forward, const eg_blocks *of_forward,
                                    const eg_training *training) {
  EG_OWNED(eg_step_blocks, blocks);
  const eg_step_fold fold = {.count = of_forward->count, .middle = of_forward->count};
  EG_TRY(eg_step_blocks_init(&blocks, alloc, forward, of_forward, training));
  EG_TRY(note_blocks(info, &blocks, fold));
  return eg_training_info_seams(info, alloc, forward, of_forward, training);
}

egraph_status eg_training_info_seams(eg_training_info *info, egraph_allocator alloc,
                                     const eg_graph *forward, const eg_blocks *of_forward,
                                     const eg_training *training) {
  EG_OWNED(eg_step_blocks, blocks);
  EG_LOCAL(eg_u32s, seams, alloc);
  EG_TRY(eg_step_blocks_init(&blocks, alloc, forward, of_forward, training));
  EG_TRY(find_limits(&blocks, training, training != NULL ? training->graph : forward,
                     of_forward->count, &seams, &seams));
  EG_TRY(copy_into_arena(&info->arena, &seams, &info->info.seams));
  EG_TRY(copy_into_arena(&info->arena, &blocks.value, &info->info.single_block));
  info->info.seam_count = (uint32_t)seams.len;
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------------

static egraph_status fill_info(filler *f) {
  eg_phase *phases;
  eg_arena *arena = &f->out->arena;
  EG_NEW(arena, f->nodes, phases);
  for (uint32_t n = 0; n < f->nodes; n++)
    phases[n] = eg_training_phase(f->training, (eg_graph_node){n});
  f->out->info.phases = phases;
  EG_TRY(fill_carried(f));
  const eg_training *training = f->training;
  eg_value *gradients;
  EG_NEW(arena, training->param_count, gradients);
  for (uint32_t p = 0; p < training->param_count; p++)
    gradients[p] = training->params[p].gradient;
  f->out->info.gradients = gradients;
  f->out->info.stamps = training->stamps.data;
  f->out->info.gradient_count = training->param_count;
  if (f->folded == NULL) return EGRAPH_OK;
  return mark_folded(f->out, f->folded, f->training);
}

egraph_status eg_training_info_init(eg_training_info *info, egraph_allocator alloc,
                                    const eg_training *training,
                                    const eg_folded *folded) {
  *info = (eg_training_info){
      .info = {.micro_batches = training->micro_batches, .memory_limit = INFINITY}};
  eg_arena_init(&info->arena, alloc);
  filler f = {.out = info,
              .training = training,
              .folded = folded,
              .nodes = eg_graph_node_count(training->graph)};
  EG_RETURN_FILLED(fill_info(&f), eg_training_info, info);
}

void eg_training_info_deinit(eg_training_info *info) { eg_arena_deinit(&info->arena); }

egraph_status eg_forward_info_init(eg_training_info *info, egraph_allocator alloc,
                                   const eg_folded *folded) {
  *info = (eg_training_info){.info = {.micro_batches = 1, .memory_limit = INFINITY}};
  eg_arena_init(&info->arena, alloc);
  EG_RETURN_FILLED(folded == NULL ? EGRAPH_OK : mark_folded(info, folded, NULL),
                   eg_training_info, info);
}
