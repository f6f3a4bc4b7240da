// First writes the graph of the whole step: the drafted nodes (unfold.h), phase by phase,
// because the plan's steps follow the graph's nodes. Then every node requests its
// operands in the layouts that its folded counterpart reads. A requested layout is made
// at its first use, or at the end of its phase if only a later phase uses it.
// SPDX-License-Identifier: Apache-2.0

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/groups.h"
#include "base/owner.h"
#include "base/text.h"
#include "optimize/fold/unfold.h"
#include "pcg/graph/node_cons.h"

#define NONE UINT32_MAX

// The step (value) of the folded plan that stands for a node (value) of the whole step.
typedef struct node_likeness {
  uint32_t step; // NONE: every device computes the whole node
  eg_phase phase;
} node_likeness;
EG_VEC_DEFINE(node_likenesses, node_likeness);

typedef struct value_likeness {
  uint32_t planned; // value of the folded plan's graph, or NONE
  uint32_t first;   // the state in which the value is made or enters; NONE: none yet
  bool enters;      // exists from the start
} value_likeness;
EG_VEC_DEFINE(value_likenesses, value_likeness);

// ---- the graph ------------------------------------------------------------------------

typedef struct writer {
  const eg_graph *whole;
  const eg_training *training; // training step of that graph, or NULL
  eg_graph *graph;             // the new graph
  node_likenesses *nodes;      // of the new graph
  value_likenesses *values;
  eg_unfold_draft draft;
  eg_u32s written;              // [draft values] value of the new graph, or NONE
  eg_bytes done;                // [draft nodes] flag
  eg_u32s node_of;              // [draft values] node that makes it, or NONE: a leaf
  eg_u32s addends, sums;        // [additions] value, node that makes the sum
  eg_u32s sum_begin, additions; // [draft values + 1] of a value
  eg_arena arena;               // of one node
  eg_text name;
  uint32_t next_name;
} writer;
EG_OWNER_DEFINE_STATIC(writer,
                       (eg_u32s, written, node_of, addends, sums, sum_begin, additions),
                       (eg_bytes, done), (eg_arena, arena), (eg_text, name))

/// Raises the phase of each drafted node (a node to be written) to the phases of its
/// operands: a phase begins when the phase before has ended.
static egraph_status order_phases(writer *w) {
  EG_LOCAL(eg_u32s, phase, w->written.alloc);
  EG_TRY(eg_u32s_resize(&phase, w->draft.values.len));
  for (size_t n = 0; n < w->draft.nodes.len; n++) {
    eg_draft_node *node = &w->draft.nodes.data[n];
    for (uint32_t i = 0; i < node->operand_count; i++) {
      uint32_t operand = phase.data[w->draft.operands.data[node->operands + i]];
      if (operand > node->phase) node->phase = (eg_phase)operand;
    }
    for (uint32_t r = 0; r < node->result_count; r++)
      phase.data[node->results + r] = node->phase;
  }
  return EGRAPH_OK;
}

static egraph_status note_value(writer *w, uint32_t drafted, eg_value made) {
  const value_likeness none = {.planned = NONE, .first = NONE};
  while (w->values->len <= made.id)
    EG_TRY(value_likenesses_push(w->values, none));
  w->values->data[made.id].planned = w->draft.values.data[drafted].planned;
  return EGRAPH_OK;
}

/// Returns the value in the written graph for a value of the draft; writes a weight at
/// its first use.
static egraph_status written_value(writer *w, uint32_t drafted, uint32_t *out) {
  uint32_t *written = &w->written.data[drafted];
  if (*written == NONE) {
    eg_value whole = {w->draft.values.data[drafted].whole}, made;
    const eg_value_info *info = eg_graph_value(w->whole, whole);
    EG_TRY(eg_graph_add_weight(w->graph, info->name, &info->type, info->data, &made));
    *written = made.id;
    EG_TRY(note_value(w, drafted, made));
  }
  *out = *written;
  return EGRAPH_OK;
}

static bool is_taken(const writer *w, const char *name) {
  eg_value taken;
  return eg_graph_find_value(w->graph, name, &taken) ||
         eg_graph_find_value(w->whole, name, &taken);
}

