// Checks every invariant of a plan, recomputed from its graph.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "base/owner.h"
#include "pcg/plan/plan.h"

typedef struct checker {
  const eg_plan *plan;
  eg_arena arena;
  uint32_t at;                   // step
  const eg_plan_state **entries; // [values] the first state without a step, or NULL
  bool *constants;               // [values]
} checker;
EG_OWNER_DEFINE_STATIC(checker, (eg_arena, arena))

static egraph_status broken(const checker *c, const char *what) {
  return EG_FAIL(EGRAPH_E_INTERNAL, "plan, step %" PRIu32 ": %s", c->at, what);
}

/// Returns the state (value in a layout) with a number; NULL: the plan does not have it.
static const eg_plan_state *find_state(const checker *c, uint32_t state) {
  return state < c->plan->states.len ? &c->plan->states.data[state] : NULL;
}

/// True when a device's part of a value can have the memory format of a layout.
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

/// Checks that an operand is a state that is there from the start, or made before.
static egraph_status check_operand_state(const checker *c, uint32_t number) {
  const eg_plan_state *state = find_state(c, number);
  if (state == NULL) return broken(c, "an operand that is no state");
  if (state->step != EG_PLAN_NONE && state->step >= c->at)
    return broken(c, "an operand is made later");
  return EGRAPH_OK;
}

