// Translates a solution of a plan model to values of the e-graph, and emits it as a graph
// with a plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_EMIT_H
#define EG_OPTIMIZE_MODEL_PLAN_EMIT_H

#include "base/owner.h"
#include "optimize/model/plan_model.h"

// Emits a solution of a plan model as a graph and a plan.

typedef struct eg_emitted_plan {
  eg_graph *graph; // owned; the plan borrows it
  eg_plan plan;
  // [values of the graph that was planned] value of the emitted graph; UINT32_MAX: not
  // needed. Empty: not known
  eg_u32s value_of;
  // [values of the emitted graph] the value that a node of BACKWARD makes again as this
  // one; UINT32_MAX: none
  eg_u32s again_of;
  eg_u32s place_of; // [states] place of the problem. Empty: not known
  eg_u32s value_at; // [steps] problem value made or moved; empty: unknown
} eg_emitted_plan;

/// Completes the strategies of a model's problem ([values], as eg_layout_complete takes
/// them) to a solution. Fails as eg_layout_complete.
egraph_status eg_plan_complete(const eg_plan_model *model, egraph_allocator alloc,
                               const uint32_t *strategy, eg_layout_solution *out,
                               bool *out_is_solution);
/// Emits the graph and the plan of a solution. Inputs and outputs are the original's, in
/// order; a value of the original keeps its name. The plan passes eg_plan_check.
egraph_status eg_plan_emit(const eg_plan_model *model, egraph_allocator alloc,
                           const eg_layout_solution *solution, eg_emitted_plan *out);
void eg_emitted_plan_init(eg_emitted_plan *emitted, egraph_allocator alloc);
void eg_emitted_plan_deinit(eg_emitted_plan *emitted);
/// Frees what refers to the problem, which the plan outlives.
void eg_emitted_plan_leave_problem(eg_emitted_plan *emitted);

// A solution of a plan model in terms of its plan space: the operator that makes a value,
// its strategy and layout, and the source of each place (layout of a problem value).

typedef struct eg_plan_solution {
  const eg_plan_model *model; // borrowed
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  const eg_layout_solution *solution; // borrowed
  eg_u32s value_of_place;             // [places] of the problem
  eg_u32s move_into;           // [places] used arc that leads to this place, or NONE
  eg_u32s operator_of;         // [strategies] of the problem
  eg_u32s value_begin, values; // [space values + 1] its values in the problem
} eg_plan_solution;
EG_OWNER_DEFINE_MEMBERS(eg_plan_solution, (eg_u32s, value_of_place, move_into,
                                           operator_of, value_begin, values))

egraph_status eg_plan_solution_init(eg_plan_solution *s, egraph_allocator alloc,
                                    const eg_plan_model *model,
                                    const eg_layout_solution *solution);

/// Returns the problem's strategy that makes a problem value; EG_LAYOUT_NONE: the value
/// is not needed.
static inline uint32_t eg_plan_solution_strategy(const eg_plan_solution *s,
                                                 uint32_t value) {
  return s->solution->strategy.data[value];
}
/// Returns the place (index of a layout) in which a needed problem value is made.
static inline uint32_t eg_plan_solution_place(const eg_plan_solution *s, uint32_t value) {
  return s->problem->output.data[eg_plan_solution_strategy(s, value)];
}
/// Returns the problem value in which a value of the plan space is made: as an input of
/// the step, or as a copy in its phase.
uint32_t eg_plan_solution_made(const eg_plan_solution *s, uint32_t v);
/// Returns the place (layout) from which a value is stored; EG_SPACE_NONE: it is
/// not stored.
uint32_t eg_plan_solution_kept_from(const eg_plan_solution *s, uint32_t value);

#endif
