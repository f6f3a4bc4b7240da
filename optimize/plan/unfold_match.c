// Forward nodes are matched by their place in the block; nodes of a gradient by the
// forward node whose gradient they belong to, and their place in it; all others (casts,
// loss, optimizer) by what they are and what their operands are matched with. Sums over
// all blocks (the norm of the gradients) are longer in the whole step: what is left is
// matched with a node of the same kind.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/unfold_match.h"

#define NONE UINT32_MAX

typedef struct matcher {
  const eg_unfold_steps *in;
  const eg_graph *whole, *small;
  eg_node_cons cons;       // of the small step
  eg_u32s fold;            // [forward values] in the folded graph
  eg_u32s twin;            // [whole nodes] by their place
  eg_u32s gradient, count; // [small nodes] first node of its gradient; nodes of that
  eg_u32s operands;
  eg_unfold_match *out;
} matcher;

const eg_graph *eg_unfold_whole(const eg_unfold_steps *steps) {
  return steps->whole != NULL ? steps->whole->graph : steps->forward;
}

const eg_graph *eg_unfold_small(const eg_unfold_steps *steps) {
  return steps->small != NULL ? steps->small->graph : steps->folded->graph;
}

static egraph_status fill_none(eg_u32s *list, uint32_t count) {
  EG_TRY(eg_u32s_resize(list, count));
  for (uint32_t i = 0; i < count; i++)
    list->data[i] = NONE;
  return EGRAPH_OK;
}

static uint32_t find_name(const eg_graph *graph, const char *name) {
  eg_value value;
  return eg_graph_find_value(graph, name, &value) ? value.id : NONE;
}

static const eg_value_info *value_at(const eg_graph *graph, uint32_t value) {
  return eg_graph_value(graph, (eg_value){value});
}

// ---- forward graphs -------------------------------------------------------------------

/// The node of the block that stands for this one's, or the node itself.
static eg_graph_node standing_for(const eg_unfold_steps *in, uint32_t node) {
  const eg_blocks *b = in->blocks;
  if (node < b->first || node >= b->first + b->period * b->count)
    return (eg_graph_node){node};
  uint32_t block = (node - b->first) / b->period;
  uint32_t back = block - eg_blocks_standing(b, in->ends, block);
  return (eg_graph_node){node - back * b->period};
}

/// What is kept keeps its name; weights of a block follow the nodes that read them.
static egraph_status fold_values(matcher *m) {
  const eg_graph *forward = m->in->forward, *folded = m->in->folded->graph;
  EG_TRY(fill_none(&m->fold, eg_graph_value_count(forward)));
  for (uint32_t n = 0; n < eg_graph_node_count(forward); n++) {
    eg_graph_node_info node = eg_graph_node_at(forward, (eg_graph_node){n});
    eg_graph_node_info like = eg_graph_node_at(forward, standing_for(m->in, n));
    for (uint32_t i = 0; i < node.input_count; i++) {
      bool is_leaf = value_at(forward, node.inputs[i].id)->kind != EG_VALUE_COMPUTED;
      uint32_t *folded_value = &m->fold.data[node.inputs[i].id];
      if (is_leaf && *folded_value == NONE)
        *folded_value = find_name(folded, value_at(forward, like.inputs[i].id)->name);
    }
    for (uint32_t r = 0; r < node.result_count; r++)
      m->fold.data[node.results[r].id] =
          find_name(folded, value_at(forward, like.results[r].id)->name);
  }
  for (uint32_t v = 0; v < m->fold.len; v++)
    if (m->fold.data[v] == NONE)
      m->fold.data[v] = find_name(folded, value_at(forward, v)->name);
  return EGRAPH_OK;
}

/// What a value of a forward graph is in its step.
static uint32_t in_step(const eg_training *step, uint32_t value) {
  return step == NULL || value == NONE ? value : step->forward_value.data[value];
}

static void match_forward(matcher *m) {
  for (uint32_t v = 0; v < m->fold.len; v++) {
    uint32_t mine = in_step(m->in->whole, v);
    uint32_t other = in_step(m->in->small, m->fold.data[v]);
    if (mine == NONE || other == NONE) continue;
    const eg_value_info *a = value_at(m->whole, mine), *b = value_at(m->small, other);
    if (a->kind == EG_VALUE_COMPUTED && b->kind == EG_VALUE_COMPUTED)
      m->twin.data[a->node.id] = b->node.id;
  }
}

// ---- gradients ------------------------------------------------------------------------

