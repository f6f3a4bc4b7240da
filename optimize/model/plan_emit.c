// Emits a solution of a plan model as a graph and a plan.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_emit.h"

#include <assert.h>
#include <string.h>

#include "base/groups.h"
#include "base/text.h"
#include "optimize/space/graph_writer.h"

// ---- solutions --------------------------------------------------------------------

#define NONE EG_SPACE_NONE
// ---- indexes ------------------------------------------------------------------------

static egraph_status index_problem(eg_plan_solution *s, egraph_allocator alloc) {
  const eg_layout_problem *problem = s->problem;
  EG_LOCAL(eg_u32s, row, alloc); // the space value of each problem value
  for (uint32_t v = 0; v < eg_layout_value_count(problem); v++)
    for (uint32_t p = problem->place_begin.data[v]; p < problem->place_begin.data[v + 1];
         p++) {
      EG_TRY(eg_u32s_push(&s->value_of_place, v));
      EG_TRY(eg_u32s_push(&s->move_into, NONE));
    }
  for (uint32_t a = 0; a < eg_layout_arc_count(problem); a++)
    if (s->solution->arc_used.data[a]) s->move_into.data[problem->arc_to.data[a]] = a;
  const uint32_t *begin = problem->strategy_begin.data;
  for (uint32_t o = 0; o < eg_layout_operator_count(problem); o++)
    for (uint32_t k = begin[o]; k < begin[o + 1]; k++)
      EG_TRY(eg_u32s_push(&s->operator_of, o));
  for (size_t i = 0; i < s->model->values.len; i++)
    EG_TRY(eg_u32s_push(&row, s->model->values.data[i].value));
  return eg_group_items(&row, s->space->values.len, &s->value_begin, &s->values);
}

egraph_status eg_plan_solution_init(eg_plan_solution *s, egraph_allocator alloc,
                                    const eg_plan_model *model,
                                    const eg_layout_solution *solution) {
  *s = (eg_plan_solution){.model = model,
                          .space = model->space,
                          .problem = &model->problem,
                          .solution = solution};
  eg_plan_solution_init_members(s, alloc);
  EG_RETURN_FILLED(index_problem(s, alloc), eg_plan_solution, s);
}

// ---- questions ----------------------------------------------------------------------

uint32_t eg_plan_solution_made(const eg_plan_solution *s, uint32_t v) {
  const eg_space_value *value = &s->space->values.data[v];
  return value->is_entry
             ? s->model->entries.data[v]
             : s->model->copies.data[(size_t)v * EG_PHASE_COUNT + value->phase];
}

/// Returns the operator that makes a problem value; NULL: it is not needed, or kept.
static const eg_space_operator *operator_of_copy(const eg_plan_solution *s,
                                                 uint32_t copy) {
  uint32_t strategy = eg_plan_solution_strategy(s, copy);
  if (strategy == EG_LAYOUT_NONE) return NULL;
  uint32_t op = s->model->operators.data[s->operator_of.data[strategy]];
  return op != NONE ? &s->space->operators.data[op] : NULL;
}

/// Returns the operator that makes a value of the plan space; NULL: it is not needed.
static const eg_space_operator *operator_of_value(const eg_plan_solution *s, uint32_t v) {
  return operator_of_copy(s, eg_plan_solution_made(s, v));
}

static eg_layout layout_at(const eg_plan_solution *s, uint32_t place) {
  uint32_t value = s->value_of_place.data[place];
  uint32_t number = place - s->problem->place_begin.data[value];
  uint32_t v = s->model->values.data[value].value;
  return eg_plan_space_layouts(s->space, v)
      ->layouts.data[eg_plan_model_layout(s->model, value, number)];
}

uint32_t eg_plan_solution_kept_from(const eg_plan_solution *s, uint32_t value) {
  uint32_t strategy = eg_plan_solution_strategy(s, value);
  if (strategy == EG_LAYOUT_NONE || s->model->strategies.data[strategy] != NONE)
    return NONE;
  return s->problem->needs.data[s->problem->need_begin.data[strategy]];
}

