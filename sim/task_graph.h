// A task graph and the times of its tasks: a discrete-event simulation that knows nothing
// of plans.
//
//   stream   runs its tasks one after the other, in the order in which they were added
//   compute  takes a number of seconds
//   flow     takes a latency, in which it uses no bandwidth, then sends bytes over a set
//            of links at its max-min fair rate (Bertsekas, Gallager, "Data Networks",
//            6.5.2): rates change only when a flow begins or ends to send
//
// A task starts when all tasks that it depends on, and all tasks before it on its
// streams, have ended. Times are doubles; the same graph gives the same bits. A
// simulation after a change recomputes only tasks whose times may have changed, and gives
// the same bits as a simulation of the whole graph (FlexFlow's delta simulation,
// MLSys'19, section 5.3, with shared links).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_TASK_GRAPH_H
#define EG_SIM_TASK_GRAPH_H

#include "base/vec.h"

typedef struct eg_task_graph eg_task_graph;

/// Seconds after the beginning; `begin` is the beginning of sending; of a compute its
/// start.
typedef struct eg_task_times {
  double start, begin, end;
} eg_task_times;

egraph_status eg_task_graph_create(egraph_allocator alloc, eg_task_graph **out);
void eg_task_graph_destroy(eg_task_graph *graph);

// ---- building: numbers count from 0 in each kind --------------------------------

egraph_status eg_task_graph_add_stream(eg_task_graph *graph, uint32_t *out_stream);
/// Bytes per second, > 0 and finite.
egraph_status eg_task_graph_add_link(eg_task_graph *graph, double bandwidth,
                                     uint32_t *out_link);
/// The same; while a flow of weight 0 sends over the link, its bandwidth is `slowed`, > 0
/// and not above `bandwidth`.
egraph_status eg_task_graph_add_slowed_link(eg_task_graph *graph, double bandwidth,
                                            double slowed, uint32_t *out_link);
/// Seconds >= 0 and finite. A task may have no stream. Fails with EGRAPH_E_ARGUMENT on
/// figures out of range and unknown streams.
egraph_status eg_task_graph_add_compute(eg_task_graph *graph, double seconds,
                                        const uint32_t *streams, size_t stream_count,
                                        uint32_t *out_task);
/// Latency and bytes >= 0 and finite; links distinct, at least one unless bytes is 0.
egraph_status eg_task_graph_add_flow(eg_task_graph *graph, double latency, double bytes,
                                     const uint32_t *links, size_t link_count,
                                     const uint32_t *streams, size_t stream_count,
                                     uint32_t *out_task);
/// Adds a flow that represents several equal ones, of which weights[i] go over link i;
/// NULL: 1 each. A flow of weight 0 takes no bandwidth of the link, but slows it down. A
/// flow that sends has a weight above 0 on some link.
egraph_status eg_task_graph_add_flows(eg_task_graph *graph, double latency, double bytes,
                                      const uint32_t *links, const uint32_t *weights,
                                      size_t link_count, const uint32_t *streams,
                                      size_t stream_count, uint32_t *out_task);
/// `task` starts after `on` has ended. `on` may have been added later; a cycle is found
/// by the simulation.
egraph_status eg_task_graph_depend(eg_task_graph *graph, uint32_t task, uint32_t on);

// ---- changing -------------------------------------------------------------------

/// Seconds of a compute, latency of a flow.
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

/// Brings all times up to date. Recomputes the whole graph the first time, and while a
/// task depends on one that was added after it; otherwise the tasks that changes may have
/// reached. O(recomputed tasks x log) without shared links. Fails with EGRAPH_E_ARGUMENT
/// on a cycle, naming a task in it or behind it, and EGRAPH_E_MEMORY; the next simulation
/// then recomputes the whole graph.
egraph_status eg_task_graph_simulate(eg_task_graph *graph);
/// The same; recomputes the whole graph.
egraph_status eg_task_graph_simulate_anew(eg_task_graph *graph);
/// Times of the last simulation.
eg_task_times eg_task_graph_times(const eg_task_graph *graph, uint32_t task);
/// The end of the last task; 0 without tasks. O(tasks).
double eg_task_graph_makespan(const eg_task_graph *graph);
/// Number of tasks that the last simulation recomputed.
uint32_t eg_task_graph_recomputed(const eg_task_graph *graph);
uint32_t eg_task_graph_task_count(const eg_task_graph *graph);
/// The last cause of a task's start: a task that it waits for and that ended when it
/// started; the smallest number of several. UINT32_MAX: it started at 0.
uint32_t eg_task_graph_cause(const eg_task_graph *graph, uint32_t task);

#endif
