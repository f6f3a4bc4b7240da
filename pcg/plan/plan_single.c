// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_single.h"

typedef struct single {
  eg_plan *plan;
  const eg_graph *graph;
  bool *needed;     // [values]
  bool *constants;  // [values]
  uint32_t *states; // [values] EG_PLAN_NONE: none yet
} single;

static bool is_needed(const single *s, const eg_graph_node_info *info) {
  for (uint32_t r = 0; r < info->result_count; r++)
    if (s->needed[info->results[r].id]) return true;
  return false;
}

static void mark_needed(single *s) {
  for (uint32_t i = 0; i < eg_graph_output_count(s->graph); i++)
    s->needed[eg_graph_output(s->graph, i, NULL).id] = true;
  for (uint32_t n = eg_graph_node_count(s->graph); n-- > 0;) {
    eg_graph_node_info info = eg_graph_node_at(s->graph, (eg_graph_node){n});
    for (uint32_t i = 0; is_needed(s, &info) && i < info.input_count; i++)
      s->needed[info.inputs[i].id] = true;
  }
}

static egraph_status add_state(single *s, eg_value value, uint32_t step) {
  eg_plan_state state = {.value = value, .step = step};
  state.layout.format = eg_graph_value(s->graph, value)->type.layout.format;
  s->states[value.id] = (uint32_t)s->plan->states.len;
  return eg_plan_states_push(&s->plan->states, state);
}

/// The state in which a value is used; a constant that nobody has used yet enters.
static egraph_status use_state(single *s, eg_value value, eg_u32s *list) {
  if (s->states[value.id] == EG_PLAN_NONE) EG_TRY(add_state(s, value, EG_PLAN_NONE));
  return eg_u32s_push(list, s->states[value.id]);
}

static egraph_status add_step(single *s, uint32_t node) {
  eg_plan *plan = s->plan;
  eg_graph_node_info info = eg_graph_node_at(s->graph, (eg_graph_node){node});
  eg_plan_step step = {.node = {node}, .operands = (uint32_t)plan->operands.len};
  if (!is_needed(s, &info) || s->constants[info.results[0].id]) return EGRAPH_OK;
  for (uint32_t i = 0; i < info.input_count; i++)
    EG_TRY(use_state(s, info.inputs[i], &plan->operands));
  for (uint32_t r = 0; r < info.result_count; r++) {
    EG_TRY(add_state(s, info.results[r], (uint32_t)plan->steps.len));
    EG_TRY(use_state(s, info.results[r], &plan->operands));
  }
  return eg_plan_steps_push(&plan->steps, step);
}

static egraph_status fill_plan(single *s) {
  mark_needed(s);
  eg_plan_constants(s->plan, s->constants);
  for (uint32_t v = 0; v < eg_graph_value_count(s->graph); v++)
    s->states[v] = EG_PLAN_NONE;
  for (uint32_t i = 0; i < eg_graph_input_count(s->graph); i++)
    EG_TRY(add_state(s, eg_graph_input(s->graph, i), EG_PLAN_NONE));
  for (uint32_t n = 0; n < eg_graph_node_count(s->graph); n++)
    EG_TRY(add_step(s, n));
  for (uint32_t i = 0; i < eg_graph_output_count(s->graph); i++)
    EG_TRY(use_state(s, eg_graph_output(s->graph, i, NULL), &s->plan->output_states));
  return EGRAPH_OK;
}

egraph_status eg_plan_of_graph(const eg_graph *graph, eg_plan *inout) {
  egraph_allocator alloc = inout->states.alloc;
  size_t values = eg_graph_value_count(graph);
  single s = {.plan = inout, .graph = graph};
  inout->graph = graph;
  egraph_status status = eg_alloc(alloc, values, sizeof *s.needed, &s.needed);
  if (status == EGRAPH_OK)
    status = eg_alloc(alloc, values, sizeof *s.constants, &s.constants);
  if (status == EGRAPH_OK) status = eg_alloc(alloc, values, sizeof *s.states, &s.states);
  if (status == EGRAPH_OK) status = fill_plan(&s);
  eg_free(alloc, s.needed, values, sizeof *s.needed);
  eg_free(alloc, s.constants, values, sizeof *s.constants);
  eg_free(alloc, s.states, values, sizeof *s.states);
  return status;
}
