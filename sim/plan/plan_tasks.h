// Turns the runs of a plan, in their order of issue (pcg/plan/plan_issue.h), into a task
// graph. A task takes the seconds of its step in the plan, halos included.
//
// With a machine whose ports are known, exchanges can be rounds of flows over its links
// (sim/exchange_flows.h): every axis has a stream, and flows of different axes that share
// links slow each other down. With a known factor, computing is slower while the device
// exchanges. Streams keep the order that follows from the seconds of the plan's steps, so
// such a step may take longer than a step that is issued in order. Where exchanges of
// different devices take different times, one device of each class is simulated; the
// reported times are those of a class that ends last.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_PLAN_TASKS_H
#define EG_SIM_PLAN_TASKS_H

#include "pcg/plan/plan_issue.h"
#include "sim/exchange_flows.h"

#define EG_PLAN_NO_STREAM EG_RUN_NONE

/// How a plan's steps are simulated: links, order of issue, algorithm of exchanges.
typedef struct eg_simulation_setup {
  // The links of the mesh's axes, with the seconds of exchanges; NULL: all exchanges are
  // on one stream.
  const eg_machine_mesh *links;
  eg_issue issue;
  // If set, exchanges over known ports of the machine are rounds of messages; NULL: all
  // exchanges take the seconds of their steps. Needs `links`.
  const eg_machine *machine;
  eg_collective_algorithm algorithm; // used by all rounds; NONE: the cheapest one
  bool all_devices;                  // simulate every device, not one of each class
  double beside; // slowdown factor of computing while the device exchanges; 0: 1
} eg_simulation_setup;

/// A run of a plan step. Runs are in the order in which they would begin if exchanges
/// took the seconds of their steps; without rounds, run i is task i of the task graph.
typedef struct eg_plan_task {
  uint32_t step, micro_batch; // for UPDATE: the last micro-batch
  uint32_t stream;            // 0: computing; EG_PLAN_NO_STREAM: it takes no time
} eg_plan_task;
EG_VEC_DEFINE(eg_plan_task_list, eg_plan_task);

typedef struct eg_plan_tasks {
  eg_task_graph *graph;
  eg_plan_task_list tasks;
  uint32_t stream_count;
  uint32_t stream_of_axis[EG_MAX_MESH_AXES]; // stream of the exchanges along an axis
  eg_issue issue;
  bool is_in_rounds;    // every axis has a stream
  uint32_t class_count; // classes of devices; one device of each is simulated
  uint32_t shown;       // class whose times are reported; 0 until eg_plan_tasks_show
  eg_u32s first, last;  // [tasks * class_count] tasks of the graph: a run begins and ends
  eg_u32s owner; // [tasks of the graph] the run that begins or ends there, or NO_STREAM
  eg_exchange_flows flows;
  double flow_count;         // messages between devices in all rounds
  uint32_t closed_exchanges; // runs of exchanges in closed form
} eg_plan_tasks;

void eg_plan_tasks_init(eg_plan_tasks *tasks, egraph_allocator alloc);
void eg_plan_tasks_deinit(eg_plan_tasks *tasks);
/// Makes the tasks of one training step, without simulating them. Borrows the machine of
/// the setup. `out` is initialized. Fails with EGRAPH_E_ARGUMENT on a folded plan, a plan
/// of more than 2^31 tasks, or too many messages. O(tasks log tasks).
egraph_status eg_plan_tasks_make(const eg_plan *plan, const eg_simulation_setup *setup,
                                 eg_plan_tasks *out);
/// Selects, for the times below, a class of devices that ends last in the simulation.
void eg_plan_tasks_show(eg_plan_tasks *tasks);
/// Returns when a run of a plan step begins and ends; `begin` is its start.
eg_task_times eg_plan_task_times(const eg_plan_tasks *tasks, uint32_t task);
/// Returns a run whose end allowed the run `task` to begin; EG_PLAN_NONE: none.
uint32_t eg_plan_task_cause(const eg_plan_tasks *tasks, uint32_t task);

#endif
