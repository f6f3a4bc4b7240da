// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan.h"

#include <inttypes.h>

#define PRICE_BASIS_NAME(id, name) name,
static const char *const price_basis_names[] = {EG_PRICE_BASIS_LIST(PRICE_BASIS_NAME)};

const char *eg_price_basis_name(uint32_t basis) { return price_basis_names[basis]; }

bool eg_price_basis_find(const char *name, uint32_t *out) {
  for (uint32_t b = 0; b < EG_PRICE_BASES; b++)
    if (strcmp(name, price_basis_names[b]) == 0) {
      *out = b;
      return true;
    }
  return false;
}

void eg_plan_init(eg_plan *plan, egraph_allocator alloc) {
  *plan = (eg_plan){.micro_batches = 1};
  eg_plan_states_init(&plan->states, alloc);
  eg_plan_steps_init(&plan->steps, alloc);
  eg_u32s_init(&plan->operands, alloc);
  eg_u32s_init(&plan->output_states, alloc);
  eg_u32s_init(&plan->carried, alloc);
  eg_plan_rivals_init(&plan->rivals, alloc);
}

void eg_plan_deinit(eg_plan *plan) {
  eg_plan_states_deinit(&plan->states);
  eg_plan_steps_deinit(&plan->steps);
  eg_u32s_deinit(&plan->operands);
  eg_u32s_deinit(&plan->output_states);
  eg_u32s_deinit(&plan->carried);
  eg_plan_rivals_deinit(&plan->rivals);
}

bool eg_plan_is_folded(const eg_plan *plan) {
  for (size_t i = 0; i < plan->states.len; i++)
    if (plan->states.data[i].more_blocks != 0) return true;
  return false;
}

egraph_status eg_plan_spec(const eg_plan *plan, const eg_plan_step *step, eg_arena *arena,
                           eg_node_spec *out) {
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  eg_type *types;
  EG_TRY(eg_arena_alloc(arena, (size_t)info.input_count + info.result_count,
                        sizeof *types, &types));
  *out = (eg_node_spec){.attrs = info.attrs,
                        .inputs = types,
                        .input_count = info.input_count,
                        .results = types + info.input_count,
                        .result_count = info.result_count};
  for (uint32_t i = 0; i < info.input_count; i++) {
    types[i] = eg_graph_value(plan->graph, info.inputs[i])->type;
    types[i].layout = (eg_layout){0};
  }
  for (uint32_t i = 0; i < info.result_count; i++) {
    types[info.input_count + i] = eg_graph_value(plan->graph, info.results[i])->type;
    types[info.input_count + i].layout = (eg_layout){0};
  }
  return EGRAPH_OK;
}

/// The memory formats of the states that a step reads and makes.
static eg_format_choice formats_of(const eg_plan *plan, const eg_plan_step *step,
                                   uint32_t input_count) {
  eg_format_choice choice = {.output = EG_FORMAT_PLAIN};
  const uint32_t *operands = plan->operands.data + step->operands;
  for (uint32_t i = 0; i < input_count && i < EG_MAX_FORMAT_OPERANDS; i++)
    choice.input[i] = plan->states.data[operands[i]].layout.format;
  choice.output = plan->states.data[operands[input_count]].layout.format;
  return choice;
}

egraph_status eg_plan_spread(const eg_plan *plan, const eg_plan_step *step,
                             eg_arena *arena, const eg_spread **out_spread,
                             const eg_strategy **out_strategy) {
  eg_node_spec spec;
  eg_spread *spread;
  eg_strategy *strategy;
  EG_TRY(eg_plan_spec(plan, step, arena, &spec));
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *spread, &spread));
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *strategy, &strategy));
  EG_TRY(eg_spread_init(&spec, spread));
  if (!eg_spread_combine(spread, &plan->mesh, step->action, strategy))
    return EG_FAIL(EGRAPH_E_INTERNAL, "actions that do not combine");
  if (spec.result_count != 0) {
    eg_format_choice formats = formats_of(plan, step, spec.input_count);
    eg_strategy_set_formats(strategy, &formats);
  }
  *out_spread = spread;
  *out_strategy = strategy;
  return EGRAPH_OK;
}