egraph_status eg_plan_complete(const eg_plan_model *model, egraph_allocator alloc,
                               const uint32_t *strategy, eg_layout_solution *out,
                               bool *out_is_solution) {
  EG_HELD(eg_layout_completer, completer);
  EG_TRY(eg_layout_completer_create(alloc, &model->problem, &completer));
  return eg_layout_complete(completer, strategy, out, out_is_solution);
}

// ---- plans ------------------------------------------------------------------------

// Steps are emitted phase by phase: the nodes of the phase, operands first. Before each
// node come the moves that its operands need, after it the moves to the layouts that
// later phases keep. A summand is added to its sum over micro-batches as soon as it
// exists, so that it can be freed. What a phase makes again is a node of its own, written
// before the first node that needs it.
//
// A state belongs to a place of the layout problem: a value in one layout. A value stored
// for later phases has a place in each phase, but one state.

#define NONE EG_SPACE_NONE

EG_VEC_DEFINE(eg_values, eg_value);

typedef struct emitter {
  egraph_allocator alloc;
  const eg_plan_model *model;
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  eg_plan_solution chosen;
  eg_graph_writer writer;
  const eg_graph *original;
  eg_u32s made;           // [problem values] first value of the emitted graph, or NONE
  eg_u32s state_of_place; // [places] state, or NONE
  eg_u32s addends, sums;  // [additions] to sums over micro-batches
  eg_u32s sum_begin, additions; // [space values + 1] of a value
  eg_u32s stack, order;
  eg_bytes is_read;   // [problem values] by a node of its phase
  eg_values operands; // of the current node
  eg_text name;       // likewise
  eg_emitted_plan *out;
} emitter;
EG_OWNER_DEFINE_STATIC(emitter,
                       (eg_u32s, made, state_of_place, addends, sums, sum_begin,
                        additions, stack, order),
                       (eg_bytes, is_read), (eg_values, operands), (eg_text, name))

static const eg_attrs *attrs_of(const emitter *e, const eg_space_operator *op) {
  const eg_engine *engine = eg_plan_space_engine(e->space);
  return eg_tensor_egraph_attrs_at(e->space->egraph,
                                   eg_engine_term(engine, op->node).payload);
}

static eg_plan *emitted_plan(const emitter *e) { return &e->out->plan; }

/// Returns the first value of the emitted graph for a value of the plan space.
static eg_value value_made(const emitter *e, uint32_t v) {
  return (eg_value){e->writer.made.data[v]};
}

static uint32_t place_value(const emitter *e, uint32_t place) {
  return e->chosen.value_of_place.data[place];
}

/// Returns the problem value, made by an operator, that a copy is or is kept from.
static uint32_t origin_of(const emitter *e, uint32_t copy) {
  while (operator_of_copy(&e->chosen, copy) == NULL)
    copy = place_value(e, eg_plan_solution_kept_from(&e->chosen, copy));
  return copy;
}

/// Returns the needs (places) of the strategy that makes a problem value.
static const uint32_t *needs_of(const emitter *e, uint32_t copy) {
  uint32_t strategy = eg_plan_solution_strategy(&e->chosen, copy);
  return e->problem->needs.data + e->problem->need_begin.data[strategy];
}

// ---- states and moves ---------------------------------------------------------------

/// Adds a state for a place (layout of a problem value): a value of the new graph.
static egraph_status add_place_state(emitter *e, uint32_t place, eg_value value,
                                     uint32_t step) {
  uint32_t v = e->model->values.data[place_value(e, place)].value;
  e->state_of_place.data[place] = (uint32_t)emitted_plan(e)->states.len;
  eg_plan_state state = {.value = value,
                         .layout = layout_at(&e->chosen, place),
                         .step = step,
                         .more_blocks = e->space->values.data[v].times - 1};
  EG_TRY(eg_u32s_push(&e->out->place_of, place));
  return eg_plan_states_push(&emitted_plan(e)->states, state);
}

