// Splits that a plan could not use because a size does not divide, and what they would
// have been worth.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_UNEVEN_H
#define EG_PCG_PLAN_UNEVEN_H

#include "pcg/plan/plan.h"

/// Of one operator along one axis: the largest factor that does not divide. Largest is
/// what saves most: a factor of 10 on 4 devices leaves 3, of 2 leaves 1.
typedef struct eg_plan_uneven {
  uint32_t step; // that runs the operator
  uint32_t axis;
  bool is_first;   // row of its operator
  int64_t size;    // of the factor
  uint32_t splits; // factors that do not divide
  eg_value tensor; // where it stands: the result, or an operand that has it
  uint32_t dim;    // of the tensor
  double seconds;  // of a step, that the operator takes in the plan
  double saved; // of these, what the split would have saved: where all devices along the
                // axis do the same, all but a share; otherwise 0
} eg_plan_uneven;
EG_VEC_DEFINE(eg_plan_unevens, eg_plan_uneven);

/// Appends all of them: most saved first, then in the order of steps. The plan passes
/// eg_plan_check.
egraph_status eg_plan_unevens_find(const eg_plan *plan, egraph_allocator alloc,
                                   eg_plan_unevens *inout);
/// How many of them are worth a line: those that save something, five at most.
uint32_t eg_plan_unevens_worth(const eg_plan_unevens *unevens);
/// Text for people: a line for each of these, those alike together, and how many there
/// are in all.
egraph_status eg_plan_unevens_print(eg_text *text, const eg_plan *plan,
                                    const eg_plan_unevens *unevens);
/// One JSON object: {"operators", "splits", "worst": [{"value", "operator", "tensor",
/// "dimension", "size", "axis", "devices", "splits", "seconds", "saved_seconds"}]}
egraph_status eg_plan_unevens_write_json(eg_text *text, const eg_plan *plan,
                                         const eg_plan_unevens *unevens);

#endif
