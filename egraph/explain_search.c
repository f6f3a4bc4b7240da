// Ways between equal terms. The proof forest has exactly one; it is found by walking up
// from both ends in turn, so that the cost follows the length of the way. Dijkstra's
// algorithm then looks for one over all edges that is estimated to be cheaper, no further
// than that estimate and a fixed number of edges, so that an explanation stays linear in
// the number of its different parts.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/explain_internal.h"

enum {
  ESTIMATE_VISITS = 64, // of a walk, after which it counts as long as that
  SEARCH_EDGES = 1 << 13
};

// ---- visits ----------------------------------------------------------------------

static bool find_visit(const eg_explainer *explainer, uint32_t vertex, uint32_t *out) {
  *out = explainer->vertices.data[vertex].slot;
  return *out < explainer->visits.len && explainer->visits.data[*out].vertex == vertex;
}

static egraph_status add_visit(eg_explainer *explainer, eg_visit visit) {
  explainer->vertices.data[visit.vertex].slot = (uint32_t)explainer->visits.len;
  return eg_visits_push(&explainer->visits, visit);
}

static uint32_t next_up(const eg_explainer *explainer, uint32_t vertex) {
  uint32_t link = explainer->vertices.data[vertex].link;
  if (link == EG_VERTEX_NONE) return EG_VERTEX_NONE;
  return eg_edge_other(&explainer->edges.data[link], vertex);
}

// ---- the proof forest ------------------------------------------------------------

/// The first common vertex of the ways from a and b to their root, or EG_VERTEX_NONE when
/// more than `limit` vertices would have to be looked at.
static egraph_status find_meeting(eg_explainer *explainer, uint32_t a, uint32_t b,
                                  size_t limit, uint32_t *out) {
  uint32_t ends[2] = {a, b}, known;
  explainer->visits.len = 0;
  *out = a;
  if (a == b) return EGRAPH_OK;
  for (uint32_t side = 0; side < 2; side++)
    EG_TRY(add_visit(explainer, (eg_visit){.vertex = ends[side], .distance = side}));
  *out = EG_VERTEX_NONE;
  for (bool moved = true; moved && explainer->visits.len <= limit;) {
    moved = false;
    for (uint32_t side = 0; side < 2; side++) {
      uint32_t next = next_up(explainer, ends[side]);
      if (next == EG_VERTEX_NONE) continue;
      moved = true;
      ends[side] = next;
      if (find_visit(explainer, next, &known)) {
        *out = next;
        return EGRAPH_OK;
      }
      EG_TRY(add_visit(explainer, (eg_visit){.vertex = next, .distance = side}));
    }
  }
  return EGRAPH_OK;
}

static uint32_t add_cost(uint32_t a, uint32_t b) {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t cost_up_to(const eg_explainer *explainer, uint32_t vertex,
                           uint32_t meeting) {
  uint32_t total = 0;
  while (vertex != meeting) {
    total = add_cost(total,
                     explainer->edges.data[explainer->vertices.data[vertex].link].cost);
    vertex = next_up(explainer, vertex);
  }
  return total;
}

egraph_status eg_explainer_estimate(eg_explainer *explainer, uint32_t a, uint32_t b,
                                    uint32_t *out_cost) {
  uint32_t meeting;
  EG_TRY(find_meeting(explainer, a, b, ESTIMATE_VISITS, &meeting));
  *out_cost = meeting == EG_VERTEX_NONE ? ESTIMATE_VISITS
                                        : add_cost(cost_up_to(explainer, a, meeting),
                                                   cost_up_to(explainer, b, meeting));
  return EGRAPH_OK;
}

/// An edge as it is gone from `vertex`.
static uint32_t item_from(const eg_explainer *explainer, uint32_t edge, uint32_t vertex) {
  return 2 * edge + (explainer->edges.data[edge].ends[0] != vertex);
}

static void turn_around(uint32_t *items, size_t count) {
  for (size_t i = 0, k = count; i + 1 < k; i++) {
    uint32_t item = items[--k];
    items[k] = items[i];
    items[i] = item;
  }
}

/// Appends the items of the way through the forest.
static egraph_status walk(const eg_explainer *explainer, uint32_t a, uint32_t b,
                          uint32_t meeting, eg_u32s *inout_way) {
  const eg_vertex *vertices = explainer->vertices.data;
  for (; a != meeting; a = next_up(explainer, a))
    EG_TRY(eg_u32s_push(inout_way, item_from(explainer, vertices[a].link, a)));
  size_t middle = inout_way->len;
  for (; b != meeting; b = next_up(explainer, b))
    EG_TRY(eg_u32s_push(inout_way, item_from(explainer, vertices[b].link, b) ^ 1));
  turn_around(inout_way->data + middle, inout_way->len - middle);
  return EGRAPH_OK;
}

// ---- all edges -------------------------------------------------------------------

static egraph_status push_key(eg_keys *heap, uint64_t key) {
  EG_TRY(eg_keys_push(heap, key));
  size_t i = heap->len - 1;
  for (; i != 0 && heap->data[(i - 1) / 2] > key; i = (i - 1) / 2)
    heap->data[i] = heap->data[(i - 1) / 2];
  heap->data[i] = key;
  return EGRAPH_OK;
}

static uint64_t pop_key(eg_keys *heap) {
  uint64_t least = heap->data[0], last = eg_keys_pop(heap);
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < heap->len; i = child) {
    if (child + 1 < heap->len && heap->data[child + 1] < heap->data[child]) child++;
    if (heap->data[child] >= last) break;
    heap->data[i] = heap->data[child];
  }
  if (heap->len != 0) heap->data[i] = last;
  return least;
}