static egraph_status add_move(emitter *e, uint32_t arc) {
  uint32_t from = e->problem->arc_from.data[arc], to = e->problem->arc_to.data[arc];
  uint32_t copy = place_value(e, to);
  const eg_model_value *value = &e->model->values.data[copy];
  const eg_layout_move *move = &eg_plan_space_layouts(e->space, value->value)
                                    ->moves.data[e->model->moves.data[arc]];
  double weight =
      eg_transition_weight(e->space->weights, &move->transition, value->phase,
                           eg_space_value_made(&e->space->values.data[value->value]));
  uint32_t state = e->state_of_place.data[from],
           step = (uint32_t)emitted_plan(e)->steps.len;
  eg_plan_step mine = {.is_move = true,
                       .phase = value->phase,
                       .from = state,
                       .to = (uint32_t)emitted_plan(e)->states.len,
                       .transition = move->transition,
                       .seconds = move->seconds * weight,
                       .basis = move->basis,
                       .more_blocks = e->space->values.data[value->value].times - 1};
  EG_TRY(add_place_state(e, to, emitted_plan(e)->states.data[state].value, step));
  EG_TRY(eg_u32s_push(&e->out->value_at, copy));
  return eg_plan_steps_push(&emitted_plan(e)->steps, mine);
}

/// Returns the place (value in a layout) that a seam between two blocks hands over.
static uint32_t place_of_copy(const emitter *e, uint32_t place) {
  uint32_t value = place_value(e, place);
  bool is_handed = e->model->values.data[value].role == EG_MODEL_HANDED;
  return is_handed ? eg_plan_solution_kept_from(&e->chosen, value) : place;
}

/// Makes the state of a place (value in a layout), if necessary by moves from the place
/// in which the value was made.
static egraph_status reach_place(emitter *e, uint32_t place) {
  e->stack.len = 0;
  while (e->state_of_place.data[place] == NONE) {
    uint32_t arc = e->chosen.move_into.data[place];
    if (arc == NONE) {
      uint32_t before = eg_plan_solution_kept_from(&e->chosen, place_value(e, place));
      if (before == NONE || e->state_of_place.data[before] == NONE)
        return EG_FAIL(EGRAPH_E_INTERNAL, "a layout of a plan cannot be reached");
      e->state_of_place.data[place] = e->state_of_place.data[before];
      break;
    }
    EG_TRY(eg_u32s_push(&e->stack, arc));
    place = e->problem->arc_from.data[arc];
  }
  while (e->stack.len != 0)
    EG_TRY(add_move(e, eg_u32s_pop(&e->stack)));
  return EGRAPH_OK;
}

// ---- nodes --------------------------------------------------------------------------

static egraph_status write_entry(emitter *e, uint32_t v) {
  uint32_t entry = e->model->entries.data[v];
  EG_TRY(eg_graph_writer_entry(&e->writer, v, operator_of_value(&e->chosen, v)->node));
  e->made.data[entry] = e->writer.made.data[v];
  return add_place_state(e, eg_plan_solution_place(&e->chosen, entry), value_made(e, v),
                         EG_PLAN_NONE);
}

/// Notes the graph's value for a problem value; a value of the plan space has the first.
static void note_made(emitter *e, uint32_t copy, uint32_t made) {
  uint32_t *first = &e->writer.made.data[e->model->values.data[copy].value];
  e->made.data[copy] = made;
  if (*first == NONE) *first = made;
}

/// Writes an element of a tuple: a result of the tuple's node, without a plan step.
static void write_part(emitter *e, uint32_t copy, const eg_space_operator *op) {
  const eg_plan *plan = emitted_plan(e);
  uint32_t of_tuple = place_of_copy(e, needs_of(e, copy)[0]);
  uint32_t tuple = e->made.data[place_value(e, of_tuple)];
  uint32_t index = (uint32_t)eg_attr_at(attrs_of(e, op), EG_A_PART_INDEX)->i;
  eg_graph_node node = eg_graph_value(plan->graph, (eg_value){tuple})->node;
  uint32_t step = plan->states.data[e->state_of_place.data[of_tuple]].step;
  uint32_t first =
      plan->steps.data[step].operands + eg_graph_node_at(plan->graph, node).input_count;
  uint32_t state = plan->operands.data[first + index];
  uint32_t place = eg_plan_solution_place(&e->chosen, copy);
  note_made(e, copy, tuple + index);
  e->state_of_place.data[place] = state;
  e->out->place_of.data[state] = place;
}

