// A goal is a value of the whole step, or what a value of the planned graph is in a row.
// A value of the step is what the planned graph has for it in its row, if that can be
// read there; otherwise it is made as in the step. Goals are visited depth first: once to
// see which are needed, and once more, in the order of the step, to write them.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/unfold_draft.h"

#define NONE UINT32_MAX

typedef enum goal_color { NEW, ACTIVE, DONE } goal_color;
typedef enum goal_kind {
  LEAF, // an input or weight
  SAME, // as its only source
  LIKE, // a node of the planned graph in a row
  OWN   // a node of the whole step
} goal_kind;

typedef struct drafter {
  const eg_unfold_steps *steps;
  const eg_plan *folded;
  const eg_graph *whole, *planned;
  eg_unfold_match match;
  eg_unfold_rows rows;
  eg_u32s planned_of; // [whole values] of the planned graph, or NONE
  eg_u32s step_of;    // [planned nodes] step, or NONE: computed ahead
  eg_bytes is_own;    // [whole nodes] not read from the planned graph
  size_t cells;       // goals from here on: rows.image
  eg_bytes color;     // [goals]
  eg_u32s made;       // [goals] draft value
  eg_bytes needed;    // [whole values]
  eg_sizes stack, sources;
  bool is_looped;
  eg_unfold_draft *out;
} drafter;

// ---- goals ----------------------------------------------------------------------------

static size_t cell_goal(const drafter *d, uint32_t row, uint32_t planned) {
  return d->cells + eg_unfold_cell(&d->rows, row, planned);
}

static uint32_t row_of_node(const drafter *d, uint32_t node) {
  return eg_unfold_row_of(&d->rows, eg_step_blocks_of(&d->match.blocks, d->whole, node));
}

/// How a value of the whole step is made; SAME: as *out.
static goal_kind value_kind(const drafter *d, uint32_t value, size_t *out) {
  const eg_value_info *info = eg_graph_value(d->whole, (eg_value){value});
  uint32_t planned = d->planned_of.data[value], node = info->node.id;
  if (info->kind != EG_VALUE_COMPUTED) return LEAF;
  if (d->is_own.data[node] != 0 || planned == NONE) return OWN;
  uint32_t row = row_of_node(d, node);
  uint32_t image = d->rows.image.data[eg_unfold_cell(&d->rows, row, planned)];
  if (image == EG_ROW_NONE || image == EG_ROW_UNCLEAR) return OWN;
  *out = image != value ? image : cell_goal(d, row, planned);
  if (image != value) return SAME;
  return eg_unfold_rows_can_make(&d->rows, d->planned, row, planned) ? SAME : OWN;
}

static egraph_status add_planned_sources(drafter *d, uint32_t row, uint32_t planned) {
  eg_graph_node node = eg_graph_value(d->planned, (eg_value){planned})->node;
  eg_graph_node_info info = eg_graph_node_at(d->planned, node);
  for (uint32_t i = 0; i < info.input_count; i++) {
    uint32_t operand = info.inputs[i].id;
    uint32_t image = d->rows.image.data[eg_unfold_cell(&d->rows, row, operand)];
    EG_TRY(eg_sizes_push(&d->sources,
                         image != EG_ROW_NONE ? image : cell_goal(d, row, operand)));
  }
  return EGRAPH_OK;
}

/// Fills `sources` with what a goal is made of.
static egraph_status find_sources(drafter *d, size_t goal, goal_kind *out) {
  size_t same;
  d->sources.len = 0;
  if (goal >= d->cells) {
    size_t cell = goal - d->cells;
    *out = LIKE;
    return add_planned_sources(d, (uint32_t)(cell / d->rows.values),
                               (uint32_t)(cell % d->rows.values));
  }
  *out = value_kind(d, (uint32_t)goal, &same);
  if (*out == LEAF) return EGRAPH_OK;
  if (*out == SAME) return eg_sizes_push(&d->sources, same);
  eg_graph_node node = eg_graph_value(d->whole, (eg_value){(uint32_t)goal})->node;
  eg_graph_node_info info = eg_graph_node_at(d->whole, node);
  for (uint32_t i = 0; i < info.input_count; i++)
    EG_TRY(eg_sizes_push(&d->sources, info.inputs[i].id));
  return EGRAPH_OK;
}

