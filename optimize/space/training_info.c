// Blocks of nodes and values are found by step_blocks.h.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/training_info.h"

#include <math.h>
#include <string.h>

#include "optimize/space/step_blocks.h"

typedef struct filler {
  eg_training_info *out;
  const eg_training *training;
  const eg_folded *folded;
  uint32_t nodes;
} filler;

// ---- carried values -------------------------------------------------------------------

static uint32_t output_of(const eg_graph *graph, eg_value value) {
  uint32_t output = 0;
  while (eg_graph_output(graph, output, NULL).id != value.id)
    output++;
  return output;
}

static void add_carried(filler *f, eg_carried_value *carried, eg_training_state state,
                        bool is_sum) {
  if (state.entry.id == EG_VALUE_NONE.id) return;
  carried[f->out->info.carried_count++] =
      (eg_carried_value){.entry = state.entry,
                         .output = output_of(f->training->graph, state.exit),
                         .is_sum = is_sum};
}

static egraph_status fill_carried(filler *f) {
  const eg_training *training = f->training;
  eg_carried_value *carried;
  EG_TRY(eg_arena_alloc(&f->out->arena,
                        (size_t)training->param_count * (2 + EG_MAX_OPTIMIZER_STATES),
                        sizeof *carried, &carried));
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

static egraph_status fill_gradients(filler *f) {
  const eg_training *training = f->training;
  eg_value *gradients;
  EG_TRY(eg_arena_alloc(&f->out->arena, training->param_count, sizeof *gradients,
                        &gradients));
  for (uint32_t p = 0; p < training->param_count; p++)
    gradients[p] = training->params[p].gradient;
  f->out->info.gradients = gradients;
  f->out->info.gradient_count = training->param_count;
  return EGRAPH_OK;
}

// ---- blocks ---------------------------------------------------------------------------

static egraph_status copy(eg_arena *arena, const eg_u32s *list, const uint32_t **out) {
  uint32_t *mine;
  EG_TRY(eg_arena_alloc(arena, list->len, sizeof *mine, &mine));
  if (list->len != 0) memcpy(mine, list->data, list->len * sizeof *mine);
  *out = mine;
  return EGRAPH_OK;
}

/// What rules keep to in a folded step.
static egraph_status limit(eg_training_info *info, const eg_step_blocks *blocks,
                           const eg_training *training, const eg_graph *step) {
  eg_u32s sealed, fixed;
  eg_step_info *out = &info->info;
  eg_u32s_init(&sealed, blocks->value.alloc);
  eg_u32s_init(&fixed, blocks->value.alloc);
  egraph_status status =
      eg_step_blocks_limits(blocks, training, step, out->fold.count, &sealed, &fixed);
  if (status == EGRAPH_OK) status = copy(&info->arena, &sealed, &out->sealed);
  if (status == EGRAPH_OK) status = copy(&info->arena, &fixed, &out->fixed);
  out->sealed_count = (uint32_t)sealed.len;
  out->fixed_count = (uint32_t)fixed.len;
  eg_u32s_deinit(&fixed);
  eg_u32s_deinit(&sealed);
  return status;
}

static egraph_status note_blocks(eg_training_info *info, const eg_step_blocks *blocks,
                                 eg_step_fold fold) {
  info->info.fold = fold;
  EG_TRY(copy(&info->arena, &blocks->value, &info->info.fold.block));
  return copy(&info->arena, &blocks->later, &info->info.fold.later);
}

/// Fills the blocks of a folded step and what rules keep to in it.
static egraph_status mark_folded(eg_training_info *info, const eg_folded *folded,
                                 const eg_training *training) {
  eg_step_blocks blocks;
  const eg_step_fold fold = {
      .count = folded->blocks.count, .middle = folded->middle, .times = folded->times};
  EG_TRY(eg_step_blocks_init(&blocks, folded->alloc, folded->graph, &folded->blocks,
                             training));
  egraph_status status = note_blocks(info, &blocks, fold);
  if (status == EGRAPH_OK)
    status = limit(info, &blocks, training,
                   training != NULL ? training->graph : folded->graph);
  eg_step_blocks_deinit(&blocks);
  return status;
}

egraph_status eg_training_info_mark(eg_training_info *info, egraph_allocator alloc,
                                    const eg_graph *forward, const eg_blocks *of_forward,
                                    const eg_training *training) {
  eg_step_blocks blocks;
  const eg_step_fold fold = {.count = of_forward->count, .middle = of_forward->count};
  EG_TRY(eg_step_blocks_init(&blocks, alloc, forward, of_forward, training));
  egraph_status status = note_blocks(info, &blocks, fold);
  eg_step_blocks_deinit(&blocks);
  return status;
}

// ---- the whole ------------------------------------------------------------------------

static egraph_status fill_info(filler *f) {
  eg_phase *phases;
  eg_arena *arena = &f->out->arena;
  EG_TRY(eg_arena_alloc(arena, f->nodes, sizeof *phases, &phases));
  for (uint32_t n = 0; n < f->nodes; n++)
    phases[n] = eg_training_phase(f->training, (eg_graph_node){n});
  f->out->info.phases = phases;
  EG_TRY(fill_carried(f));
  EG_TRY(fill_gradients(f));
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
  egraph_status status = fill_info(&f);
  if (status != EGRAPH_OK) eg_training_info_deinit(info);
  return status;
}

void eg_training_info_deinit(eg_training_info *info) { eg_arena_deinit(&info->arena); }

egraph_status eg_forward_info_init(eg_training_info *info, egraph_allocator alloc,
                                   const eg_folded *folded) {
  *info = (eg_training_info){.info = {.micro_batches = 1, .memory_limit = INFINITY}};
  eg_arena_init(&info->arena, alloc);
  egraph_status status = folded == NULL ? EGRAPH_OK : mark_folded(info, folded, NULL);
  if (status != EGRAPH_OK) eg_training_info_deinit(info);
  return status;
}
