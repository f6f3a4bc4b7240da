// Forward nodes are in the block where they stand, nodes of a gradient in that of the
// node whose gradient they are part of. All others (casts, loss, optimizer) follow their
// operands, as weights and states do those who read them. Where sums over all blocks come
// in, such as the norm by which gradients are clipped, the other operands tell.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/step_blocks.h"

#define UNKNOWN (UINT32_MAX - 2)
enum { FIRST, MIDDLE, LAST }; // of three

typedef struct finder {
  const eg_graph *forward, *step;
  const eg_blocks *blocks;
  const eg_training *training; // or NULL
  eg_u32s leaf;                // [values of the forward graph] block of those who read it
  eg_bytes is_sum;             // [values of the step] of several blocks, or made of such
  eg_u32s goal; // [values of the step] block of the weights that it helps to update
  eg_step_blocks *out;
} finder;

static egraph_status fill(eg_u32s *list, size_t count, uint32_t with) {
  EG_TRY(eg_u32s_resize(list, count));
  for (size_t i = 0; i < count; i++)
    list->data[i] = with;
  return EGRAPH_OK;
}

static bool is_block(uint32_t number) { return number < UNKNOWN; }

static uint32_t block_of(const eg_blocks *b, uint32_t node) {
  bool is_inside = node >= b->first && node - b->first < b->period * b->count;
  return is_inside ? (node - b->first) / b->period : EG_BLOCK_OUTSIDE;
}

// ---- leaves ---------------------------------------------------------------------------

/// An input or weight is of the only block that reads it.
static egraph_status find_leaves(finder *f) {
  EG_TRY(fill(&f->leaf, eg_graph_value_count(f->forward), UNKNOWN));
  for (uint32_t n = 0; n < eg_graph_node_count(f->forward); n++) {
    eg_graph_node_info node = eg_graph_node_at(f->forward, (eg_graph_node){n});
    uint32_t block = block_of(f->blocks, n);
    for (uint32_t i = 0; i < node.input_count; i++) {
      uint32_t *leaf = &f->leaf.data[node.inputs[i].id];
      *leaf = *leaf == UNKNOWN || *leaf == block ? block : EG_BLOCK_OUTSIDE;
    }
  }
  return EGRAPH_OK;
}

static void mark(const finder *f, eg_value value, uint32_t block) {
  if (value.id != EG_VALUE_NONE.id) f->out->value.data[value.id] = block;
}

/// Sums and states of a weight are named after it, so that names do not tell.
static void mark_states(const finder *f) {
  const eg_training *training = f->training;
  for (uint32_t p = 0; p < training->param_count; p++) {
    const eg_training_param *param = &training->params[p];
    uint32_t block = f->leaf.data[param->weight.id];
    mark(f, param->value.entry, block);
    mark(f, param->sum.entry, block);
    for (uint32_t s = 0; s < training->state_count; s++)
      mark(f, param->state[s].entry, block);
  }
}

static void mark_leaves(const finder *f) {
  for (uint32_t v = 0; v < f->out->value.len; v++) {
    const eg_value_info *info = eg_graph_value(f->step, (eg_value){v});
    eg_value like;
    if (info->kind == EG_VALUE_COMPUTED ||
        !eg_graph_find_value(f->forward, info->name, &like))
      continue;
    if (f->leaf.data[like.id] != UNKNOWN) mark(f, (eg_value){v}, f->leaf.data[like.id]);
  }
  if (f->training != NULL) mark_states(f);
}

// ---- goals ----------------------------------------------------------------------------

static void join_goal(const finder *f, eg_value value, uint32_t block) {
  if (value.id == EG_VALUE_NONE.id || block == UNKNOWN) return;
  uint32_t *goal = &f->goal.data[value.id];
  *goal = *goal == UNKNOWN || *goal == block ? block : EG_BLOCK_SEVERAL;
}

