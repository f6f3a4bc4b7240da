// Finds the values of an existing plan in the e-graph, from inputs and weights on. A step
// has the strategy with the layouts of its operands and results. In a later phase a value
// starts from the earlier layout that the phase uses first.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_recall.h"

#include <assert.h>

#include "base/groups.h"
#include "base/owner.h"
#include "optimize/space/layout_graph.h"

#define NONE UINT32_MAX

// ---- solutions of another model -------------------------------------------------------

// All models of one plan space, with any limits, have the same values in the same order.

/// Returns the value to which a place (index over all layouts of all values) belongs.
static uint32_t value_of_place(const eg_layout_problem *problem, uint32_t place) {
  const eg_u32s *begin = &problem->place_begin;
  uint32_t low = 0, high = (uint32_t)begin->len - 1;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    *(begin->data[middle] <= place ? &low : &high) = middle;
  }
  return low;
}

static uint32_t layout_at_place(const eg_plan_model *model, uint32_t value,
                                uint32_t place) {
  return eg_plan_model_layout(model, value,
                              place - model->problem.place_begin.data[value]);
}

static eg_plan_choice choice_of(const eg_plan_model *model, uint32_t value,
                                uint32_t strategy) {
  const eg_layout_problem *problem = &model->problem;
  eg_plan_choice choice = {
      .is_needed = true,
      .strategy = model->strategies.data[strategy],
      .layout = layout_at_place(model, value, problem->output.data[strategy]),
      .source = EG_SPACE_NONE};
  uint32_t need = problem->need_begin.data[strategy];
  if (choice.strategy != EG_SPACE_NONE || need == problem->need_begin.data[strategy + 1])
    return choice;
  choice.source = value_of_place(problem, problem->needs.data[need]);
  choice.from_layout = layout_at_place(model, choice.source, problem->needs.data[need]);
  return choice;
}

static bool same_choice(const eg_plan_choice *a, const eg_plan_choice *b) {
  return a->is_needed && b->is_needed && a->strategy == b->strategy &&
         a->layout == b->layout && a->source == b->source &&
         a->from_layout == b->from_layout;
}

