// A plan's step, simulated: when every task runs, what computing waits for, what bounds
// the step from below, and what a device holds over time.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_PLAN_SIMULATION_H
#define EG_SIM_PLAN_SIMULATION_H

#include "pcg/plan/plan_cost.h"
#include "sim/plan/plan_tasks.h"

/// What exchanges of one kind keep computing from going on: the parts of its idle time in
/// which it waits for them.
typedef struct eg_plan_wait {
  double seconds;
  uint32_t count; // exchanges
} eg_plan_wait;

/// From `seconds` on a device holds `bytes`.
typedef struct eg_memory_point {
  double seconds, bytes;
} eg_memory_point;
EG_VEC_DEFINE(eg_memory_curve, eg_memory_point);

typedef struct eg_plan_simulation {
  eg_plan_tasks tasks;               // simulated
  double seconds;                    // when the last task ends
  double busy[EG_MAX_MESH_AXES + 1]; // [streams]
  double most_busy; // of all streams, and links of rounds: no order of issue makes the
                    // step shorter
  eg_plan_wait wait[EG_PHASE_COUNT][EG_MAX_MESH_AXES][EG_TRANSITION_KINDS];
  eg_u32s critical; // tasks, each of which begins when the one before it ends; the last
                    // one ends the step
  eg_memory_curve memory;
  double peak_bytes, peak_seconds;
  double wanted_bytes; // peak of the order of issue that is shortest, whatever it holds
  eg_lives alive;      // at the peak, the largest first; steps as in the plan
} eg_plan_simulation;

void eg_plan_simulation_init(eg_plan_simulation *simulation, egraph_allocator alloc);
void eg_plan_simulation_deinit(eg_plan_simulation *simulation);
/// Simulates a plan that passes eg_plan_check; `out` is initialized. Arguments and errors
/// of eg_plan_tasks_make. O(tasks log tasks + lives log lives).
egraph_status eg_plan_simulate(const eg_plan *plan, const eg_machine_mesh *links,
                               eg_issue issue, eg_plan_simulation *out);
/// The same, as the setup says. Arguments and errors of eg_plan_tasks_make_as.
egraph_status eg_plan_simulate_as(const eg_plan *plan, const eg_simulation_setup *setup,
                                  eg_plan_simulation *out);
/// The same in the order of issue whose step is the shortest, of those that hold no more
/// than the limit; in order, where all hold more. O(orders of issue) more.
egraph_status eg_plan_simulate_shortest(const eg_plan *plan, const eg_machine_mesh *links,
                                        double memory_limit, eg_plan_simulation *out);
/// The same, as the setup says, whatever its order of issue.
egraph_status eg_plan_simulate_shortest_as(const eg_plan *plan,
                                           const eg_simulation_setup *setup,
                                           double memory_limit, eg_plan_simulation *out);

#endif
