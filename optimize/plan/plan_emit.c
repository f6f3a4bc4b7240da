// Phase by phase: the nodes of the phase, operands first, each with the moves that its
// operands need, and then those that make what later phases keep of it. What is added to
// a sum over micro-batches is added as soon as it is there, so that it may go.
//
// A state belongs to a place of the problem (value, layout). What is kept has a place in
// each phase, and one state.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/plan_emit.h"

#include <stdio.h>
#include <string.h>

#include "optimize/plan/plan_solution.h"

#define NONE EG_SPACE_NONE

typedef struct emitter {
  egraph_allocator alloc;
  const eg_plan_model *model;
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  eg_plan_solution chosen;
  const eg_graph *original;
  eg_u32s state_of_place;  // [places] state, or NONE
  eg_u32s value_made;      // [space values] first value of the new graph, or NONE
  eg_u32s node_made;       // [space values] node of the new graph, or NONE: a leaf
  eg_u32s sum_begin, sums; // [space values + 1] sums that a value is added to
  const char **names;      // [space values] of the original
  uint32_t next_name;
  eg_u32s stack;
  eg_emitted_plan *out;
} emitter;

static const eg_attrs *attrs_of(const emitter *e, const eg_space_operator *op) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(e->space->egraph);
  return eg_tensor_egraph_attrs_at(e->space->egraph,
                                   eg_engine_term(engine, op->node).payload);
}

static eg_plan *plan_of(const emitter *e) { return &e->out->plan; }

static uint32_t value_of(const emitter *e, uint32_t place) {
  return e->chosen.value_of_place.data[place];
}

/// The place in which a space value is made.
static uint32_t place_made(const emitter *e, uint32_t v) {
  return eg_plan_solution_place(&e->chosen, eg_plan_solution_made(&e->chosen, v));
}

// ---- states and moves ---------------------------------------------------------------

/// A state of a value of the new graph, for a place.
static egraph_status add_state(emitter *e, uint32_t place, eg_value value,
                               uint32_t step) {
  uint32_t v = e->model->values.data[value_of(e, place)].value;
  e->state_of_place.data[place] = (uint32_t)plan_of(e)->states.len;
  eg_plan_state state = {.value = value,
                         .layout = eg_plan_solution_layout(&e->chosen, place),
                         .step = step,
                         .more_blocks = e->space->values.data[v].times - 1};
  EG_TRY(eg_u32s_push(&e->out->place_of, place));
  return eg_plan_states_push(&plan_of(e)->states, state);
}

static egraph_status add_move(emitter *e, uint32_t arc) {
  uint32_t from = e->problem->arc_from.data[arc], to = e->problem->arc_to.data[arc];
  uint32_t copy = value_of(e, to);
  const eg_model_value *value = &e->model->values.data[copy];
  const eg_layout_move *move = &eg_plan_space_layouts(e->space, value->value)
                                    ->moves.data[e->model->moves.data[arc]];
  uint32_t state = e->state_of_place.data[from], step = (uint32_t)plan_of(e)->steps.len;
  eg_plan_step mine = {.is_move = true,
                       .phase = value->phase,
                       .from = state,
                       .to = (uint32_t)plan_of(e)->states.len,
                       .transition = move->transition,
                       .seconds = move->seconds,
                       .more_blocks = e->space->values.data[value->value].times - 1};
  EG_TRY(add_state(e, to, plan_of(e)->states.data[state].value, step));
  EG_TRY(eg_u32s_push(&e->out->value_at, copy));
  return eg_plan_steps_push(&plan_of(e)->steps, mine);
}

/// What a seam hands over is a state of the copy.
static uint32_t place_of_copy(const emitter *e, uint32_t place) {
  uint32_t value = value_of(e, place);
  bool is_handed = e->model->values.data[value].role == EG_MODEL_HANDED;
  return is_handed ? eg_plan_solution_kept_from(&e->chosen, value) : place;
}