// ---- writing --------------------------------------------------------------------------

static egraph_status add_value(drafter *d, size_t goal, uint32_t whole,
                               uint32_t planned) {
  d->made.data[goal] = (uint32_t)d->out->values.len;
  d->color.data[goal] = DONE;
  return eg_draft_values_push(&d->out->values,
                              (eg_draft_value){.whole = whole, .planned = planned});
}

/// A node whose operands are the sources at hand.
static egraph_status add_node(drafter *d, const eg_graph_node_info *info, uint32_t step,
                              eg_phase phase) {
  eg_draft_node node = {.attrs = info->attrs,
                        .name = info->name,
                        .step = step,
                        .phase = phase,
                        .operands = (uint32_t)d->out->operands.len,
                        .operand_count = info->input_count,
                        .results = (uint32_t)d->out->values.len,
                        .result_count = info->result_count};
  for (uint32_t i = 0; i < info->input_count; i++)
    EG_TRY(eg_u32s_push(&d->out->operands, d->made.data[d->sources.data[i]]));
  return eg_draft_nodes_push(&d->out->nodes, node);
}

/// The value of the whole step that a row makes for one of the planned graph, or NONE.
static uint32_t image_made(const drafter *d, uint32_t row, eg_value planned) {
  uint32_t image = d->rows.image.data[eg_unfold_cell(&d->rows, row, planned.id)];
  if (image == EG_ROW_NONE || image == EG_ROW_UNCLEAR) return NONE;
  const eg_value_info *info = eg_graph_value(d->whole, (eg_value){image});
  bool is_mine = info->kind == EG_VALUE_COMPUTED && row_of_node(d, info->node.id) == row;
  return is_mine ? image : NONE;
}

static const char *name_of_maker(const drafter *d, uint32_t value) {
  eg_graph_node node = eg_graph_value(d->whole, (eg_value){value})->node;
  return eg_graph_node_at(d->whole, node).name;
}

static egraph_status write_like(drafter *d, size_t goal) {
  size_t cell = goal - d->cells;
  uint32_t row = (uint32_t)(cell / d->rows.values);
  eg_value planned = {(uint32_t)(cell % d->rows.values)};
  uint32_t like = eg_graph_value(d->planned, planned)->node.id;
  eg_graph_node_info info = eg_graph_node_at(d->planned, (eg_graph_node){like});
  uint32_t step = d->step_of.data[like], first = image_made(d, row, info.results[0]);
  if (first != NONE) info.name = name_of_maker(d, first);
  EG_TRY(add_node(d, &info, step,
                  step == NONE ? EG_PHASE_FORWARD : d->folded->steps.data[step].phase));
  for (uint32_t r = 0; r < info.result_count; r++) {
    uint32_t result = info.results[r].id;
    EG_TRY(add_value(d, cell_goal(d, row, result), image_made(d, row, info.results[r]),
                     result));
  }
  return EGRAPH_OK;
}

static const eg_type *type_of(const eg_graph *graph, eg_value value) {
  return &eg_graph_value(graph, value)->type;
}

/// The step of the folded plan for a node of the whole step's own: that of what stands
/// for it, unless rules have made another node of that.
static uint32_t step_like(const drafter *d, const eg_graph_node_info *info) {
  uint32_t planned = d->planned_of.data[info->results[0].id];
  if (planned == NONE) return NONE;
  const eg_value_info *value = eg_graph_value(d->planned, (eg_value){planned});
  if (value->kind != EG_VALUE_COMPUTED) return NONE;
  eg_graph_node_info like = eg_graph_node_at(d->planned, value->node);
  bool is_same =
      like.input_count == info->input_count && eg_attrs_same(like.attrs, info->attrs);
  for (uint32_t i = 0; is_same && i < like.input_count; i++)
    is_same = eg_type_same(type_of(d->planned, like.inputs[i]),
                           type_of(d->whole, info->inputs[i]));
  return is_same ? d->step_of.data[value->node.id] : NONE;
}

