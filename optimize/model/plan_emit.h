// From a solution of a plan model to a graph and a plan of it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_EMIT_H
#define EG_OPTIMIZE_MODEL_PLAN_EMIT_H

#include "optimize/model/plan_model.h"

typedef struct eg_emitted_plan {
  eg_graph *graph; // owned; the plan borrows it
  eg_plan plan;
  eg_u32s value_of; // [values of the graph that was planned] the one of `graph` that it
                    // is; UINT32_MAX: not needed. Empty: not known
  eg_u32s place_of; // [states] place of the problem that it was made for. Empty: not
                    // known
  eg_u32s value_at; // [steps] value of the problem that it makes, or moves. Likewise
} eg_emitted_plan;

/// Inputs and outputs are the original's, in order; a value that was there before keeps
/// its name. The plan passes eg_plan_check.
egraph_status eg_plan_emit(const eg_plan_model *model, egraph_allocator alloc,
                           const eg_layout_solution *solution, eg_emitted_plan *out);
void eg_emitted_plan_init(eg_emitted_plan *emitted, egraph_allocator alloc);
void eg_emitted_plan_deinit(eg_emitted_plan *emitted);

#endif