/// Returns the name that a drafted value has in the whole step, or a new unused name.
static egraph_status name_value(writer *w, uint32_t drafted, const char **out) {
  const eg_draft_value *value = &w->draft.values.data[drafted];
  uint32_t whole = value->whole;
  char name[32];
  eg_value taken;
  if (value->again_of != NONE) {
    const char *of = eg_graph_value(w->whole, (eg_value){value->again_of})->name;
    eg_text_clear(&w->name);
    EG_TRY(eg_text_printf(&w->name, "%s.again", of));
    if (!is_taken(w, eg_text_of(&w->name)))
      return eg_arena_string(&w->arena, eg_text_of(&w->name),
                             strlen(eg_text_of(&w->name)), out);
  }
  if (whole != NONE) {
    *out = eg_graph_value(w->whole, (eg_value){whole})->name;
    if (!eg_graph_find_value(w->graph, *out, &taken)) return EGRAPH_OK;
  }
  do
    (void)snprintf(name, sizeof name, "opt_%u", w->next_name++);
  while (eg_graph_find_value(w->whole, name, &taken));
  return eg_arena_string(&w->arena, name, strlen(name), out);
}

static egraph_status write_draft_node(writer *w, eg_node_cons *cons,
                                      const eg_draft_node *node) {
  eg_value *inputs, *results;
  const char **names;
  EG_NEW(&w->arena, node->operand_count, inputs);
  EG_NEW(&w->arena, node->result_count, results);
  EG_NEW(&w->arena, node->result_count, names);
  for (uint32_t i = 0; i < node->operand_count; i++)
    EG_TRY(written_value(w, w->draft.operands.data[node->operands + i], &inputs[i].id));
  for (uint32_t r = 0; r < node->result_count; r++)
    EG_TRY(name_value(w, node->results + r, &names[r]));
  uint32_t before = eg_graph_node_count(w->graph);
  if (node->is_again)
    EG_TRY(eg_graph_add_node(w->graph, node->name, node->attrs, inputs,
                             node->operand_count, names, results));
  else
    EG_TRY(eg_node_cons_add(cons, node->name, node->attrs, inputs, node->operand_count,
                            names, results));
  bool is_new = eg_graph_node_count(w->graph) != before;
  for (uint32_t r = 0; r < node->result_count; r++) {
    w->written.data[node->results + r] = results[r].id;
    if (is_new) EG_TRY(note_value(w, node->results + r, results[r]));
  }
  if (!is_new) return EGRAPH_OK;
  return node_likenesses_push(w->nodes, (node_likeness){node->step, node->phase});
}

// ---- order ----------------------------------------------------------------------------

/// Finds the node that makes each value, and the gradient sums to which it is added.
static egraph_status find_unfolded_sums(writer *w) {
  size_t values = w->draft.values.len;
  EG_TRY(eg_bytes_resize(&w->done, w->draft.nodes.len));
  for (size_t v = 0; v < values; v++)
    EG_TRY(eg_u32s_push(&w->node_of, NONE));
  for (uint32_t n = 0; n < w->draft.nodes.len; n++) {
    const eg_draft_node *node = &w->draft.nodes.data[n];
    uint32_t whole = w->draft.values.data[node->results].whole;
    bool is_sum = w->training != NULL && whole != NONE &&
                  w->training->stamps.data[whole].made == EG_MADE_SUM;
    for (uint32_t r = 0; r < node->result_count; r++)
      w->node_of.data[node->results + r] = n;
    for (uint32_t i = 0; is_sum && i < node->operand_count; i++) {
      EG_TRY(eg_u32s_push(&w->addends, w->draft.operands.data[node->operands + i]));
      EG_TRY(eg_u32s_push(&w->sums, n));
    }
  }
  return eg_group_items(&w->addends, values, &w->sum_begin, &w->additions);
}

static bool is_ready(const writer *w, uint32_t n) {
  const eg_draft_node *node = &w->draft.nodes.data[n];
  for (uint32_t i = 0; i < node->operand_count; i++) {
    uint32_t maker = w->node_of.data[w->draft.operands.data[node->operands + i]];
    if (maker != NONE && w->done.data[maker] == 0) return false;
  }
  return true;
}

