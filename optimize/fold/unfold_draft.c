// A plan of a folded step is read as a plan of the whole step in *rows*: a block once for
// each block that it represents, everything else once.
//
//   row 0   outside, first and last block     row k   block k, 1 <= k <= blocks - 2
//
// A row knows the values that its nodes make and use, and derives from them the values
// that rules have made. A value that uses values outside the row cannot be derived, and
// is not read from the plan. Values that rules have found equal share one value of the
// planned graph; in a row, one of them is its image: outside values before the row's own,
// earlier before later values. Two values handed in by other blocks may be equal in one
// block only.
//
// A goal is a value of the whole step, or a value of the planned graph in a row. A value
// of the step becomes its counterpart in the planned graph, if that can be read in its
// row; otherwise it is made as in the step. Goals are visited depth first: once to find
// the needed goals, and once more, in the order of the step, to write them.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/unfold.h"

#include "base/owner.h"
#define NONE UINT32_MAX
#define UNCLEAR (UINT32_MAX - 1) // several values, and which one is meant depends

// ---- images of values --------------------------------------------------------------

const eg_graph *eg_unfold_whole(const eg_unfold_steps *steps) {
  return steps->whole != NULL ? steps->whole->graph : steps->forward;
}

const eg_graph *eg_unfold_small(const eg_unfold_steps *steps) {
  return steps->small != NULL ? steps->small->graph : steps->folded->graph;
}

egraph_status eg_unfold_match_init(eg_unfold_match *match, egraph_allocator alloc,
                                   const eg_unfold_steps *steps) {
  const eg_u32s *folded = &steps->folded->value;
  EG_TRY(eg_step_blocks_init(&match->blocks, alloc, steps->forward, steps->blocks,
                             steps->whole));
  eg_u32s_init(&match->value, alloc);
  EG_RETURN_FILLED(steps->whole == NULL
                       ? eg_u32s_append(&match->value, folded->data, folded->len)
                       : eg_stamps_map(&steps->whole->stamps, &steps->small->stamps,
                                       folded, &match->value),
                   eg_unfold_match, match);
}

void eg_unfold_match_deinit(eg_unfold_match *match) {
  eg_step_blocks_deinit(&match->blocks);
  eg_u32s_deinit(&match->value);
}

/// The whole step's value for a value of the planned graph, in one row (one block).
typedef struct row_cell {
  uint32_t image; // value of the whole step with this image, NONE or UNCLEAR
  bool can_be;    // the value has an image, or is derived from values that have
} row_cell;
EG_VEC_DEFINE(row_cells, row_cell);

typedef enum goal_color { NEW, ACTIVE, DONE } goal_color;
typedef enum goal_kind {
  LEAF, // an input or weight
  SAME, // the same value as its only source
  LIKE, // a node of the planned graph in a row
  OWN   // a node of the whole step
} goal_kind;

typedef struct goal_state {
  goal_color color;
  uint32_t made; // draft value
} goal_state;
EG_VEC_DEFINE(goal_states, goal_state);

typedef struct drafter {
  const eg_unfold_steps *steps;
  const eg_emitted_plan *folded;
  const eg_graph *whole, *small, *planned;
  eg_unfold_match match;
  uint32_t rows, planneds, smalls; // rows; values of the planned graph, of the small step
  eg_u32s twin;       // [row][values of the small step] of the whole step, NONE, UNCLEAR
  row_cells cells;    // [row][values of the planned graph]
  goal_states goals;  // of values of the whole step, then of cells
  eg_u32s planned_of; // [whole values] of the planned graph, or NONE
  eg_u32s step_of;    // [planned nodes] step, or NONE: computed ahead
  eg_bytes is_own;    // [whole nodes] not read from the planned graph
  eg_bytes needed;    // [whole values]
  eg_sizes stack, sources;
  bool is_looped;
  eg_unfold_draft *out;
} drafter;
EG_OWNER_DEFINE_STATIC(drafter, (eg_u32s, twin, planned_of, step_of), (row_cells, cells),
                       (goal_states, goals), (eg_bytes, is_own, needed),
                       (eg_sizes, stack, sources))

// ---- rows -----------------------------------------------------------------------------

/// Returns the row (copy of the folded block) for a block; 0 for values outside blocks.
static uint32_t draft_row(const drafter *d, uint32_t block) {
  return block < d->rows ? block : 0;
}

static size_t cell_number(const drafter *d, uint32_t row, uint32_t planned) {
  return (size_t)row * d->planneds + planned;
}

