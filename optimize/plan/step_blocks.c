// Forward nodes are in the block where they stand, nodes of a gradient in that of the
// node whose gradient they are part of. All others (casts, loss, optimizer) follow their
// operands, as weights and states do those who read them. Where sums over all blocks come
// in, such as the norm by which gradients are clipped, the other operands tell. What is
// made of two neighbours is of the one that comes later in its phase: gradients go back.
//
// The same value one block later: forward nodes a period on, nodes of a gradient at the
// same place in the gradient of the node one block later, leaves where these read them;
// all others (casts, optimizer) by what their operands are one block later.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/step_blocks.h"

#define UNKNOWN (UINT32_MAX - 2)
#define NONE UINT32_MAX

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

static bool is_backward(const finder *f, uint32_t node) {
  return f->training != NULL &&
         eg_training_phase(f->training, (eg_graph_node){node}) == EG_PHASE_BACKWARD;
}

/// The only block that a node has operands of, sums aside; of two neighbours, which make
/// a sum, the one that comes later.
static uint32_t block_of_operands(const finder *f, uint32_t n, bool *out_is_sum) {
  eg_graph_node_info node = eg_graph_node_at(f->step, (eg_graph_node){n});
  uint32_t low = EG_BLOCK_OUTSIDE, high = EG_BLOCK_OUTSIDE;
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t value = node.inputs[i].id, block = f->out->value.data[value];
    if (!is_block(block) || f->is_sum.data[value] != 0) continue;
    if (low == EG_BLOCK_OUTSIDE || block < low) low = block;
    if (high == EG_BLOCK_OUTSIDE || block > high) high = block;
  }
  *out_is_sum = low != high;
  if (low == high) return low;
  if (high - low != 1) return EG_BLOCK_SEVERAL;
  return is_backward(f, n) ? low : high;
}

/// A node without a place of its own; whether its results are sums. What is made of sums
/// alone belongs to the block whose weights it leads to, if there is one.
static bool follow_operands(const finder *f, uint32_t n, uint32_t *out) {
  eg_graph_node_info node = eg_graph_node_at(f->step, (eg_graph_node){n});
  bool is_sum;
  *out = block_of_operands(f, n, &is_sum);
  for (uint32_t i = 0; i < node.input_count; i++)
    is_sum = is_sum || f->is_sum.data[node.inputs[i].id] != 0;
  if (*out == EG_BLOCK_OUTSIDE && is_sum && is_block(f->goal.data[node.results[0].id]))
    *out = f->goal.data[node.results[0].id];
  return is_sum;
}

