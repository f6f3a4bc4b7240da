// A plan as a task graph: its runs, in their order of issue (pcg/plan/plan_issue.h). The
// seconds of a task are the seconds of the plan's step, with halos.
//
// With a machine whose ports are known, exchanges can be rounds of flows over its links
// (sim/exchange_flows.h): every axis has a stream, and flows of different axes that share
// links slow each other down. With a known factor, computing is slower while the device
// exchanges. Streams keep the order that follows from the seconds of the plan's steps.
// Then a step may take longer than one in order. Where exchanges of devices take
// different times, one device of each class is simulated; reported times are of a class
// that ends last.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_PLAN_TASKS_H
#define EG_SIM_PLAN_TASKS_H

#include "pcg/plan/plan_issue.h"
#include "sim/exchange_flows.h"

#define EG_PLAN_NO_STREAM EG_RUN_NONE

/// How a step is simulated.
typedef struct eg_simulation_setup {
  const eg_machine_mesh *links; // which axes go over one class of links, and what
                                // exchanges take; NULL: all are on one stream
  eg_issue issue;
  const eg_machine *machine; // exchanges over its known ports are rounds of flows; NULL:
                             // all take the seconds of their steps. With `links`
  eg_collective_algorithm algorithm; // of all rounds; NONE: as in the closed form
  bool all_devices;                  // every device, not one of each class
  double beside; // factor on computing while the device exchanges; 0: 1
} eg_simulation_setup;

/// A run of a step. Runs are in the order in which they begin if exchanges take the
/// seconds of their steps; without rounds, run i is task i of the task graph.
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
  bool is_in_rounds;    // every axis has a stream
  uint32_t class_count; // of devices, one of each of which is simulated
  uint32_t shown;       // class whose times are reported; 0 until eg_plan_tasks_show
  eg_u32s first, last;  // [tasks * class_count] tasks of the graph: a run begins and ends
  eg_u32s owner;        // [tasks of the graph] the run that begins or ends, or NO_STREAM
  eg_exchange_flows flows;
  double flow_count;         // messages between devices in all rounds
  uint32_t closed_exchanges; // runs of exchanges in closed form
} eg_plan_tasks;

void eg_plan_tasks_init(eg_plan_tasks *tasks, egraph_allocator alloc);
void eg_plan_tasks_deinit(eg_plan_tasks *tasks);
/// The tasks of one step of training, not simulated yet. `links` says which axes of the
/// plan's mesh go over one class of links; NULL: all exchanges are on one stream. `out`
/// is initialized. Fails with EGRAPH_E_ARGUMENT on a folded plan, or one of more than
/// 2^31 tasks. O(tasks log tasks).
egraph_status eg_plan_tasks_make(const eg_plan *plan, const eg_machine_mesh *links,
                                 eg_issue issue, eg_plan_tasks *out);
/// The same, as the setup says. The machine must stay. Fails with EGRAPH_E_ARGUMENT also
/// where flows are too many.
egraph_status eg_plan_tasks_make_as(const eg_plan *plan, const eg_simulation_setup *setup,
                                    eg_plan_tasks *out);
/// After the simulation: shows a class of devices that ends last.
void eg_plan_tasks_show(eg_plan_tasks *tasks);
/// When a run begins and ends; `begin` is its start.
eg_task_times eg_plan_task_times(const eg_plan_tasks *tasks, uint32_t task);
/// A run that ended when this one began, and before it had to; EG_PLAN_NONE: none.
uint32_t eg_plan_task_cause(const eg_plan_tasks *tasks, uint32_t task);

#endif