/// Writes a node of a phase, then the sums of that phase that waited for its result.
/// `todo` is scratch.
static egraph_status write_from(writer *w, eg_node_cons *cons, uint32_t first,
                                eg_phase phase, eg_u32s *todo) {
  EG_TRY(eg_u32s_push(todo, first));
  while (todo->len != 0) {
    uint32_t n = eg_u32s_pop(todo);
    const eg_draft_node *node = &w->draft.nodes.data[n];
    if (w->done.data[n] != 0 || node->phase != phase || !is_ready(w, n)) continue;
    w->done.data[n] = 1;
    egraph_status status = write_draft_node(w, cons, node);
    eg_arena_deinit(&w->arena);
    EG_TRY(status);
    for (uint32_t v = node->results; v < node->results + node->result_count; v++)
      for (uint32_t i = w->sum_begin.data[v]; i < w->sum_begin.data[v + 1]; i++)
        EG_TRY(eg_u32s_push(todo, w->sums.data[w->additions.data[i]]));
  }
  return EGRAPH_OK;
}

static egraph_status write_graph(writer *w) {
  EG_OWNED(eg_node_cons, cons);
  EG_LOCAL(eg_u32s, todo, w->written.alloc);
  for (size_t v = 0; v < w->draft.values.len; v++)
    EG_TRY(eg_u32s_push(&w->written, NONE));
  EG_TRY(order_phases(w));
  EG_TRY(find_unfolded_sums(w));
  EG_TRY(eg_graph_create(&w->written.alloc, &w->graph));
  for (uint32_t i = 0; i < eg_graph_input_count(w->whole); i++) {
    eg_value input = eg_graph_input(w->whole, i), made;
    const eg_value_info *info = eg_graph_value(w->whole, input);
    uint32_t drafted = w->draft.made.data[input.id];
    EG_TRY(eg_graph_add_input(w->graph, info->name, &info->type, &made));
    w->written.data[drafted] = made.id;
    EG_TRY(note_value(w, drafted, made));
  }
  EG_TRY(eg_node_cons_init(&cons, w->graph));
  for (eg_phase p = EG_PHASE_FORWARD; p <= EG_PHASE_UPDATE; p++)
    for (uint32_t n = 0; n < w->draft.nodes.len; n++)
      EG_TRY(write_from(w, &cons, n, p, &todo));
  for (uint32_t i = 0; i < eg_graph_output_count(w->whole); i++) {
    const char *name;
    uint32_t value = eg_graph_output(w->whole, i, &name).id;
    EG_TRY(written_value(w, w->draft.made.data[value], &value));
    EG_TRY(eg_graph_add_output(w->graph, name, (eg_value){value}));
  }
  return EGRAPH_OK;
}

/// Writes all inputs and the nodes that the outputs of the whole step need, phase by
/// phase, equal nodes once. Values keep the step's names; values made by rules get
/// new names.
static egraph_status write_whole(egraph_allocator alloc, const eg_unfold_steps *steps,
                                 const eg_emitted_plan *folded, node_likenesses *nodes,
                                 value_likenesses *values, eg_graph **out) {
  EG_LOCAL_WITH(writer, w, alloc, .whole = eg_unfold_whole(steps),
                .training = steps->whole, .nodes = nodes, .values = values);
  egraph_status status = eg_unfold_draft_init(&w.draft, alloc, steps, folded);
  if (status == EGRAPH_OK) status = write_graph(&w);
  eg_unfold_draft_deinit(&w.draft);
  *out = w.graph;
  return status;
}

// ---- states ---------------------------------------------------------------------------

/// A state: a value of the whole step in a layout. In the list of a value's states, a
/// state comes before the states that moves make from it.
typedef struct state {
  uint32_t value;
  uint32_t from; // source of the move; NONE: made by a node, or enters
  uint32_t next; // state of the value
  eg_phase phase;
  eg_layout layout;
  eg_transition transition;
  eg_node_price price;
  bool is_kept;  // a later phase starts from it
  uint32_t made; // state of the new plan; NONE: none yet
} state;
EG_VEC_DEFINE(states, state);

typedef struct unfolder {
  egraph_allocator alloc;
  const eg_plan *folded;
  const eg_plan_costs *costs;
  node_likenesses nodes; // of the new graph
  value_likenesses values;
  eg_u32s entry_of; // [values of the folded plan's graph] state of entry, or NONE
  eg_bytes read_in; // [states of the folded plan] bit per phase in which a node reads it
  states states;    // of the new plan
  eg_u32s wanted;   // states of operands, node by node
  eg_u32s outputs;  // states of outputs
  eg_u32s path;
  eg_emitted_plan *out;
} unfolder;
EG_OWNER_DEFINE_STATIC(unfolder, (node_likenesses, nodes), (value_likenesses, values),
                       (states, states), (eg_bytes, read_in),
                       (eg_u32s, entry_of, wanted, outputs, path))