/// Moves a value to the layouts stored for later phases as early as possible, so that its
/// source can be freed: an input when it is first read, or at the start of a phase that
/// does not read it. `copy`: the problem value from which it is stored.
static egraph_status keep_value(emitter *e, uint32_t v, uint32_t copy) {
  const eg_plan_solution *chosen = &e->chosen;
  for (uint32_t i = chosen->value_begin.data[v]; i < chosen->value_begin.data[v + 1];
       i++) {
    uint32_t value = chosen->values.data[i];
    uint32_t before = eg_plan_solution_kept_from(chosen, value);
    bool is_handed = e->model->values.data[value].role == EG_MODEL_HANDED;
    if (before != NONE && !is_handed && place_value(e, before) == copy)
      EG_TRY(reach_place(e, before));
  }
  return EGRAPH_OK;
}

static egraph_status reach_operand(emitter *e, uint32_t need) {
  uint32_t place = place_of_copy(e, need), copy = place_value(e, place);
  uint32_t v = e->model->values.data[copy].value;
  EG_TRY(reach_place(e, place));
  return e->space->values.data[v].is_entry ? keep_value(e, v, copy) : EGRAPH_OK;
}

/// Sets the layouts of a tuple's further elements, which begin as that of the first.
static egraph_status set_element_layouts(eg_plan *plan, const eg_plan_step *step) {
  EG_LOCAL(eg_arena, arena, plan->states.alloc);
  const eg_spread *spread;
  const eg_strategy *strategy;
  EG_TRY(eg_plan_spread(plan, step, &arena, &spread, &strategy));
  const uint32_t *results =
      plan->operands.data + step->operands + spread->spec.input_count;
  for (uint32_t r = 1; r < spread->spec.result_count; r++)
    plan->states.data[results[r]].layout =
        eg_factors_result_layout(&spread->factors, &plan->mesh, &strategy->result, r);
  return EGRAPH_OK;
}

/// Names the value that a node of BACKWARD makes again: "x.again".
static egraph_status name_again(emitter *e, uint32_t v) {
  eg_value taken;
  eg_text_clear(&e->name);
  EG_TRY(eg_text_printf(&e->name, "%s.again",
                        eg_graph_value(e->out->graph, value_made(e, v))->name));
  if (!eg_graph_find_value(e->original, eg_text_of(&e->name), &taken) &&
      !eg_graph_find_value(e->out->graph, eg_text_of(&e->name), &taken))
    e->writer.names[v] = eg_text_of(&e->name);
  return EGRAPH_OK;
}

/// Writes the node that makes a problem value; its operands are written.
static egraph_status write_graph_node(emitter *e, uint32_t copy,
                                      const eg_space_operator *op) {
  uint32_t v = e->model->values.data[copy].value, like = e->writer.made.data[v];
  const uint32_t *needs = needs_of(e, copy);
  eg_value made;
  e->operands.len = 0;
  for (uint32_t i = 0; i < op->input_count; i++) {
    uint32_t from = origin_of(e, place_value(e, needs[i]));
    EG_TRY(eg_values_push(&e->operands, (eg_value){e->made.data[from]}));
  }
  if (like != NONE) EG_TRY(name_again(e, v));
  EG_TRY(eg_graph_writer_node(&e->writer, v, op->node, e->operands.data, op->input_count,
                              &made));
  note_made(e, copy, made.id);
  for (uint32_t r = 0; like != NONE && made.id + r < eg_graph_value_count(e->out->graph);
       r++) {
    while (e->out->again_of.len <= made.id + r)
      EG_TRY(eg_u32s_push(&e->out->again_of, NONE));
    e->out->again_of.data[made.id + r] = like + r;
  }
  return EGRAPH_OK;
}

