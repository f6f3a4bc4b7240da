// Plans made without thought: random legal strategies, random layouts of what enters, and
// moves digit by digit wherever layouts differ. Where memory formats are drawn, too,
// tensors lie in random ones, and some of what weights make is there from the start. What
// they compute is what counts.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_RANDOM_PLANS_H
#define EG_TESTS_UNIT_RANDOM_PLANS_H

#include "exec/rank_program.h"
#include "tests/testing.h"
#include "tests/unit/session_kit.h"

typedef struct plan_maker {
  eg_plan *plan;
  eg_rng rng;
  const eg_phase *phases; // [nodes]; NULL: all forward
  eg_phase phase;         // of the step being made
  // Instead of a random one, the strategy of the only node with this number; UINT32_MAX:
  // random.
  uint32_t strategy;
  bool draws_formats;
} plan_maker;

static inline const eg_type *plan_type_of(const plan_maker *m, uint32_t value) {
  return &eg_graph_value(m->plan->graph, (eg_value){value})->type;
}

static inline uint32_t plan_add_state(plan_maker *m, uint32_t value,
                                      const eg_layout *layout, uint32_t step) {
  assert_ok(eg_plan_states_push(
      &m->plan->states,
      (eg_plan_state){.value = {value}, .layout = *layout, .step = step}));
  return (uint32_t)m->plan->states.len - 1;
}

// ---- moves ------------------------------------------------------------------------

/// The state one transition further, or false when there is no such transition.
static inline bool plan_move(plan_maker *m, uint32_t *inout, uint32_t axis,
                             uint8_t digit) {
  eg_plan_state from = m->plan->states.data[*inout];
  eg_layout to = from.layout;
  eg_plan_step step = {.is_move = true, .phase = m->phase, .from = *inout};
  to.sharding[axis] = digit;
  const eg_type *type = plan_type_of(m, from.value.id);
  if (eg_sharding_check(&m->plan->mesh, type, &to) != EG_SHARDING_LEGAL) return false;
  eg_type local = eg_sharding_local(&m->plan->mesh, type, &to);
  if (!eg_format_fits(&local, (eg_format)to.format) ||
      !eg_transition_between(&m->plan->mesh, type, &from.layout, &to, &step.transition))
    return false;
  step.to = plan_add_state(m, from.value.id, &to, (uint32_t)m->plan->steps.len);
  assert_ok(eg_plan_steps_push(&m->plan->steps, step));
  *inout = step.to;
  return true;
}

static inline uint32_t plan_reorder(plan_maker *m, uint32_t from, uint8_t format) {
  eg_plan_state state = m->plan->states.data[from];
  eg_layout to = state.layout;
  eg_plan_step step = {.is_move = true, .phase = m->phase, .from = from};
  to.format = format;
  if (format == state.layout.format) return from;
  assert_true(
      eg_transition_between(&m->plan->mesh, NULL, &state.layout, &to, &step.transition));
  step.to = plan_add_state(m, state.value.id, &to, (uint32_t)m->plan->steps.len);
  assert_ok(eg_plan_steps_push(&m->plan->steps, step));
  return step.to;
}

static inline bool plan_has_sharding(const plan_maker *m, uint32_t state,
                                     const eg_layout *sharding) {
  eg_layout same = *sharding;
  same.format = m->plan->states.data[state].layout.format;
  return eg_layout_same(&m->plan->mesh, &m->plan->states.data[state].layout, &same);
}

/// Moves to a sharding that R can reach: now and then straight, otherwise through R.
static inline uint32_t plan_reshard(plan_maker *m, uint32_t state, const eg_layout *to) {
  uint32_t axes = m->plan->mesh.axis_count;
  const eg_plan_states *states = &m->plan->states;
  for (uint32_t a = 0; a < axes; a++)
    if (eg_rng_below(&m->rng, 2) &&
        states->data[state].layout.sharding[a] != to->sharding[a])
      (void)plan_move(m, &state, a, to->sharding[a]);
  if (plan_has_sharding(m, state, to)) return state;
  for (uint32_t a = axes; a-- > 0;)
    if (states->data[state].layout.sharding[a] != EG_SHARD_R)
      assert_true(plan_move(m, &state, a, EG_SHARD_R));
  for (uint32_t a = 0; a < axes; a++)
    if (to->sharding[a] != EG_SHARD_R)
      assert_true(plan_move(m, &state, a, to->sharding[a]));
  return state;
}

/// Moves to a layout: now and then in the memory format that there is, where that can be
/// cut so, otherwise as a plain tensor.
static inline uint32_t plan_reach(plan_maker *m, uint32_t state, const eg_layout *to) {
  for (uint32_t a = 0; a < m->plan->mesh.axis_count; a++)
    if (m->draws_formats && eg_rng_below(&m->rng, 2) &&
        m->plan->states.data[state].layout.sharding[a] != to->sharding[a])
      (void)plan_move(m, &state, a, to->sharding[a]);
  if (!plan_has_sharding(m, state, to))
    state = plan_reshard(m, plan_reorder(m, state, EG_FORMAT_PLAIN), to);
  return plan_reorder(m, state, to->format);
}