static void mark_nodes(const finder *f) {
  for (uint32_t n = 0; n < f->out->node.len; n++) {
    eg_graph_node_info node = eg_graph_node_at(f->step, (eg_graph_node){n});
    const eg_u32s *origin = f->training == NULL ? NULL : &f->training->trace.origin;
    uint32_t *block = &f->out->node.data[n];
    if (*block == UNKNOWN && origin != NULL && n < origin->len && origin->data[n] < n)
      *block = f->out->node.data[origin->data[n]];
    bool is_sum = *block == UNKNOWN && follow_operands(f, n, block);
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

// ---- one block later
// --------------------------------------------------------------------

typedef struct shifter {
  const finder *f;
  eg_u32s *later;            // [values of the step]
  eg_u32s node;              // [nodes of the step] the node one block later, or NONE
  eg_u32s gradient;          // [nodes of the step] first node of its gradient, or NONE
  eg_u32s user_begin, users; // [values of the step + 1] nodes that read it
  eg_u32s pairs;             // to be paired
} shifter;

static egraph_status index_users(shifter *s) {
  const eg_graph *step = s->f->step;
  uint32_t values = eg_graph_value_count(step), nodes = eg_graph_node_count(step);
  EG_TRY(eg_u32s_resize(&s->user_begin, (size_t)values + 2));
  for (uint32_t n = 0; n < nodes; n++) {
    eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
    for (uint32_t i = 0; i < node.input_count; i++)
      s->user_begin.data[node.inputs[i].id + 2]++;
  }
  for (uint32_t v = 0; v <= values; v++)
    s->user_begin.data[v + 1] += s->user_begin.data[v];
  EG_TRY(eg_u32s_resize(&s->users, s->user_begin.data[values + 1]));
  for (uint32_t n = 0; n < nodes; n++) {
    eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
    for (uint32_t i = 0; i < node.input_count; i++)
      s->users.data[s->user_begin.data[node.inputs[i].id + 1]++] = n;
  }
  return EGRAPH_OK;
}

/// Node `like` is what node n is one block later, if the two are alike; then so are their
/// operands, place by place, as far as they are of blocks.
static egraph_status pair_nodes(shifter *s, uint32_t n, uint32_t like) {
  const eg_graph *step = s->f->step;
  const eg_u32s *block = &s->f->out->value;
  EG_TRY(eg_u32s_push(&s->pairs, n));
  EG_TRY(eg_u32s_push(&s->pairs, like));
  while (s->pairs.len != 0) {
    like = eg_u32s_pop(&s->pairs);
    n = eg_u32s_pop(&s->pairs);
    eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
    eg_graph_node_info other = eg_graph_node_at(step, (eg_graph_node){like});
    if (s->node.data[n] != NONE || node.input_count != other.input_count ||
        node.result_count != other.result_count ||
        !eg_attrs_same(node.attrs, other.attrs))
      continue;
    s->node.data[n] = like;
    for (uint32_t r = 0; r < node.result_count; r++)
      s->later->data[node.results[r].id] = other.results[r].id;
    for (uint32_t i = 0; i < node.input_count; i++) {
      uint32_t mine = node.inputs[i].id, its = other.inputs[i].id;
      bool is_next =
          is_block(block->data[mine]) && block->data[its] == block->data[mine] + 1;
      if (!is_next || s->later->data[mine] != NONE) continue;
      s->later->data[mine] = its;
      const eg_value_info *a = eg_graph_value(step, node.inputs[i]),
                          *b = eg_graph_value(step, other.inputs[i]);
      if (a->kind != EG_VALUE_COMPUTED || b->kind != EG_VALUE_COMPUTED) continue;
      EG_TRY(eg_u32s_push(&s->pairs, a->node.id));
      EG_TRY(eg_u32s_push(&s->pairs, b->node.id));
    }
  }
  return EGRAPH_OK;
}

static egraph_status pair_forward(shifter *s) {
  const finder *f = s->f;
  const eg_blocks *b = f->blocks;
  for (uint32_t n = b->first; n < b->first + b->period * (b->count - 1); n++) {
    eg_graph_node_info node = eg_graph_node_at(f->forward, (eg_graph_node){n});
    eg_graph_node_info like =
        eg_graph_node_at(f->forward, (eg_graph_node){n + b->period});
    uint32_t mine = node.results[0].id, its = like.results[0].id;
    if (f->training != NULL) mine = f->training->forward_value.data[mine];
    if (f->training != NULL) its = f->training->forward_value.data[its];
    if (mine == NONE || its == NONE) continue;
    const eg_value_info *x = eg_graph_value(f->step, (eg_value){mine}),
                        *y = eg_graph_value(f->step, (eg_value){its});
    if (x->kind == EG_VALUE_COMPUTED && y->kind == EG_VALUE_COMPUTED)
      EG_TRY(pair_nodes(s, x->node.id, y->node.id));
  }
  return EGRAPH_OK;
}

/// Nodes of one gradient stand one behind the other. Those of a block at the end may lack
/// some: what comes before the first block needs no gradient.
static egraph_status pair_gradients(shifter *s) {
  const eg_u32s *origin = &s->f->training->trace.origin;
  for (uint32_t n = (uint32_t)origin->len; n-- > 0;)
    if (origin->data[n] != n) s->gradient.data[origin->data[n]] = n;
  for (uint32_t n = 0; n < origin->len; n++) {
    uint32_t of = origin->data[n], like = of == n ? NONE : s->node.data[of];
    if (like == NONE || s->gradient.data[like] == NONE) continue;
    uint32_t at = s->gradient.data[like] + (n - s->gradient.data[of]);
    if (at < origin->len && origin->data[at] == like) EG_TRY(pair_nodes(s, n, at));
  }
  return EGRAPH_OK;
}

static void pair_values(const shifter *s, eg_value a, eg_value b) {
  if (a.id != NONE && b.id != NONE) s->later->data[a.id] = b.id;
}

/// Sums and states of a weight follow the weight.
static egraph_status pair_states(const shifter *s) {
  const eg_training *training = s->f->training;
  eg_u32s param; // [values of the step] parameter that enters as it
  eg_u32s_init(&param, s->later->alloc);
  egraph_status status = fill(&param, s->later->len, NONE);
  for (uint32_t p = 0; status == EGRAPH_OK && p < training->param_count; p++)
    param.data[training->params[p].value.entry.id] = p;
  for (uint32_t p = 0; status == EGRAPH_OK && p < training->param_count; p++) {
    const eg_training_param *mine = &training->params[p];
    uint32_t value = s->later->data[mine->value.entry.id];
    if (value == NONE || param.data[value] == NONE) continue;
    const eg_training_param *its = &training->params[param.data[value]];
    pair_values(s, mine->sum.entry, its->sum.entry);
    for (uint32_t k = 0; k < training->state_count; k++)
      pair_values(s, mine->state[k].entry, its->state[k].entry);
  }
  eg_u32s_deinit(&param);
  return status;
}

/// What an operand is one block later: itself, outside of all blocks. NONE: not known.
static uint32_t operand_later(const shifter *s, uint32_t value) {
  return is_block(s->f->out->value.data[value]) ? s->later->data[value] : value;
}

/// Whether node `like` has the operands of node n one block later, but for a sum.
static bool has_operands(const shifter *s, const eg_graph_node_info *node,
                         const eg_graph_node_info *like) {
  uint32_t known = 0;
  if (node->input_count != like->input_count ||
      node->result_count != like->result_count ||
      !eg_attrs_same(node->attrs, like->attrs))
    return false;
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t value = node->inputs[i].id, later = operand_later(s, value);
    if (later == NONE && s->f->is_sum.data[value] == 0) return false;
    if (later != NONE && later != like->inputs[i].id) return false;
    known += later != NONE && later != value;
  }
  return known != 0;
}

/// Looks among those who read an operand one block later.
static egraph_status pair_other(shifter *s, uint32_t n) {
  eg_graph_node_info node = eg_graph_node_at(s->f->step, (eg_graph_node){n});
  uint32_t block = s->f->out->node.data[n];
  if (!is_block(block) || s->node.data[n] != NONE) return EGRAPH_OK;
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t later = operand_later(s, node.inputs[i].id);
    if (later == NONE || later == node.inputs[i].id) continue;
    for (uint32_t u = s->user_begin.data[later]; u < s->user_begin.data[later + 1]; u++) {
      uint32_t like = s->users.data[u];
      eg_graph_node_info other = eg_graph_node_at(s->f->step, (eg_graph_node){like});
      if (s->f->out->node.data[like] != block + 1 || !has_operands(s, &node, &other))
        continue;
      return pair_nodes(s, n, like);
    }
  }
  return EGRAPH_OK;
}

