// The plans that people write by hand, as constraints (plan_constraints.h): no template,
// the same planner on a restricted problem. Every axis of the mesh plays a part: `data`
// axes split batches, the `tensor` axis splits operators.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_PLAN_BASELINES_H
#define EG_OPTIMIZE_PLAN_PLAN_BASELINES_H

#include "optimize/plan/plan_constraints.h"

// Baseline, spelling.
#define EG_BASELINE_LIST(X)                                                              \
  X(EG_BASELINE_SINGLE, "single-device") /* every device does everything */              \
  X(EG_BASELINE_DATA, "data-parallel")   /* gradients are reduced, weights are whole */  \
  X(EG_BASELINE_ZERO_1, "zero-1")        /* states of the optimizer are split */         \
  X(EG_BASELINE_ZERO_2, "zero-2")        /* and kept gradients */                        \
  X(EG_BASELINE_ZERO_3, "zero-3")        /* and weights */                               \
  X(EG_BASELINE_MEGATRON, "megatron")    /* the last axis tensor parallel, others data */
#define EG_BASELINE_ENUM(id, name) id,
typedef enum eg_baseline { EG_BASELINE_LIST(EG_BASELINE_ENUM) EG_BASELINES } eg_baseline;
#undef EG_BASELINE_ENUM
const char *eg_baseline_name(eg_baseline baseline);
bool eg_baseline_find(const char *name, eg_baseline *out);

/// Appends the constraints of a baseline on a mesh as text, a statement per line.
egraph_status eg_baseline_print(eg_text *text, eg_baseline baseline, const eg_mesh *mesh);
/// The same, read.
egraph_status eg_baseline_constraints(eg_plan_constraints *constraints,
                                      eg_baseline baseline, const eg_mesh *mesh);

#endif
