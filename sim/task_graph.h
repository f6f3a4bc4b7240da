// A task graph and the times of its tasks, found by a discrete-event simulation. It knows
// nothing of plans.
//
//   stream   runs its tasks one after the other, in the order in which they were added
//   compute  takes a number of seconds
//   flow     takes a latency, in which it uses no bandwidth, then sends bytes over a set
//            of links at its max-min fair rate (Bertsekas, Gallager, "Data Networks",
//            6.5.2): rates change only when a flow begins or ends to send
//
// A task starts when all tasks that it depends on, and all tasks before it on its
// streams, have ended. Times are doubles; the same graph gives the same bits. After a
// change, a simulation recomputes only tasks whose times may have changed, and gives the
// same bits as a simulation of the whole graph (FlexFlow's delta simulation, MLSys'19,
// section 5.3, with shared links).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_TASK_GRAPH_H
#define EG_SIM_TASK_GRAPH_H

#include "base/vec.h"

typedef struct eg_task_graph eg_task_graph;

/// The times of a task, in seconds after the start of the simulation. `begin`: when a
/// flow begins to send, after its latency; for a compute its start.
typedef struct eg_task_times {
  double start, begin, end;
} eg_task_times;

egraph_status eg_task_graph_create(egraph_allocator alloc, eg_task_graph **out);
void eg_task_graph_destroy(eg_task_graph *graph);

// ---- building: numbers count from 0 in each kind --------------------------------

egraph_status eg_task_graph_add_stream(eg_task_graph *graph, uint32_t *out_stream);
/// Adds a link; `bandwidth` is in bytes per second, > 0 and finite.
egraph_status eg_task_graph_add_link(eg_task_graph *graph, double bandwidth,
                                     uint32_t *out_link);
/// Adds a link whose bandwidth is `slowed`, > 0 and not above `bandwidth`, as long as a
/// flow of weight 0 sends over it.
egraph_status eg_task_graph_add_slowed_link(eg_task_graph *graph, double bandwidth,
                                            double slowed, uint32_t *out_link);
/// Adds a compute task of `seconds`, >= 0 and finite. A task may have no stream. Fails
/// with EGRAPH_E_ARGUMENT on figures out of range and unknown streams.
egraph_status eg_task_graph_add_compute(eg_task_graph *graph, double seconds,
                                        const uint32_t *streams, size_t stream_count,
                                        uint32_t *out_task);
/// Adds a flow, a task that sends bytes. Latency and bytes are >= 0 and finite; links are
/// distinct, at least one unless bytes is 0.
egraph_status eg_task_graph_add_flow(eg_task_graph *graph, double latency, double bytes,
                                     const uint32_t *links, size_t link_count,
                                     const uint32_t *streams, size_t stream_count,
                                     uint32_t *out_task);
/// Adds a flow that represents several equal flows; weights[i] of them go over link i;
/// NULL: 1 over each. A flow of weight 0 takes no bandwidth of the link, but slows it
/// down. A flow with bytes has a weight above 0 on some link.
egraph_status eg_task_graph_add_flows(eg_task_graph *graph, double latency, double bytes,
                                      const uint32_t *links, const uint32_t *weights,
                                      size_t link_count, const uint32_t *streams,
                                      size_t stream_count, uint32_t *out_task);
/// Makes `task` start after `on` has ended. `on` may be a later task; the simulation
/// finds cycles.
egraph_status eg_task_graph_depend(eg_task_graph *graph, uint32_t task, uint32_t on);

// ---- changing -------------------------------------------------------------------

/// Sets the seconds of a compute, or the latency of a flow.
egraph_status eg_task_graph_set_seconds(eg_task_graph *graph, uint32_t task,
                                        double seconds);
egraph_status eg_task_graph_set_bytes(eg_task_graph *graph, uint32_t task, double bytes);
/// Replaces the links of a flow; each new link has the weight 1.
egraph_status eg_task_graph_set_links(eg_task_graph *graph, uint32_t task,
                                      const uint32_t *links, size_t link_count);
/// Removes one dependency that eg_task_graph_depend added. Fails with EGRAPH_E_ARGUMENT
/// where there is none.
egraph_status eg_task_graph_undepend(eg_task_graph *graph, uint32_t task, uint32_t on);

// ---- simulating -----------------------------------------------------------------

/// Brings the times of all tasks up to date. Recomputes the whole graph the first time,
/// and while a task depends on a task that was added after it; otherwise only the tasks
/// that changes may have reached. O(recomputed tasks x log) without shared links. Fails
/// with EGRAPH_E_ARGUMENT on a cycle, naming a task in the cycle or after it, and with
/// EGRAPH_E_MEMORY; the next simulation then recomputes the whole graph.
egraph_status eg_task_graph_simulate(eg_task_graph *graph);
/// Brings the times of all tasks up to date; always recomputes the whole graph.
egraph_status eg_task_graph_simulate_anew(eg_task_graph *graph);
/// Returns the times of a task in the last simulation.
eg_task_times eg_task_graph_times(const eg_task_graph *graph, uint32_t task);
/// Returns the end of the last task; 0 without tasks. O(tasks).
double eg_task_graph_makespan(const eg_task_graph *graph);
/// Returns the number of tasks that the last simulation recomputed.
uint32_t eg_task_graph_recomputed(const eg_task_graph *graph);
uint32_t eg_task_graph_task_count(const eg_task_graph *graph);
/// Returns the last cause of a task's start: a task that it waits for and that ended when
/// it started; of several, the one with the smallest number. UINT32_MAX: the task started
/// at 0.
uint32_t eg_task_graph_cause(const eg_task_graph *graph, uint32_t task);

#endif