static egraph_status shift(shifter *s) {
  uint32_t nodes = eg_graph_node_count(s->f->step);
  EG_TRY(fill(s->later, eg_graph_value_count(s->f->step), NONE));
  EG_TRY(fill(&s->node, nodes, NONE));
  EG_TRY(fill(&s->gradient, nodes, NONE));
  if (s->f->blocks->count == 0) return EGRAPH_OK;
  EG_TRY(index_users(s));
  EG_TRY(pair_forward(s));
  if (s->f->training != NULL) {
    EG_TRY(pair_gradients(s));
    EG_TRY(pair_states(s));
  }
  for (uint32_t n = 0; n < nodes; n++)
    EG_TRY(pair_other(s, n));
  return EGRAPH_OK;
}

static egraph_status find_later(const finder *f) {
  shifter s = {.f = f, .later = &f->out->later};
  eg_u32s *const lists[] = {&s.node, &s.gradient, &s.user_begin, &s.users, &s.pairs};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_init(lists[i], f->out->later.alloc);
  egraph_status status = shift(&s);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_deinit(lists[i]);
  return status;
}

// ---- the whole
// --------------------------------------------------------------------------

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
  return find_later(f);
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
  eg_u32s_init(&blocks->later, alloc);
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
  eg_u32s_deinit(&blocks->later);
  eg_bytes_deinit(&blocks->is_common);
}

// ---- limits ---------------------------------------------------------------------------

enum { SEALED = 1, AT_AN_END = 2, IN_THE_MIDDLE = 4 };

/// Whether a value of a block is used where it is not the same for all: in another block;
/// outside, unless it comes from an end.
static bool crosses(uint32_t count, uint32_t from, uint32_t to) {
  if (!is_block(from) || from == to) return false;
  bool is_inner = from != 0 && from != count - 1;
  return is_inner || to != EG_BLOCK_OUTSIDE;
}

static void flag_node(const eg_step_blocks *blocks, const eg_graph *step, uint32_t count,
                      uint32_t n, uint32_t *flags) {
  eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
  uint32_t to = blocks->node.data[n];
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t v = node.inputs[i].id, from = blocks->value.data[v];
    if (crosses(count, from, to)) flags[v] |= SEALED;
    if (from != EG_BLOCK_OUTSIDE || !is_block(to)) continue;
    flags[v] |= to == 0 || to == count - 1 ? AT_AN_END : IN_THE_MIDDLE;
  }
  for (uint32_t r = 0; to == EG_BLOCK_SEVERAL && r < node.result_count; r++)
    flags[node.results[r].id] |= SEALED;
}

egraph_status eg_step_blocks_limits(const eg_step_blocks *blocks, const eg_graph *step,
                                    uint32_t count, eg_u32s *sealed, eg_u32s *fixed) {
  eg_u32s flags;
  eg_u32s_init(&flags, sealed->alloc);
  egraph_status status = eg_u32s_resize(&flags, eg_graph_value_count(step));
  for (uint32_t n = 0; status == EGRAPH_OK && n < eg_graph_node_count(step); n++)
    flag_node(blocks, step, count, n, flags.data);
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