static void find_goals(const finder *f) {
  const eg_training *training = f->training;
  for (uint32_t p = 0; p < training->param_count; p++) {
    const eg_training_param *param = &training->params[p];
    uint32_t block = f->leaf.data[param->weight.id];
    join_goal(f, param->value.exit, block);
    join_goal(f, param->sum.exit, block);
    for (uint32_t s = 0; s < training->state_count; s++)
      join_goal(f, param->state[s].exit, block);
  }
  for (uint32_t n = eg_graph_node_count(f->step); n-- > 0;) {
    eg_graph_node_info node = eg_graph_node_at(f->step, (eg_graph_node){n});
    for (uint32_t r = 0; r < node.result_count; r++)
      for (uint32_t i = 0; i < node.input_count; i++)
        join_goal(f, node.inputs[i], f->goal.data[node.results[r].id]);
  }
}

// ---- nodes ----------------------------------------------------------------------------

static void mark_forward(const finder *f) {
  for (uint32_t v = 0; v < eg_graph_value_count(f->forward); v++) {
    const eg_value_info *info = eg_graph_value(f->forward, (eg_value){v});
    uint32_t copy = f->training == NULL ? v : f->training->forward_value.data[v];
    if (info->kind != EG_VALUE_COMPUTED || copy == UINT32_MAX) continue;
    const eg_value_info *made = eg_graph_value(f->step, (eg_value){copy});
    if (made->kind == EG_VALUE_COMPUTED)
      f->out->node.data[made->node.id] = block_of(f->blocks, info->node.id);
  }
}

/// The only block that a node has operands of, sums aside.
static uint32_t block_of_operands(const finder *f, const eg_graph_node_info *node) {
  uint32_t found = EG_BLOCK_OUTSIDE;
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t value = node->inputs[i].id, block = f->out->value.data[value];
    if (!is_block(block) || block == found || f->is_sum.data[value] != 0) continue;
    if (found != EG_BLOCK_OUTSIDE) return EG_BLOCK_SEVERAL;
    found = block;
  }
  return found;
}

/// A node without a place of its own; whether its results are sums. What is made of sums
/// alone belongs to the block whose weights it leads to, if there is one.
static bool follow_operands(const finder *f, const eg_graph_node_info *node,
                            uint32_t *out) {
  bool is_sum = false;
  for (uint32_t i = 0; i < node->input_count; i++)
    is_sum = is_sum || f->is_sum.data[node->inputs[i].id] != 0;
  *out = block_of_operands(f, node);
  if (*out == EG_BLOCK_OUTSIDE && is_sum && is_block(f->goal.data[node->results[0].id]))
    *out = f->goal.data[node->results[0].id];
  return is_sum || *out == EG_BLOCK_SEVERAL;
}

static void mark_nodes(const finder *f) {
  for (uint32_t n = 0; n < f->out->node.len; n++) {
    eg_graph_node_info node = eg_graph_node_at(f->step, (eg_graph_node){n});
    const eg_u32s *origin = f->training == NULL ? NULL : &f->training->trace.origin;
    uint32_t *block = &f->out->node.data[n];
    if (*block == UNKNOWN && origin != NULL && n < origin->len && origin->data[n] < n)
      *block = f->out->node.data[origin->data[n]];
    bool is_sum = *block == UNKNOWN && follow_operands(f, &node, block);
    bool is_update =
        f->training != NULL &&
        eg_training_phase(f->training, (eg_graph_node){n}) == EG_PHASE_UPDATE;
    for (uint32_t r = 0; r < node.result_count; r++) {
      mark(f, node.results[r], *block);
      f->out->is_common.data[node.results[r].id] =
          is_update && f->goal.data[node.results[r].id] == EG_BLOCK_SEVERAL;
      f->is_sum.data[node.results[r].id] = is_sum;
    }
  }
}