static egraph_status write_plan_node(emitter *e, uint32_t copy,
                                     const eg_space_operator *op) {
  const eg_model_value *of = &e->model->values.data[copy];
  const uint32_t *needs = needs_of(e, copy);
  for (uint32_t i = 0; i < op->input_count; i++)
    EG_TRY(reach_operand(e, needs[i]));
  EG_TRY(write_graph_node(e, copy, op));
  uint32_t strategy = eg_plan_solution_strategy(&e->chosen, copy);
  const eg_graph_node node =
      eg_graph_value(e->out->graph, (eg_value){e->made.data[copy]})->node;
  const eg_graph_node_info info = eg_graph_node_at(e->out->graph, node);
  const eg_space_strategy *spread =
      &e->space->strategies.data[e->model->strategies.data[strategy]];
  eg_plan *plan = emitted_plan(e);
  eg_plan_step step = {.phase = of->phase,
                       .node = node,
                       .operands = (uint32_t)plan->operands.len,
                       .seconds =
                           spread->seconds * eg_node_weight(e->space->weights, of->phase),
                       .basis = spread->basis,
                       .more_blocks = e->space->values.data[of->value].times - 1};
  memcpy(step.action, spread->action, sizeof step.action);
  for (uint32_t i = 0; i < op->input_count; i++)
    EG_TRY(eg_u32s_push(&plan->operands,
                        e->state_of_place.data[place_of_copy(e, needs[i])]));
  // First a tuple has the state of its first element; later each element has its
  // own state.
  for (uint32_t r = info.result_count; r-- > 0;)
    EG_TRY(add_place_state(e, e->problem->output.data[strategy], info.results[r],
                           (uint32_t)plan->steps.len));
  for (uint32_t r = 0; r < info.result_count; r++)
    EG_TRY(eg_u32s_push(&plan->operands, (uint32_t)plan->states.len - 1 - r));
  if (info.result_count > 1) EG_TRY(set_element_layouts(plan, &step));
  EG_TRY(eg_u32s_push(&e->out->value_at, copy));
  return eg_plan_steps_push(&plan->steps, step);
}

/// Writes a problem value that an operator makes in its phase.
static egraph_status write_copy(emitter *e, uint32_t copy) {
  const eg_space_operator *op = operator_of_copy(&e->chosen, copy);
  if (attrs_of(e, op)->op == EG_OP_PART)
    write_part(e, copy, op);
  else
    EG_TRY(write_plan_node(e, copy, op));
  return keep_value(e, e->model->values.data[copy].value, copy);
}

// ---- phases -------------------------------------------------------------------------

/// Returns the problem value that makes operand i of a problem value.
static uint32_t operand_of(const emitter *e, uint32_t copy, uint32_t i) {
  return origin_of(e, place_value(e, needs_of(e, copy)[i]));
}

/// True when a copy is made in a later phase than its value.
static bool is_again(const emitter *e, uint32_t copy) {
  const eg_model_value *value = &e->model->values.data[copy];
  return e->space->values.data[value->value].phase != value->phase;
}

/// Pushes operands that are not written yet, the first of them last, and below them those
/// that are made again: these are held for a short time only. *out_waits: true if any was
/// pushed.
static egraph_status push_operands(emitter *e, uint32_t copy, bool *out_waits) {
  const eg_space_operator *op = operator_of_copy(&e->chosen, copy);
  *out_waits = false;
  for (int again = 1; again >= 0; again--)
    for (uint32_t i = op->input_count; i-- > 0;) {
      uint32_t operand = operand_of(e, copy, i);
      if (e->made.data[operand] != NONE || is_again(e, operand) != (again == 1)) continue;
      *out_waits = true;
      EG_TRY(eg_u32s_push(&e->order, operand));
    }
  return EGRAPH_OK;
}

static bool has_operands(const emitter *e, uint32_t copy) {
  const eg_space_operator *op = operator_of_copy(&e->chosen, copy);
  for (uint32_t i = 0; i < op->input_count; i++)
    if (e->made.data[operand_of(e, copy, i)] == NONE) return false;
  return true;
}