/// The node whose gradient a node is part of, or NONE.
static uint32_t origin_of(const eg_training *step, uint32_t node) {
  const eg_u32s *origin = &step->trace.origin;
  return node < origin->len && origin->data[node] != node ? origin->data[node] : NONE;
}

static void index_gradients(matcher *m) {
  const eg_training *small = m->in->small;
  for (uint32_t n = 0; n < eg_graph_node_count(m->small); n++) {
    uint32_t origin = origin_of(small, n);
    if (origin == NONE) continue;
    if (m->gradient.data[origin] == NONE) m->gradient.data[origin] = n;
    m->count.data[origin]++;
  }
}

/// Nodes of one gradient stand one behind the other.
static void match_gradients(matcher *m) {
  const eg_training *whole = m->in->whole;
  uint32_t nodes = eg_graph_node_count(m->whole);
  index_gradients(m);
  for (uint32_t first = 0, end; first < nodes; first = end) {
    uint32_t origin = origin_of(whole, first);
    for (end = first + 1; end < nodes && origin_of(whole, end) == origin;)
      end++;
    uint32_t twin = origin == NONE ? NONE : m->twin.data[origin];
    if (twin == NONE || m->count.data[twin] != end - first) continue;
    for (uint32_t n = first; n < end; n++)
      m->twin.data[n] = m->gradient.data[twin] + (n - first);
  }
}

// ---- other nodes ----------------------------------------------------------------------

bool eg_unfold_same_kind(const eg_graph *graph, const eg_graph_node_info *node,
                         const eg_graph *other, const eg_graph_node_info *like) {
  if (node->input_count != like->input_count || !eg_attrs_same(node->attrs, like->attrs))
    return false;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const eg_type *a = &value_at(graph, node->inputs[i].id)->type;
    const eg_type *b = &value_at(other, like->inputs[i].id)->type;
    if (a->dtype != b->dtype || !eg_type_same_shape(a, b)) return false;
  }
  return true;
}

uint32_t eg_unfold_similar(const eg_graph *graph, const eg_graph_node_info *node,
                           const eg_graph *other, const eg_u32s *map) {
  uint32_t best = NONE, most = 0;
  for (uint32_t n = 0; n < eg_graph_node_count(other); n++) {
    eg_graph_node_info like = eg_graph_node_at(other, (eg_graph_node){n});
    uint32_t shared = 0;
    if (like.attrs->op != node->attrs->op ||
        !eg_unfold_same_kind(graph, node, other, &like))
      continue;
    for (uint32_t i = 0; i < node->input_count; i++)
      shared += map->data[node->inputs[i].id] == like.inputs[i].id;
    if (best != NONE && shared <= most) continue;
    best = n;
    most = shared;
  }
  return best;
}

/// The node of the small step on what these operands are matched with.
static egraph_status find_equal(matcher *m, const eg_graph_node_info *node,
                                uint32_t *out) {
  _Static_assert(sizeof(eg_value) == sizeof(uint32_t), "a value is its id");
  eg_graph_node found;
  bool is_there = false;
  m->operands.len = 0;
  *out = NONE;
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t operand = m->out->value.data[node->inputs[i].id];
    if (operand == NONE) return EGRAPH_OK;
    EG_TRY(eg_u32s_push(&m->operands, operand));
  }
  EG_TRY(eg_node_cons_find(&m->cons, node->attrs,
                           (const eg_value *)(const void *)m->operands.data,
                           node->input_count, &found, &is_there));
  if (is_there) *out = found.id;
  return EGRAPH_OK;
}

static egraph_status match_node(matcher *m, uint32_t n) {
  eg_graph_node_info node = eg_graph_node_at(m->whole, (eg_graph_node){n}), like;
  uint32_t *found = &m->out->node.data[n];
  *found = m->twin.data[n];
  if (*found != NONE) {
    like = eg_graph_node_at(m->small, (eg_graph_node){*found});
    if (!eg_unfold_same_kind(m->whole, &node, m->small, &like)) *found = NONE;
  }
  if (*found == NONE) EG_TRY(find_equal(m, &node, found));
  if (*found == NONE) {
    *found = eg_unfold_similar(m->whole, &node, m->small, &m->out->value);
    m->out->is_similar.data[n] = *found != NONE;
  }
  if (*found == NONE) return EGRAPH_OK;
  like = eg_graph_node_at(m->small, (eg_graph_node){*found});
  for (uint32_t r = 0; r < node.result_count; r++)
    m->out->value.data[node.results[r].id] = like.results[r].id;
  return EGRAPH_OK;
}