static row_cell *cell_at(const drafter *d, uint32_t row, uint32_t planned) {
  return &d->cells.data[cell_number(d, row, planned)];
}

static uint32_t draft_block(const drafter *d, uint32_t value) {
  return d->match.blocks.value.data[value];
}

static uint32_t row_of_node(const drafter *d, uint32_t node) {
  return draft_row(d, eg_step_blocks_of(&d->match.blocks, d->whole, node));
}

/// Notes which value of the whole step a value of the small step represents in a row (one
/// block); UNCLEAR if several are possible.
static void put_image(drafter *d, uint32_t row, eg_value small, eg_value whole) {
  uint32_t *twin = &d->twin.data[(size_t)row * d->smalls + small.id];
  *twin = *twin == NONE || *twin == whole.id ? whole.id : UNCLEAR;
}

static void put_node(drafter *d, uint32_t n) {
  eg_graph_node_info node = eg_graph_node_at(d->whole, (eg_graph_node){n});
  uint32_t twin = d->match.value.data[node.results[0].id];
  if (twin == NONE) return;
  eg_graph_node_info like =
      eg_graph_node_at(d->small, eg_graph_value(d->small, (eg_value){twin})->node);
  uint32_t row = row_of_node(d, n);
  for (uint32_t i = 0; i < node.input_count; i++)
    put_image(d, row, like.inputs[i], node.inputs[i]);
  for (uint32_t r = 0; r < node.result_count; r++)
    put_image(d, row, like.results[r], node.results[r]);
}

/// Returns which of `a` and `b` a planned value stands for in a row (block), or UNCLEAR.
static uint32_t choose_image(const drafter *d, uint32_t row, uint32_t a, uint32_t b) {
  bool a_enters = draft_row(d, draft_block(d, a)) != row;
  bool b_enters = draft_row(d, draft_block(d, b)) != row;
  if (a_enters != b_enters) return a_enters ? a : b;
  bool are_outside =
      draft_block(d, a) == EG_BLOCK_OUTSIDE && draft_block(d, b) == EG_BLOCK_OUTSIDE;
  if (a_enters && !are_outside) return UNCLEAR;
  return a < b ? a : b;
}

/// True when a row (one block) has all operands of the node that makes a planned value.
static bool can_make(const drafter *d, uint32_t row, uint32_t planned) {
  const eg_value_info *info = eg_graph_value(d->planned, (eg_value){planned});
  if (info->kind != EG_VALUE_COMPUTED) return false;
  eg_graph_node_info node = eg_graph_node_at(d->planned, info->node);
  for (uint32_t i = 0; i < node.input_count; i++)
    if (!cell_at(d, row, node.inputs[i].id)->can_be) return false;
  return true;
}

/// Finds the whole step's value for each value of the planned graph in a row (one block),
/// then derives the other values: operands come before results.
static void read_draft_row(drafter *d, uint32_t row) {
  for (uint32_t s = 0; s < d->smalls; s++) {
    uint32_t twin = d->twin.data[(size_t)row * d->smalls + s];
    uint32_t value = d->folded->value_of.data[s];
    if (twin == NONE || value == NONE) continue;
    uint32_t *image = &cell_at(d, row, value)->image;
    if (*image == NONE || twin == UNCLEAR)
      *image = twin;
    else if (*image != UNCLEAR && *image != twin)
      *image = choose_image(d, row, *image, twin);
  }
  for (uint32_t v = 0; v < d->planneds; v++) {
    row_cell *mine = cell_at(d, row, v);
    mine->can_be = mine->image == NONE ? can_make(d, row, v) : mine->image != UNCLEAR;
  }
}

/// Fills the rows (one for each block). O(rows * size of the planned graph + size of
/// the step).
static egraph_status read_draft_rows(drafter *d) {
  for (size_t i = 0; i < (size_t)d->rows * d->planneds; i++)
    EG_TRY(row_cells_push(&d->cells, (row_cell){.image = NONE}));
  for (size_t i = 0; i < (size_t)d->rows * d->smalls; i++)
    EG_TRY(eg_u32s_push(&d->twin, NONE));
  for (uint32_t n = 0; n < eg_graph_node_count(d->whole); n++)
    put_node(d, n);
  for (uint32_t row = 0; row < d->rows; row++)
    read_draft_row(d, row);
  return EGRAPH_OK;
}

// ---- goals ----------------------------------------------------------------------------