static eg_plan *unfolded_plan(const unfolder *u) { return &u->out->plan; }
static eg_graph *unfolded_graph(const unfolder *u) { return u->out->graph; }

/// Returns the step of the folded plan (one block for many) that a node copies; NULL:
/// every device computes the whole node.
static const eg_plan_step *step_like(const unfolder *u, uint32_t node) {
  uint32_t step = u->nodes.data[node].step;
  return step == NONE ? NULL : &u->folded->steps.data[step];
}

static eg_phase phase_of(const unfolder *u, uint32_t node) {
  return u->nodes.data[node].phase;
}

/// True when the node is computed before the first step.
static bool is_ahead(const unfolder *u, uint32_t node) {
  return u->values
      .data[eg_graph_node_at(unfolded_graph(u), (eg_graph_node){node}).results[0].id]
      .enters;
}

static bool same_layout(const unfolder *u, const eg_layout *a, const eg_layout *b) {
  return eg_layout_same(&u->folded->mesh, a, b);
}

/// Adds the first state of a value: the layout in which it is made or enters the step.
static egraph_status add_first(unfolder *u, uint32_t value, const eg_layout *layout,
                               eg_phase phase) {
  state mine = {.value = value,
                .from = NONE,
                .next = NONE,
                .phase = phase,
                .layout = *layout,
                .made = NONE};
  u->values.data[value].first = (uint32_t)u->states.len;
  return states_push(&u->states, mine);
}

/// Finds or adds the state that a move (change of layout) makes from another state.
static egraph_status move_to(unfolder *u, uint32_t from, const eg_layout *layout,
                             eg_phase phase, const eg_transition *transition,
                             eg_node_price price, uint32_t *out) {
  uint32_t last = u->values.data[u->states.data[from].value].first;
  for (uint32_t s = last; s != NONE; s = u->states.data[s].next) {
    const state *other = &u->states.data[s];
    bool is_same = same_layout(u, &other->layout, layout) && other->from != NONE;
    if (is_same && other->phase == phase) {
      *out = s;
      return EGRAPH_OK;
    }
    last = s;
  }
  state mine = {.value = u->states.data[from].value,
                .from = from,
                .next = NONE,
                .phase = phase,
                .layout = *layout,
                .transition = *transition,
                .price = price,
                .made = NONE};
  *out = u->states.data[last].next = (uint32_t)u->states.len;
  return states_push(&u->states, mine);
}

/// Finds the cheapest sequence of moves from each layout to `target`: *out_next holds the
/// next move of each layout.
static egraph_status route(const eg_layout_graph *graph, uint32_t target,
                           egraph_allocator alloc, eg_u32s *out_next) {
  EG_LOCAL(eg_doubles, cost, alloc);
  for (size_t l = 0; l < graph->layouts.len; l++) {
    EG_TRY(eg_doubles_push(&cost, l == target ? 0 : INFINITY));
    EG_TRY(eg_u32s_push(out_next, NONE));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < graph->moves.len; i++) {
      const eg_layout_move *move = &graph->moves.data[i];
      double through = cost.data[move->to] + move->seconds;
      if (!(through < cost.data[move->from])) continue;
      cost.data[move->from] = through;
      out_next->data[move->from] = i;
      changed = true;
    }
  }
  return EGRAPH_OK;
}

/// Returns the phase that makes a value; FORWARD for an input of the step.
static eg_phase first_made_in(const unfolder *u, uint32_t value) {
  return u->values.data[value].enters ? EG_PHASE_FORWARD
                                      : u->states.data[u->values.data[value].first].phase;
}