/// A state of the value with a layout: one there is, or moved to from any.
static inline uint32_t plan_state_of(plan_maker *m, uint32_t value,
                                     const eg_layout *layout) {
  uint32_t any = EG_PLAN_NONE, seen = 0;
  for (uint32_t s = 0; s < m->plan->states.len; s++) {
    const eg_plan_state *state = &m->plan->states.data[s];
    if (state->value.id != value) continue;
    if (eg_layout_same(&m->plan->mesh, &state->layout, layout)) return s;
    if (eg_rng_below(&m->rng, ++seen) == 0) any = s;
  }
  assert_true(any != EG_PLAN_NONE);
  return plan_reach(m, any, layout);
}

// ---- values and nodes -------------------------------------------------------------

/// Any format that the block can be stored in.
static inline void plan_draw_format(plan_maker *m, const eg_type *type,
                                    eg_layout *inout) {
  eg_type local = eg_sharding_local(&m->plan->mesh, type, inout);
  if (!m->draws_formats) return;
  uint8_t format = (uint8_t)eg_rng_below(&m->rng, EG_FORMAT_COUNT);
  if (eg_format_fits(&local, (eg_format)format)) inout->format = format;
}

/// Any legal layout; `is_reachable`: from R, so no maxima.
static inline eg_layout plan_draw_layout(plan_maker *m, const eg_type *type,
                                         bool is_reachable) {
  for (int attempt = 0; attempt < 20; attempt++) {
    eg_layout layout = {0};
    bool has_max = false;
    for (uint32_t a = 0; a < m->plan->mesh.axis_count; a++) {
      layout.sharding[a] = (uint8_t)eg_rng_below(&m->rng, EG_SHARD_S0 + type->rank);
      has_max = has_max || layout.sharding[a] == EG_SHARD_P_MAX;
    }
    if ((!is_reachable || !has_max) &&
        eg_sharding_check(&m->plan->mesh, type, &layout) == EG_SHARDING_LEGAL)
      return layout;
  }
  return (eg_layout){0};
}

/// Index of the pair in which a value is carried, by its entry or exit; UINT32_MAX: not.
static inline uint32_t plan_carried_at(const eg_plan *plan, uint32_t value,
                                       bool is_exit) {
  for (uint32_t i = 0; i + 1 < plan->carried.len; i += 2) {
    uint32_t other = is_exit
                         ? eg_graph_output(plan->graph, plan->carried.data[i], NULL).id
                         : plan->carried.data[i + 1];
    if (other == value) return i;
  }
  return UINT32_MAX;
}

static inline void plan_add_leaves(plan_maker *m) {
  for (uint32_t v = 0; v < eg_graph_value_count(m->plan->graph); v++) {
    if (eg_graph_value(m->plan->graph, (eg_value){v})->kind == EG_VALUE_COMPUTED)
      continue;
    bool is_carried = plan_carried_at(m->plan, v, false) != UINT32_MAX;
    eg_layout layout = plan_draw_layout(m, plan_type_of(m, v), is_carried);
    plan_draw_format(m, plan_type_of(m, v), &layout);
    (void)plan_add_state(m, v, &layout, EG_PLAN_NONE);
  }
}

/// What is carried leaves in the layout in which it entered, in the phase it is made in.
static inline void plan_leave(plan_maker *m, uint32_t value, uint32_t state) {
  uint32_t pair = plan_carried_at(m->plan, value, true);
  if (pair == UINT32_MAX) return;
  eg_layout layout = {0};
  for (uint32_t s = 0; s < m->plan->states.len; s++)
    if (m->plan->states.data[s].value.id == m->plan->carried.data[pair + 1] &&
        m->plan->states.data[s].step == EG_PLAN_NONE)
      layout = m->plan->states.data[s].layout;
  m->plan->output_states.data[m->plan->carried.data[pair]] =
      plan_reach(m, state, &layout);
}

/// Any formats of a node that its part can have.
static inline eg_format_choice plan_draw_formats(plan_maker *m, const eg_spread *spread,
                                                 const eg_strategy *strategy,
                                                 eg_arena *arena) {
  eg_format_choice choices[EG_MAX_FORMAT_CHOICES] = {0};
  uint32_t count;
  if (!m->draws_formats) return choices[0];
  assert_ok(eg_spread_formats(spread, &m->plan->mesh, strategy, UINT32_MAX, arena,
                              choices, &count));
  return choices[eg_rng_below(&m->rng, count)];
}