/// Notes that a vertex can be reached, unless that is known to be as near or nearer.
static egraph_status reach(eg_explainer *explainer, eg_visit visit) {
  uint32_t index;
  if (find_visit(explainer, visit.vertex, &index)) {
    if (explainer->visits.data[index].distance <= visit.distance) return EGRAPH_OK;
    explainer->visits.data[index] = visit;
  } else {
    index = (uint32_t)explainer->visits.len;
    EG_TRY(add_visit(explainer, visit));
  }
  return push_key(&explainer->heap, (uint64_t)visit.distance << 32 | index);
}

/// Looks along the edges of a vertex; *inout_edges counts them.
static egraph_status expand(eg_explainer *explainer, eg_visit from, uint32_t bound,
                            uint32_t limit, uint32_t *inout_edges) {
  uint32_t edge = explainer->vertices.data[from.vertex].edges;
  while (edge != EG_VERTEX_NONE && *inout_edges < SEARCH_EDGES) {
    const eg_edge *e = &explainer->edges.data[edge];
    uint32_t distance = add_cost(from.distance, e->cost);
    if (edge < bound && distance < limit)
      EG_TRY(reach(explainer, (eg_visit){.vertex = eg_edge_other(e, from.vertex),
                                         .via = edge,
                                         .distance = distance}));
    edge = e->next[e->ends[0] != from.vertex];
    ++*inout_edges;
  }
  return EGRAPH_OK;
}

/// Searches from a to b for a way that costs less than `limit`.
static egraph_status search(eg_explainer *explainer, uint32_t a, uint32_t b,
                            uint32_t bound, uint32_t limit, bool *out_found) {
  uint32_t edges = 0;
  explainer->visits.len = explainer->heap.len = 0;
  *out_found = false;
  EG_TRY(reach(explainer, (eg_visit){.vertex = a, .via = EG_VERTEX_NONE}));
  while (explainer->heap.len != 0 && edges < SEARCH_EDGES) {
    uint64_t key = pop_key(&explainer->heap);
    eg_visit visit = explainer->visits.data[(uint32_t)key];
    if (visit.distance != key >> 32) continue; // it was reached from nearer since
    *out_found = visit.vertex == b;
    if (*out_found) return EGRAPH_OK;
    EG_TRY(expand(explainer, visit, bound, limit, &edges));
  }
  return EGRAPH_OK;
}

static egraph_status read_search(const eg_explainer *explainer, uint32_t a, uint32_t b,
                                 eg_u32s *inout_way) {
  size_t begin = inout_way->len;
  for (uint32_t index; b != a;) {
    bool found = find_visit(explainer, b, &index);
    assert(found && "the search came through it");
    (void)found;
    uint32_t via = explainer->visits.data[index].via;
    EG_TRY(eg_u32s_push(inout_way, item_from(explainer, via, b) ^ 1));
    b = eg_edge_other(&explainer->edges.data[via], b);
  }
  turn_around(inout_way->data + begin, inout_way->len - begin);
  return EGRAPH_OK;
}

egraph_status eg_explainer_find_way(eg_explainer *explainer, uint32_t a, uint32_t b,
                                    uint32_t bound, eg_u32s *inout_way) {
  uint32_t meeting;
  EG_TRY(find_meeting(explainer, a, b, SIZE_MAX, &meeting));
  assert(meeting != EG_VERTEX_NONE && "the terms are connected");
  uint32_t cost =
      add_cost(cost_up_to(explainer, a, meeting), cost_up_to(explainer, b, meeting));
  bool found = false;
  if (cost > 1) EG_TRY(search(explainer, a, b, bound, cost, &found));
  if (found) return read_search(explainer, a, b, inout_way);
  return walk(explainer, a, b, meeting, inout_way);
}
