// SPDX-License-Identifier: Apache-2.0
#include "sim/task_graph.h"

#include <inttypes.h>
#include <math.h>

#include "base/owner.h"
#include "sim/task_graph_internal.h"

#define OWNED                                                                            \
  (eg_tasks, tasks), (eg_task_links, links), (eg_task_edges, edges),                     \
      (eg_event_queue, queue), (eg_link_uses, sorted),                                   \
      (eg_u32s, streams, flow_links, flow_weights, recomputed, touched, stale, flows,    \
       visited)

egraph_status eg_task_graph_create(egraph_allocator alloc, eg_task_graph **out) {
  eg_task_graph *graph;
  EG_TRY(eg_alloc(alloc, 1, sizeof *graph, &graph));
  graph->alloc = alloc;
  graph->free_edge = EG_TASK_NONE;
  EG_INIT_MEMBERS(graph, alloc, OWNED)
  *out = graph;
  return EGRAPH_OK;
}

void eg_task_graph_destroy(eg_task_graph *graph) {
  if (graph == NULL) return;
  for (size_t l = 0; l < graph->links.len; l++) {
    eg_u32s_deinit(&graph->links.data[l].sending);
    eg_link_uses_deinit(&graph->links.data[l].uses);
  }
  EG_DEINIT_MEMBERS(graph, OWNED)
  eg_free(graph->alloc, graph, 1, sizeof *graph);
}

// ---- building -------------------------------------------------------------------

static egraph_status check_figure(const char *what, double figure) {
  if (figure >= 0 && isfinite(figure)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%s are %g; they must be finite, and not negative",
                 what, figure);
}

static egraph_status check_number(const char *what, size_t number, size_t count) {
  if (number < count) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no %s %zu; there are %zu", what, number,
                 count);
}

egraph_status eg_task_graph_add_stream(eg_task_graph *graph, uint32_t *out_stream) {
  *out_stream = (uint32_t)graph->streams.len;
  return eg_u32s_push(&graph->streams, EG_TASK_NONE);
}

egraph_status eg_task_graph_add_link(eg_task_graph *graph, double bandwidth,
                                     uint32_t *out_link) {
  return eg_task_graph_add_slowed_link(graph, bandwidth, bandwidth, out_link);
}

egraph_status eg_task_graph_add_slowed_link(eg_task_graph *graph, double bandwidth,
                                            double slowed, uint32_t *out_link) {
  eg_task_link link = {.bandwidth = bandwidth, .slowed = slowed};
  if (!(bandwidth > 0 && isfinite(bandwidth) && slowed > 0 && slowed <= bandwidth))
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "a link has %g bytes per second, slowed down %g; both must be positive "
        "and finite, the second not above the first",
        bandwidth, slowed);
  eg_u32s_init(&link.sending, graph->alloc);
  eg_link_uses_init(&link.uses, graph->alloc);
  *out_link = (uint32_t)graph->links.len;
  EG_TRY(eg_task_links_push(&graph->links, link));
  return eg_task_events_reserve(graph);
}

static egraph_status add_edge(eg_task_graph *graph, uint32_t task, uint32_t on,
                              bool is_order) {
  uint32_t e = graph->free_edge;
  if (e == EG_TASK_NONE) {
    e = (uint32_t)graph->edges.len;
    EG_TRY(eg_task_edges_push(&graph->edges, (eg_task_edge){0}));
  } else {
    graph->free_edge = graph->edges.data[e].next_in;
  }
  eg_task *from = &graph->tasks.data[on], *to = &graph->tasks.data[task];
  graph->edges.data[e] = (eg_task_edge){on, task, to->in, from->out, is_order};
  to->in = from->out = e;
  return EGRAPH_OK;
}

/// True when a task already waits for task `on`: two tasks may share several streams.
static bool has_edge(const eg_task_graph *graph, uint32_t task, uint32_t on) {
  for (uint32_t e = graph->tasks.data[task].in; e != EG_TASK_NONE;
       e = graph->edges.data[e].next_in)
    if (graph->edges.data[e].from == on) return true;
  return false;
}

