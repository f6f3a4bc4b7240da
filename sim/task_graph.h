// A task graph and the times of its tasks: a discrete-event simulation that knows nothing
// of plans.
//
//   stream   runs its tasks one after the other, in the order in which they were added
//   compute  takes a number of seconds
//   flow     takes a latency, in which it uses no bandwidth, then sends bytes over a set
//   of
//            links at its max-min fair rate (Bertsekas, Gallager, "Data
//            Networks", 6.5.2): rates change only when a flow begins or ends to send
//
// A task starts when all that it depends on, and all that stands before it on its
// streams, has ended. Times are doubles; the same graph gives the same bits. A simulation
// after a change looks only at tasks whose times may have changed, and gives the bits
// that a simulation of the whole graph gives (FlexFlow's delta simulation, MLSys'19,
// section 5.3, with shared links).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_TASK_GRAPH_H
#define EG_SIM_TASK_GRAPH_H

#include "base/vec.h"

typedef struct eg_task_graph eg_task_graph;

/// Seconds after the beginning; `begin` is that of sending, of a compute its start.
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
/// The same; while a flow of weight 0 sends over it, it has `slowed`, > 0 and not above
/// `bandwidth`.
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
/// A flow that stands for several equal ones, of which weights[i] go over link i; NULL: 1
/// each. One of weight 0 takes nothing of a link, but slows it down. A flow that sends
/// has a weight above 0 somewhere.
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
/// All weights are 1 then.
egraph_status eg_task_graph_set_links(eg_task_graph *graph, uint32_t task,
                                      const uint32_t *links, size_t link_count);
/// Removes one dependency that eg_task_graph_depend added. Fails with EGRAPH_E_ARGUMENT
/// where there is none.
egraph_status eg_task_graph_undepend(eg_task_graph *graph, uint32_t task, uint32_t on);

// ---- simulating -----------------------------------------------------------------

/// Brings all times up to date: of the whole graph the first time, and while a task
/// depends on one that was added after it; of what changes may have reached otherwise.
/// Cost O(tasks looked at x log) without shared links. Fails with EGRAPH_E_ARGUMENT on a
/// cycle, naming a task in it or behind it, and EGRAPH_E_MEMORY; the next simulation is
/// one of the whole graph then.
egraph_status eg_task_graph_simulate(eg_task_graph *graph);
/// The same, of the whole graph.
egraph_status eg_task_graph_simulate_anew(eg_task_graph *graph);
/// Of the last simulation.
eg_task_times eg_task_graph_times(const eg_task_graph *graph, uint32_t task);
/// When the last task ends; 0 without tasks. O(tasks).
double eg_task_graph_makespan(const eg_task_graph *graph);
/// Tasks that the last simulation looked at.
uint32_t eg_task_graph_looked_at(const eg_task_graph *graph);
uint32_t eg_task_graph_task_count(const eg_task_graph *graph);
/// A task that ended when `task` started, and before it had to: the last cause of its
/// start; the smallest number of several. UINT32_MAX: it started at 0.
uint32_t eg_task_graph_cause(const eg_task_graph *graph, uint32_t task);

#endif