static egraph_status write_own(drafter *d, uint32_t value) {
  eg_graph_node node = eg_graph_value(d->whole, (eg_value){value})->node;
  eg_graph_node_info info = eg_graph_node_at(d->whole, node);
  const eg_training *whole = d->steps->whole;
  EG_TRY(add_node(d, &info, step_like(d, &info),
                  whole == NULL ? EG_PHASE_FORWARD : eg_training_phase(whole, node)));
  for (uint32_t r = 0; r < info.result_count; r++) {
    uint32_t result = info.results[r].id, before = d->made.data[result];
    bool is_there = d->color.data[result] == DONE;
    EG_TRY(add_value(d, result, result, NONE));
    if (is_there) d->made.data[result] = before;
  }
  return EGRAPH_OK;
}

static egraph_status write_goal(drafter *d, size_t goal, goal_kind kind) {
  switch (kind) {
  case LEAF: return add_value(d, goal, (uint32_t)goal, d->planned_of.data[goal]);
  case SAME: d->made.data[goal] = d->made.data[d->sources.data[0]]; return EGRAPH_OK;
  case LIKE: return write_like(d, goal);
  case OWN: return write_own(d, (uint32_t)goal);
  }
  return EGRAPH_OK;
}

// ---- visiting -------------------------------------------------------------------------

/// Of a loop through the planned graph, what is at work becomes the step's own, of which
/// there are no loops.
static void break_loop(drafter *d) {
  d->is_looped = true;
  for (size_t i = 0; i < d->stack.len; i++) {
    size_t goal = d->stack.data[i];
    if (goal >= d->cells || d->color.data[goal] != ACTIVE) continue;
    const eg_value_info *info = eg_graph_value(d->whole, (eg_value){(uint32_t)goal});
    if (info->kind == EG_VALUE_COMPUTED) d->is_own.data[info->node.id] = 1;
  }
}

static egraph_status push_waiting(drafter *d, bool *out_waits) {
  *out_waits = false;
  for (size_t i = d->sources.len; i-- > 0;) {
    size_t source = d->sources.data[i];
    if (d->color.data[source] == DONE) continue;
    if (d->color.data[source] == ACTIVE) {
      break_loop(d);
      return EGRAPH_OK;
    }
    *out_waits = true;
    EG_TRY(eg_sizes_push(&d->stack, source));
  }
  return EGRAPH_OK;
}

static egraph_status visit(drafter *d, size_t goal, bool writes) {
  d->stack.len = 0;
  EG_TRY(eg_sizes_push(&d->stack, goal));
  while (d->stack.len != 0 && !d->is_looped) {
    size_t top = d->stack.data[d->stack.len - 1];
    goal_kind kind;
    bool waits = false;
    if (d->color.data[top] != DONE) {
      EG_TRY(find_sources(d, top, &kind));
      d->color.data[top] = ACTIVE;
      EG_TRY(push_waiting(d, &waits));
      if (waits || d->is_looped) continue;
      if (writes) EG_TRY(write_goal(d, top, kind));
      d->color.data[top] = DONE;
    }
    (void)eg_sizes_pop(&d->stack);
  }
  return EGRAPH_OK;
}

static void forget_colors(drafter *d) {
  if (d->color.len != 0) memset(d->color.data, NEW, d->color.len);
}

/// Visits outputs until no loop is left.
static egraph_status find_needed(drafter *d) {
  do {
    d->is_looped = false;
    forget_colors(d);
    for (uint32_t i = 0; i < eg_graph_output_count(d->whole) && !d->is_looped; i++)
      EG_TRY(visit(d, eg_graph_output(d->whole, i, NULL).id, false));
  } while (d->is_looped);
  for (uint32_t v = 0; v < d->needed.len; v++)
    d->needed.data[v] = d->color.data[v] == DONE;
  forget_colors(d);
  return EGRAPH_OK;
}