egraph_status eg_plan_choices_note(eg_plan_choices *choices, const eg_plan_model *model,
                                   const eg_u32s *strategy) {
  assert(choices->len == 0 && strategy->len == model->values.len);
  for (uint32_t v = 0; v < strategy->len; v++) {
    eg_plan_choice choice = {.is_needed = false};
    if (strategy->data[v] != EG_LAYOUT_NONE)
      choice = choice_of(model, v, strategy->data[v]);
    EG_TRY(eg_plan_choices_push(choices, choice));
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_choices_find(const eg_plan_choices *choices,
                                   const eg_plan_model *model, eg_u32s *strategy) {
  assert(strategy->len == 0);
  const eg_layout_problem *problem = &model->problem;
  for (size_t v = 0; v < model->values.len; v++)
    EG_TRY(eg_u32s_push(strategy, EG_LAYOUT_NONE));
  for (uint32_t o = 0; o < eg_layout_operator_count(problem); o++) {
    uint32_t v = problem->operator_value.data[o];
    if (v >= choices->len || !choices->data[v].is_needed) continue;
    for (uint32_t s = problem->strategy_begin.data[o];
         s < problem->strategy_begin.data[o + 1]; s++) {
      eg_plan_choice mine = choice_of(model, v, s);
      if (same_choice(&mine, &choices->data[v])) strategy->data[v] = s;
    }
  }
  return EGRAPH_OK;
}

typedef struct recaller {
  const eg_plan_model *model;
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  const eg_plan *plan;
  eg_u32s value;         // [values of the plan's graph] of the space
  eg_u32s op_begin, ops; // [problem values + 1] its operators
  eg_u32s start;         // [space values][phases] state, or NONE
  eg_arena arena;        // of one node
  eg_u32s *strategy;
  size_t first; // index of the first problem value in `strategy`
  bool is_lost; // a node of the plan is not in the e-graph
} recaller;
EG_OWNER_DEFINE_STATIC(recaller, (eg_u32s, value, op_begin, ops, start),
                       (eg_arena, arena))

static const eg_plan_state *plan_state(const recaller *r, uint32_t state) {
  return &r->plan->states.data[state];
}

static uint32_t copy_of(const recaller *r, uint32_t v, eg_phase phase) {
  return r->model->copies.data[(size_t)v * EG_PHASE_COUNT + phase];
}

/// Returns the number of a state's layout among a space value's layouts, or NONE.
static uint32_t state_layout(const recaller *r, uint32_t v, uint32_t state) {
  eg_layout layout =
      eg_unit_axes_narrow(&plan_state(r, state)->layout, &r->plan->mesh, &r->space->mesh);
  return eg_layout_graph_find(eg_plan_space_layouts(r->space, v), &layout);
}

// ---- values ---------------------------------------------------------------------------

/// Finds the plan space's value that a node makes (a tuple for several results), or NONE.
static egraph_status find_node(recaller *r, const eg_graph_node_info *node,
                               uint32_t *out) {
  uint32_t *operands;
  *out = NONE;
  EG_NEW(&r->arena, node->input_count, operands);
  for (uint32_t i = 0; i < node->input_count; i++) {
    operands[i] = r->value.data[node->inputs[i].id];
    if (operands[i] == NONE) return EGRAPH_OK;
  }
  return eg_plan_space_find_term(r->space, node->attrs, operands, node->input_count, out);
}

static egraph_status find_values(recaller *r) {
  const eg_graph *graph = r->plan->graph,
                 *seed = eg_tensor_egraph_graph(r->space->egraph);
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    eg_value leaf;
    bool is_leaf =
        info->kind != EG_VALUE_COMPUTED && eg_graph_find_value(seed, info->name, &leaf);
    EG_TRY(eg_u32s_push(
        &r->value, is_leaf ? eg_plan_space_value(r->space, eg_tensor_egraph_value_class(
                                                               r->space->egraph, leaf))
                           : NONE));
  }
  for (uint32_t n = 0; n < eg_graph_node_count(graph) && !r->is_lost; n++) {
    eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    uint32_t made;
    EG_TRY(find_node(r, &node, &made));
    eg_arena_deinit(&r->arena);
    r->is_lost = made == NONE;
    if (made != NONE && node.result_count == 1) r->value.data[node.results[0].id] = made;
    for (uint32_t k = 0; made != NONE && node.result_count != 1 && k < node.result_count;
         k++) {
      eg_attr slot = {.kind = EG_ATTR_INT, .i = k};
      eg_attrs part = {.op = EG_OP_PART, .count = 1, .slots = &slot};
      EG_TRY(eg_plan_space_find_term(r->space, &part, &made, 1,
                                     &r->value.data[node.results[k].id]));
    }
  }
  return EGRAPH_OK;
}

// ---- choices --------------------------------------------------------------------------

static void choose_strategy(recaller *r, uint32_t problem_value, uint32_t strategy) {
  r->strategy->data[r->first + problem_value] = strategy;
}

/// Chooses for a problem value the strategy whose number in the plan space is `spread`.
static void choose_spread(recaller *r, uint32_t problem_value, uint32_t spread) {
  for (uint32_t i = r->op_begin.data[problem_value];
       i < r->op_begin.data[problem_value + 1]; i++) {
    uint32_t op = r->ops.data[i];
    for (uint32_t s = r->problem->strategy_begin.data[op];
         s < r->problem->strategy_begin.data[op + 1]; s++)
      if (r->model->strategies.data[s] == spread) choose_strategy(r, problem_value, s);
  }
}

/// Chooses to store a problem value from the value `from`, in a layout of the space.
static void choose_kept(recaller *r, uint32_t problem_value, uint32_t from,
                        uint32_t layout) {
  for (uint32_t i = r->op_begin.data[problem_value];
       i < r->op_begin.data[problem_value + 1]; i++) {
    uint32_t op = r->ops.data[i];
    if (r->model->operators.data[op] != EG_SPACE_NONE ||
        r->problem->inputs.data[r->problem->input_begin.data[op]] != from)
      continue;
    for (uint32_t s = r->problem->strategy_begin.data[op];
         s < r->problem->strategy_begin.data[op + 1]; s++)
      if (layout_at_place(r->model, problem_value, r->problem->output.data[s]) == layout)
        choose_strategy(r, problem_value, s);
  }
}

static bool has_layouts(const recaller *r, const eg_space_operator *op,
                        const eg_space_strategy *strategy, const uint32_t *states,
                        uint32_t result) {
  const eg_plan_space *space = r->space;
  for (uint32_t i = 0; i < op->input_count; i++)
    if (state_layout(r, space->inputs.data[op->inputs + i], states[i]) !=
        space->needs.data[strategy->needs + i])
      return false;
  return state_layout(r, op->value, result) == strategy->output;
}

static bool is_planned_node(const recaller *r, const eg_space_operator *op,
                            const eg_graph_node_info *node) {
  eg_term term = eg_engine_term(eg_plan_space_engine(r->space), op->node);
  if (term.op != node->attrs->op || op->input_count != node->input_count ||
      !eg_attrs_same(eg_tensor_egraph_attrs_at(r->space->egraph, term.payload),
                     node->attrs))
    return false;
  for (uint32_t i = 0; i < op->input_count; i++)
    if (r->space->inputs.data[op->inputs + i] != r->value.data[node->inputs[i].id])
      return false;
  return true;
}

/// True when an operator takes an element of this tuple: values may be in several.
static bool is_part_of(const recaller *r, const eg_space_operator *op, uint32_t tuple) {
  return eg_engine_term(eg_plan_space_engine(r->space), op->node).op == EG_OP_PART &&
         r->space->inputs.data[op->inputs] == tuple;
}

/// Chooses the strategy of the plan space that makes a value from these states in a
/// phase; without a node, the value is an element of a tuple.
static void recall_made(recaller *r, uint32_t v, eg_phase phase,
                        const eg_graph_node_info *node, uint32_t tuple,
                        const uint32_t *states, uint32_t result) {
  if (copy_of(r, v, phase) == EG_SPACE_NONE) return;
  for (uint32_t o = r->space->first_operator.data[v];
       o < r->space->first_operator.data[v + 1]; o++) {
    const eg_space_operator *op = &r->space->operators.data[o];
    if (node != NULL ? !is_planned_node(r, op, node) : !is_part_of(r, op, tuple))
      continue;
    for (uint32_t s = op->strategies; s < op->strategies + op->strategy_count; s++)
      if (has_layouts(r, op, &r->space->strategies.data[s], states, result))
        choose_spread(r, copy_of(r, v, phase), s);
  }
}

static egraph_status recall_node(recaller *r, const eg_plan_step *step) {
  eg_graph_node_info node = eg_graph_node_at(r->plan->graph, step->node);
  const uint32_t *states = r->plan->operands.data + step->operands;
  uint32_t made = r->value.data[node.results[0].id];
  if (node.result_count != 1) EG_TRY(find_node(r, &node, &made));
  eg_arena_deinit(&r->arena);
  uint32_t first = states[node.input_count];
  recall_made(r, made, step->phase, &node, NONE, states, first);
  for (uint32_t k = 0; node.result_count != 1 && k < node.result_count; k++) {
    uint32_t part = r->value.data[node.results[k].id];
    if (part == NONE) continue; // no node reads this part
    recall_made(r, part, step->phase, NULL, made, &first, states[node.input_count + k]);
  }
  return EGRAPH_OK;
}

/// Notes that a phase uses a state (a value in a layout); if the state was made before
/// the phase, the value's copy in the phase starts from it.
static void note_use(recaller *r, uint32_t state, eg_phase phase) {
  const eg_plan_state *mine = plan_state(r, state);
  uint32_t v = r->value.data[mine->value.id];
  uint32_t *start = &r->start.data[(size_t)v * EG_PHASE_COUNT + phase];
  bool is_before =
      mine->step == EG_PLAN_NONE || r->plan->steps.data[mine->step].phase < phase;
  if (is_before && *start == NONE) *start = state;
}

static void note_uses(recaller *r) {
  for (uint32_t i = 0; i < r->plan->steps.len; i++) {
    const eg_plan_step *step = &r->plan->steps.data[i];
    if (step->is_move) {
      note_use(r, step->from, step->phase);
      continue;
    }
    uint32_t count = eg_graph_node_at(r->plan->graph, step->node).input_count;
    for (uint32_t k = 0; k < count; k++)
      note_use(r, r->plan->operands.data[step->operands + k], step->phase);
  }
  for (uint32_t o = 0; o < r->plan->output_states.len; o++) {
    uint32_t state = r->plan->output_states.data[o];
    uint32_t v = r->value.data[plan_state(r, state)->value.id];
    if (v != NONE) note_use(r, state, r->space->values.data[v].phase);
  }
}

static void recall_entries(recaller *r) {
  for (uint32_t s = 0; s < r->plan->states.len; s++) {
    uint32_t v = r->value.data[plan_state(r, s)->value.id];
    if (plan_state(r, s)->step != EG_PLAN_NONE || v == NONE ||
        r->model->entries.data[v] == EG_SPACE_NONE)
      continue;
    for (uint32_t o = r->space->first_operator.data[v];
         o < r->space->first_operator.data[v + 1]; o++) {
      const eg_space_operator *op = &r->space->operators.data[o];
      for (uint32_t k = op->strategies; k < op->strategies + op->strategy_count; k++)
        if (op->input_count == 0 &&
            r->space->strategies.data[k].output == state_layout(r, v, s))
          choose_spread(r, r->model->entries.data[v], k);
    }
  }
}

/// Returns the problem value that FORWARD stores for both later phases, or NONE.
static uint32_t shared_of(const recaller *r, uint32_t v) {
  uint32_t copy = copy_of(r, v, EG_PHASE_BACKWARD);
  if (copy == EG_SPACE_NONE) return NONE;
  for (uint32_t i = r->op_begin.data[copy]; i < r->op_begin.data[copy + 1]; i++) {
    uint32_t op = r->ops.data[i];
    if (r->problem->input_begin.data[op] == r->problem->input_begin.data[op + 1])
      continue;
    uint32_t from = r->problem->inputs.data[r->problem->input_begin.data[op]];
    if (r->model->values.data[from].role == EG_MODEL_KEPT) return from;
  }
  return NONE;
}

static void recall_copy(recaller *r, uint32_t v, eg_phase phase) {
  uint32_t copy = copy_of(r, v, phase);
  uint32_t state = r->start.data[(size_t)v * EG_PHASE_COUNT + phase];
  if (copy == EG_SPACE_NONE || state == NONE ||
      r->strategy->data[r->first + copy] != EG_LAYOUT_NONE)
    return;
  uint32_t layout = state_layout(r, v, state), step = plan_state(r, state)->step;
  if (step == EG_PLAN_NONE) {
    choose_kept(r, copy, r->model->entries.data[v], layout);
    return;
  }
  eg_phase before = r->plan->steps.data[step].phase;
  uint32_t from = copy_of(r, v, before), shared = shared_of(r, v);
  if (before == EG_PHASE_FORWARD && shared != NONE) {
    choose_kept(r, shared, from, layout);
    from = shared;
  }
  choose_kept(r, copy, from, layout);
}

// ---- the whole ------------------------------------------------------------------------

/// True when a layout is whole along all axes of the plan that the space's mesh lacks.
static bool has_axes_of(const recaller *r, const eg_layout *layout) {
  const eg_mesh *whole = &r->plan->mesh, *mine = &r->space->mesh;
  eg_layout narrow = eg_unit_axes_narrow(layout, whole, mine);
  uint32_t used = 0, kept = 0;
  for (uint32_t a = 0; a < whole->axis_count; a++)
    used += layout->sharding[a] != EG_SHARD_R && whole->axes[a].size > 1;
  for (uint32_t a = 0; a < mine->axis_count; a++)
    kept += narrow.sharding[a] != EG_SHARD_R;
  return used == kept;
}

/// True when the mesh of the space equals the plan's mesh, without axes along which all
/// devices of the plan do the same.
static bool is_same_mesh(const recaller *r) {
  if (!eg_unit_axes_are_of(&r->space->mesh, &r->plan->mesh)) return false;
  for (size_t s = 0; s < r->plan->states.len; s++)
    if (!has_axes_of(r, &r->plan->states.data[s].layout)) return false;
  return true;
}

egraph_status eg_plan_recall(const eg_plan_model *model, const eg_plan *plan,
                             eg_u32s *strategy) {
  EG_LOCAL_WITH(recaller, r, model->space->alloc, .model = model, .space = model->space,
                .problem = &model->problem, .plan = plan, .strategy = strategy,
                .first = strategy->len);
  if (!is_same_mesh(&r)) return EGRAPH_OK;
  EG_TRY(find_values(&r));
  if (r.is_lost) return EGRAPH_OK;
  EG_TRY(eg_group_items(&r.problem->operator_value, eg_layout_value_count(r.problem),
                        &r.op_begin, &r.ops));
  for (size_t i = 0; i < r.space->values.len * EG_PHASE_COUNT; i++)
    EG_TRY(eg_u32s_push(&r.start, NONE));
  for (uint32_t v = 0; v < eg_layout_value_count(r.problem); v++)
    EG_TRY(eg_u32s_push(r.strategy, EG_LAYOUT_NONE));
  note_uses(&r);
  recall_entries(&r);
  for (uint32_t i = 0; i < r.plan->steps.len; i++)
    if (!r.plan->steps.data[i].is_move) EG_TRY(recall_node(&r, &r.plan->steps.data[i]));
  for (eg_phase q = EG_PHASE_FORWARD; q < EG_PHASE_COUNT; q++)
    for (uint32_t v = 0; v < r.space->values.len; v++)
      recall_copy(&r, v, q);
  for (uint32_t o = 0; o < r.plan->output_states.len; o++) {
    uint32_t exit = r.problem->root_value.data[o];
    uint32_t v = r.model->values.data[exit].value;
    if (r.model->values.data[exit].role == EG_MODEL_EXIT)
      choose_kept(&r, exit, copy_of(&r, v, r.space->values.data[v].phase),
                  state_layout(&r, v, r.plan->output_states.data[o]));
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_choices_recall(eg_plan_choices *choices, egraph_allocator alloc,
                                     const eg_plan_space *space, const eg_plan *plan,
                                     eg_u32s *strategy) {
  EG_OWNED(eg_plan_model, model);
  EG_TRY(eg_plan_model_init(&model, alloc, space));
  EG_TRY(eg_plan_recall(&model, plan, strategy));
  if (strategy->len != 0) EG_TRY(eg_plan_choices_note(choices, &model, strategy));
  return EGRAPH_OK;
}