// ---- check ------------------------------------------------------------------------

typedef struct checker {
  const eg_plan *plan;
  eg_arena *arena;
  uint32_t at;                   // step
  const eg_plan_state **entries; // [values] the first one from the start, or NULL
  bool *constants;               // [values]
} checker;

static egraph_status broken(const checker *c, const char *what) {
  return EG_FAIL(EGRAPH_E_INTERNAL, "plan, step %" PRIu32 ": %s", c->at, what);
}

static const eg_plan_state *state_at(const checker *c, uint32_t state) {
  return state < c->plan->states.len ? &c->plan->states.data[state] : NULL;
}

/// Whether what one device holds of a value can be in the layout's memory format.
static bool fits_format(const eg_plan *plan, const eg_type *type,
                        const eg_layout *layout) {
  eg_type local = eg_sharding_local(&plan->mesh, type, layout);
  return layout->format < EG_FORMAT_COUNT &&
         eg_format_fits(&local, (eg_format)layout->format);
}

static egraph_status check_state(const checker *c, const eg_plan_state *state) {
  const eg_plan *plan = c->plan;
  if (state->value.id >= eg_graph_value_count(plan->graph))
    return broken(c, "a state of no value");
  const eg_value_info *info = eg_graph_value(plan->graph, state->value);
  if (!info->typed ||
      eg_sharding_check(&plan->mesh, &info->type, &state->layout) != EG_SHARDING_LEGAL ||
      !fits_format(plan, &info->type, &state->layout))
    return broken(c, "a state whose layout does not fit its value");
  bool is_given = info->kind != EG_VALUE_COMPUTED || c->constants[state->value.id];
  if (state->step == EG_PLAN_NONE ? !is_given : state->step >= plan->steps.len)
    return broken(c, "a state that nothing makes");
  return EGRAPH_OK;
}

/// That an operand is there: made by an earlier step, of no later phase.
static egraph_status check_operand(const checker *c, uint32_t number) {
  const eg_plan_state *state = state_at(c, number);
  if (state == NULL) return broken(c, "an operand that is no state");
  if (state->step == EG_PLAN_NONE) return EGRAPH_OK;
  if (state->step >= c->at) return broken(c, "an operand is made later");
  return EGRAPH_OK;
}

static egraph_status check_move(const checker *c, const eg_plan_step *step) {
  EG_TRY(check_operand(c, step->from));
  const eg_plan_state *from = state_at(c, step->from), *to = state_at(c, step->to);
  eg_transition transition;
  if (to == NULL || to->step != c->at || to->value.id != from->value.id)
    return broken(c, "a move to a state of another value or step");
  if (!eg_transition_between(&c->plan->mesh,
                             &eg_graph_value(c->plan->graph, from->value)->type,
                             &from->layout, &to->layout, &transition) ||
      transition.kind != step->transition.kind ||
      transition.axis != step->transition.axis ||
      transition.from != step->transition.from || transition.to != step->transition.to)
    return broken(c, "a move that is no single transition");
  return EGRAPH_OK;
}

/// That there is a state for each operand and result.
static egraph_status check_operands(const checker *c, const eg_plan_step *step,
                                    const eg_graph_node_info *info) {
  const uint32_t *operands = c->plan->operands.data + step->operands;
  for (uint32_t i = 0; i < info->input_count; i++)
    EG_TRY(check_operand(c, operands[i]));
  for (uint32_t r = 0; r < info->result_count; r++)
    if (state_at(c, operands[info->input_count + r]) == NULL)
      return broken(c, "a result that is no state");
  return EGRAPH_OK;
}

