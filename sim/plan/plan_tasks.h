// A plan as a task graph: its runs, in their order of issue (pcg/plan/plan_issue.h). The
// seconds of a task are those of the plan's step, halos and all.
//
// Where computing takes `beside` times as long beside an exchange, streams share a
// device that does 1 + 1 / beside of what one stream alone does, each at most 1, at
// max-min fair rates. 1: they do not notice each other; very much: nothing overlaps.
//
// Some stream is always at work, so an overlapped step never takes longer than one in
// order, and never less than any stream is busy.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_PLAN_TASKS_H
#define EG_SIM_PLAN_TASKS_H

#include "pcg/plan/plan_issue.h"
#include "sim/task_graph.h"

#define EG_PLAN_NO_STREAM EG_RUN_NONE

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
  double beside;   // before they are made; 1 at first
  uint32_t device; // link that all streams share, where they slow each other down
  uint32_t own[EG_MAX_MESH_AXES + 1]; // links of the streams, then
} eg_plan_tasks;

void eg_plan_tasks_init(eg_plan_tasks *tasks, egraph_allocator alloc);
void eg_plan_tasks_deinit(eg_plan_tasks *tasks);
/// The tasks of one step of training, not simulated yet. `links` as of
/// eg_issue_order_find. `out` is initialized. Fails with EGRAPH_E_ARGUMENT on a folded
/// plan, or one of more than 2^31 tasks. O(tasks log tasks).
egraph_status eg_plan_tasks_make(const eg_plan *plan, const eg_machine_mesh *links,
                                 eg_issue issue, eg_plan_tasks *out);

#endif
