// SPDX-License-Identifier: Apache-2.0
#include "extract/flow.h"

#include "base/owner.h"

// Below this a capacity counts as used up.
static const double EMPTY = 1e-9;

EG_OWNER_DEFINE(eg_flow, (eg_u32s, first, next, head, queue, via), (eg_doubles, capacity))

egraph_status eg_flow_start(eg_flow *flow, uint32_t vertices) {
  flow->vertices = vertices;
  flow->first.len = flow->next.len = flow->head.len = flow->capacity.len = 0;
  flow->via.len = 0;
  EG_TRY(eg_u32s_resize(&flow->first, vertices));
  EG_TRY(eg_u32s_resize(&flow->via, vertices));
  return eg_u32s_reserve(&flow->queue, vertices);
}

static egraph_status add_arc(eg_flow *flow, uint32_t from, uint32_t to, double capacity) {
  EG_TRY(eg_u32s_push(&flow->next, flow->first.data[from]));
  EG_TRY(eg_u32s_push(&flow->head, to));
  EG_TRY(eg_doubles_push(&flow->capacity, capacity));
  flow->first.data[from] = (uint32_t)flow->head.len;
  return EGRAPH_OK;
}

egraph_status eg_flow_add(eg_flow *flow, uint32_t from, uint32_t to, double capacity) {
  EG_TRY(add_arc(flow, from, to, capacity));
  return add_arc(flow, to, from, 0.0);
}

// Breadth first from `start`; backwards: along arcs whose reverse has room. Fills via;
// true when `goal` was reached (goal == start: explore everything).
static bool explore(eg_flow *flow, uint32_t start, uint32_t goal, bool backwards) {
  memset(flow->via.data, 0, flow->via.len * sizeof(uint32_t));
  flow->queue.len = 0;
  flow->queue.data[flow->queue.len++] = start;
  for (size_t done = 0; done < flow->queue.len; done++) {
    uint32_t at = flow->queue.data[done];
    for (uint32_t arc = flow->first.data[at]; arc != 0; arc = flow->next.data[arc - 1]) {
      uint32_t to = flow->head.data[arc - 1];
      uint32_t used = backwards ? (arc - 1) ^ 1 : arc - 1;
      if (to == start || flow->via.data[to] != 0 || flow->capacity.data[used] <= EMPTY)
        continue;
      flow->via.data[to] = arc;
      if (to == goal) return true;
      flow->queue.data[flow->queue.len++] = to;
    }
  }
  return false;
}

static void augment(eg_flow *flow, uint32_t source, uint32_t sink) {
  double room = 0;
  for (uint32_t at = sink; at != source;) {
    uint32_t arc = flow->via.data[at] - 1;
    if (at == sink || flow->capacity.data[arc] < room) room = flow->capacity.data[arc];
    at = flow->head.data[arc ^ 1];
  }
  for (uint32_t at = sink; at != source;) {
    uint32_t arc = flow->via.data[at] - 1;
    flow->capacity.data[arc] -= room;
    flow->capacity.data[arc ^ 1] += room;
    at = flow->head.data[arc ^ 1];
  }
}

egraph_status eg_flow_min_cut(eg_flow *flow, uint32_t source, uint32_t sink, bool largest,
                              uint8_t *sink_side) {
  while (explore(flow, source, sink, false))
    augment(flow, source, sink);
  uint32_t start = largest ? source : sink;
  (void)explore(flow, start, start, !largest);
  for (uint32_t at = 0; at < flow->vertices; at++) {
    if (at == source) continue;
    bool seen = at == start || flow->via.data[at] != 0;
    sink_side[at] = largest ? !seen : seen;
  }
  sink_side[sink] = 1;
  return EGRAPH_OK;
}
