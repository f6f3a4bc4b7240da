// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan.h"

#include <math.h>

#include "base/hash.h"
#include "base/owner.h"
#include "pcg/graph/graph_copy.h"

EG_NAME_DEFINE(uint32_t, eg_price_basis_name, EG_PRICE_BASIS_LIST)
EG_FIND_DEFINE(uint32_t, eg_price_basis_find, EG_PRICE_BASIS_LIST)

EG_OWNER_DEFINE_FROM(eg_plan, (.micro_batches = 1), (eg_plan_states, states),
                     (eg_plan_steps, steps), (eg_plan_rivals, rivals),
                     (eg_u32s, operands, output_states, carried))

bool eg_plan_is_folded(const eg_plan *plan) {
  for (size_t i = 0; i < plan->states.len; i++)
    if (plan->states.data[i].more_blocks != 0) return true;
  return false;
}

bool eg_plan_is_carried(const eg_plan *plan, uint32_t output) {
  for (size_t i = 0; i + 1 < plan->carried.len; i += 2)
    if (plan->carried.data[i] == output) return true;
  return false;
}

// ---- figures --------------------------------------------------------------------------

uint32_t eg_phase_runs(const eg_plan *plan, eg_phase phase) {
  return phase == EG_PHASE_UPDATE ? 1 : plan->micro_batches;
}

double eg_plan_step_blocks(const eg_plan_step *step) { return 1.0 + step->more_blocks; }

double eg_plan_step_seconds(const eg_plan *plan, const eg_plan_step *step) {
  return eg_phase_runs(plan, step->phase) * eg_plan_step_blocks(step) * step->seconds;
}

double eg_plan_state_bytes(const eg_plan *plan, uint32_t state) {
  const eg_plan_state *row = eg_plan_states_at(&plan->states, state);
  eg_type local = eg_sharding_local(
      &plan->mesh, &eg_graph_value(plan->graph, row->value)->type, &row->layout);
  return (double)eg_type_bytes(&local);
}

double eg_plan_move_bytes(const eg_plan *plan, const eg_plan_step *step) {
  assert(step->is_move);
  const eg_plan_state *from = eg_plan_states_at(&plan->states, step->from);
  return eg_transition_bytes(&plan->mesh, &eg_graph_value(plan->graph, from->value)->type,
                             &from->layout, &step->transition);
}

// ---- specs and strategies -------------------------------------------------------------

egraph_status eg_plan_spec(const eg_plan *plan, const eg_plan_step *step, eg_arena *arena,
                           eg_node_spec *out) {
  assert(!step->is_move);
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  size_t count = (size_t)info.input_count + info.result_count;
  eg_type *types;
  EG_NEW(arena, count, types);
  for (uint32_t i = 0; i < count; i++) {
    eg_value value =
        i < info.input_count ? info.inputs[i] : info.results[i - info.input_count];
    types[i] = eg_graph_value(plan->graph, value)->type;
    types[i].layout = (eg_layout){0};
  }
  *out = (eg_node_spec){.attrs = info.attrs,
                        .inputs = types,
                        .input_count = info.input_count,
                        .results = types + info.input_count,
                        .result_count = info.result_count};
  return EGRAPH_OK;
}

/// Returns the memory formats of the states that a step reads and makes.
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
  EG_NEW(arena, 1, spread);
  EG_NEW(arena, 1, strategy);
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

// ---- constants ------------------------------------------------------------------------

void eg_plan_constants(const eg_plan *plan, bool *out_flags) {
  for (uint32_t v = 0; v < eg_graph_value_count(plan->graph); v++)
    out_flags[v] = eg_graph_value(plan->graph, (eg_value){v})->kind == EG_VALUE_WEIGHT;
  for (size_t i = 1; i < plan->carried.len; i += 2)
    out_flags[plan->carried.data[i]] = false;
  eg_graph_flag_computed(plan->graph, out_flags);
}

static bool is_slice(const eg_plan_step *step) {
  return step->is_move && step->transition.kind == EG_TRANSITION_SLICE;
}

/// Flags the states of constants that no plan step makes, and all slices of these states.
static void flag_slices(const eg_plan *plan, const bool *constants, bool *out_flags) {
  for (size_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    out_flags[s] = state->step == EG_PLAN_NONE && constants[state->value.id];
  }
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (is_slice(step)) out_flags[step->to] = out_flags[step->from];
  }
}

/// Flags the states that are outputs or operands of plan steps other than slices.
static void flag_read(const eg_plan *plan, bool *out_flags) {
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    uint32_t count = is_slice(step) ? 0 : eg_plan_step_operand_count(plan, step);
    for (uint32_t k = 0; k < count; k++)
      out_flags[eg_plan_step_operand(plan, step, k)] = true;
  }
  for (size_t i = 0; i < plan->output_states.len; i++)
    out_flags[plan->output_states.data[i]] = true;
}

egraph_status eg_plan_ahead(const eg_plan *plan, egraph_allocator alloc,
                            bool *out_flags) {
  uint32_t values = eg_graph_value_count(plan->graph);
  bool *constants, *is_read;
  double *more_bytes; // [values] bytes of read states - bytes of states without a step
  EG_LOCAL(eg_arena, scratch, alloc);
  EG_NEW(&scratch, values, constants);
  EG_NEW(&scratch, values, more_bytes);
  EG_NEW(&scratch, plan->states.len, is_read);
  eg_plan_constants(plan, constants);
  flag_slices(plan, constants, out_flags);
  flag_read(plan, is_read);
  for (size_t i = 0; i < plan->carried.len; i += 2) { // outputs are made in the step
    uint32_t exit = plan->output_states.data[plan->carried.data[i]];
    more_bytes[plan->states.data[exit].value.id] = INFINITY;
  }
  for (uint32_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    if (!out_flags[s]) continue;
    double bytes = eg_plan_state_bytes(plan, s);
    if (is_read[s]) more_bytes[state->value.id] += bytes;
    if (state->step == EG_PLAN_NONE) more_bytes[state->value.id] -= bytes;
  }
  for (size_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    if (state->step != EG_PLAN_NONE && more_bytes[state->value.id] > 0)
      out_flags[s] = false;
  }
  return EGRAPH_OK;
}