static egraph_status find(finder *f) {
  EG_TRY(find_leaves(f));
  EG_TRY(fill(&f->out->node, eg_graph_node_count(f->step), UNKNOWN));
  EG_TRY(fill(&f->out->value, eg_graph_value_count(f->step), EG_BLOCK_OUTSIDE));
  EG_TRY(eg_bytes_resize(&f->is_sum, eg_graph_value_count(f->step)));
  EG_TRY(eg_bytes_resize(&f->out->is_common, eg_graph_value_count(f->step)));
  EG_TRY(fill(&f->goal, eg_graph_value_count(f->step), UNKNOWN));
  if (f->training != NULL) find_goals(f);
  mark_leaves(f);
  mark_forward(f);
  mark_nodes(f);
  return EGRAPH_OK;
}

egraph_status eg_step_blocks_init(eg_step_blocks *blocks, egraph_allocator alloc,
                                  const eg_graph *forward, const eg_blocks *of_forward,
                                  const eg_training *training) {
  finder f = {.forward = forward,
              .step = training == NULL ? forward : training->graph,
              .blocks = of_forward,
              .training = training,
              .out = blocks};
  eg_u32s_init(&f.leaf, alloc);
  eg_u32s_init(&f.goal, alloc);
  eg_bytes_init(&f.is_sum, alloc);
  eg_u32s_init(&blocks->node, alloc);
  eg_u32s_init(&blocks->value, alloc);
  eg_bytes_init(&blocks->is_common, alloc);
  egraph_status status = find(&f);
  eg_u32s_deinit(&f.leaf);
  eg_u32s_deinit(&f.goal);
  eg_bytes_deinit(&f.is_sum);
  if (status != EGRAPH_OK) eg_step_blocks_deinit(blocks);
  return status;
}

void eg_step_blocks_deinit(eg_step_blocks *blocks) {
  eg_u32s_deinit(&blocks->node);
  eg_u32s_deinit(&blocks->value);
  eg_bytes_deinit(&blocks->is_common);
}

// ---- limits ---------------------------------------------------------------------------

enum { SEALED = 1, AT_AN_END = 2, IN_THE_MIDDLE = 4 };

/// Whether a value of a block is used where it is not the same for all.
static bool crosses(uint32_t from, uint32_t to) {
  if (!is_block(from) || from == to) return false;
  return from == MIDDLE || to != EG_BLOCK_OUTSIDE;
}

static void flag_node(const eg_step_blocks *blocks, const eg_graph *step, uint32_t n,
                      uint32_t *flags) {
  eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
  uint32_t to = blocks->node.data[n];
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t v = node.inputs[i].id, from = blocks->value.data[v];
    if (crosses(from, to)) flags[v] |= SEALED;
    if (from == EG_BLOCK_OUTSIDE && to == MIDDLE) flags[v] |= IN_THE_MIDDLE;
    if (from == EG_BLOCK_OUTSIDE && (to == FIRST || to == LAST)) flags[v] |= AT_AN_END;
  }
  for (uint32_t r = 0; to == EG_BLOCK_SEVERAL && r < node.result_count; r++)
    flags[node.results[r].id] |= SEALED;
}

egraph_status eg_step_blocks_limits(const eg_step_blocks *blocks, const eg_graph *step,
                                    eg_u32s *sealed, eg_u32s *fixed) {
  eg_u32s flags;
  eg_u32s_init(&flags, sealed->alloc);
  egraph_status status = eg_u32s_resize(&flags, eg_graph_value_count(step));
  for (uint32_t n = 0; status == EGRAPH_OK && n < eg_graph_node_count(step); n++)
    flag_node(blocks, step, n, flags.data);
  for (uint32_t v = 0; status == EGRAPH_OK && v < flags.len; v++) {
    bool ends = (flags.data[v] & (AT_AN_END | IN_THE_MIDDLE)) == AT_AN_END;
    bool is_sealed = (flags.data[v] & SEALED) != 0 || ends;
    if (eg_graph_value(step, (eg_value){v})->kind != EG_VALUE_COMPUTED) continue;
    if (blocks->is_common.data[v] != 0)
      status = eg_u32s_push(fixed, v);
    else if (is_sealed)
      status = eg_u32s_push(sealed, v);
  }
  eg_u32s_deinit(&flags);
  return status;
}