/// Checks the links of a flow. `weights` NULL: all are 1.
static egraph_status check_links(const eg_task_graph *graph, double bytes,
                                 const uint32_t *links, const uint32_t *weights,
                                 size_t count) {
  bool takes_some = false;
  for (size_t i = 0; i < count; i++) {
    takes_some |= weights == NULL || weights[i] != 0;
    EG_TRY(check_number("link", links[i], graph->links.len));
    for (size_t k = 0; k < i; k++)
      if (links[k] == links[i])
        return EG_FAIL(EGRAPH_E_ARGUMENT, "a flow goes over link %" PRIu32 " twice",
                       links[i]);
  }
  if (!takes_some && bytes > 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a flow of %g bytes goes over no link", bytes);
  return EGRAPH_OK;
}

static egraph_status add_task(eg_task_graph *graph, eg_task task, const uint32_t *links,
                              const uint32_t *weights, const uint32_t *streams,
                              size_t stream_count, uint32_t *out_task) {
  uint32_t number = (uint32_t)graph->tasks.len;
  for (size_t i = 0; i < stream_count; i++)
    EG_TRY(check_number("stream", streams[i], graph->streams.len));
  task.in = task.out = EG_TASK_NONE;
  task.first_link = (uint32_t)graph->flow_links.len;
  EG_TRY(eg_u32s_append(&graph->flow_links, links, task.link_count));
  for (uint32_t i = 0; i < task.link_count; i++)
    EG_TRY(eg_u32s_push(&graph->flow_weights, weights == NULL ? 1 : weights[i]));
  EG_TRY(eg_tasks_push(&graph->tasks, task));
  for (size_t i = 0; i < stream_count; i++) {
    uint32_t *last = &graph->streams.data[streams[i]];
    if (*last != EG_TASK_NONE && *last != number && !has_edge(graph, number, *last))
      EG_TRY(add_edge(graph, number, *last, true));
    *last = number;
  }
  *out_task = number;
  EG_TRY(eg_task_events_reserve(graph));
  return eg_task_recompute(graph, number);
}

egraph_status eg_task_graph_add_compute(eg_task_graph *graph, double seconds,
                                        const uint32_t *streams, size_t stream_count,
                                        uint32_t *out_task) {
  EG_TRY(check_figure("the seconds of a task", seconds));
  return add_task(graph, (eg_task){.seconds = seconds}, NULL, NULL, streams, stream_count,
                  out_task);
}

egraph_status eg_task_graph_add_flow(eg_task_graph *graph, double latency, double bytes,
                                     const uint32_t *links, size_t link_count,
                                     const uint32_t *streams, size_t stream_count,
                                     uint32_t *out_task) {
  return eg_task_graph_add_flows(graph, latency, bytes, links, NULL, link_count, streams,
                                 stream_count, out_task);
}

egraph_status eg_task_graph_add_flows(eg_task_graph *graph, double latency, double bytes,
                                      const uint32_t *links, const uint32_t *weights,
                                      size_t link_count, const uint32_t *streams,
                                      size_t stream_count, uint32_t *out_task) {
  EG_TRY(check_figure("the seconds of a latency", latency));
  EG_TRY(check_figure("the bytes of a flow", bytes));
  EG_TRY(check_links(graph, bytes, links, weights, link_count));
  eg_task task = {.is_flow = true,
                  .seconds = latency,
                  .bytes = bytes,
                  .link_count = (uint32_t)link_count};
  return add_task(graph, task, links, weights, streams, stream_count, out_task);
}

egraph_status eg_task_graph_depend(eg_task_graph *graph, uint32_t task, uint32_t on) {
  EG_TRY(check_number("task", task, graph->tasks.len));
  EG_TRY(check_number("task", on, graph->tasks.len));
  EG_TRY(eg_task_recompute(graph, task));
  EG_TRY(add_edge(graph, task, on, false));
  graph->backward_edges += on > task;
  return EGRAPH_OK;
}

// ---- changing -------------------------------------------------------------------

/// Marks a flow and the flows that shared its links to be recomputed, before its bytes or
/// links change.
static egraph_status recompute_flow(eg_task_graph *graph, uint32_t task) {
  EG_TRY(check_number("task", task, graph->tasks.len));
  if (!graph->tasks.data[task].is_flow)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "task %" PRIu32 " is no flow", task);
  EG_TRY(eg_task_recompute(graph, task));
  return eg_task_recompute_sharers(graph, task);
}

