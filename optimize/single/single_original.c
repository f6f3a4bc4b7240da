// Follows the graph from its inputs on, in the formats that it carries. The first node of
// a class is chosen; its operands were chosen before, so that the choice is acyclic.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/single_problem.h"

#include <string.h>

#define NONE EG_SPACE_NONE

typedef struct follower {
  const eg_single_problem *single;
  const eg_plan_space *space;
  const eg_engine *engine;
  const eg_graph *graph;
  uint32_t *choice;
  eg_u32s operands; // values of the space: of the node at hand
  eg_u32s layouts;  // of the operands
  bool in_formats;  // that the graph carries; else everything is row-major
  bool fits;        // up to now all nodes were found
} follower;

static uint32_t value_of(const follower *f, eg_value value) {
  return eg_plan_space_value(f->space,
                             eg_tensor_egraph_value_class(f->space->egraph, value));
}

/// The layout in which the graph has a value, of the layouts of `v`; or NONE.
static uint32_t layout_of(const follower *f, uint32_t v, eg_value value) {
  eg_layout layout = {.format = EG_FORMAT_PLAIN};
  if (f->in_formats) layout.format = eg_graph_value(f->graph, value)->type.layout.format;
  return eg_layout_graph_find(eg_plan_space_layouts(f->space, v), &layout);
}

static void choose(follower *f, uint32_t node) {
  uint32_t class = f->single->problem.node_class.data[node];
  if (f->choice[class] == EG_EXTRACT_NONE) f->choice[class] = node;
}

// ---- strategies -----------------------------------------------------------------

/// Whether an operator of the space is a node on the operands at hand; `payload` is its
/// attributes' id.
static bool is_node(const follower *f, const eg_space_operator *op, eg_op kind,
                    uint32_t payload) {
  eg_term term = eg_engine_term(f->engine, op->node);
  return term.op == kind && term.payload == payload &&
         op->input_count == f->operands.len &&
         (op->input_count == 0 ||
          memcmp(f->space->inputs.data + op->inputs, f->operands.data,
                 op->input_count * sizeof(uint32_t)) == 0);
}

static bool has_layouts(const follower *f, const eg_space_operator *op,
                        const eg_space_strategy *strategy, uint32_t output) {
  return strategy->output == output &&
         (op->input_count == 0 ||
          memcmp(f->space->needs.data + strategy->needs, f->layouts.data,
                 op->input_count * sizeof(uint32_t)) == 0);
}

/// Chooses the strategy that makes `v` in a layout of the operands at hand, in theirs.
static egraph_status choose_made(follower *f, uint32_t v, const eg_attrs *attrs,
                                 uint32_t output, bool *out_found) {
  const eg_plan_space *space = f->space;
  eg_attrs_id payload;
  *out_found = false;
  if (v == NONE) return EGRAPH_OK;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(space->egraph), attrs, &payload));
  for (uint32_t o = space->first_operator.data[v]; o < space->first_operator.data[v + 1];
       o++) {
    const eg_space_operator *op = &space->operators.data[o];
    if (!is_node(f, op, (eg_op)attrs->op, payload.id)) continue;
    for (uint32_t s = op->strategies; s < op->strategies + op->strategy_count; s++) {
      if (!has_layouts(f, op, &space->strategies.data[s], output)) continue;
      choose(f, f->single->node_of.data[s]);
      *out_found = true;
      return EGRAPH_OK;
    }
  }
  return EGRAPH_OK;
}

/// Chooses a reorder where a node only changes the format of a value.
static bool choose_reorder(follower *f, const eg_attrs *attrs, uint32_t v,
                           uint32_t output) {
  if (attrs->op != EG_OP_IDENTITY || f->operands.data[0] != v) return false;
  const eg_layout_moves *moves = &eg_plan_space_layouts(f->space, v)->moves;
  uint32_t from = f->layouts.data[0];
  if (from == output) return true;
  for (uint32_t m = 0; m < moves->len; m++) {
    if (moves->data[m].from != from || moves->data[m].to != output) continue;
    choose(f, f->single->first_reorder.data[v] + m);
    return true;
  }
  return false;
}

// ---- nodes ----------------------------------------------------------------------

