// How many blocks a node of the step stands for is what the forward node says that it
// belongs to: itself, or the one whose gradient it is part of. The optimizer follows what
// it works on.
//
// What crosses from block to block counts where it is used: what the first block hands to
// the middle stands for all that enter middle blocks, what the middle hands on is what
// enters the last one; gradients the other way round.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/training_info.h"

#include <math.h>
#include <string.h>

#include "optimize/plan/step_sums.h"

#define NONE UINT32_MAX

typedef struct filler {
  eg_training_info *out;
  const eg_training *training;
  const eg_folded *folded;
  uint32_t *times; // [nodes]
  uint32_t nodes;
} filler;

static const eg_value_info *value_at(const filler *f, eg_value value) {
  return eg_graph_value(f->training->graph, value);
}

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

/// Times of the copies of the folded graph's nodes.
static void time_forward(filler *f) {
  const eg_graph *forward = f->folded->graph;
  for (uint32_t v = 0; v < eg_graph_value_count(forward); v++) {
    const eg_value_info *from = eg_graph_value(forward, (eg_value){v});
    uint32_t copy = f->training->forward_value.data[v];
    if (from->kind != EG_VALUE_COMPUTED || copy == NONE) continue;
    const eg_value_info *to = value_at(f, (eg_value){copy});
    if (to->kind == EG_VALUE_COMPUTED)
      f->times[to->node.id] = f->folded->times[from->node.id];
  }
}

/// Times of a node's largest operand that has any.
static uint32_t times_of_operand(const filler *f, const uint32_t *value_times,
                                 uint32_t node) {
  eg_graph_node_info info = eg_graph_node_at(f->training->graph, (eg_graph_node){node});
  uint32_t times = 0;
  size_t most = 0;
  for (uint32_t i = 0; i < info.input_count; i++) {
    size_t bytes = eg_type_bytes(&value_at(f, info.inputs[i])->type);
    if (value_times[info.inputs[i].id] == 0 || bytes < most) continue;
    most = bytes;
    times = value_times[info.inputs[i].id];
  }
  return times == 0 ? 1 : times;
}

/// An input or weight has the times of what first uses it.
static void time_values(const filler *f, uint32_t node, uint32_t *value_times) {
  eg_graph_node_info info = eg_graph_node_at(f->training->graph, (eg_graph_node){node});
  for (uint32_t i = 0; i < info.input_count; i++)
    if (value_times[info.inputs[i].id] == 0)
      value_times[info.inputs[i].id] = f->times[node];
  for (uint32_t r = 0; r < info.result_count; r++)
    value_times[info.results[r].id] = f->times[node];
}

/// Sums and states of the optimizer have the times of their parameter.
static void time_states(const filler *f, uint32_t *value_times) {
  const eg_training *training = f->training;
  for (uint32_t p = 0; p < training->param_count; p++) {
    const eg_training_param *param = &training->params[p];
    uint32_t times = value_times[param->value.entry.id];
    if (param->sum.entry.id != NONE) value_times[param->sum.entry.id] = times;
    for (uint32_t i = 0; i < training->state_count; i++)
      value_times[param->state[i].entry.id] = times;
  }
}

static egraph_status time_all(filler *f) {
  uint32_t *value_times, values = eg_graph_value_count(f->training->graph);
  const eg_u32s *origin = &f->training->trace.origin;
  EG_TRY(eg_arena_alloc(&f->out->arena, values, sizeof *value_times, &value_times));
  time_forward(f);
  // A cast of a weight stands before what it is for.
  for (uint32_t n = f->nodes; n-- > 0;) {
    eg_graph_node_info info = eg_graph_node_at(f->training->graph, (eg_graph_node){n});
    for (uint32_t i = 0; f->times[n] != 0 && i < info.input_count; i++) {
      const eg_value_info *operand = value_at(f, info.inputs[i]);
      if (operand->kind == EG_VALUE_COMPUTED && f->times[operand->node.id] == 0)
        f->times[operand->node.id] = f->times[n];
    }
  }
  for (uint32_t n = 0; n < f->nodes; n++) {
    if (n == f->training->phase_begin[EG_PHASE_BACKWARD]) time_states(f, value_times);
    bool is_gradient = n < origin->len && origin->data[n] != n;
    if (f->times[n] == 0 && is_gradient) f->times[n] = f->times[origin->data[n]];
    if (f->times[n] == 0) f->times[n] = times_of_operand(f, value_times, n);
    time_values(f, n, value_times);
  }
  return EGRAPH_OK;
}

/// The value that `left` of the folded graph is in the step, or its gradient.
static eg_value in_step(const filler *f, eg_value left, bool gradient) {
  uint32_t value = f->training->forward_value.data[left.id];
  if (value == NONE || !gradient) return (eg_value){value};
  return (eg_value){f->training->trace.cotangent.data[value]};
}