static egraph_status write_from(emitter *e, uint32_t copy) {
  EG_TRY(eg_u32s_push(&e->order, copy));
  while (e->order.len != 0) {
    uint32_t top = e->order.data[e->order.len - 1];
    uint32_t v = e->model->values.data[top].value;
    bool waits = false;
    if (e->made.data[top] == NONE) EG_TRY(push_operands(e, top, &waits));
    if (waits) continue;
    e->order.len--;
    if (e->made.data[top] != NONE) continue;
    EG_TRY(write_copy(e, top));
    for (uint32_t i = e->sum_begin.data[v]; i < e->sum_begin.data[v + 1]; i++) {
      uint32_t sum = // that waits for it
          eg_plan_solution_made(&e->chosen, e->sums.data[e->additions.data[i]]);
      if (e->made.data[sum] == NONE && has_operands(e, sum)) EG_TRY(write_copy(e, sum));
    }
  }
  return EGRAPH_OK;
}

/// Lists, for each value, the sums over micro-batches to which it is added.
static egraph_status find_value_sums(emitter *e) {
  const eg_plan_space *space = e->space;
  for (uint32_t v = 0; v < space->values.len; v++) {
    const eg_space_value *value = &space->values.data[v];
    if (!value->is_sum || value->is_entry) continue; // or as it entered
    const eg_space_operator *op = operator_of_value(&e->chosen, v);
    for (uint32_t i = 0; op != NULL && i < op->input_count; i++) {
      EG_TRY(eg_u32s_push(&e->addends, space->inputs.data[op->inputs + i]));
      EG_TRY(eg_u32s_push(&e->sums, v));
    }
  }
  return eg_group_items(&e->addends, space->values.len, &e->sum_begin, &e->additions);
}

/// Marks the values that nodes of the solution read.
static egraph_status find_read(emitter *e) {
  EG_TRY(eg_bytes_resize(&e->is_read, e->model->values.len));
  for (uint32_t copy = 0; copy < e->model->values.len; copy++) {
    const eg_space_operator *op = operator_of_copy(&e->chosen, copy);
    if (op == NULL || e->model->values.data[copy].role == EG_MODEL_ENTRY) continue;
    for (uint32_t i = 0; i < op->input_count; i++) {
      uint32_t need = needs_of(e, copy)[i];
      e->is_read.data[place_value(e, place_of_copy(e, need))] = 1;
    }
  }
  return EGRAPH_OK;
}

static egraph_status keep_unread(emitter *e, eg_phase phase) {
  for (uint32_t copy = 0; copy < e->model->values.len; copy++) {
    const eg_model_value *value = &e->model->values.data[copy];
    bool is_mine = value->role == EG_MODEL_COPY && value->phase == phase &&
                   e->space->values.data[value->value].is_entry;
    if (is_mine && e->is_read.data[copy] == 0 &&
        e->chosen.solution->strategy.data[copy] != EG_LAYOUT_NONE)
      EG_TRY(keep_value(e, value->value, copy));
  }
  return EGRAPH_OK;
}

/// Gives each stored value at the start of a phase the state from which it is stored.
static void carry_over(emitter *e, eg_model_role role, eg_phase phase) {
  for (uint32_t copy = 0; copy < e->model->values.len; copy++) {
    if (e->model->values.data[copy].role != role ||
        e->model->values.data[copy].phase != phase)
      continue;
    uint32_t before = eg_plan_solution_kept_from(&e->chosen, copy);
    if (before == NONE || e->state_of_place.data[before] == NONE) continue;
    e->state_of_place.data[eg_plan_solution_place(&e->chosen, copy)] =
        e->state_of_place.data[before];
  }
}