/// Moves a value to layout `target` by the cheapest moves, for lack of planned ones.
static egraph_status move_by_costs(unfolder *u, uint32_t from, const eg_layout *target,
                                   eg_phase phase, uint32_t *out) {
  const eg_type *type =
      &eg_graph_value(unfolded_graph(u), (eg_value){u->states.data[from].value})->type;
  EG_LOCAL(eg_layout_graph, graph, u->alloc);
  EG_LOCAL(eg_u32s, next, u->alloc);
  EG_TRY(
      eg_layout_graph_build(&graph, &u->folded->mesh, type, u->costs->formats, u->costs));
  EG_TRY(route(&graph, eg_layout_graph_find(&graph, target), u->alloc, &next));
  *out = from;
  while (!same_layout(u, &u->states.data[*out].layout, target)) {
    uint32_t at = eg_layout_graph_find(&graph, &u->states.data[*out].layout);
    uint32_t i = at == UINT32_MAX ? NONE : next.data[at];
    if (i == NONE) {
      return EG_FAIL(EGRAPH_E_INTERNAL, "a layout of a plan cannot be reached");
      break;
    }
    const eg_layout_move *move = &graph.moves.data[i];
    double weight = eg_transition_weight(u->costs->weights, &move->transition, phase,
                                         first_made_in(u, u->states.data[from].value));
    EG_TRY(move_to(u, *out, &graph.layouts.data[move->to], phase, &move->transition,
                   (eg_node_price){move->seconds * weight, move->basis}, out));
  }
  return EGRAPH_OK;
}

/// Makes a value enter the step whole on every device: the folded plan does not read it.
static egraph_status enter_whole(unfolder *u, uint32_t value) {
  static const eg_layout whole = {0};
  return add_first(u, value, &whole, EG_PHASE_FORWARD);
}

static eg_phase made_in(const unfolder *u, uint32_t like) {
  uint32_t step = u->folded->states.data[like].step;
  return step == EG_PLAN_NONE ? EG_PHASE_FORWARD : u->folded->steps.data[step].phase;
}

/// Notes the phases in which nodes of the folded plan (one block for many) read
/// each state.
static egraph_status note_reads(unfolder *u) {
  const eg_plan *folded = u->folded;
  EG_TRY(eg_bytes_resize(&u->read_in, folded->states.len));
  for (size_t i = 0; i < folded->steps.len; i++) {
    const eg_plan_step *step = &folded->steps.data[i];
    if (step->is_move) continue;
    uint32_t count = eg_graph_node_at(folded->graph, step->node).input_count;
    for (uint32_t o = 0; o < count; o++)
      u->read_in.data[folded->operands.data[step->operands + o]] |=
          (unsigned char)(1U << step->phase);
  }
  return EGRAPH_OK;
}

/// Returns the folded plan's state of the value that represents `value`, in the layout of
/// state `like`; `like` if there is none. The folded plan may read the same value of
/// another block. A state that nodes read in the phase is preferred to one that is only
/// made there.
static uint32_t own_state(const unfolder *u, uint32_t value, uint32_t like,
                          eg_phase phase) {
  const eg_plan_states *rows = &u->folded->states;
  uint32_t own = u->values.data[value].planned, found = like;
  if (own == NONE || rows->data[like].value.id == own) return like;
  int best = 0;
  for (uint32_t s = 0; s < rows->len; s++) {
    if (rows->data[s].value.id != own ||
        !same_layout(u, &rows->data[s].layout, &rows->data[like].layout))
      continue;
    int rank = 0;
    if ((u->read_in.data[s] >> phase & 1) != 0)
      rank = 3;
    else if (made_in(u, s) == made_in(u, like))
      rank = 2;
    else if (made_in(u, s) < made_in(u, like))
      rank = 1;
    if (rank <= best) continue;
    best = rank;
    found = s;
  }
  return found;
}

/// Requests a value of the whole step in the layout of the folded plan's state `like`, by
/// the same moves.
static egraph_status want(unfolder *u, uint32_t value, uint32_t like, eg_phase phase,
                          uint32_t *out) {
  const eg_plan *folded = u->folded;
  const eg_layout *target = &folded->states.data[like].layout;
  like = own_state(u, value, like, phase);
  if (u->values.data[value].first == NONE) EG_TRY(enter_whole(u, value));
  u->path.len = 0;
  for (;; like = folded->steps.data[folded->states.data[like].step].from) {
    uint32_t step = folded->states.data[like].step;
    if (step == EG_PLAN_NONE || !folded->steps.data[step].is_move) break;
    EG_TRY(eg_u32s_push(&u->path, step));
  }
  *out = u->values.data[value].first;
  if (!same_layout(u, &u->states.data[*out].layout, &folded->states.data[like].layout))
    return move_by_costs(u, *out, target, phase, out);
  while (u->path.len != 0) {
    const eg_plan_step *step = &folded->steps.data[eg_u32s_pop(&u->path)];
    EG_TRY(move_to(u, *out, &folded->states.data[step->to].layout, step->phase,
                   &step->transition, (eg_node_price){step->seconds, step->basis}, out));
  }
  return EGRAPH_OK;
}