/// Blocks in the middle hand on a value as often as there are of them, the ends once.
static void tie(filler *f, eg_tied_values *tied, eg_value enters, eg_value leaves,
                bool backward) {
  eg_step_info *info = &f->out->info;
  uint32_t middle = f->folded->middle;
  for (uint32_t i = 0; i < info->tied_count; i++)
    for (int e = 0; e < 2; e++)
      if (tied[i].value[e].id == enters.id || tied[i].value[e].id == leaves.id) return;
  tied[info->tied_count++] = backward ? (eg_tied_values){{leaves, enters}, {1, middle}}
                                      : (eg_tied_values){{enters, leaves}, {middle, 1}};
}

static void tie_crossing(filler *f, eg_tied_values *tied) {
  const eg_folded *folded = f->folded;
  for (uint32_t i = 0; i < folded->crossing; i++)
    for (int gradient = 0; gradient < 2; gradient++) {
      eg_value first = in_step(f, folded->left_first[i], gradient != 0);
      eg_value last = in_step(f, folded->left_middle[i], gradient != 0);
      if (first.id == NONE || last.id == NONE) continue;
      if (gradient != 0)
        tie(f, tied, last, first, true);
      else
        tie(f, tied, first, last, false);
    }
}

static egraph_status tie_all(filler *f, const eg_step_sums *sums) {
  eg_tied_values *tied;
  EG_TRY(eg_arena_alloc(&f->out->arena, 2 * (size_t)f->folded->crossing + sums->len,
                        sizeof *tied, &tied));
  tie_crossing(f, tied);
  for (size_t i = 0; i < sums->len; i++) {
    eg_value enters = sums->data[i].entering;
    eg_phase phase = eg_training_phase(f->training, value_at(f, enters)->node);
    tie(f, tied, enters, sums->data[i].leaving, phase == EG_PHASE_BACKWARD);
  }
  f->out->info.tied = tied;
  return EGRAPH_OK;
}

// ---- what rules keep to ---------------------------------------------------------------

static egraph_status keep(eg_training_info *info, const eg_u32s *values,
                          const eg_value **out, uint32_t *out_count) {
  eg_value *kept;
  EG_TRY(eg_arena_alloc(&info->arena, values->len, sizeof *kept, &kept));
  for (size_t i = 0; i < values->len; i++)
    kept[i].id = values->data[i];
  *out = kept;
  *out_count = (uint32_t)values->len;
  return EGRAPH_OK;
}

static egraph_status limit(eg_training_info *info, const eg_step_blocks *blocks,
                           const eg_graph *step) {
  eg_u32s sealed, fixed;
  eg_u32s_init(&sealed, blocks->node.alloc);
  eg_u32s_init(&fixed, blocks->node.alloc);
  egraph_status status = eg_step_blocks_limits(blocks, step, &sealed, &fixed);
  if (status == EGRAPH_OK)
    status = keep(info, &sealed, &info->info.sealed, &info->info.sealed_count);
  if (status == EGRAPH_OK)
    status = keep(info, &fixed, &info->info.fixed, &info->info.fixed_count);
  eg_u32s_deinit(&fixed);
  eg_u32s_deinit(&sealed);
  return status;
}

egraph_status eg_training_info_limit(eg_training_info *info, const eg_folded *folded) {
  eg_step_blocks blocks;
  EG_TRY(
      eg_step_blocks_init(&blocks, folded->alloc, folded->graph, &folded->blocks, NULL));
  egraph_status status = limit(info, &blocks, folded->graph);
  eg_step_blocks_deinit(&blocks);
  return status;
}

/// Ties, and what rules keep to.
static egraph_status fill_blocks(filler *f) {
  eg_step_blocks blocks;
  eg_step_sums sums;
  EG_TRY(eg_step_blocks_init(&blocks, f->folded->alloc, f->folded->graph,
                             &f->folded->blocks, f->training));
  eg_step_sums_init(&sums, f->folded->alloc);
  egraph_status status = eg_step_sums_find(&sums, &blocks, f->training->graph);
  if (status == EGRAPH_OK) status = tie_all(f, &sums);
  if (status == EGRAPH_OK) status = limit(f->out, &blocks, f->training->graph);
  eg_step_sums_deinit(&sums);
  eg_step_blocks_deinit(&blocks);
  return status;
}

// ---- the whole ------------------------------------------------------------------------

static egraph_status fill(filler *f) {
  eg_phase *phases;
  eg_arena *arena = &f->out->arena;
  EG_TRY(eg_arena_alloc(arena, f->nodes, sizeof *phases, &phases));
  for (uint32_t n = 0; n < f->nodes; n++)
    phases[n] = eg_training_phase(f->training, (eg_graph_node){n});
  f->out->info.phases = phases;
  EG_TRY(fill_carried(f));
  EG_TRY(fill_gradients(f));
  if (f->folded == NULL) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, f->nodes, sizeof *f->times, &f->times));
  EG_TRY(time_all(f));
  f->out->info.times = f->times;
  return fill_blocks(f);
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
  egraph_status status = fill(&f);
  if (status != EGRAPH_OK) eg_training_info_deinit(info);
  return status;
}

void eg_training_info_deinit(eg_training_info *info) { eg_arena_deinit(&info->arena); }