egraph_status eg_task_graph_set_seconds(eg_task_graph *graph, uint32_t task,
                                        double seconds) {
  EG_TRY(check_number("task", task, graph->tasks.len));
  EG_TRY(check_figure("the seconds of a task", seconds));
  EG_TRY(eg_task_recompute(graph, task));
  graph->tasks.data[task].seconds = seconds;
  return EGRAPH_OK;
}

egraph_status eg_task_graph_set_bytes(eg_task_graph *graph, uint32_t task, double bytes) {
  EG_TRY(check_figure("the bytes of a flow", bytes));
  EG_TRY(recompute_flow(graph, task));
  eg_task *flow = &graph->tasks.data[task];
  EG_TRY(check_links(graph, bytes, graph->flow_links.data + flow->first_link,
                     graph->flow_weights.data + flow->first_link, flow->link_count));
  flow->bytes = bytes;
  return EGRAPH_OK;
}

egraph_status eg_task_graph_set_links(eg_task_graph *graph, uint32_t task,
                                      const uint32_t *links, size_t link_count) {
  EG_TRY(recompute_flow(graph, task));
  eg_task *flow = &graph->tasks.data[task];
  EG_TRY(check_links(graph, flow->bytes, links, NULL, link_count));
  if (link_count > flow->link_count) {
    flow->first_link = (uint32_t)graph->flow_links.len;
    EG_TRY(eg_u32s_resize(&graph->flow_links, graph->flow_links.len + link_count));
    EG_TRY(eg_u32s_resize(&graph->flow_weights, graph->flow_links.len));
  }
  flow->link_count = (uint32_t)link_count;
  for (size_t i = 0; i < link_count; i++) {
    graph->flow_links.data[flow->first_link + i] = links[i];
    graph->flow_weights.data[flow->first_link + i] = 1;
  }
  return EGRAPH_OK;
}

static void unlink_edge(eg_task_graph *graph, uint32_t *place, uint32_t edge, bool in) {
  while (*place != edge)
    place = in ? &graph->edges.data[*place].next_in : &graph->edges.data[*place].next_out;
  *place = in ? graph->edges.data[edge].next_in : graph->edges.data[edge].next_out;
}

egraph_status eg_task_graph_undepend(eg_task_graph *graph, uint32_t task, uint32_t on) {
  EG_TRY(check_number("task", task, graph->tasks.len));
  EG_TRY(check_number("task", on, graph->tasks.len));
  EG_TRY(eg_task_recompute(graph, task));
  for (uint32_t e = graph->tasks.data[task].in; e != EG_TASK_NONE;
       e = graph->edges.data[e].next_in) {
    if (graph->edges.data[e].from != on || graph->edges.data[e].is_order) continue;
    unlink_edge(graph, &graph->tasks.data[task].in, e, true);
    unlink_edge(graph, &graph->tasks.data[on].out, e, false);
    graph->edges.data[e].next_in = graph->free_edge;
    graph->free_edge = e;
    graph->backward_edges -= on > task;
    return EGRAPH_OK;
  }
  return EG_FAIL(EGRAPH_E_ARGUMENT, "task %" PRIu32 " does not depend on task %" PRIu32,
                 task, on);
}

// ---- reading --------------------------------------------------------------------

eg_task_times eg_task_graph_times(const eg_task_graph *graph, uint32_t task) {
  const eg_task *t = eg_tasks_at(&graph->tasks, task);
  return (eg_task_times){t->start, t->begin, t->end};
}

double eg_task_graph_makespan(const eg_task_graph *graph) {
  double last = 0;
  for (size_t i = 0; i < graph->tasks.len; i++)
    last = fmax(last, graph->tasks.data[i].end);
  return last;
}

uint32_t eg_task_graph_task_count(const eg_task_graph *graph) {
  return (uint32_t)graph->tasks.len;
}

uint32_t eg_task_graph_cause(const eg_task_graph *graph, uint32_t task) {
  const eg_task *t = eg_tasks_at(&graph->tasks, task);
  uint32_t cause = EG_TASK_NONE;
  for (uint32_t e = t->in; e != EG_TASK_NONE; e = graph->edges.data[e].next_in) {
    uint32_t from = graph->edges.data[e].from;
    if (t->start > 0 && graph->tasks.data[from].end == t->start && from < cause)
      cause = from;
  }
  return cause;
}
