// Finds the order in which the steps of a plan are issued, for the simulator
// (sim/plan/plan_tasks.h) and for ranks (exec/rank_program.h). All devices of a plan do
// the same at the same time, so one device represents all devices: its compute stream,
// and a stream for each class of links on which it exchanges data with others.
//
// In order, all steps are on one stream, in the order of the plan, and the last step ends
// when the seconds of the plan's cost are over. Otherwise exchanges have streams of their
// own, and every stream runs the first step of the plan that is ready (list_schedule.h):
//
//   ahead        computing does not keep the order of the plan either; updates of weights
//                run as soon as their gradients are computed, under the backward pass. A
//                gather of a state without a step (of weights: ZeRO-3, FSDP's
//                prefetching) begins when the fourth reader before its own reader begins
//                (or the second, or the first before): memory holds as many gathered sets
//                more. A gather for the update waits until the gradient is computed.
//                Computing that reads only states without a step runs as many steps ahead
//   reductions   computing keeps the order of the plan. Reductions (all-reduce, reduce-
//                scatter) begin as soon as their operand is computed: reductions of
//                gradients run under the backward pass. Other exchanges keep their place:
//                they follow the computing before them
//
// A weight is not updated before the last of its readers has ended. Computing of a
// micro-batch begins when computing of the one before has ended, and its backward pass
// when its forward pass has. Some stream is always at work, so an overlapped step never
// takes longer than one in order, and never less than any stream is busy.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_ISSUE_H
#define EG_PCG_PLAN_ISSUE_H

#include "pcg/parallel/machine.h"
#include "pcg/plan/list_schedule.h"
#include "pcg/plan/plan.h"

// Orders in which steps are issued: id, readers that gathers run ahead. Usually each
// order needs less memory and more time than the order before. The ids follow
// egraph_issue (include/egraph_simulate.h).
#define EG_ISSUE_LIST(X)                                                                 \
  X(EG_ISSUE_AHEAD_4, 4)                                                                 \
  X(EG_ISSUE_AHEAD_2, 2)                                                                 \
  X(EG_ISSUE_AHEAD, 1)                                                                   \
  X(EG_ISSUE_REDUCTIONS, 0)                                                              \
  X(EG_ISSUE_IN_ORDER, 0)
typedef enum eg_issue { EG_ISSUE_LIST(EG_ENUM_ID) EG_ISSUES } eg_issue;

/// The order of issue of one step of training. A run is an execution of a plan step in a
/// micro-batch; runs are numbered by micro-batch, then by step.
typedef struct eg_issue_order {
  eg_list_schedule schedule; // stream 0 computes; runs on EG_RUN_NONE take no time
  eg_u32s step_of;           // [runs] micro-batch * steps + step
  uint32_t stream_count;
  uint32_t stream_of_axis[EG_MAX_MESH_AXES]; // of exchanges along the axis
} eg_issue_order;

void eg_issue_order_init(eg_issue_order *order, egraph_allocator alloc);
void eg_issue_order_deinit(eg_issue_order *order);
/// Finds the order of issue of one training step. `links` has the classes of links of the
/// axes of the plan's mesh; NULL: all exchanges are on one stream. `by_axis`: every axis
/// has a stream. `order` is initialized. Fails with EGRAPH_E_ARGUMENT on a plan of more
/// than 2^31 runs. O(runs log runs).
egraph_status eg_issue_order_find(eg_issue_order *order, const eg_plan *plan,
                                  const eg_machine_mesh *links, bool by_axis,
                                  eg_issue issue);

/// Returns the number of streams of a device, and fills in the stream of exchanges along
/// each axis ([axes], 1 at least): axes over one class of links share a stream. `links`,
/// `by_axis`: as for eg_issue_order_find.
uint32_t eg_issue_streams(const eg_mesh *mesh, const eg_machine_mesh *links, bool by_axis,
                          uint32_t *stream_of_axis);
/// Copies the plan with its steps in the order in which they begin with one micro-batch
/// and all exchanges on one stream. A step issued before a step of an earlier phase (an
/// update under the backward pass) is relabelled with the earlier phase. States keep
/// their numbers; rivals and figures are not copied. `out` is initialized.
egraph_status eg_plan_issued(const eg_plan *plan, eg_issue issue, eg_plan *out);

/// True when a step is an exchange between devices that takes time.
bool eg_plan_step_is_exchange(const eg_plan_step *step);
/// True when a step that takes time is no exchange between devices.
bool eg_plan_step_computes(const eg_plan_step *step);

#endif