static egraph_status want_entries(unfolder *u) {
  for (uint32_t v = 0; v < eg_graph_value_count(u->folded->graph); v++)
    EG_TRY(eg_u32s_push(&u->entry_of, NONE));
  for (uint32_t s = 0; s < u->folded->states.len; s++) {
    const eg_plan_state *row = &u->folded->states.data[s];
    if (row->step == EG_PLAN_NONE) u->entry_of.data[row->value.id] = s;
  }
  for (uint32_t v = 0; v < u->values.len; v++) {
    const value_likeness *value = &u->values.data[v];
    if (!value->enters || value->planned == NONE) continue;
    uint32_t entry = u->entry_of.data[value->planned];
    if (entry == NONE) continue; // nothing reads it
    EG_TRY(add_first(u, v, &u->folded->states.data[entry].layout, EG_PHASE_FORWARD));
  }
  return EGRAPH_OK;
}

static egraph_status want_operands(unfolder *u, uint32_t n) {
  static const eg_layout whole = {0};
  eg_graph_node_info node = eg_graph_node_at(unfolded_graph(u), (eg_graph_node){n});
  const eg_plan_step *step = step_like(u, n);
  const uint32_t *like = step == NULL ? NULL : u->folded->operands.data + step->operands;
  eg_phase phase = phase_of(u, n);
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t operand;
    uint32_t value = node.inputs[i].id;
    if (like == NULL && u->values.data[value].first == NONE)
      EG_TRY(enter_whole(u, value));
    EG_TRY(like == NULL
               ? move_by_costs(u, u->values.data[value].first, &whole, phase, &operand)
               : want(u, value, like[i], phase, &operand));
    // A value from an earlier phase is stored for the phase that uses it.
    eg_phase user = phase;
    for (uint32_t s = operand; s != NONE; s = u->states.data[s].from) {
      state *mine = &u->states.data[s];
      mine->is_kept = mine->is_kept || mine->phase < user;
      user = mine->phase;
    }
    EG_TRY(eg_u32s_push(&u->wanted, operand));
  }
  for (uint32_t r = 0; r < node.result_count; r++) {
    const eg_layout *layout =
        like == NULL ? &whole
                     : &u->folded->states.data[like[node.input_count + r]].layout;
    EG_TRY(add_first(u, node.results[r].id, layout, phase));
  }
  return EGRAPH_OK;
}

/// Finds the output of the folded plan for an output of the whole plan: a value
/// passed to the next step has the name of the input it becomes, all other outputs
/// keep their names.
static egraph_status output_like(const unfolder *u, uint32_t output, uint32_t *out) {
  const eg_graph *folded = u->folded->graph;
  const char *name, *other;
  eg_value entry;
  (void)eg_graph_output(unfolded_graph(u), output, &name);
  if (eg_graph_find_value(unfolded_graph(u), name, &entry) &&
      eg_graph_value(unfolded_graph(u), entry)->kind != EG_VALUE_COMPUTED &&
      u->values.data[entry.id].planned != NONE)
    name = eg_graph_value(folded, (eg_value){u->values.data[entry.id].planned})->name;
  for (*out = 0; *out < eg_graph_output_count(folded); (*out)++) {
    (void)eg_graph_output(folded, *out, &other);
    if (strcmp(name, other) == 0) return EGRAPH_OK;
  }
  return EG_FAIL(EGRAPH_E_INTERNAL, "no output of the plan stands for '%.200s'", name);
}

static egraph_status want_outputs(unfolder *u) {
  for (uint32_t o = 0; o < eg_graph_output_count(unfolded_graph(u)); o++) {
    uint32_t like, value = eg_graph_output(unfolded_graph(u), o, NULL).id, reached;
    EG_TRY(output_like(u, o, &like));
    uint32_t first = u->values.data[value].first;
    EG_TRY(want(u, value, u->folded->output_states.data[like],
                first == NONE ? EG_PHASE_FORWARD : u->states.data[first].phase,
                &reached));
    EG_TRY(eg_u32s_push(&u->outputs, reached));
  }
  return EGRAPH_OK;
}