// ---- leaves ---------------------------------------------------------------------------

static void match_leaves(matcher *m) {
  for (uint32_t v = 0; v < m->out->value.len; v++) {
    const eg_value_info *info = value_at(m->whole, v);
    if (info->kind == EG_VALUE_COMPUTED) continue;
    uint32_t forward = find_name(m->in->forward, info->name);
    uint32_t folded = forward == NONE ? NONE : m->fold.data[forward];
    const char *name =
        folded == NONE ? info->name : value_at(m->in->folded->graph, folded)->name;
    m->out->value.data[v] = find_name(m->small, name);
  }
}

static void match_entry(matcher *m, eg_training_state whole, eg_training_state small) {
  if (whole.entry.id != NONE && small.entry.id != NONE)
    m->out->value.data[whole.entry.id] = small.entry.id;
}

/// Sums and states of a weight are named after it, so that names do not tell.
static egraph_status match_states(matcher *m) {
  const eg_training *whole = m->in->whole, *small = m->in->small;
  eg_u32s param; // [values of the folded graph] parameter of the small step
  eg_u32s_init(&param, m->fold.alloc);
  egraph_status status = fill_none(&param, eg_graph_value_count(m->in->folded->graph));
  for (uint32_t p = 0; status == EGRAPH_OK && p < small->param_count; p++)
    param.data[small->params[p].weight.id] = p;
  for (uint32_t p = 0; status == EGRAPH_OK && p < whole->param_count; p++) {
    uint32_t folded = m->fold.data[whole->params[p].weight.id];
    uint32_t like = folded == NONE ? NONE : param.data[folded];
    if (like == NONE) continue;
    match_entry(m, whole->params[p].value, small->params[like].value);
    match_entry(m, whole->params[p].sum, small->params[like].sum);
    for (uint32_t s = 0; s < whole->state_count; s++)
      match_entry(m, whole->params[p].state[s], small->params[like].state[s]);
  }
  eg_u32s_deinit(&param);
  return status;
}

// ---- the whole step -------------------------------------------------------------------

static egraph_status match_all(matcher *m) {
  uint32_t whole = eg_graph_node_count(m->whole), small = eg_graph_node_count(m->small);
  EG_TRY(fill_none(&m->out->value, eg_graph_value_count(m->whole)));
  EG_TRY(fill_none(&m->out->node, whole));
  EG_TRY(eg_bytes_resize(&m->out->is_similar, whole));
  EG_TRY(fill_none(&m->twin, whole));
  EG_TRY(fill_none(&m->gradient, small));
  EG_TRY(eg_u32s_resize(&m->count, small));
  EG_TRY(fold_values(m));
  match_forward(m);
  match_leaves(m);
  if (m->in->whole != NULL) {
    match_gradients(m);
    EG_TRY(match_states(m));
  }
  for (uint32_t n = 0; n < whole; n++)
    EG_TRY(match_node(m, n));
  return EGRAPH_OK;
}

static egraph_status match(matcher *m, eg_graph *small) {
  EG_TRY(eg_node_cons_init(&m->cons, small));
  egraph_status status = match_all(m);
  eg_node_cons_deinit(&m->cons);
  return status;
}

egraph_status eg_unfold_match_init(eg_unfold_match *out, egraph_allocator alloc,
                                   const eg_unfold_steps *steps) {
  eg_graph *small = steps->small != NULL ? steps->small->graph : steps->folded->graph;
  matcher m = {.in = steps, .whole = eg_unfold_whole(steps), .small = small, .out = out};
  EG_TRY(eg_step_blocks_init(&out->blocks, alloc, steps->forward, steps->blocks,
                             steps->whole));
  eg_u32s *const lists[] = {&m.fold,     &m.twin,     &m.gradient, &m.count,
                            &m.operands, &out->value, &out->node};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_init(lists[i], alloc);
  eg_bytes_init(&out->is_similar, alloc);
  egraph_status status = match(&m, small);
  for (size_t i = 0; i + 2 < sizeof lists / sizeof *lists; i++)
    eg_u32s_deinit(lists[i]);
  if (status != EGRAPH_OK) eg_unfold_match_deinit(out);
  return status;
}

void eg_unfold_match_deinit(eg_unfold_match *match) {
  eg_step_blocks_deinit(&match->blocks);
  eg_u32s_deinit(&match->value);
  eg_u32s_deinit(&match->node);
  eg_bytes_deinit(&match->is_similar);
}
