// What of a plan is there before a run.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/graph_copy.h"
#include "pcg/plan/plan.h"

#include <math.h>

void eg_plan_constants(const eg_plan *plan, bool *out_flags) {
  for (uint32_t v = 0; v < eg_graph_value_count(plan->graph); v++)
    out_flags[v] = eg_graph_value(plan->graph, (eg_value){v})->kind == EG_VALUE_WEIGHT;
  for (size_t i = 1; i < plan->carried.len; i += 2)
    out_flags[plan->carried.data[i]] = false;
  eg_graph_flag_computed(plan->graph, out_flags);
}

typedef struct finder {
  const eg_plan *plan;
  bool *is_ahead; // [states]
  bool *is_read;  // [states] by more than slices
  double *bytes;  // [values] of a device, of what is read
} finder;

static bool is_slice(const eg_plan_step *step) {
  return step->is_move && step->transition.kind == EG_TRANSITION_SLICE;
}

/// States of constants that are there from the start, and all slices of them.
static void find_slices(finder *f, const bool *constants) {
  const eg_plan *plan = f->plan;
  for (size_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    f->is_ahead[s] = state->step == EG_PLAN_NONE && constants[state->value.id];
  }
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (is_slice(step)) f->is_ahead[step->to] = f->is_ahead[step->from];
  }
}

static void find_read(finder *f) {
  const eg_plan *plan = f->plan;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (step->is_move && !is_slice(step)) f->is_read[step->from] = true;
    uint32_t count =
        step->is_move ? 0 : eg_graph_node_at(plan->graph, step->node).input_count;
    for (uint32_t k = 0; k < count; k++)
      f->is_read[plan->operands.data[step->operands + k]] = true;
  }
  for (size_t i = 0; i < plan->output_states.len; i++)
    f->is_read[plan->output_states.data[i]] = true;
}

static double state_bytes(const eg_plan *plan, const eg_plan_state *state) {
  eg_type local = eg_sharding_local(
      &plan->mesh, &eg_graph_value(plan->graph, state->value)->type, &state->layout);
  return (double)eg_type_bytes(&local);
}

/// What leaves for the next step is made in the step.
static void add_exits(finder *f) {
  const eg_plan *plan = f->plan;
  for (size_t i = 0; i < plan->carried.len; i += 2) {
    uint32_t exit = plan->output_states.data[plan->carried.data[i]];
    f->bytes[plan->states.data[exit].value.id] = INFINITY;
  }
}

static void add_bytes(finder *f) {
  const eg_plan *plan = f->plan;
  add_exits(f);
  for (size_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    if (f->is_ahead[s] && f->is_read[s])
      f->bytes[state->value.id] += state_bytes(plan, state);
    if (f->is_ahead[s] && state->step == EG_PLAN_NONE)
      f->bytes[state->value.id] -= state_bytes(plan, state);
  }
  for (size_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    if (state->step != EG_PLAN_NONE && f->bytes[state->value.id] > 0)
      f->is_ahead[s] = false;
  }
}

egraph_status eg_plan_ahead(const eg_plan *plan, egraph_allocator alloc,
                            bool *out_flags) {
  uint32_t values = eg_graph_value_count(plan->graph);
  bool *constants;
  finder f = {.plan = plan, .is_ahead = out_flags};
  EG_TRY(eg_alloc(alloc, values, sizeof *constants, &constants));
  egraph_status status = eg_alloc(alloc, values, sizeof *f.bytes, &f.bytes);
  if (status == EGRAPH_OK)
    status = eg_alloc(alloc, plan->states.len, sizeof *f.is_read, &f.is_read);
  if (status == EGRAPH_OK) {
    eg_plan_constants(plan, constants);
    find_slices(&f, constants);
    find_read(&f);
    add_bytes(&f);
  }
  eg_free(alloc, f.is_read, plan->states.len, sizeof *f.is_read);
  eg_free(alloc, f.bytes, values, sizeof *f.bytes);
  eg_free(alloc, constants, values, sizeof *constants);
  return status;
}