static egraph_status write_needed(drafter *d) {
  for (uint32_t i = 0; i < eg_graph_input_count(d->whole); i++)
    EG_TRY(visit(d, eg_graph_input(d->whole, i).id, true));
  for (uint32_t v = 0; v < d->needed.len; v++)
    if (d->needed.data[v] != 0) EG_TRY(visit(d, v, true));
  for (uint32_t v = 0; v < d->needed.len; v++)
    EG_TRY(
        eg_u32s_push(&d->out->made, d->color.data[v] == DONE ? d->made.data[v] : NONE));
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------------

static egraph_status index_plan(drafter *d, const eg_emitted_plan *folded) {
  for (uint32_t v = 0; v < eg_graph_value_count(d->whole); v++) {
    uint32_t small = d->match.value.data[v];
    EG_TRY(eg_u32s_push(&d->planned_of,
                        small == NONE ? NONE : folded->value_of.data[small]));
  }
  for (uint32_t n = 0; n < eg_graph_node_count(d->planned); n++)
    EG_TRY(eg_u32s_push(&d->step_of, NONE));
  for (uint32_t i = 0; i < d->folded->steps.len; i++) {
    const eg_plan_step *step = &d->folded->steps.data[i];
    if (!step->is_move) d->step_of.data[step->node.id] = i;
  }
  return EGRAPH_OK;
}

static egraph_status draft(drafter *d, const eg_emitted_plan *folded) {
  uint32_t values = eg_graph_value_count(d->whole);
  size_t goals = values + (size_t)d->rows.count * d->rows.values;
  d->cells = values;
  EG_TRY(index_plan(d, folded));
  EG_TRY(eg_bytes_resize(&d->is_own, eg_graph_node_count(d->whole)));
  EG_TRY(eg_bytes_resize(&d->color, goals));
  EG_TRY(eg_u32s_resize(&d->made, goals));
  EG_TRY(eg_bytes_resize(&d->needed, values));
  for (uint32_t n = 0; n < d->is_own.len; n++)
    d->is_own.data[n] =
        d->match.value
            .data[eg_graph_node_at(d->whole, (eg_graph_node){n}).results[0].id] == NONE;
  EG_TRY(find_needed(d));
  return write_needed(d);
}

static egraph_status draft_matched(drafter *d, egraph_allocator alloc,
                                   const eg_emitted_plan *folded) {
  eg_u32s *const lists[] = {&d->planned_of, &d->step_of, &d->made};
  eg_bytes *const flags[] = {&d->is_own, &d->color, &d->needed};
  EG_TRY(eg_unfold_rows_init(&d->rows, alloc, d->steps, &d->match, folded));
  for (size_t i = 0; i < 3; i++) {
    eg_u32s_init(lists[i], alloc);
    eg_bytes_init(flags[i], alloc);
  }
  eg_sizes_init(&d->stack, alloc);
  eg_sizes_init(&d->sources, alloc);
  egraph_status status = draft(d, folded);
  eg_sizes_deinit(&d->sources);
  eg_sizes_deinit(&d->stack);
  for (size_t i = 0; i < 3; i++) {
    eg_bytes_deinit(flags[i]);
    eg_u32s_deinit(lists[i]);
  }
  eg_unfold_rows_deinit(&d->rows);
  return status;
}

egraph_status eg_unfold_draft_init(eg_unfold_draft *out, egraph_allocator alloc,
                                   const eg_unfold_steps *steps,
                                   const eg_emitted_plan *folded) {
  drafter d = {.steps = steps,
               .folded = &folded->plan,
               .whole = eg_unfold_whole(steps),
               .planned = folded->graph,
               .out = out};
  EG_TRY(eg_unfold_match_init(&d.match, alloc, steps));
  eg_draft_nodes_init(&out->nodes, alloc);
  eg_draft_values_init(&out->values, alloc);
  eg_u32s_init(&out->operands, alloc);
  eg_u32s_init(&out->made, alloc);
  egraph_status status = draft_matched(&d, alloc, folded);
  eg_unfold_match_deinit(&d.match);
  if (status != EGRAPH_OK) eg_unfold_draft_deinit(out);
  return status;
}

void eg_unfold_draft_deinit(eg_unfold_draft *draft) {
  eg_draft_nodes_deinit(&draft->nodes);
  eg_draft_values_deinit(&draft->values);
  eg_u32s_deinit(&draft->operands);
  eg_u32s_deinit(&draft->made);
}
