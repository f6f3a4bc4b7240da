// Finds max-min fair rates by progressive filling: the link with the smallest fair share
// fixes the rates of its flows; this repeats among the remaining flows (Bertsekas,
// Gallager, 6.5.2). A flow of weight w on a link counts as w flows there.
//
// Flows connected by links make a component. An event in a component changes rates, and
// the bytes left, of its flows alone. The values computed for a flow depend only on its
// component, and on nothing elsewhere. Therefore a simulation of a part of the flows
// gives the same bits.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "sim/task_graph_internal.h"

static egraph_status touch(eg_task_graph *graph, const eg_task *task) {
  for (uint32_t i = 0; i < task->link_count; i++) {
    uint32_t l = graph->flow_links.data[task->first_link + i];
    eg_task_link *link = &graph->links.data[l];
    if (link->is_touched) continue;
    link->is_touched = true;
    EG_TRY(eg_u32s_push(&graph->touched, l));
  }
  return EGRAPH_OK;
}

egraph_status eg_flow_join(eg_task_graph *graph, uint32_t number) {
  eg_task *task = &graph->tasks.data[number];
  task->left = task->bytes;
  task->rate = 0;
  task->since = task->begin;
  for (uint32_t i = 0; i < task->link_count; i++) {
    eg_task_link *link = &graph->links.data[graph->flow_links.data[task->first_link + i]];
    EG_TRY(eg_u32s_push(&link->sending, number));
  }
  return touch(graph, task);
}

egraph_status eg_flow_leave(eg_task_graph *graph, uint32_t number) {
  const eg_task *task = &graph->tasks.data[number];
  for (uint32_t i = 0; i < task->link_count; i++) {
    eg_u32s *sending =
        &graph->links.data[graph->flow_links.data[task->first_link + i]].sending;
    size_t at = 0;
    while (*eg_u32s_at(sending, at) != number)
      at++;
    sending->data[at] = eg_u32s_pop(sending);
  }
  return touch(graph, task);
}

static egraph_status visit_link(eg_task_graph *graph, uint32_t l) {
  eg_task_link *link = &graph->links.data[l];
  if (link->is_visited) return EGRAPH_OK;
  link->is_visited = true;
  return eg_u32s_push(&graph->visited, l);
}

/// Gathers the flows and links connected with a link: links in `visited`, flows in
/// `flows`, sorted. Flows that end now are still on their links; in a replay of the past,
/// later flows are already on theirs.
static egraph_status gather_component(eg_task_graph *graph, uint32_t first, double now) {
  graph->visited.len = graph->flows.len = 0;
  EG_TRY(visit_link(graph, first));
  for (size_t i = 0; i < graph->visited.len; i++) {
    const eg_u32s *sending = &graph->links.data[graph->visited.data[i]].sending;
    for (size_t k = 0; k < sending->len; k++) {
      eg_task *task = &graph->tasks.data[sending->data[k]];
      bool has_ended =
          eg_event_queue_time(&graph->queue,
                              eg_event_number(EG_EVENT_NEXT, sending->data[k])) == now;
      if (task->is_visited || has_ended || task->since > now) continue;
      task->is_visited = true;
      EG_TRY(eg_u32s_push(&graph->flows, sending->data[k]));
      for (uint32_t n = 0; n < task->link_count; n++)
        EG_TRY(visit_link(graph, graph->flow_links.data[task->first_link + n]));
    }
  }
  if (graph->flows.len > 1)
    qsort(graph->flows.data, graph->flows.len, sizeof(uint32_t), eg_compare_u32s);
  if (graph->visited.len > 1)
    qsort(graph->visited.data, graph->visited.len, sizeof(uint32_t), eg_compare_u32s);
  return EGRAPH_OK;
}