/// Has results of a node that constants feed there from the start, now and then, and
/// twice.
static inline bool plan_add_constants(plan_maker *m, const eg_graph_node_info *info) {
  bool *flags = calloc(eg_graph_value_count(m->plan->graph), sizeof *flags);
  assert_non_null(flags);
  eg_plan_constants(m->plan, flags);
  bool is_constant = flags[info->results[0].id] && eg_rng_below(&m->rng, 2) == 0;
  free(flags);
  for (uint32_t i = 0; is_constant && i < 2 * info->result_count; i++) {
    uint32_t value = info->results[i / 2].id;
    eg_layout layout = plan_draw_layout(m, plan_type_of(m, value), false);
    plan_draw_format(m, plan_type_of(m, value), &layout);
    (void)plan_add_state(m, value, &layout, EG_PLAN_NONE);
  }
  return is_constant;
}

static inline void plan_add_node(plan_maker *m, uint32_t n) {
  eg_plan *plan = m->plan;
  eg_graph_node_info info = eg_graph_node_at(plan->graph, (eg_graph_node){n});
  if (m->draws_formats && plan_add_constants(m, &info)) return;
  eg_arena arena;
  eg_arena_init(&arena, eg_allocator_heap());
  m->phase = m->phases == NULL ? EG_PHASE_FORWARD : m->phases[n];
  eg_plan_step step = {.phase = m->phase, .node = {n}};
  eg_node_spec spec;
  eg_spread spread;
  eg_strategies all;
  eg_strategies_init(&all, eg_allocator_heap());
  assert_ok(eg_plan_spec(plan, &step, &arena, &spec));
  assert_ok(eg_spread_init(&spec, &spread));
  assert_ok(eg_spread_strategies(&spread, &plan->mesh, &arena, &all));
  assert_true(all.len != 0);
  size_t chosen =
      m->strategy != UINT32_MAX ? m->strategy : eg_rng_below(&m->rng, all.len);
  const eg_strategy *strategy = eg_strategies_at(&all, chosen);
  eg_format_choice formats = plan_draw_formats(m, &spread, strategy, &arena);
  uint32_t *states;
  assert_ok(eg_arena_alloc(&arena, (size_t)info.input_count + info.result_count,
                           sizeof *states, &states));
  for (uint32_t i = 0; i < info.input_count; i++) {
    eg_layout layout = *eg_strategy_input(strategy, i);
    layout.format = i < EG_MAX_FORMAT_OPERANDS ? formats.input[i] : EG_FORMAT_PLAIN;
    states[i] = plan_state_of(m, info.inputs[i].id, &layout);
  }
  eg_layout made = strategy->result;
  made.format = formats.output;
  for (uint32_t r = 0; r < info.result_count; r++) {
    const eg_layout layout =
        eg_factors_result_layout(&spread.factors, &plan->mesh, &made, r);
    states[info.input_count + r] =
        plan_add_state(m, info.results[r].id, &layout, (uint32_t)plan->steps.len);
  }
  step.operands = (uint32_t)plan->operands.len;
  memcpy(step.action, strategy->action, sizeof step.action);
  assert_ok(
      eg_u32s_append(&plan->operands, states, info.input_count + info.result_count));
  assert_ok(eg_plan_steps_push(&plan->steps, step));
  for (uint32_t r = 0; r < info.result_count; r++)
    plan_leave(m, info.results[r].id, states[info.input_count + r]);
  eg_strategies_deinit(&all);
  eg_arena_deinit(&arena);
}

/// Fills a plan whose graph, mesh, micro-batches and carried pairs are set.
static inline void plan_make(plan_maker *m) {
  eg_plan *plan = m->plan;
  uint32_t outputs = eg_graph_output_count(plan->graph);
  assert_ok(eg_u32s_resize(&plan->output_states, outputs));
  for (uint32_t i = 0; i < outputs; i++)
    plan->output_states.data[i] = EG_PLAN_NONE;
  plan_add_leaves(m);
  for (uint32_t n = 0; n < eg_graph_node_count(plan->graph); n++)
    plan_add_node(m, n);
  for (uint32_t i = 0; i < outputs; i++) {
    if (plan->output_states.data[i] != EG_PLAN_NONE) continue;
    uint32_t value = eg_graph_output(plan->graph, i, NULL).id, seen = 0;
    for (uint32_t s = 0; s < plan->states.len; s++) // any of its states
      if (plan->states.data[s].value.id == value && eg_rng_below(&m->rng, ++seen) == 0)
        plan->output_states.data[i] = s;
  }
  assert_ok(eg_plan_check(plan, eg_allocator_heap()));
}

/// The largest difference from `want` that rounding explains, in units of its scale:
/// sums are added in another order, in the type of the values.
static inline double plan_tolerance(const kit_tensors *want) {
  double tolerance = 0;
  for (uint32_t t = 0; t < want->count; t++) {
    egraph_dtype dtype = want->items[t].type.dtype;
    double own = dtype == EGRAPH_FLOAT32    ? 2e-5
                 : dtype == EGRAPH_FLOAT64  ? 1e-12
                 : dtype == EGRAPH_FLOAT16  ? 1e-2
                 : dtype == EGRAPH_BFLOAT16 ? 8e-2
                                            : 0;
    tolerance = fmax(tolerance, own);
  }
  return tolerance;
}

#endif