static egraph_status check_layouts(const checker *c, const eg_plan_step *step,
                                   const eg_graph_node_info *info,
                                   const eg_strategy *strategy) {
  const uint32_t *operands = c->plan->operands.data + step->operands;
  for (uint32_t i = 0; i < info->input_count; i++) {
    const eg_plan_state *state = state_at(c, operands[i]);
    if (state->value.id != info->inputs[i].id ||
        !eg_layout_same(&c->plan->mesh, &state->layout, eg_strategy_input(strategy, i)))
      return broken(c, "an operand in another layout than the strategy's");
  }
  for (uint32_t r = 0; r < info->result_count; r++) {
    const eg_plan_state *state = state_at(c, operands[info->input_count + r]);
    if (state->step != c->at || state->value.id != info->results[r].id ||
        !eg_layout_same(&c->plan->mesh, &state->layout, &strategy->result))
      return broken(c, "a result in another layout than the strategy's");
    if (state->more_blocks != state_at(c, operands[info->input_count])->more_blocks)
      return broken(c, "results of a node that stand for several numbers of blocks");
  }
  return EGRAPH_OK;
}

static egraph_status check_node(const checker *c, const eg_plan_step *step) {
  if (step->node.id >= eg_graph_node_count(c->plan->graph))
    return broken(c, "no such node");
  eg_graph_node_info info = eg_graph_node_at(c->plan->graph, step->node);
  if ((uint64_t)step->operands + info.input_count + info.result_count >
      c->plan->operands.len)
    return broken(c, "operands are missing");
  EG_TRY(check_operands(c, step, &info));
  const eg_spread *spread;
  const eg_strategy *strategy;
  egraph_status status = eg_plan_spread(c->plan, step, c->arena, &spread, &strategy);
  if (status == EGRAPH_E_INTERNAL) return broken(c, "actions that do not combine");
  EG_TRY(status);
  return check_layouts(c, step, &info, strategy);
}

static egraph_status check_steps(checker *c) {
  eg_phase phase = EG_PHASE_FORWARD;
  for (c->at = 0; c->at < c->plan->steps.len; c->at++) {
    const eg_plan_step *step = &c->plan->steps.data[c->at];
    if (step->phase < phase) return broken(c, "a phase that was over");
    phase = step->phase;
    EG_TRY(step->is_move ? check_move(c, step) : check_node(c, step));
  }
  return EGRAPH_OK;
}

static egraph_status find_entries(checker *c) {
  const eg_plan *plan = c->plan;
  EG_TRY(eg_arena_alloc(c->arena, eg_graph_value_count(plan->graph), sizeof *c->entries,
                        &c->entries));
  for (size_t i = plan->states.len; i-- > 0;)
    if (plan->states.data[i].step == EG_PLAN_NONE)
      c->entries[plan->states.data[i].value.id] = &plan->states.data[i];
  return EGRAPH_OK;
}

static bool makes(const eg_plan *plan, const eg_plan_step *step, uint32_t state) {
  if (step->is_move) return step->to == state;
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  const uint32_t *results = plan->operands.data + step->operands + info.input_count;
  for (uint32_t r = 0; r < info.result_count; r++)
    if (results[r] == state) return true;
  return false;
}

/// That all states of a value, and all results of a node, stand for as many blocks.
static egraph_status check_blocks(const checker *c) {
  const eg_plan *plan = c->plan;
  const eg_plan_state **first; // [values] state, or NULL
  EG_TRY(
      eg_arena_alloc(c->arena, eg_graph_value_count(plan->graph), sizeof *first, &first));
  for (uint32_t i = 0; i < plan->states.len; i++) {
    const eg_plan_state *state = &plan->states.data[i];
    const eg_plan_state **known = &first[state->value.id];
    if (*known == NULL) *known = state;
    if (state->more_blocks != (*known)->more_blocks)
      return broken(c, "a value that stands for several numbers of blocks");
  }
  return EGRAPH_OK;
}