// ---- steps ----------------------------------------------------------------------------

static egraph_status make_state(unfolder *u, uint32_t number, uint32_t step) {
  state *mine = &u->states.data[number];
  mine->made = (uint32_t)unfolded_plan(u)->states.len;
  eg_plan_state row = {.value = {mine->value}, .layout = mine->layout, .step = step};
  return eg_plan_states_push(&unfolded_plan(u)->states, row);
}

/// Makes the moves that lead to a state (a value in a layout), except those already made.
static egraph_status make_moves(unfolder *u, uint32_t number) {
  u->path.len = 0;
  for (uint32_t s = number; u->states.data[s].made == NONE; s = u->states.data[s].from)
    EG_TRY(eg_u32s_push(&u->path, s));
  while (u->path.len != 0) {
    uint32_t s = eg_u32s_pop(&u->path), step = (uint32_t)unfolded_plan(u)->steps.len;
    EG_TRY(make_state(u, s, step));
    const state *mine = &u->states.data[s];
    eg_plan_step row = {.is_move = true,
                        .phase = mine->phase,
                        .from = u->states.data[mine->from].made,
                        .to = mine->made,
                        .transition = mine->transition,
                        .seconds = mine->price.seconds,
                        .basis = mine->price.basis};
    EG_TRY(eg_plan_steps_push(&unfolded_plan(u)->steps, row));
  }
  return EGRAPH_OK;
}

/// Builds and prices the step in which every device computes a whole node.
static egraph_status price_whole(unfolder *u, uint32_t n, eg_plan_step *out) {
  eg_node_spec spec;
  *out = (eg_plan_step){.node = {n}};
  EG_LOCAL(eg_arena, arena, u->alloc);
  EG_TRY(eg_plan_spec(unfolded_plan(u), out, &arena, &spec));
  eg_node_price price = {.seconds = 0};
  EG_TRY(u->costs->node(u->costs->self, &spec, &price));
  out->seconds = price.seconds * eg_node_weight(u->costs->weights, phase_of(u, n));
  out->basis = price.basis;
  return EGRAPH_OK;
}

static egraph_status make_node(unfolder *u, uint32_t n, const uint32_t *operands) {
  eg_graph_node_info node = eg_graph_node_at(unfolded_graph(u), (eg_graph_node){n});
  eg_plan *plan = unfolded_plan(u);
  for (uint32_t i = 0; i < node.input_count; i++)
    EG_TRY(make_moves(u, operands[i]));
  eg_plan_step row;
  if (step_like(u, n) != NULL)
    row = *step_like(u, n);
  else
    EG_TRY(price_whole(u, n, &row));
  row.phase = phase_of(u, n);
  row.more_blocks = 0;
  row.node.id = n;
  row.operands = (uint32_t)plan->operands.len;
  for (uint32_t i = 0; i < node.input_count; i++)
    EG_TRY(eg_u32s_push(&plan->operands, u->states.data[operands[i]].made));
  for (uint32_t r = 0; r < node.result_count; r++) {
    uint32_t first = u->values.data[node.results[r].id].first;
    EG_TRY(make_state(u, first, (uint32_t)plan->steps.len));
    EG_TRY(eg_u32s_push(&plan->operands, u->states.data[first].made));
  }
  return eg_plan_steps_push(&plan->steps, row);
}

/// Moves a node's results to the layouts that later phases need, to free its operands.
static egraph_status make_kept(unfolder *u, uint32_t n) {
  eg_graph_node_info node = eg_graph_node_at(unfolded_graph(u), (eg_graph_node){n});
  for (uint32_t r = 0; r < node.result_count; r++)
    for (uint32_t s = u->values.data[node.results[r].id].first; s != NONE;
         s = u->states.data[s].next)
      if (u->states.data[s].is_kept && u->states.data[s].phase == phase_of(u, n))
        EG_TRY(make_moves(u, s));
  return EGRAPH_OK;
}