/// Makes the state of a place of a copy, if need be by moves from where its value was
/// made.
static egraph_status reach_place(emitter *e, uint32_t place) {
  e->stack.len = 0;
  while (e->state_of_place.data[place] == NONE) {
    uint32_t arc = e->chosen.move_into.data[place];
    if (arc == NONE) {
      uint32_t before = eg_plan_solution_kept_from(&e->chosen, value_of(e, place));
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

// ---- the graph ----------------------------------------------------------------------

/// A name that no value of the original has, which may still be to come.
static egraph_status make_name(emitter *e, eg_arena *arena, const char **out) {
  char name[32];
  eg_value taken;
  do
    (void)snprintf(name, sizeof name, "opt_%u", e->next_name++);
  while (eg_graph_find_value(e->original, name, &taken));
  return eg_arena_string(arena, name, strlen(name), out);
}

/// The node that makes `v` of operands, values of the space. The arena is scratch.
static egraph_status add_node(emitter *e, uint32_t v, const eg_attrs *attrs,
                              const uint32_t *operands, uint32_t count, eg_arena *arena) {
  uint32_t results = eg_op_results(attrs);
  eg_value *inputs, *made;
  const char **names;
  EG_TRY(eg_arena_alloc(arena, count, sizeof *inputs, &inputs));
  EG_TRY(eg_arena_alloc(arena, results, sizeof *made, &made));
  EG_TRY(eg_arena_alloc(arena, results, sizeof *names, &names));
  for (uint32_t i = 0; i < count; i++)
    inputs[i] = (eg_value){e->value_made.data[operands[i]]};
  if (results == 1) names[0] = e->names[v];
  for (uint32_t r = 0; r < results; r++)
    if (names[r] == NULL) EG_TRY(make_name(e, arena, &names[r]));
  EG_TRY(eg_graph_add_node(e->out->graph, "", attrs, inputs, count, names, made));
  e->value_made.data[v] = made[0].id; // results are numbered on from the first
  e->node_made.data[v] = eg_graph_value(e->out->graph, made[0])->node.id;
  return EGRAPH_OK;
}

// ---- entries ------------------------------------------------------------------------

static egraph_status write_weight(emitter *e, uint32_t v, const eg_attrs *attrs) {
  const char *name = eg_attr_at(attrs, EG_A_WEIGHT_NAME)->text;
  eg_value old, value;
  if (!eg_graph_find_value(e->original, name, &old))
    return EG_FAIL(EGRAPH_E_INTERNAL, "weight '%s' is not in the original graph", name);
  const eg_value_info *info = eg_graph_value(e->original, old);
  EG_TRY(eg_graph_add_weight(e->out->graph, name, &info->type, info->data, &value));
  e->value_made.data[v] = value.id;
  return EGRAPH_OK;
}

/// A weight, or what is made ahead of operands that are written. The arena is scratch.
static egraph_status write_constant(emitter *e, uint32_t v, const eg_attrs *attrs,
                                    const eg_u32s *operands, eg_arena *arena) {
  if (attrs->op == EG_OP_WEIGHT) return write_weight(e, v, attrs);
  if (attrs->op != EG_OP_PART)
    return add_node(e, v, attrs, operands->data, (uint32_t)operands->len, arena);
  e->value_made.data[v] = e->value_made.data[operands->data[0]] +
                          (uint32_t)eg_attr_at(attrs, EG_A_PART_INDEX)->i;
  return EGRAPH_OK;
}

/// The node that makes a constant: ahead of the first step, or a weight.
static eg_term constant_term(const emitter *e, uint32_t v) {
  eg_node node = e->space->values.data[v].ahead;
  if (node.id == EG_NODE_NONE.id) node = eg_plan_solution_operator(&e->chosen, v)->node;
  return eg_engine_term(eg_tensor_egraph_engine_of(e->space->egraph), node);
}

/// Writes a constant after what it is made of. `operands` is scratch.
static egraph_status write_constants(emitter *e, uint32_t v, eg_u32s *operands,
                                     eg_arena *arena) {
  e->stack.len = 0;
  EG_TRY(eg_u32s_push(&e->stack, v));
  while (e->stack.len != 0) {
    uint32_t top = e->stack.data[e->stack.len - 1];
    size_t waiting = e->stack.len;
    eg_term term = constant_term(e, top);
    operands->len = 0;
    for (uint32_t k = 0; k < term.arity; k++) {
      uint32_t operand = eg_plan_space_value(e->space, term.children[k]);
      EG_TRY(eg_u32s_push(operands, operand));
      if (e->value_made.data[operand] == NONE) EG_TRY(eg_u32s_push(&e->stack, operand));
    }
    if (e->stack.len != waiting) continue;
    if (e->value_made.data[top] == NONE)
      EG_TRY(write_constant(e, top,
                            eg_tensor_egraph_attrs_at(e->space->egraph, term.payload),
                            operands, arena));
    e->stack.len--;
  }
  return EGRAPH_OK;
}

static egraph_status write_input(emitter *e, uint32_t v, const eg_attrs *attrs) {
  const char *name = eg_attr_at(attrs, EG_A_INPUT_NAME)->text;
  eg_value value;
  if (!eg_graph_find_value(e->out->graph, name, &value))
    return EG_FAIL(EGRAPH_E_INTERNAL, "input '%s' is not in the original graph", name);
  e->value_made.data[v] = value.id;
  return EGRAPH_OK;
}

static egraph_status write_entry(emitter *e, uint32_t v) {
  const eg_attrs *attrs = attrs_of(e, eg_plan_solution_operator(&e->chosen, v));
  eg_u32s operands;
  eg_arena arena;
  eg_u32s_init(&operands, e->alloc);
  eg_arena_init(&arena, e->alloc);
  egraph_status status = attrs->op == EG_OP_INPUT
                             ? write_input(e, v, attrs)
                             : write_constants(e, v, &operands, &arena);
  eg_arena_deinit(&arena);
  eg_u32s_deinit(&operands);
  EG_TRY(status);
  return add_state(e, place_made(e, v), (eg_value){e->value_made.data[v]}, EG_PLAN_NONE);
}

// ---- nodes --------------------------------------------------------------------------

/// A part of a tuple is a result of its node; it has no step of its own.
static egraph_status write_part(emitter *e, uint32_t v, const eg_space_operator *op) {
  const eg_plan *plan = plan_of(e);
  uint32_t tuple = e->space->inputs.data[op->inputs];
  uint32_t index = (uint32_t)eg_attr_at(attrs_of(e, op), EG_A_PART_INDEX)->i;
  eg_graph_node node = {e->node_made.data[tuple]};
  uint32_t step = plan->states.data[e->state_of_place.data[place_made(e, tuple)]].step;
  uint32_t first =
      plan->steps.data[step].operands + eg_graph_node_at(plan->graph, node).input_count;
  e->value_made.data[v] = e->value_made.data[tuple] + index;
  e->node_made.data[v] = node.id;
  e->state_of_place.data[place_made(e, v)] = plan->operands.data[first + index];
  e->out->place_of.data[plan->operands.data[first + index]] = place_made(e, v);
  return EGRAPH_OK;
}

static egraph_status write_node(emitter *e, uint32_t v, const eg_space_operator *op) {
  uint32_t strategy =
      eg_plan_solution_strategy(&e->chosen, eg_plan_solution_made(&e->chosen, v));
  const uint32_t *needs = e->problem->needs.data + e->problem->need_begin.data[strategy];
  for (uint32_t i = 0; i < op->input_count; i++)
    EG_TRY(reach_place(e, place_of_copy(e, needs[i])));
  eg_arena arena;
  eg_arena_init(&arena, e->alloc);
  egraph_status status = add_node(
      e, v, attrs_of(e, op), e->space->inputs.data + op->inputs, op->input_count, &arena);
  eg_arena_deinit(&arena);
  EG_TRY(status);
  const eg_graph_node node = {e->node_made.data[v]};
  const eg_graph_node_info info = eg_graph_node_at(e->out->graph, node);
  eg_plan *plan = plan_of(e);
  eg_plan_step step = {.phase = e->space->values.data[v].phase,
                       .node = node,
                       .operands = (uint32_t)plan->operands.len,
                       .seconds = eg_plan_solution_spread(&e->chosen, v)->seconds,
                       .more_blocks = e->space->values.data[v].times - 1};
  memcpy(step.action, eg_plan_solution_spread(&e->chosen, v)->action, sizeof step.action);
  for (uint32_t i = 0; i < op->input_count; i++)
    EG_TRY(eg_u32s_push(&plan->operands,
                        e->state_of_place.data[place_of_copy(e, needs[i])]));
  // Of a tuple the first part's state stands for the place; each part has one in the end.
  for (uint32_t r = info.result_count; r-- > 0;)
    EG_TRY(add_state(e, e->problem->output.data[strategy], info.results[r],
                     (uint32_t)plan->steps.len));
  for (uint32_t r = 0; r < info.result_count; r++)
    EG_TRY(eg_u32s_push(&plan->operands, (uint32_t)plan->states.len - 1 - r));
  EG_TRY(eg_u32s_push(&e->out->value_at, eg_plan_solution_made(&e->chosen, v)));
  return eg_plan_steps_push(&plan->steps, step);
}

/// What later phases want of a value is made at once: what it is made from may go.
static egraph_status keep_value(emitter *e, uint32_t v) {
  const eg_plan_solution *chosen = &e->chosen;
  uint32_t made = eg_plan_solution_made(chosen, v);
  for (uint32_t i = chosen->value_begin.data[v]; i < chosen->value_begin.data[v + 1];
       i++) {
    uint32_t value = chosen->values.data[i];
    uint32_t before = eg_plan_solution_kept_from(chosen, value);
    bool is_handed = e->model->values.data[value].role == EG_MODEL_HANDED;
    if (before != NONE && !is_handed && value_of(e, before) == made)
      EG_TRY(reach_place(e, before));
  }
  return EGRAPH_OK;
}

static egraph_status write_value(emitter *e, uint32_t v) {
  const eg_space_operator *op = eg_plan_solution_operator(&e->chosen, v);
  if (e->space->values.data[v].is_entry) return write_entry(e, v);
  bool is_part = attrs_of(e, op)->op == EG_OP_PART;
  EG_TRY(is_part ? write_part(e, v, op) : write_node(e, v, op));
  return keep_value(e, v);
}

// ---- phases -------------------------------------------------------------------------

/// Pushes operands that are not made yet, and tells whether there are any.
static egraph_status push_operands(emitter *e, uint32_t v, eg_u32s *order,
                                   bool *out_waits) {
  const eg_space_operator *op = eg_plan_solution_operator(&e->chosen, v);
  *out_waits = false;
  for (uint32_t i = op->input_count; i-- > 0;) {
    uint32_t operand = e->space->inputs.data[op->inputs + i];
    if (e->value_made.data[operand] != NONE) continue;
    *out_waits = true;
    EG_TRY(eg_u32s_push(order, operand));
  }
  return EGRAPH_OK;
}

static bool has_operands(const emitter *e, uint32_t v) {
  const eg_space_operator *op = eg_plan_solution_operator(&e->chosen, v);
  for (uint32_t i = 0; i < op->input_count; i++)
    if (e->value_made.data[e->space->inputs.data[op->inputs + i]] == NONE) return false;
  return true;
}

/// Adds a value to the sums that wait for it.
static egraph_status write_sums(emitter *e, uint32_t v) {
  for (uint32_t i = e->sum_begin.data[v]; i < e->sum_begin.data[v + 1]; i++) {
    uint32_t sum = e->sums.data[i];
    if (e->value_made.data[sum] == NONE && has_operands(e, sum))
      EG_TRY(write_value(e, sum));
  }
  return EGRAPH_OK;
}

static egraph_status write_from(emitter *e, uint32_t v, eg_u32s *order) {
  EG_TRY(eg_u32s_push(order, v));
  while (order->len != 0) {
    uint32_t top = order->data[order->len - 1];
    bool waits = false;
    if (e->value_made.data[top] == NONE) EG_TRY(push_operands(e, top, order, &waits));
    if (waits) continue;
    order->len--;
    if (e->value_made.data[top] != NONE) continue;
    EG_TRY(write_value(e, top));
    EG_TRY(write_sums(e, top));
  }
  return EGRAPH_OK;
}

/// A sum that a step leaves, not as it entered.
static bool is_sum_made(const emitter *e, uint32_t v) {
  const eg_space_value *value = &e->space->values.data[v];
  return value->is_sum && !value->is_entry &&
         eg_plan_solution_operator(&e->chosen, v) != NULL;
}

static egraph_status find_sums(emitter *e) {
  const eg_plan_space *space = e->space;
  EG_TRY(eg_u32s_resize(&e->sum_begin, space->values.len + 2));
  for (int fills = 0; fills < 2; fills++) {
    for (uint32_t v = 0; v < space->values.len; v++) {
      if (!is_sum_made(e, v)) continue;
      const eg_space_operator *op = eg_plan_solution_operator(&e->chosen, v);
      for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t operand = space->inputs.data[op->inputs + i];
        if (fills)
          e->sums.data[e->sum_begin.data[operand + 1]++] = v;
        else
          e->sum_begin.data[operand + 2]++;
      }
    }
    for (uint32_t v = 0; !fills && v < space->values.len; v++)
      e->sum_begin.data[v + 2] += e->sum_begin.data[v + 1];
    if (!fills)
      EG_TRY(eg_u32s_resize(&e->sums, e->sum_begin.data[space->values.len + 1]));
  }
  return EGRAPH_OK;
}

static egraph_status flush_moves(emitter *e, eg_phase phase) {
  for (uint32_t a = 0; a < eg_layout_arc_count(e->problem); a++) {
    if (!e->chosen.solution->arc_used.data[a]) continue;
    uint32_t to = e->problem->arc_to.data[a];
    const eg_model_value *value = &e->model->values.data[value_of(e, to)];
    if (value->role == EG_MODEL_COPY && value->phase == phase) EG_TRY(reach_place(e, to));
  }
  return EGRAPH_OK;
}

/// What copies of this phase start from.
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

static egraph_status write_phase(emitter *e, eg_phase phase, eg_u32s *order) {
  carry_over(e, EG_MODEL_KEPT, phase);
  carry_over(e, EG_MODEL_COPY, phase);
  for (uint32_t v = 0; v < e->space->values.len; v++) {
    const eg_space_value *value = &e->space->values.data[v];
    if (value->phase != phase || value->is_entry || e->value_made.data[v] != NONE ||
        eg_plan_solution_operator(&e->chosen, v) == NULL)
      continue;
    EG_TRY(write_from(e, v, order));
  }
  return flush_moves(e, phase);
}

// ---- the whole ----------------------------------------------------------------------

static egraph_status write_inputs(emitter *e) {
  for (uint32_t i = 0; i < eg_graph_input_count(e->original); i++) {
    const eg_value_info *info =
        eg_graph_value(e->original, eg_graph_input(e->original, i));
    eg_value value;
    EG_TRY(eg_graph_add_input(e->out->graph, info->name, &info->type, &value));
  }
  for (uint32_t v = 0; v < e->space->values.len; v++)
    if (e->space->values.data[v].is_entry &&
        eg_plan_solution_operator(&e->chosen, v) != NULL)
      EG_TRY(write_entry(e, v));
  return EGRAPH_OK;
}

/// Bytes of a device for a value in the layout of a place.
static double place_bytes(const emitter *e, uint32_t place) {
  uint32_t value = value_of(e, place);
  return eg_plan_space_bytes(
      e->space, e->model->values.data[value].value,
      eg_plan_model_layout(e->model, value, place - e->problem->place_begin.data[value]));
}

/// The place in which an output is delivered: of those that will do and that the solution
/// reaches, the smallest.
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
    EG_TRY(eg_graph_add_output(e->out->graph, name, (eg_value){e->value_made.data[v]}));
    // Roots were added in the order of the outputs.
    uint32_t root = e->problem->root_value.data[i], place;
    if (e->model->values.data[root].role == EG_MODEL_EXIT)
      place = eg_plan_solution_kept_from(&e->chosen, root);
    else
      EG_TRY(find_delivered(e, i, &place));
    EG_TRY(reach_place(e, place));
    EG_TRY(eg_u32s_push(&plan_of(e)->output_states, e->state_of_place.data[place]));
  }
  return EGRAPH_OK;
}

