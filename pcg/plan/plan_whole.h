// Operators that no strategy splits along any axis of a plan, whatever their sizes: every
// device repeats them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_WHOLE_H
#define EG_PCG_PLAN_WHOLE_H

#include "pcg/plan/plan.h"

typedef struct eg_plan_whole {
  uint32_t step;  // that runs the operator
  double seconds; // of a step of training, that it takes in the plan
} eg_plan_whole;
EG_VEC_DEFINE(eg_plan_wholes, eg_plan_whole);

/// Appends all of them: the longest first, then in the order of steps. None where there
/// is one device, or nothing in an operator that could have parts. The plan passes
/// eg_plan_check.
egraph_status eg_plan_wholes_find(const eg_plan *plan, egraph_allocator alloc,
                                  eg_plan_wholes *inout);
/// Text for people: a line for the five longest, those of an operator together, with the
/// reason (eg_op_why_whole), and how many there are in all.
egraph_status eg_plan_wholes_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_wholes *wholes);
/// One JSON object: {"operators", "worst": [{"value", "operator", "why", "seconds"}]}
egraph_status eg_plan_wholes_write_json(eg_text *text, const eg_plan *plan,
                                        const eg_plan_wholes *wholes);

#endif