static egraph_status write_phase(emitter *e, eg_phase phase) {
  carry_over(e, EG_MODEL_KEPT, phase);
  carry_over(e, EG_MODEL_COPY, phase);
  EG_TRY(keep_unread(e, phase));
  for (uint32_t v = 0; v < e->space->values.len; v++) {
    const eg_space_value *value = &e->space->values.data[v];
    uint32_t copy = eg_plan_solution_made(&e->chosen, v);
    if (value->phase == phase && !value->is_entry && e->made.data[copy] == NONE &&
        operator_of_copy(&e->chosen, copy) != NULL)
      EG_TRY(write_from(e, copy));
  }
  for (uint32_t copy = 0; copy < e->model->values.len;
       copy++) // only later phases read it
    if (e->model->values.data[copy].role == EG_MODEL_COPY &&
        e->model->values.data[copy].phase == phase && e->made.data[copy] == NONE &&
        operator_of_copy(&e->chosen, copy) != NULL)
      EG_TRY(write_from(e, copy));
  for (uint32_t a = 0; a < eg_layout_arc_count(e->problem); a++) {
    uint32_t to = e->problem->arc_to.data[a];
    const eg_model_value *value = &e->model->values.data[place_value(e, to)];
    if (e->chosen.solution->arc_used.data[a] && value->role == EG_MODEL_COPY &&
        value->phase == phase)
      EG_TRY(reach_place(e, to));
  }
  return EGRAPH_OK;
}

// ---- the whole ----------------------------------------------------------------------

/// Returns the bytes that a place (value in a layout) takes on one device.
static double place_bytes(const emitter *e, uint32_t place) {
  uint32_t value = place_value(e, place);
  return eg_plan_space_bytes(
      e->space, e->model->values.data[value].value,
      eg_plan_model_layout(e->model, value, place - e->problem->place_begin.data[value]));
}

/// Finds the layout in which an output is returned to the caller: the smallest of the
/// allowed layouts that the solution reaches.
static egraph_status find_delivered(const emitter *e, uint32_t output, uint32_t *out) {
  uint32_t value = e->problem->root_value.data[output];
  uint32_t made = eg_plan_solution_place(&e->chosen, value);
  *out = NONE;
  for (uint32_t i = e->problem->root_begin.data[output];
       i < e->problem->root_begin.data[output + 1]; i++) {
    uint32_t place = e->problem->root_places.data[i];
    if (place != made && e->chosen.move_into.data[place] == NONE) continue;
    if (*out == NONE || place_bytes(e, place) < place_bytes(e, *out)) *out = place;
  }
  if (*out == NONE)
    return EG_FAIL(EGRAPH_E_INTERNAL, "an output of a plan is not delivered");
  return EGRAPH_OK;
}

static egraph_status write_outputs(emitter *e) {
  for (uint32_t i = 0; i < eg_graph_output_count(e->original); i++) {
    const char *name;
    (void)eg_graph_output(e->original, i, &name);
    uint32_t v =
        eg_plan_space_value(e->space, eg_tensor_egraph_root(e->space->egraph, i));
    EG_TRY(eg_graph_add_output(e->out->graph, name, value_made(e, v)));
    // Roots (required values) are in the order of the outputs.
    uint32_t root = e->problem->root_value.data[i], place;
    if (e->model->values.data[root].role == EG_MODEL_EXIT)
      place = eg_plan_solution_kept_from(&e->chosen, root);
    else
      EG_TRY(find_delivered(e, i, &place));
    EG_TRY(reach_place(e, place));
    EG_TRY(eg_u32s_push(&emitted_plan(e)->output_states, e->state_of_place.data[place]));
  }
  return EGRAPH_OK;
}

static egraph_status write_carried(emitter *e) {
  const eg_step_info *info = e->space->info;
  for (uint32_t i = 0; i < info->carried_count; i++) {
    uint32_t v = eg_plan_space_value(
        e->space, eg_tensor_egraph_value_class(e->space->egraph, info->carried[i].entry));
    if (e->writer.made.data[v] == NONE) continue; // nothing in this step reads it
    EG_TRY(eg_u32s_push(&emitted_plan(e)->carried, info->carried[i].output));
    EG_TRY(eg_u32s_push(&emitted_plan(e)->carried, e->writer.made.data[v]));
  }
  return EGRAPH_OK;
}

