// The order in which the steps of a plan are issued when exchanges run beside computing:
// the simulator's (sim/plan/plan_tasks.h says what each order is good for), and that of
// ranks. Within a micro-batch a step has a place: twice the step after which it stands,
// plus one for what comes behind that step's own turn. A place is never before that of a
// maker, so one thread can run everything in this order.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_ISSUE_H
#define EG_PCG_PLAN_ISSUE_H

#include "pcg/plan/plan.h"

/// Later ones hold less memory and take longer, as a rule.
typedef enum eg_issue {
  EG_ISSUE_AHEAD,
  EG_ISSUE_REDUCTIONS,
  EG_ISSUE_IN_ORDER,
  EG_ISSUES
} eg_issue;

typedef struct eg_issue_order {
  const eg_plan *plan; // borrowed
  eg_issue issue;
  eg_u32s reader;   // [states] first step, moves apart, that needs it; EG_PLAN_NONE
  eg_u32s is_entry; // [states] there from the start, or moved from such
  eg_u32s computing_before; // [steps + 1]
  eg_u32s place;            // [steps] of the order of issue
  eg_u32s gate;     // [steps] of computing, after which a gather may begin; EG_PLAN_NONE
  eg_u32s gate_lag; // [steps] micro-batches before its own that the gate is in
} eg_issue_order;

void eg_issue_order_init(eg_issue_order *order, egraph_allocator alloc);
void eg_issue_order_deinit(eg_issue_order *order);
/// O(steps + operands). The plan is borrowed.
egraph_status eg_issue_order_find(eg_issue_order *order, const eg_plan *plan,
                                  eg_issue issue);
/// Whether a step is a gather of what is there from the start, issued ahead of its
/// reader.
bool eg_issue_is_ahead(const eg_issue_order *order, const eg_plan_step *step);

/// The same plan with its steps in the order of issue, phases one after the other as
/// before; what the plan says beside steps and states stays behind. `out` is initialized.
egraph_status eg_plan_issued(const eg_plan *plan, eg_issue issue, eg_plan *out);

/// Whether a step of a plan is an exchange between devices that takes time; whether it is
/// something else that does; of an exchange, whether it is an all-reduce or a
/// reduce-scatter.
bool eg_plan_step_is_exchange(const eg_plan_step *step);
bool eg_plan_step_computes(const eg_plan_step *step);
bool eg_plan_step_is_reduction(const eg_plan_step *step);
/// The states that a step reads.
uint32_t eg_plan_step_operand_count(const eg_plan *plan, const eg_plan_step *step);
uint32_t eg_plan_step_operand(const eg_plan *plan, const eg_plan_step *step, uint32_t i);

#endif
