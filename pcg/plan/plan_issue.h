// The order in which the steps of a plan are issued: the simulator's
// (sim/plan/plan_tasks.h), and that of ranks (exec/rank_program.h). All devices of a plan
// do the same at the same time, so one stands for all: its compute stream, and a stream
// for each class of links on which it exchanges data with others.
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
//                of the update waits until the gradient is there. Computing that reads
//                nothing but what is there runs ahead of as many steps
//   reductions   computing keeps the order of the plan. Reductions (all-reduce, reduce-
//                scatter) begin as soon as what they reduce is made: those of gradients
//                go under the backward pass. Other exchanges are in their place: behind
//                the computing that stands before them
//
// A weight is not updated before the last of its readers has ended. Computing of a
// micro-batch begins when that of the one before has ended, and its backward pass when
// its forward pass has. Some stream is always at work, so an overlapped step never takes
// longer than one in order, and never less than any stream is busy.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_ISSUE_H
#define EG_PCG_PLAN_ISSUE_H

#include "pcg/parallel/machine.h"
#include "pcg/plan/list_schedule.h"
#include "pcg/plan/plan.h"

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

/// Runs stand in the order of micro-batches and steps; the schedule says in which order
/// they begin, and what each waits for.
typedef struct eg_issue_order {
  eg_list_schedule schedule; // stream 0: computing; EG_RUN_NONE: it takes no time
  eg_u32s step_of;           // [runs] micro-batch * steps + step
  uint32_t stream_count;
  uint32_t stream_of_axis[EG_MAX_MESH_AXES]; // of exchanges along it
} eg_issue_order;

void eg_issue_order_init(eg_issue_order *order, egraph_allocator alloc);
void eg_issue_order_deinit(eg_issue_order *order);
/// Of one step of training. `links` says which axes of the plan's mesh go over one class
/// of links; NULL: all exchanges are on one stream; `by_axis`: every axis has its own.
/// `order` is initialized. Fails with EGRAPH_E_ARGUMENT on a plan of more than 2^31 runs.
/// O(runs log runs).
egraph_status eg_issue_order_find(eg_issue_order *order, const eg_plan *plan,
                                  const eg_machine_mesh *links, bool by_axis,
                                  eg_issue issue);

/// How many streams there are, and on which one ([axes], 1 at least) exchanges along an
/// axis are: those over one class of links share one. `links`, `by_axis`: as of
/// eg_issue_order_find.
uint32_t eg_issue_streams(const eg_mesh *mesh, const eg_machine_mesh *links, bool by_axis,
                          uint32_t *stream_of_axis);
/// The same plan with its steps in the order in which those of a step of one micro-batch
/// begin, all exchanges on one stream. What is issued before steps of an earlier phase
/// (updates under the backward pass) is of that; states keep their numbers, what the plan
/// says beside steps and states stays behind. `out` is initialized.
egraph_status eg_plan_issued(const eg_plan *plan, eg_issue issue, eg_plan *out);

/// Whether a step of a plan is an exchange between devices that takes time; whether it is
/// something else that does.
bool eg_plan_step_is_exchange(const eg_plan_step *step);
bool eg_plan_step_computes(const eg_plan_step *step);

#endif
