// A plan as a task graph. All devices of a plan do the same at the same time, so one
// stands for all: its compute stream, and a stream for each class of links on which it
// exchanges data with others. The seconds of a task are those of the plan's step, halos
// and all.
//
// In order, everything is on one stream, as the plan says it, and the end is the plan's
// cost. Otherwise exchanges have streams of their own, and every stream runs what is
// ready, the first of the plan first (list_schedule.h):
//
//   ahead        computing, too, goes on with what is ready while something else waits;
//                updates of weights run as soon as their gradients are there, under the
//                backward pass. A gather of what is there from the start (of weights:
//                ZeRO-3, FSDP's prefetching) begins when the fourth reader before its own
//                does (or second, or the one before): memory holds as many sets more. One
//                of the update waits until the gradient is there
//   reductions   computing keeps the order of the plan. Reductions (all-reduce, reduce-
//                scatter) begin as soon as what they reduce is made: those of gradients
//                go under the backward pass. Other exchanges are in their place: behind
//                the computing that stands before them
//
// A weight is not updated before the last of its readers has ended. Of several
// micro-batches, computing begins one when all of the one before has begun. Some stream
// is always at work, so an overlapped step never takes longer than one in order, and
// never less than any stream is busy.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_PLAN_TASKS_H
#define EG_SIM_PLAN_TASKS_H

#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"
#include "sim/task_graph.h"

#define EG_PLAN_NO_STREAM UINT32_MAX

// Orders of issue: id, readers that gathers run ahead. Later ones hold less memory and
// take longer, as a rule. As in egraph_issue (include/egraph_simulate.h).
#define EG_ISSUE_LIST(X)                                                                 \
  X(EG_ISSUE_AHEAD_4, 4)                                                                 \
  X(EG_ISSUE_AHEAD_2, 2)                                                                 \
  X(EG_ISSUE_AHEAD, 1)                                                                   \
  X(EG_ISSUE_REDUCTIONS, 0)                                                              \
  X(EG_ISSUE_IN_ORDER, 0)
#define EG_ISSUE_ENUM(id, readers) id,
typedef enum eg_issue { EG_ISSUE_LIST(EG_ISSUE_ENUM) EG_ISSUES } eg_issue;
#undef EG_ISSUE_ENUM

/// Task i of the task graph; they stand as they begin.
typedef struct eg_plan_task {
  uint32_t step, micro_batch; // of UPDATE: the last micro-batch
  uint32_t stream;            // 0: computing; EG_PLAN_NO_STREAM: it takes no time
} eg_plan_task;
EG_VEC_DEFINE(eg_plan_task_list, eg_plan_task);

typedef struct eg_plan_tasks {
  eg_task_graph *graph;
  eg_plan_task_list tasks;
  uint32_t stream_count;
  uint32_t stream_of_axis[EG_MAX_MESH_AXES]; // of exchanges along it
  eg_issue issue;
} eg_plan_tasks;

void eg_plan_tasks_init(eg_plan_tasks *tasks, egraph_allocator alloc);
void eg_plan_tasks_deinit(eg_plan_tasks *tasks);
/// The tasks of one step of training, not simulated yet. `links` says which axes of the
/// plan's mesh go over one class of links; NULL: all exchanges are on one stream. `out`
/// is initialized. Fails with EGRAPH_E_ARGUMENT on a folded plan, or one of more than
/// 2^31 tasks. O(tasks log tasks).
egraph_status eg_plan_tasks_make(const eg_plan *plan, const eg_machine_mesh *links,
                                 eg_issue issue, eg_plan_tasks *out);
/// Whether a step of a plan is an exchange between devices that takes time.
bool eg_plan_step_is_exchange(const eg_plan_step *step);

#endif
