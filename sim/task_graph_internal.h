// The parts of a task graph that building it (task_graph.c), the fair rates of flows
// (flow_rates.c) and the simulation (task_simulation.c) share.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_TASK_GRAPH_INTERNAL_H
#define EG_SIM_TASK_GRAPH_INTERNAL_H

#include <stdbool.h>

#include "base/event_queue.h"
#include "sim/task_graph.h"

#define EG_TASK_NONE UINT32_MAX

// The state of a task. Between simulations all are KNOWN, except those that changes
// reached.
typedef enum eg_task_state {
  EG_TASK_KNOWN,    // its times of the last simulation hold so far
  EG_TASK_REPLAYED, // a flow with the start of the last simulation, which sends again
  EG_TASK_WAITING,  // for tasks before it; with an event, for its end or to send
  EG_TASK_SENDING,  // a flow
  EG_TASK_ENDED     // in this simulation
} eg_task_state;

typedef struct eg_task {
  eg_task_state state;
  bool is_flow;
  bool has_times;      // of an earlier simulation, in start, begin, end, until it starts
  bool must_await;     // the starts of tasks after it that are not recomputed
  bool has_company;    // it may have shared a period with other flows on a link
  bool is_visited;     // while rates are computed
  bool is_fixed;       // its rate is, while rates are computed
  uint32_t unresolved; // while WAITING: tasks before it that have not ended
  uint32_t in, out;    // first edges; EG_TASK_NONE: none
  double start, end;
  double due;                      // once it is recomputed: its earliest end
  double seconds, bytes;           // of a flow: latency, bytes to send
  double begin;                    // of sending
  double old_begin, old_end;       // of the last simulation, once it is recomputed
  double rate, left, since;        // of a flow that sends: bytes left at that time
  uint32_t first_link, link_count; // of flow_links
} eg_task;
EG_VEC_DEFINE(eg_tasks, eg_task);

/// `to` starts after `from` has ended.
typedef struct eg_task_edge {
  uint32_t from, to, next_in, next_out;
  bool is_order; // of a stream, no dependency of the caller
} eg_task_edge;
EG_VEC_DEFINE(eg_task_edges, eg_task_edge);

/// A flow of the last simulation on one of its links. Entries of a link are sorted by
/// begin; those from `first` to the one with the next `first` make a period in which the
/// link was never idle.
typedef struct eg_link_use {
  uint32_t task, first;
  uint32_t replayed; // in the first use of a period: the next use to replay
  uint32_t next;     // no use in between is of a KNOWN flow
  double begin, end, period_end;
} eg_link_use;
EG_VEC_DEFINE(eg_link_uses, eg_link_use);

typedef struct eg_task_link {
  double bandwidth, slowed; // of a plain link the same
  eg_u32s sending;          // flows
  eg_link_uses uses;        // of the last simulation
  bool is_touched;          // a flow began or ended to send: rates are due
  bool is_visited;          // while rates are computed
  bool is_stale;            // uses must be written anew from stale_from on
  double stale_from;
  size_t first_stale, kept; // of the uses that stay: the sorted ones, and all
  double changed_until;     // the latest old end of recomputed flows on it
  double free, open; // bandwidth, and flows without a rate, while rates are computed
} eg_task_link;
EG_VEC_DEFINE(eg_task_links, eg_task_link);

struct eg_task_graph {
  egraph_allocator alloc;
  eg_tasks tasks;
  eg_task_links links;
  eg_u32s streams; // the last task of each, or EG_TASK_NONE
  eg_u32s flow_links;
  eg_u32s flow_weights; // [flow_links]
  eg_task_edges edges;
  size_t backward_edges; // to a task from one of a larger number
  uint32_t free_edge;    // linked by next_in
  eg_event_queue queue;
  eg_u32s recomputed;       // tasks, by the current simulation or for the next one
  eg_u32s touched;          // links
  eg_u32s stale;            // links
  eg_u32s flows, visited;   // scratch of rates: flows and links of a component
  eg_link_uses sorted;      // scratch of uses
  uint32_t last_recomputed; // tasks, by the last simulation
  bool is_broken;           // a simulation failed half-way
};

// Events: the next action of a task; the next start, in the last simulation, of a task
// after it; the begin of its sending in the last simulation; the next flow of the last
// simulation on a link.
enum { EG_EVENT_NEXT, EG_EVENT_OLD_START, EG_EVENT_OLD_BEGIN, EG_EVENT_LINK, EG_EVENTS };
static inline uint32_t eg_event_number(uint32_t kind, uint32_t of) {
  return of * EG_EVENTS + kind;
}

/// Recomputes a task in the next simulation, or from now on in the current one: it is
/// WAITING; the tasks that it waits for are not counted yet.
egraph_status eg_task_recompute(eg_task_graph *graph, uint32_t task);
/// Recomputes flows that sent at the same time on its links in the last simulation: now
/// those that had begun to send before it, and later ones when they begin.
egraph_status eg_task_recompute_sharers(eg_task_graph *graph, uint32_t task);
/// Makes room for the events of all tasks and links.
egraph_status eg_task_events_reserve(eg_task_graph *graph);

/// Takes a flow on or off its links.
egraph_status eg_flow_join(eg_task_graph *graph, uint32_t task);
egraph_status eg_flow_leave(eg_task_graph *graph, uint32_t task);
/// New max-min fair rates, as of `now`, of all flows that touched links connect, and new
/// events for their ends.
egraph_status eg_flow_rates_update(eg_task_graph *graph, double now);

#endif