/// Makes the plan's steps phase by phase: the nodes of the phase, then the other layouts
/// that the phase must produce, such as outputs.
static egraph_status make_steps(unfolder *u) {
  const uint32_t *operands = u->wanted.data;
  uint32_t n = 0, nodes = eg_graph_node_count(unfolded_graph(u));
  for (uint32_t s = 0; s < u->states.len; s++)
    if (u->values.data[u->states.data[s].value].enters && u->states.data[s].from == NONE)
      EG_TRY(make_state(u, s, EG_PLAN_NONE));
  for (eg_phase p = EG_PHASE_FORWARD; p <= EG_PHASE_UPDATE; p++) {
    for (; n < nodes && phase_of(u, n) == p; n++) {
      if (is_ahead(u, n)) continue;
      EG_TRY(make_node(u, n, operands));
      EG_TRY(make_kept(u, n));
      operands += eg_graph_node_at(unfolded_graph(u), (eg_graph_node){n}).input_count;
    }
    for (uint32_t s = 0; s < u->states.len; s++)
      if (u->states.data[s].phase == p && u->states.data[s].from != NONE)
        EG_TRY(make_moves(u, s));
  }
  for (uint32_t o = 0; o < u->outputs.len; o++)
    EG_TRY(eg_u32s_push(&unfolded_plan(u)->output_states,
                        u->states.data[u->outputs.data[o]].made));
  return EGRAPH_OK;
}

/// Pairs each output that has the name of an input with this input, as a value passed to
/// the next step, if the folded plan does so.
static egraph_status carry(unfolder *u) {
  const eg_plan *folded = u->folded;
  for (uint32_t o = 0; o < eg_graph_output_count(unfolded_graph(u)); o++) {
    const char *name;
    uint32_t like;
    eg_value entry;
    (void)eg_graph_output(unfolded_graph(u), o, &name);
    if (!eg_graph_find_value(unfolded_graph(u), name, &entry)) continue;
    EG_TRY(output_like(u, o, &like));
    for (size_t i = 0; i + 1 < folded->carried.len; i += 2) {
      if (folded->carried.data[i] != like) continue;
      EG_TRY(eg_u32s_push(&unfolded_plan(u)->carried, o));
      EG_TRY(eg_u32s_push(&unfolded_plan(u)->carried, entry.id));
    }
  }
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------------

/// Finds the values that exist before the step: inputs, weights and, in a step that
/// passes no values to the next one, values of weights alone (as in plan_space.c).
static egraph_status find_entries(unfolder *u) {
  const eg_plan *plan = unfolded_plan(u);
  size_t count = u->values.len;
  bool *constant;
  EG_TRY(eg_alloc(u->alloc, count, sizeof *constant, &constant));
  if (plan->carried.len == 0) eg_plan_constants(plan, constant);
  for (uint32_t v = 0; v < count; v++)
    u->values.data[v].enters =
        constant[v] ||
        eg_graph_value(plan->graph, (eg_value){v})->kind != EG_VALUE_COMPUTED;
  eg_free(u->alloc, constant, count, sizeof *constant);
  return EGRAPH_OK;
}

static egraph_status unfold(unfolder *u) {
  eg_plan *plan = unfolded_plan(u);
  plan->graph = unfolded_graph(u);
  plan->mesh = u->folded->mesh;
  plan->micro_batches = u->folded->micro_batches;
  EG_TRY(carry(u));
  EG_TRY(find_entries(u));
  EG_TRY(note_reads(u));
  EG_TRY(want_entries(u));
  for (uint32_t n = 0; n < eg_graph_node_count(unfolded_graph(u)); n++)
    if (!is_ahead(u, n)) EG_TRY(want_operands(u, n));
  EG_TRY(want_outputs(u));
  EG_TRY(make_steps(u));
  return eg_plan_check(plan, u->alloc);
}

egraph_status eg_plan_unfold(egraph_allocator alloc, const eg_unfold_steps *steps,
                             const eg_emitted_plan *folded, const eg_plan_costs *costs,
                             eg_emitted_plan *out) {
  EG_LOCAL_WITH(unfolder, u, alloc, .alloc = alloc, .folded = &folded->plan,
                .costs = costs, .out = out);
  eg_emitted_plan_init(out, alloc);
  egraph_status status =
      write_whole(alloc, steps, folded, &u.nodes, &u.values, &out->graph);
  if (status == EGRAPH_OK) status = unfold(&u);
  EG_RETURN_FILLED(status, eg_emitted_plan, out);
}
