// The parts of a task graph that three files share: task_graph.c builds it, flow_rates.c
// finds fair rates of flows, task_simulation.c simulates.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_TASK_GRAPH_INTERNAL_H
#define EG_SIM_TASK_GRAPH_INTERNAL_H

#include <stdbool.h>

#include "base/event_queue.h"
#include "sim/task_graph.h"

#define EG_TASK_NONE UINT32_MAX

// The state of a task in a simulation. Between simulations all tasks are KNOWN, except
// those that changes of the graph have reached.
typedef enum eg_task_state {
  EG_TASK_KNOWN,    // its times of the last simulation still hold
  EG_TASK_REPLAYED, // a flow that starts as in the last simulation, and sends again
  EG_TASK_WAITING,  // it waits for tasks before it, or for an event: its end or sending
  EG_TASK_SENDING,  // a flow
  EG_TASK_ENDED     // it has ended in this simulation
} eg_task_state;

typedef struct eg_task {
  eg_task_state state;
  bool is_flow;
  bool has_times;   // start, begin, end are of an earlier simulation, until it starts
  bool must_await;  // it must watch the starts of tasks after it that are not recomputed
  bool has_company; // it may have shared a busy period of a link with other flows
  bool is_visited;  // while rates are computed
  bool is_fixed;    // its rate is fixed, while rates are computed
  uint32_t unresolved; // while WAITING: tasks before it that have not ended
  uint32_t in, out;    // first edges; EG_TASK_NONE: none
  double start, end;
  double due;                      // its earliest end, once it is recomputed
  double seconds, bytes;           // latency and bytes to send, for a flow
  double begin;                    // when it begins to send
  double old_begin, old_end;       // times in the last simulation, once it is recomputed
  double rate, left, since;        // for a flow that sends: bytes left at that time
  uint32_t first_link, link_count; // range of flow_links
} eg_task;
EG_VEC_DEFINE(eg_tasks, eg_task);

/// A dependency: task `to` starts after task `from` has ended.
typedef struct eg_task_edge {
  uint32_t from, to, next_in, next_out;
  bool is_order; // the order of a stream; false: a dependency of the caller
} eg_task_edge;
EG_VEC_DEFINE(eg_task_edges, eg_task_edge);

/// The time for which a flow used a link in the last simulation. The uses of a link are
/// sorted by begin; the uses from `first` until the next `first` are a period in which
/// the link was never idle.
typedef struct eg_link_use {
  uint32_t task, first;
  uint32_t replayed; // in the first use of a period: the index of the next use to replay
  uint32_t next;     // index of a later use; no use in between belongs to a KNOWN flow
  double begin, end, period_end;
} eg_link_use;
EG_VEC_DEFINE(eg_link_uses, eg_link_use);

typedef struct eg_task_link {
  double bandwidth, slowed; // equal for a plain link
  eg_u32s sending;          // flows that send now
  eg_link_uses uses;        // uses in the last simulation
  bool is_touched;          // a flow has begun or stopped sending: new rates are due
  bool is_visited;          // while rates are computed
  bool is_stale;            // uses must be written anew, from stale_from on
  double stale_from;
  // Among the uses of the link that stay: the number of sorted ones, and of all.
  size_t first_stale, kept;
  double changed_until; // the latest old end of the recomputed flows on it
  // Bandwidth left, and number of flows without a rate, while rates are computed.
  double free, open;
} eg_task_link;
EG_VEC_DEFINE(eg_task_links, eg_task_link);

struct eg_task_graph {
  egraph_allocator alloc;
  eg_tasks tasks;
  eg_task_links links;
  eg_u32s streams; // the last task of each stream, or EG_TASK_NONE
  eg_u32s flow_links;
  eg_u32s flow_weights; // [flow_links]
  eg_task_edges edges;
  size_t backward_edges; // edges to a task from a task of a larger number
  uint32_t free_edge;    // first free edge; free edges are linked by next_in
  eg_event_queue queue;
  eg_u32s recomputed;       // tasks that the current or the next simulation recomputes
  eg_u32s touched;          // links with due rates
  eg_u32s stale;            // links with stale uses
  eg_u32s flows, visited;   // scratch of rates: flows and links of a component
  eg_link_uses sorted;      // scratch of uses
  uint32_t last_recomputed; // number of tasks that the last simulation recomputed
  bool is_broken;           // a simulation failed half-way
};

// Events: the next action of a task (NEXT); the next start, in the last simulation, of a
// successor of a task (OLD_START); the time at which a flow began to send in the last
// simulation (OLD_BEGIN); the next flow of the last simulation on a link (LINK).
enum { EG_EVENT_NEXT, EG_EVENT_OLD_START, EG_EVENT_OLD_BEGIN, EG_EVENT_LINK, EG_EVENTS };
static inline uint32_t eg_event_number(uint32_t kind, uint32_t of) {
  return of * EG_EVENTS + kind;
}

/// Marks a task to be recomputed by the next simulation, or from now on by the current
/// one. The task becomes WAITING; the tasks that it waits for are not counted yet.
egraph_status eg_task_recompute(eg_task_graph *graph, uint32_t task);
/// Recomputes flows that sent on the task's links at the same time in the last
/// simulation: flows that began before it now, later flows when they begin.
egraph_status eg_task_recompute_sharers(eg_task_graph *graph, uint32_t task);
/// Allocates memory for the events of all tasks and links.
egraph_status eg_task_events_reserve(eg_task_graph *graph);

/// Add a flow to its links, or remove it from them.
egraph_status eg_flow_join(eg_task_graph *graph, uint32_t task);
egraph_status eg_flow_leave(eg_task_graph *graph, uint32_t task);
/// Computes new max-min fair rates, as of `now`, for all flows that changed links
/// connect, directly or not, and new events for the ends of these flows.
egraph_status eg_flow_rates_update(eg_task_graph *graph, double now);

#endif