/// A node with several results makes a tuple, which is in the layout of its parts.
static egraph_status follow_tuple(follower *f, const eg_graph_node_info *info) {
  uint32_t tuple, layout = NONE;
  EG_TRY(eg_plan_space_find_term(f->space, info->attrs, f->operands.data,
                                 info->input_count, &tuple));
  if (tuple != NONE) layout = layout_of(f, tuple, info->results[0]);
  f->fits = layout != NONE;
  if (!f->fits) return EGRAPH_OK;
  EG_TRY(choose_made(f, tuple, info->attrs, layout, &f->fits));
  f->operands.len = f->layouts.len = 0;
  EG_TRY(eg_u32s_push(&f->operands, tuple));
  EG_TRY(eg_u32s_push(&f->layouts, layout));
  for (uint32_t k = 0; f->fits && k < info->result_count; k++) {
    uint32_t part = value_of(f, info->results[k]);
    eg_attr slot = {.kind = EG_ATTR_INT, .i = k};
    const eg_attrs attrs = {.op = EG_OP_PART, .count = 1, .slots = &slot};
    if (part == NONE) continue; // no output needs it
    EG_TRY(choose_made(f, part, &attrs, layout_of(f, part, info->results[k]), &f->fits));
  }
  return EGRAPH_OK;
}

static egraph_status follow_node(follower *f, eg_graph_node node) {
  eg_graph_node_info info = eg_graph_node_at(f->graph, node);
  uint32_t made = NONE; // the first result that the problem has
  for (uint32_t k = 0; made == NONE && k < info.result_count; k++)
    made = value_of(f, info.results[k]);
  if (made == NONE || f->space->values.data[made].is_constant) return EGRAPH_OK;
  f->operands.len = f->layouts.len = 0;
  for (uint32_t i = 0; i < info.input_count; i++) {
    uint32_t v = value_of(f, info.inputs[i]);
    uint32_t layout = v == NONE ? NONE : layout_of(f, v, info.inputs[i]);
    f->fits = f->fits && layout != NONE;
    EG_TRY(eg_u32s_push(&f->operands, v));
    EG_TRY(eg_u32s_push(&f->layouts, layout));
  }
  if (!f->fits) return EGRAPH_OK;
  if (info.result_count != 1) return follow_tuple(f, &info);
  uint32_t output = layout_of(f, made, info.results[0]);
  EG_TRY(choose_made(f, made, info.attrs, output, &f->fits));
  if (!f->fits) f->fits = output != NONE && choose_reorder(f, info.attrs, made, output);
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------

/// Inputs have one strategy each, row-major.
static void follow_input(follower *f, eg_value value) {
  uint32_t v = value_of(f, value);
  if (v == NONE || f->space->values.data[v].is_constant) return;
  f->fits = layout_of(f, v, value) == 0; // without axes the first layout is plain
  for (uint32_t o = f->space->first_operator.data[v];
       o < f->space->first_operator.data[v + 1]; o++) {
    const eg_space_operator *op = &f->space->operators.data[o];
    eg_value seed;
    if (eg_tensor_egraph_seed_value(f->space->egraph, op->node, &seed) &&
        seed.id == value.id)
      choose(f, f->single->node_of.data[op->strategies]);
  }
}

static egraph_status follow(follower *f, bool in_formats) {
  f->in_formats = in_formats;
  f->fits = true;
  for (uint32_t c = 0; c < f->single->problem.class_count; c++)
    f->choice[c] = EG_EXTRACT_NONE;
  for (uint32_t i = 0; f->fits && i < eg_graph_value_count(f->graph); i++) {
    const eg_value_info *info = eg_graph_value(f->graph, (eg_value){i});
    if (info->kind != EG_VALUE_COMPUTED)
      follow_input(f, (eg_value){i});
    else if (info->result == 0)
      EG_TRY(follow_node(f, info->node));
  }
  return EGRAPH_OK;
}

egraph_status eg_single_original(const eg_single_problem *single, uint32_t *out_choice,
                                 bool *out_as_given) {
  const eg_plan_space *space = &single->space;
  follower f = {.single = single,
                .space = space,
                .engine = eg_tensor_egraph_engine_of(space->egraph),
                .graph = eg_tensor_egraph_graph(space->egraph),
                .choice = out_choice};
  eg_u32s_init(&f.operands, single->alloc);
  eg_u32s_init(&f.layouts, single->alloc);
  egraph_status status = follow(&f, true);
  *out_as_given = f.fits;
  if (status == EGRAPH_OK && !f.fits) status = follow(&f, false);
  eg_u32s_deinit(&f.operands);
  eg_u32s_deinit(&f.layouts);
  EG_TRY(status);
  if (f.fits) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_INTERNAL, "the original graph is not among its variants");
}