static size_t first_cell(const drafter *d) { return eg_graph_value_count(d->whole); }

static size_t cell_goal(const drafter *d, uint32_t row, uint32_t planned) {
  return first_cell(d) + cell_number(d, row, planned);
}

/// Returns how a value of the whole step is made; SAME: it equals the value *out.
static goal_kind value_kind(const drafter *d, uint32_t value, size_t *out) {
  const eg_value_info *info = eg_graph_value(d->whole, (eg_value){value});
  uint32_t planned = d->planned_of.data[value], node = info->node.id;
  if (info->kind != EG_VALUE_COMPUTED) return LEAF;
  if (d->is_own.data[node] != 0 || planned == NONE) return OWN;
  uint32_t row = row_of_node(d, node);
  uint32_t image = cell_at(d, row, planned)->image;
  if (image == NONE || image == UNCLEAR) return OWN;
  *out = image != value ? image : cell_goal(d, row, planned);
  if (image != value) return SAME;
  return can_make(d, row, planned) ? SAME : OWN;
}

static egraph_status add_planned_sources(drafter *d, uint32_t row, uint32_t planned) {
  eg_graph_node node = eg_graph_value(d->planned, (eg_value){planned})->node;
  eg_graph_node_info info = eg_graph_node_at(d->planned, node);
  for (uint32_t i = 0; i < info.input_count; i++) {
    uint32_t operand = info.inputs[i].id;
    uint32_t image = cell_at(d, row, operand)->image;
    EG_TRY(
        eg_sizes_push(&d->sources, image != NONE ? image : cell_goal(d, row, operand)));
  }
  return EGRAPH_OK;
}