static egraph_status write_carried(emitter *e) {
  const eg_step_info *info = e->space->info;
  for (uint32_t i = 0; i < info->carried_count; i++) {
    uint32_t v = eg_plan_space_value(
        e->space, eg_tensor_egraph_value_class(e->space->egraph, info->carried[i].entry));
    if (e->value_made.data[v] == NONE) continue; // nothing in this step reads it
    EG_TRY(eg_u32s_push(&plan_of(e)->carried, info->carried[i].output));
    EG_TRY(eg_u32s_push(&plan_of(e)->carried, e->value_made.data[v]));
  }
  return EGRAPH_OK;
}

static void find_names(emitter *e) {
  for (uint32_t i = eg_graph_value_count(e->original); i-- > 0;) {
    const eg_value_info *info = eg_graph_value(e->original, (eg_value){i});
    if (info->kind != EG_VALUE_COMPUTED || !info->typed) continue;
    uint32_t v = eg_plan_space_value(
        e->space, eg_tensor_egraph_value_class(e->space->egraph, (eg_value){i}));
    if (v != NONE) e->names[v] = info->name;
  }
}

/// Inputs are there even if nothing reads them.
static egraph_status note_values(emitter *e) {
  for (uint32_t i = 0; i < eg_graph_value_count(e->original); i++) {
    const eg_value_info *info = eg_graph_value(e->original, (eg_value){i});
    uint32_t v =
        !info->typed
            ? NONE
            : eg_plan_space_value(e->space, eg_tensor_egraph_value_class(e->space->egraph,
                                                                         (eg_value){i}));
    eg_value made = {v == NONE ? NONE : e->value_made.data[v]};
    if (info->kind == EG_VALUE_INPUT)
      (void)eg_graph_find_value(e->out->graph, info->name, &made);
    EG_TRY(eg_u32s_push(&e->out->value_of, made.id));
  }
  return EGRAPH_OK;
}

