// Simulates a step of a plan: the times of every task, the waits of computing, a lower
// bound on the step, and the memory of a device over time.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_PLAN_SIMULATION_H
#define EG_SIM_PLAN_SIMULATION_H

#include "pcg/plan/plan_cost.h"
#include "sim/plan/plan_tasks.h"

/// The idle time of computing while it waits for exchanges of one kind.
typedef struct eg_plan_wait {
  double seconds;
  uint32_t count; // number of exchanges
} eg_plan_wait;

/// A point of the memory curve: a device holds `bytes` from `seconds` on.
typedef struct eg_memory_point {
  double seconds, bytes;
} eg_memory_point;
EG_VEC_DEFINE(eg_memory_curve, eg_memory_point);

typedef struct eg_plan_simulation {
  eg_plan_tasks tasks;               // simulated
  double seconds;                    // when the last task ends
  double busy[EG_MAX_MESH_AXES + 1]; // [streams]
  // Most seconds that a stream or, if exchanges are rounds of messages, a link is busy,
  // without slowdowns: a lower bound on the step in any order of issue.
  double most_busy;
  eg_plan_wait wait[EG_PHASE_COUNT][EG_MAX_MESH_AXES][EG_TRANSITION_KINDS];
  // Tasks, each of which begins when the previous one ends; the last one ends the step.
  eg_u32s critical;
  eg_memory_curve memory;
  double peak_bytes, peak_seconds;
  double wanted_bytes; // peak of the shortest order of issue, regardless of the limit
  eg_lives alive;      // lives at the peak, the largest first; steps as in the plan
} eg_plan_simulation;

void eg_plan_simulation_init(eg_plan_simulation *simulation, egraph_allocator alloc);
void eg_plan_simulation_deinit(eg_plan_simulation *simulation);
/// Simulates a plan that passes eg_plan_check; `out` is initialized. Fails as
/// eg_plan_tasks_make does. O(tasks log tasks + lives log lives).
egraph_status eg_plan_simulate(const eg_plan *plan, const eg_machine_mesh *links,
                               eg_issue issue, eg_plan_simulation *out);
/// Simulates a plan like eg_plan_simulate, as `setup` says.
egraph_status eg_plan_simulate_as(const eg_plan *plan, const eg_simulation_setup *setup,
                                  eg_plan_simulation *out);
/// Simulates a plan in the order of issue with the shortest step among the orders that
/// stay within the memory limit; in order, where no order does. Takes as many simulations
/// as there are orders.
egraph_status eg_plan_simulate_shortest(const eg_plan *plan, const eg_machine_mesh *links,
                                        double memory_limit, eg_plan_simulation *out);
/// Simulates a plan like eg_plan_simulate_shortest, as `setup` says, except for its order
/// of issue.
egraph_status eg_plan_simulate_shortest_as(const eg_plan *plan,
                                           const eg_simulation_setup *setup,
                                           double memory_limit, eg_plan_simulation *out);

#endif