/// That every state is made by the step that it names, and only what is computed enters
/// in several layouts.
static egraph_status check_makers(const checker *c) {
  const eg_plan *plan = c->plan;
  for (uint32_t i = 0; i < plan->states.len; i++) {
    const eg_plan_state *state = &plan->states.data[i];
    bool enters_again =
        c->entries[state->value.id] != state &&
        eg_graph_value(plan->graph, state->value)->kind != EG_VALUE_COMPUTED;
    if (state->step == EG_PLAN_NONE ? enters_again
                                    : !makes(plan, &plan->steps.data[state->step], i))
      return broken(c, "a state that its step does not make, or that enters twice");
  }
  return EGRAPH_OK;
}

static egraph_status check_outputs(const checker *c) {
  const eg_plan *plan = c->plan;
  if (plan->output_states.len != eg_graph_output_count(plan->graph))
    return broken(c, "an output without a state");
  for (uint32_t i = 0; i < plan->output_states.len; i++) {
    EG_TRY(check_operand(c, plan->output_states.data[i]));
    if (state_at(c, plan->output_states.data[i])->value.id !=
        eg_graph_output(plan->graph, i, NULL).id)
      return broken(c, "an output has the state of another value");
  }
  return EGRAPH_OK;
}

static egraph_status check_carried(const checker *c) {
  const eg_plan *plan = c->plan;
  bool *enters; // [values]
  EG_TRY(eg_arena_alloc(c->arena, eg_graph_value_count(plan->graph), sizeof *enters,
                        &enters));
  for (size_t i = 0; i + 1 < plan->carried.len; i += 2) {
    uint32_t output = plan->carried.data[i], value = plan->carried.data[i + 1];
    if (output >= plan->output_states.len) return broken(c, "carries no output");
    if (enters[value]) return broken(c, "two values leave the step for one that enters");
    enters[value] = true;
    const eg_plan_state *entry = c->entries[value];
    const eg_plan_state *exit = state_at(c, plan->output_states.data[output]);
    if (!eg_type_same(&eg_graph_value(plan->graph, exit->value)->type,
                      &eg_graph_value(plan->graph, (eg_value){value})->type))
      return broken(c, "a value leaves the step in another type than it entered");
    if (entry == NULL) continue;
    if (!eg_layout_same(&plan->mesh, &entry->layout, &exit->layout))
      return broken(c, "a value leaves the step in another layout than it entered");
    if (entry->more_blocks != exit->more_blocks)
      return broken(c, "a value leaves the step for another number of blocks");
  }
  return EGRAPH_OK;
}

static egraph_status find_constants(checker *c) {
  const eg_plan *plan = c->plan;
  uint32_t values = eg_graph_value_count(plan->graph);
  for (size_t i = 1; i < plan->carried.len; i += 2)
    if (plan->carried.data[i] >= values ||
        eg_graph_value(plan->graph, (eg_value){plan->carried.data[i]})->kind ==
            EG_VALUE_COMPUTED)
      return broken(c, "carries no value that enters");
  EG_TRY(eg_arena_alloc(c->arena, values, sizeof *c->constants, &c->constants));
  eg_plan_constants(plan, c->constants);
  return EGRAPH_OK;
}

egraph_status eg_plan_check(const eg_plan *plan, egraph_allocator alloc) {
  eg_arena arena;
  eg_arena_init(&arena, alloc);
  checker c = {.plan = plan, .arena = &arena};
  egraph_status status = find_constants(&c);
  for (size_t i = 0; status == EGRAPH_OK && i < plan->states.len; i++)
    status = check_state(&c, &plan->states.data[i]);
  if (status == EGRAPH_OK) status = check_steps(&c);
  if (status == EGRAPH_OK) status = find_entries(&c);
  if (status == EGRAPH_OK) status = check_makers(&c);
  if (status == EGRAPH_OK) status = check_blocks(&c);
  if (status == EGRAPH_OK) status = check_outputs(&c);
  if (status == EGRAPH_OK) status = check_carried(&c);
  eg_arena_deinit(&arena);
  return status;
}