/// Fills `sources` with the goals (values to be made) from which a goal is made.
static egraph_status find_sources(drafter *d, size_t goal, goal_kind *out) {
  size_t same;
  d->sources.len = 0;
  if (goal >= first_cell(d)) {
    size_t cell = goal - first_cell(d);
    *out = LIKE;
    return add_planned_sources(d, (uint32_t)(cell / d->planneds),
                               (uint32_t)(cell % d->planneds));
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

static egraph_status add_draft_value(drafter *d, size_t goal, uint32_t whole,
                                     uint32_t planned, uint32_t again_of) {
  d->goals.data[goal].made = (uint32_t)d->out->values.len;
  d->goals.data[goal].color = DONE;
  return eg_draft_values_push(
      &d->out->values,
      (eg_draft_value){.whole = whole, .planned = planned, .again_of = again_of});
}

/// Adds a node to the draft whose operands are the current `sources`.
static egraph_status add_draft_node(drafter *d, const eg_graph_node_info *info,
                                    uint32_t step, eg_phase phase) {
  eg_draft_node node = {.attrs = info->attrs,
                        .name = info->name,
                        .step = step,
                        .phase = phase,
                        .operands = (uint32_t)d->out->operands.len,
                        .operand_count = info->input_count,
                        .results = (uint32_t)d->out->values.len,
                        .result_count = info->result_count};
  for (uint32_t i = 0; i < info->input_count; i++)
    EG_TRY(eg_u32s_push(&d->out->operands, d->goals.data[d->sources.data[i]].made));
  return eg_draft_nodes_push(&d->out->nodes, node);
}

/// Returns the whole step's value for which a planned value stands in a row (block),
/// or NONE.
static uint32_t image_made(const drafter *d, uint32_t row, eg_value planned) {
  uint32_t image = cell_at(d, row, planned.id)->image;
  if (image == NONE || image == UNCLEAR) return NONE;
  const eg_value_info *info = eg_graph_value(d->whole, (eg_value){image});
  bool is_mine = info->kind == EG_VALUE_COMPUTED && row_of_node(d, info->node.id) == row;
  return is_mine ? image : NONE;
}

static egraph_status write_like(drafter *d, size_t goal) {
  size_t cell = goal - first_cell(d);
  uint32_t row = (uint32_t)(cell / d->planneds);
  eg_value planned = {(uint32_t)(cell % d->planneds)};
  uint32_t like = eg_graph_value(d->planned, planned)->node.id;
  eg_graph_node_info info = eg_graph_node_at(d->planned, (eg_graph_node){like});
  uint32_t step = d->step_of.data[like], first = image_made(d, row, info.results[0]);
  if (first != NONE)
    info.name =
        eg_graph_node_at(d->whole, eg_graph_value(d->whole, (eg_value){first})->node)
            .name;
  EG_TRY(add_draft_node(d, &info, step,
                        step == NONE ? EG_PHASE_FORWARD
                                     : d->folded->plan.steps.data[step].phase));
  const uint32_t *again_of = d->folded->again_of.data;
  for (uint32_t r = 0; r < info.result_count; r++) {
    uint32_t result = info.results[r].id, like_again = again_of[result];
    bool is_again = like_again != NONE;
    if (is_again) d->out->nodes.data[d->out->nodes.len - 1].is_again = true;
    EG_TRY(add_draft_value(d, cell_goal(d, row, result),
                           image_made(d, row, info.results[r]), result,
                           is_again ? image_made(d, row, (eg_value){like_again}) : NONE));
  }
  return EGRAPH_OK;
}

static const eg_type *graph_value_type(const eg_graph *graph, eg_value value) {
  return &eg_graph_value(graph, value)->type;
}

/// Returns the step of the folded plan for a node that is copied from the whole step: the
/// step of the planned node that represents it, unless rules have changed that node.
static uint32_t step_like(const drafter *d, const eg_graph_node_info *info) {
  uint32_t planned = d->planned_of.data[info->results[0].id];
  if (planned == NONE) return NONE;
  const eg_value_info *value = eg_graph_value(d->planned, (eg_value){planned});
  if (value->kind != EG_VALUE_COMPUTED) return NONE;
  eg_graph_node_info like = eg_graph_node_at(d->planned, value->node);
  bool is_same =
      like.input_count == info->input_count && eg_attrs_same(like.attrs, info->attrs);
  for (uint32_t i = 0; is_same && i < like.input_count; i++)
    is_same = eg_type_same(graph_value_type(d->planned, like.inputs[i]),
                           graph_value_type(d->whole, info->inputs[i]));
  return is_same ? d->step_of.data[value->node.id] : NONE;
}

static egraph_status write_own(drafter *d, uint32_t value) {
  eg_graph_node node = eg_graph_value(d->whole, (eg_value){value})->node;
  eg_graph_node_info info = eg_graph_node_at(d->whole, node);
  const eg_training *whole = d->steps->whole;
  EG_TRY(
      add_draft_node(d, &info, step_like(d, &info),
                     whole == NULL ? EG_PHASE_FORWARD : eg_training_phase(whole, node)));
  for (uint32_t r = 0; r < info.result_count; r++) {
    uint32_t result = info.results[r].id, before = d->goals.data[result].made;
    bool is_there = d->goals.data[result].color == DONE;
    EG_TRY(add_draft_value(d, result, result, NONE, NONE));
    if (is_there) d->goals.data[result].made = before;
  }
  return EGRAPH_OK;
}

static egraph_status write_goal(drafter *d, size_t goal, goal_kind kind) {
  switch (kind) {
  case LEAF:
    return add_draft_value(d, goal, (uint32_t)goal, d->planned_of.data[goal], NONE);
  case SAME:
    d->goals.data[goal].made = d->goals.data[d->sources.data[0]].made;
    return EGRAPH_OK;
  case LIKE: return write_like(d, goal);
  case OWN: return write_own(d, (uint32_t)goal);
  }
  return EGRAPH_OK;
}

// ---- visiting -------------------------------------------------------------------------

/// Breaks a loop through the planned graph: values on the visiting stack are made by
/// nodes of the whole step, which has no loops.
static void break_loop(drafter *d) {
  d->is_looped = true;
  for (size_t i = 0; i < d->stack.len; i++) {
    size_t goal = d->stack.data[i];
    if (goal >= first_cell(d) || d->goals.data[goal].color != ACTIVE) continue;
    const eg_value_info *info = eg_graph_value(d->whole, (eg_value){(uint32_t)goal});
    if (info->kind == EG_VALUE_COMPUTED) d->is_own.data[info->node.id] = 1;
  }
}

static egraph_status push_waiting(drafter *d, bool *out_waits) {
  *out_waits = false;
  for (size_t i = d->sources.len; i-- > 0;) {
    size_t source = d->sources.data[i];
    if (d->goals.data[source].color == DONE) continue;
    if (d->goals.data[source].color == ACTIVE) {
      break_loop(d);
      return EGRAPH_OK;
    }
    *out_waits = true;
    EG_TRY(eg_sizes_push(&d->stack, source));
  }
  return EGRAPH_OK;
}

static egraph_status visit_goal(drafter *d, size_t goal, bool writes) {
  d->stack.len = 0;
  EG_TRY(eg_sizes_push(&d->stack, goal));
  while (d->stack.len != 0 && !d->is_looped) {
    size_t top = d->stack.data[d->stack.len - 1];
    goal_kind kind;
    bool waits = false;
    if (d->goals.data[top].color != DONE) {
      EG_TRY(find_sources(d, top, &kind));
      d->goals.data[top].color = ACTIVE;
      EG_TRY(push_waiting(d, &waits));
      if (waits || d->is_looped) continue;
      if (writes) EG_TRY(write_goal(d, top, kind));
      d->goals.data[top].color = DONE;
    }
    (void)eg_sizes_pop(&d->stack);
  }
  return EGRAPH_OK;
}

static void forget_colors(drafter *d) {
  for (size_t g = 0; g < d->goals.len; g++)
    d->goals.data[g].color = NEW;
}

/// Finds the values that the outputs need; repeats the visit until no loop is left.
static egraph_status find_needed(drafter *d) {
  do {
    d->is_looped = false;
    forget_colors(d);
    for (uint32_t i = 0; i < eg_graph_output_count(d->whole) && !d->is_looped; i++)
      EG_TRY(visit_goal(d, eg_graph_output(d->whole, i, NULL).id, false));
  } while (d->is_looped);
  for (uint32_t v = 0; v < d->needed.len; v++)
    d->needed.data[v] = d->goals.data[v].color == DONE;
  forget_colors(d);
  return EGRAPH_OK;
}

static egraph_status write_needed(drafter *d) {
  for (uint32_t i = 0; i < eg_graph_input_count(d->whole); i++)
    EG_TRY(visit_goal(d, eg_graph_input(d->whole, i).id, true));
  for (uint32_t v = 0; v < d->needed.len; v++)
    if (d->needed.data[v] != 0) EG_TRY(visit_goal(d, v, true));
  for (uint32_t v = 0; v < d->needed.len; v++)
    EG_TRY(eg_u32s_push(&d->out->made,
                        d->goals.data[v].color == DONE ? d->goals.data[v].made : NONE));
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------------

static egraph_status index_plan(drafter *d) {
  for (uint32_t v = 0; v < first_cell(d); v++) {
    uint32_t small = d->match.value.data[v];
    EG_TRY(eg_u32s_push(&d->planned_of,
                        small == NONE ? NONE : d->folded->value_of.data[small]));
  }
  for (uint32_t n = 0; n < eg_graph_node_count(d->planned); n++)
    EG_TRY(eg_u32s_push(&d->step_of, NONE));
  for (uint32_t i = 0; i < d->folded->plan.steps.len; i++) {
    const eg_plan_step *step = &d->folded->plan.steps.data[i];
    if (!step->is_move) d->step_of.data[step->node.id] = i;
  }
  for (uint32_t n = 0; n < eg_graph_node_count(d->whole); n++) {
    uint32_t made = eg_graph_node_at(d->whole, (eg_graph_node){n}).results[0].id;
    EG_TRY(eg_bytes_push(&d->is_own, d->match.value.data[made] == NONE));
  }
  return EGRAPH_OK;
}

static egraph_status draft(drafter *d) {
  EG_TRY(read_draft_rows(d));
  EG_TRY(index_plan(d));
  EG_TRY(goal_states_resize(&d->goals, first_cell(d) + d->cells.len));
  EG_TRY(eg_bytes_resize(&d->needed, first_cell(d)));
  EG_TRY(find_needed(d));
  return write_needed(d);
}

egraph_status eg_unfold_draft_init(eg_unfold_draft *out, egraph_allocator alloc,
                                   const eg_unfold_steps *steps,
                                   const eg_emitted_plan *folded) {
  EG_LOCAL_WITH(drafter, d, alloc, .steps = steps, .folded = folded,
                .whole = eg_unfold_whole(steps), .small = eg_unfold_small(steps),
                .planned = folded->graph, .rows = steps->blocks->count - 1,
                .planneds = eg_graph_value_count(folded->graph),
                .smalls = eg_graph_value_count(eg_unfold_small(steps)), .out = out);
  eg_unfold_draft_init_members(out, alloc);
  EG_TRY(eg_unfold_match_init(&d.match, alloc, steps));
  egraph_status status = draft(&d);
  eg_unfold_match_deinit(&d.match);
  EG_RETURN_FILLED(status, eg_unfold_draft, out);
}