static egraph_status check_move(const checker *c, const eg_plan_step *step) {
  EG_TRY(check_operand_state(c, step->from));
  const eg_plan_state *from = find_state(c, step->from), *to = find_state(c, step->to);
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

/// Checks that operands and results are in the layouts of the node's strategy.
static egraph_status check_layouts(const checker *c, const eg_plan_step *step,
                                   const eg_graph_node_info *info,
                                   const eg_spread *spread, const eg_strategy *strategy) {
  const uint32_t *operands = c->plan->operands.data + step->operands;
  for (uint32_t i = 0; i < info->input_count; i++) {
    const eg_plan_state *state = find_state(c, operands[i]);
    if (state->value.id != info->inputs[i].id ||
        !eg_layout_same(&c->plan->mesh, &state->layout, eg_strategy_input(strategy, i)))
      return broken(c, "an operand in another layout than the strategy's");
  }
  for (uint32_t r = 0; r < info->result_count; r++) {
    const eg_plan_state *state = find_state(c, operands[info->input_count + r]);
    eg_layout layout =
        eg_factors_result_layout(&spread->factors, &c->plan->mesh, &strategy->result, r);
    if (state->step != c->at || state->value.id != info->results[r].id ||
        !eg_layout_same(&c->plan->mesh, &state->layout, &layout))
      return broken(c, "a result in another layout than the strategy's");
    if (state->more_blocks != find_state(c, operands[info->input_count])->more_blocks)
      return broken(c, "results of a node that stand for several numbers of blocks");
  }
  return EGRAPH_OK;
}

static egraph_status check_node_step(checker *c, const eg_plan_step *step) {
  if (step->node.id >= eg_graph_node_count(c->plan->graph))
    return broken(c, "no such node");
  eg_graph_node_info info = eg_graph_node_at(c->plan->graph, step->node);
  if ((uint64_t)step->operands + info.input_count + info.result_count >
      c->plan->operands.len)
    return broken(c, "operands are missing");
  const uint32_t *operands = c->plan->operands.data + step->operands;
  for (uint32_t i = 0; i < info.input_count; i++)
    EG_TRY(check_operand_state(c, operands[i]));
  for (uint32_t r = 0; r < info.result_count; r++)
    if (find_state(c, operands[info.input_count + r]) == NULL)
      return broken(c, "a result that is no state");
  const eg_spread *spread;
  const eg_strategy *strategy;
  egraph_status status = eg_plan_spread(c->plan, step, &c->arena, &spread, &strategy);
  if (status == EGRAPH_E_INTERNAL) return broken(c, "actions that do not combine");
  EG_TRY(status);
  return check_layouts(c, step, &info, spread, strategy);
}

static egraph_status check_steps(checker *c) {
  eg_phase phase = EG_PHASE_FORWARD;
  for (c->at = 0; c->at < c->plan->steps.len; c->at++) {
    const eg_plan_step *step = &c->plan->steps.data[c->at];
    if (step->phase < phase) return broken(c, "a phase that was over");
    phase = step->phase;
    EG_TRY(step->is_move ? check_move(c, step) : check_node_step(c, step));
  }
  return EGRAPH_OK;
}

static egraph_status find_entries(checker *c) {
  const eg_plan *plan = c->plan;
  EG_NEW(&c->arena, eg_graph_value_count(plan->graph), c->entries);
  for (size_t i = plan->states.len; i-- > 0;)
    if (plan->states.data[i].step == EG_PLAN_NONE)
      c->entries[plan->states.data[i].value.id] = &plan->states.data[i];
  return EGRAPH_OK;
}

static bool makes_state(const eg_plan *plan, const eg_plan_step *step, uint32_t state) {
  for (uint32_t r = 0; r < eg_plan_step_result_count(plan, step); r++)
    if (eg_plan_step_result(plan, step, r) == state) return true;
  return false;
}

/// Checks that the step named by each state makes this state, and that no input or weight
/// enters the step in two layouts.
static egraph_status check_makers(const checker *c) {
  const eg_plan *plan = c->plan;
  for (uint32_t i = 0; i < plan->states.len; i++) {
    const eg_plan_state *state = &plan->states.data[i];
    bool enters_again =
        c->entries[state->value.id] != state &&
        eg_graph_value(plan->graph, state->value)->kind != EG_VALUE_COMPUTED;
    if (state->step == EG_PLAN_NONE
            ? enters_again
            : !makes_state(plan, &plan->steps.data[state->step], i))
      return broken(c, "a state that its step does not make, or that enters twice");
  }
  return EGRAPH_OK;
}

/// Checks that all states of a value represent the same number of blocks.
static egraph_status check_blocks(checker *c) {
  const eg_plan *plan = c->plan;
  const eg_plan_state **first; // [values] state, or NULL
  EG_NEW(&c->arena, eg_graph_value_count(plan->graph), first);
  for (uint32_t i = 0; i < plan->states.len; i++) {
    const eg_plan_state *state = &plan->states.data[i];
    const eg_plan_state **known = &first[state->value.id];
    if (*known == NULL) *known = state;
    if (state->more_blocks != (*known)->more_blocks)
      return broken(c, "a value that stands for several numbers of blocks");
  }
  return EGRAPH_OK;
}

static egraph_status check_output_states(const checker *c) {
  const eg_plan *plan = c->plan;
  if (plan->output_states.len != eg_graph_output_count(plan->graph))
    return broken(c, "an output without a state");
  for (uint32_t i = 0; i < plan->output_states.len; i++) {
    EG_TRY(check_operand_state(c, plan->output_states.data[i]));
    if (find_state(c, plan->output_states.data[i])->value.id !=
        eg_graph_output(plan->graph, i, NULL).id)
      return broken(c, "an output has the state of another value");
  }
  return EGRAPH_OK;
}

static egraph_status check_carried(checker *c) {
  const eg_plan *plan = c->plan;
  bool *enters; // [values]
  EG_NEW(&c->arena, eg_graph_value_count(plan->graph), enters);
  for (size_t i = 0; i + 1 < plan->carried.len; i += 2) {
    uint32_t output = plan->carried.data[i], value = plan->carried.data[i + 1];
    if (output >= plan->output_states.len) return broken(c, "carries no output");
    if (enters[value]) return broken(c, "two values leave the step for one that enters");
    enters[value] = true;
    const eg_plan_state *entry = c->entries[value];
    const eg_plan_state *exit = find_state(c, plan->output_states.data[output]);
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

/// Checks that values passed to the next step enter the step, then flags constants.
static egraph_status find_constants(checker *c) {
  const eg_plan *plan = c->plan;
  uint32_t values = eg_graph_value_count(plan->graph);
  for (size_t i = 1; i < plan->carried.len; i += 2)
    if (plan->carried.data[i] >= values ||
        eg_graph_value(plan->graph, (eg_value){plan->carried.data[i]})->kind ==
            EG_VALUE_COMPUTED)
      return broken(c, "carries no value that enters");
  EG_NEW(&c->arena, values, c->constants);
  eg_plan_constants(plan, c->constants);
  return EGRAPH_OK;
}

egraph_status eg_plan_check(const eg_plan *plan, egraph_allocator alloc) {
  EG_LOCAL(checker, c, alloc);
  c.plan = plan;
  EG_TRY(find_constants(&c));
  for (size_t i = 0; i < plan->states.len; i++)
    EG_TRY(check_state(&c, &plan->states.data[i]));
  EG_TRY(check_steps(&c));
  EG_TRY(find_entries(&c));
  EG_TRY(check_makers(&c));
  EG_TRY(check_blocks(&c));
  EG_TRY(check_output_states(&c));
  return check_carried(&c);
}