static egraph_status emit(emitter *e) {
  eg_u32s order;
  EG_TRY(eg_graph_create(&e->alloc, &e->out->graph));
  e->out->plan.graph = e->out->graph;
  e->out->plan.mesh = e->space->mesh;
  e->out->plan.micro_batches = e->space->info->micro_batches;
  for (uint32_t v = 0; v < e->space->values.len; v++) {
    EG_TRY(eg_u32s_push(&e->value_made, NONE));
    EG_TRY(eg_u32s_push(&e->node_made, NONE));
  }
  for (uint32_t p = 0; p < eg_layout_place_count(e->problem); p++)
    EG_TRY(eg_u32s_push(&e->state_of_place, NONE));
  find_names(e);
  EG_TRY(find_sums(e));
  EG_TRY(write_inputs(e));
  eg_u32s_init(&order, e->alloc);
  egraph_status status = EGRAPH_OK;
  for (eg_phase p = EG_PHASE_FORWARD; status == EGRAPH_OK && p <= EG_PHASE_UPDATE; p++)
    status = write_phase(e, p, &order);
  eg_u32s_deinit(&order);
  EG_TRY(status);
  EG_TRY(write_outputs(e));
  EG_TRY(write_carried(e));
  EG_TRY(note_values(e));
  return eg_plan_check(&e->out->plan, e->alloc);
}