/// Finds the link with the least bandwidth for each flow without a rate; EG_TASK_NONE:
/// all flows have a rate.
static uint32_t tightest_link(const eg_task_graph *graph, double *out_share) {
  uint32_t tightest = EG_TASK_NONE;
  *out_share = INFINITY;
  for (size_t i = 0; i < graph->visited.len; i++) {
    const eg_task_link *link = &graph->links.data[graph->visited.data[i]];
    if (link->open == 0 || link->free / link->open >= *out_share) continue;
    *out_share = link->free / link->open;
    tightest = graph->visited.data[i];
  }
  return tightest;
}

static void fix_rate(eg_task_graph *graph, eg_task *task, double rate) {
  assert(!task->is_fixed);
  task->rate = rate;
  task->is_fixed = true;
  for (uint32_t i = 0; i < task->link_count; i++) {
    eg_task_link *link = &graph->links.data[graph->flow_links.data[task->first_link + i]];
    double weight = graph->flow_weights.data[task->first_link + i], taken = weight * rate;
    link->open -= weight;
    link->free = link->free > taken ? link->free - taken : 0; // below 0 by rounding only
  }
}

static void fill_rates(eg_task_graph *graph) {
  double share;
  for (size_t i = 0; i < graph->visited.len; i++) {
    eg_task_link *link = &graph->links.data[graph->visited.data[i]];
    link->free = link->bandwidth;
    link->open = 0;
  }
  for (size_t i = 0; i < graph->flows.len; i++) {
    const eg_task *task = &graph->tasks.data[graph->flows.data[i]];
    for (uint32_t k = 0; k < task->link_count; k++) {
      eg_task_link *link =
          &graph->links.data[graph->flow_links.data[task->first_link + k]];
      uint32_t weight = graph->flow_weights.data[task->first_link + k];
      link->open += weight;
      if (weight == 0) link->free = link->slowed;
    }
  }
  for (uint32_t l; (l = tightest_link(graph, &share)) != EG_TASK_NONE;)
    for (size_t i = 0; i < graph->flows.len && graph->links.data[l].open != 0; i++) {
      eg_task *task = &graph->tasks.data[graph->flows.data[i]];
      bool uses = false;
      for (uint32_t k = 0; k < task->link_count && !task->is_fixed; k++)
        uses |= graph->flow_links.data[task->first_link + k] == l &&
                graph->flow_weights.data[task->first_link + k] != 0;
      if (uses) fix_rate(graph, task, share);
    }
}

static egraph_status update_component(eg_task_graph *graph, uint32_t link, double now) {
  EG_TRY(gather_component(graph, link, now));
  for (size_t i = 0; i < graph->flows.len; i++) {
    eg_task *task = &graph->tasks.data[graph->flows.data[i]];
    double sent = task->rate * (now - task->since);
    task->left = task->left > sent ? task->left - sent : 0; // below 0 by rounding only
    task->since = now;
  }
  fill_rates(graph);
  for (size_t i = 0; i < graph->flows.len; i++) {
    eg_task *task = &graph->tasks.data[graph->flows.data[i]];
    uint32_t event = eg_event_number(EG_EVENT_NEXT, graph->flows.data[i]);
    task->is_visited = task->is_fixed = false;
    double end = now + task->left / task->rate;
    // A flow whose new end rounds to now keeps its event: only flows that send at the
    // same time change each other's ends.
    if (end > now || eg_event_queue_time(&graph->queue, event) == INFINITY)
      eg_event_queue_set(&graph->queue, event, end);
  }
  for (size_t i = 0; i < graph->visited.len; i++) {
    eg_task_link *visited = &graph->links.data[graph->visited.data[i]];
    visited->is_visited = visited->is_touched = false;
  }
  return EGRAPH_OK;
}

egraph_status eg_flow_rates_update(eg_task_graph *graph, double now) {
  for (size_t i = 0; i < graph->touched.len; i++)
    if (graph->links.data[graph->touched.data[i]].is_touched)
      EG_TRY(update_component(graph, graph->touched.data[i], now));
  graph->touched.len = 0;
  return EGRAPH_OK;
}