/// Notes the emitted value of each planned value. Inputs exist even if nothing
/// reads them.
static egraph_status note_values(emitter *e) {
  for (uint32_t i = 0; i < eg_graph_value_count(e->original); i++) {
    const eg_value_info *info = eg_graph_value(e->original, (eg_value){i});
    uint32_t v =
        !info->typed
            ? NONE
            : eg_plan_space_value(e->space, eg_tensor_egraph_value_class(e->space->egraph,
                                                                         (eg_value){i}));
    eg_value made = {v == NONE ? NONE : e->writer.made.data[v]};
    if (info->kind == EG_VALUE_INPUT)
      (void)eg_graph_find_value(e->out->graph, info->name, &made);
    EG_TRY(eg_u32s_push(&e->out->value_of, made.id));
  }
  return EGRAPH_OK;
}

static egraph_status emit_steps(emitter *e) {
  e->out->plan.graph = e->out->graph = e->writer.graph;
  e->out->plan.mesh = e->space->mesh;
  e->out->plan.micro_batches = e->space->info->micro_batches;
  for (uint32_t p = 0; p < eg_layout_place_count(e->problem); p++)
    EG_TRY(eg_u32s_push(&e->state_of_place, NONE));
  for (size_t v = 0; v < e->model->values.len; v++)
    EG_TRY(eg_u32s_push(&e->made, NONE));
  EG_TRY(find_value_sums(e));
  EG_TRY(find_read(e));
  for (uint32_t v = 0; v < e->space->values.len; v++)
    if (e->space->values.data[v].is_entry && operator_of_value(&e->chosen, v) != NULL)
      EG_TRY(write_entry(e, v));
  for (eg_phase p = EG_PHASE_FORWARD; p <= EG_PHASE_UPDATE; p++)
    EG_TRY(write_phase(e, p));
  EG_TRY(write_outputs(e));
  EG_TRY(write_carried(e));
  EG_TRY(note_values(e));
  for (size_t v = e->out->again_of.len; v < eg_graph_value_count(e->out->graph); v++)
    EG_TRY(eg_u32s_push(&e->out->again_of, NONE));
  return eg_plan_check(&e->out->plan, e->alloc);
}

egraph_status eg_plan_emit(const eg_plan_model *model, egraph_allocator alloc,
                           const eg_layout_solution *solution, eg_emitted_plan *out) {
  assert(solution->strategy.len == model->values.len);
  const eg_plan_space *space = model->space;
  EG_LOCAL_WITH(emitter, e, alloc, .alloc = alloc, .model = model, .space = space,
                .problem = &model->problem,
                .original = eg_tensor_egraph_graph(space->egraph), .out = out);
  eg_emitted_plan_init(out, alloc);
  egraph_status status = eg_plan_solution_init(&e.chosen, alloc, model, solution);
  if (status == EGRAPH_OK) status = eg_graph_writer_init(&e.writer, space);
  if (status == EGRAPH_OK) {
    status = emit_steps(&e);
    eg_graph_writer_deinit(&e.writer);
  }
  eg_plan_solution_deinit(&e.chosen);
  EG_RETURN_FILLED(status, eg_emitted_plan, out);
}

void eg_emitted_plan_init(eg_emitted_plan *emitted, egraph_allocator alloc) {
  *emitted = (eg_emitted_plan){.graph = NULL};
  eg_plan_init(&emitted->plan, alloc);
  EG_INIT_MEMBERS(emitted, alloc, (eg_u32s, value_of, again_of, place_of, value_at))
}

void eg_emitted_plan_leave_problem(eg_emitted_plan *emitted) {
  eg_u32s_deinit(&emitted->place_of);
  eg_u32s_deinit(&emitted->value_at);
}

void eg_emitted_plan_deinit(eg_emitted_plan *emitted) {
  eg_plan_deinit(&emitted->plan);
  eg_graph_destroy(emitted->graph);
  emitted->graph = NULL;
  EG_DEINIT_MEMBERS(emitted, (eg_u32s, value_of, again_of, place_of, value_at))
}