egraph_status eg_plan_emit(const eg_plan_model *model, egraph_allocator alloc,
                           const eg_layout_solution *solution, eg_emitted_plan *out) {
  const eg_plan_space *space = model->space;
  *out = (eg_emitted_plan){.graph = NULL};
  eg_plan_init(&out->plan, alloc);
  eg_u32s_init(&out->value_of, alloc);
  eg_u32s_init(&out->place_of, alloc);
  eg_u32s_init(&out->value_at, alloc);
  emitter e = {.alloc = alloc,
               .model = model,
               .space = space,
               .problem = &model->problem,
               .original = eg_tensor_egraph_graph(space->egraph),
               .out = out};
  eg_u32s *const lists[] = {&e.state_of_place, &e.value_made, &e.node_made,
                            &e.stack,          &e.sum_begin,  &e.sums};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_init(lists[i], alloc);
  size_t count = space->values.len;
  egraph_status status = eg_alloc(alloc, count, sizeof *e.names, &e.names);
  if (status == EGRAPH_OK)
    status = eg_plan_solution_init(&e.chosen, alloc, model, solution);
  if (status == EGRAPH_OK) {
    status = emit(&e);
    eg_plan_solution_deinit(&e.chosen);
  }
  eg_free(alloc, e.names, count, sizeof *e.names);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_deinit(lists[i]);
  if (status != EGRAPH_OK) eg_emitted_plan_deinit(out);
  return status;
}

void eg_emitted_plan_deinit(eg_emitted_plan *emitted) {
  eg_plan_deinit(&emitted->plan);
  eg_graph_destroy(emitted->graph);
  emitted->graph = NULL;
  eg_u32s_deinit(&emitted->value_of);
  eg_u32s_deinit(&emitted->place_of);
  eg_u32s_deinit(&emitted->value_at);
}