// ---- the plan of one device -----------------------------------------------------------

typedef struct graph_planner {
  eg_plan *plan;
  const eg_graph *graph;
  bool *needed, *constants; // [values]
  uint32_t *states;         // [values] state of the value; EG_PLAN_NONE: none yet
} graph_planner;

static egraph_status add_value_state(graph_planner *p, eg_value value, uint32_t step) {
  eg_plan_state state = {.value = value, .step = step};
  state.layout.format = eg_graph_value(p->graph, value)->type.layout.format;
  p->states[value.id] = (uint32_t)p->plan->states.len;
  return eg_plan_states_push(&p->plan->states, state);
}

/// Appends the state of a value to a list. A constant that has no state yet gets one.
static egraph_status use_value(graph_planner *p, eg_value value, eg_u32s *list) {
  if (p->states[value.id] == EG_PLAN_NONE)
    EG_TRY(add_value_state(p, value, EG_PLAN_NONE));
  return eg_u32s_push(list, p->states[value.id]);
}

static egraph_status add_node_step(graph_planner *p, uint32_t node) {
  eg_plan *plan = p->plan;
  eg_graph_node_info info = eg_graph_node_at(p->graph, (eg_graph_node){node});
  eg_plan_step step = {.node = {node}, .operands = (uint32_t)plan->operands.len};
  if (!eg_node_any_result(&info, p->needed) || p->constants[info.results[0].id])
    return EGRAPH_OK;
  for (uint32_t i = 0; i < info.input_count; i++)
    EG_TRY(use_value(p, info.inputs[i], &plan->operands));
  for (uint32_t r = 0; r < info.result_count; r++) {
    EG_TRY(add_value_state(p, info.results[r], (uint32_t)plan->steps.len));
    EG_TRY(use_value(p, info.results[r], &plan->operands));
  }
  return eg_plan_steps_push(&plan->steps, step);
}

egraph_status eg_plan_of_graph(const eg_graph *graph, eg_plan *inout) {
  assert(inout->states.len == 0 && inout->steps.len == 0);
  uint32_t values = eg_graph_value_count(graph);
  graph_planner p = {.plan = inout, .graph = graph};
  EG_LOCAL(eg_arena, scratch, inout->states.alloc);
  inout->graph = graph;
  EG_NEW(&scratch, values, p.needed);
  EG_NEW(&scratch, values, p.constants);
  EG_NEW(&scratch, values, p.states);
  eg_graph_flag_needed(graph, NULL, p.needed);
  eg_plan_constants(inout, p.constants);
  for (uint32_t v = 0; v < values; v++)
    p.states[v] = EG_PLAN_NONE;
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++)
    EG_TRY(add_value_state(&p, eg_graph_input(graph, i), EG_PLAN_NONE));
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    EG_TRY(add_node_step(&p, n));
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++)
    EG_TRY(use_value(&p, eg_graph_output(graph, i, NULL), &inout->output_states));
  return EGRAPH_OK;
}

// ---- digest ---------------------------------------------------------------------------

static void digest_number(uint64_t *digest, uint64_t value) {
  *digest = eg_hash_combine(*digest, value);
}

static void digest_list(uint64_t *digest, const eg_u32s *list) {
  digest_number(digest, list->len);
  for (size_t i = 0; i < list->len; i++)
    digest_number(digest, list->data[i]);
}

static void digest_state(uint64_t *digest, uint32_t axes, const eg_plan_state *state) {
  digest_number(digest, state->value.id);
  *digest = eg_hash_bytes(*digest, state->layout.sharding, axes);
  digest_number(digest, state->layout.format);
  digest_number(digest, state->step);
  digest_number(digest, state->more_blocks);
}

static void digest_step(uint64_t *digest, uint32_t axes, const eg_plan_step *step) {
  digest_number(digest, step->is_move);
  digest_number(digest, (uint64_t)step->phase);
  if (step->is_move) {
    digest_number(digest, step->from);
    digest_number(digest, step->to);
  } else {
    digest_number(digest, step->node.id);
    *digest = eg_hash_bytes(*digest, step->action, axes);
  }
}

egraph_status eg_plan_digest(const eg_plan *plan, egraph_allocator alloc, uint64_t *out) {
  uint32_t axes = plan->mesh.axis_count;
  EG_LOCAL(eg_text, text, alloc);
  EG_TRY(eg_graph_print(plan->graph, &text));
  uint64_t digest = eg_hash_bytes(plan->micro_batches, text.chars.data, text.chars.len);
  digest_number(&digest, axes);
  for (uint32_t a = 0; a < axes; a++) {
    const eg_mesh_axis *axis = &plan->mesh.axes[a];
    digest_number(&digest, axis->size);
    digest = eg_hash_bytes(digest, axis->name, strlen(axis->name));
  }
  for (size_t i = 0; i < plan->states.len; i++)
    digest_state(&digest, axes, &plan->states.data[i]);
  for (size_t i = 0; i < plan->steps.len; i++)
    digest_step(&digest, axes, &plan->steps.data[i]);
  digest_list(&digest, &plan->operands);
  digest_list(&digest, &plan->output_states);
  digest_list(&digest, &plan->carried);
  *out = digest;
  return EGRAPH_OK;
}
