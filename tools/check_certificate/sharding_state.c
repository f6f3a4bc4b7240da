// The state of a sharding check: memory, the graph of half-edges, arc consistency by a
// queue of nodes, merging of functions, copies.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check_certificate/sharding_state.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)16 << 30)

// ---- memory that grows ---------------------------------------------------------------

bool sharding_grow(checker *k, numbers *list, size_t count) {
  if (count > list->capacity) {
    size_t capacity = list->capacity < 1024 ? 1024 : list->capacity;
    while (capacity < count)
      capacity *= 2;
    k->bytes += (capacity - list->capacity) * sizeof *list->at;
    int64_t *at = capacity > MOST_BYTES / sizeof *at || k->bytes > MOST_BYTES
                      ? NULL
                      : realloc(list->at, capacity * sizeof *at);
    if (at == NULL) return certificate_refuse(k->c, "out of memory");
    list->at = at;
    list->capacity = capacity;
  }
  list->count = count;
  return true;
}

void sharding_free(checker *k, state *s) {
  k->bytes -= (s->table.capacity + s->usage.capacity) * sizeof(int64_t);
  void *all[] = {s->alive,  s->gone,  s->cost,  s->half,     s->item,
                 s->degree, s->edges, s->items, s->table.at, s->usage.at};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free(all[i]);
  *s = (state){.closed = true};
}

static bool make_state(checker *k, state *s, uint32_t edges, uint32_t items) {
  size_t nodes = (size_t)k->p->nodes + 1, strategies = k->p->cost.count + 1;
  *s = (state){.alive = calloc(strategies, 1),
               .gone = calloc(nodes, 1),
               .cost = calloc(strategies, sizeof *s->cost),
               .half = calloc(nodes, sizeof *s->half),
               .item = calloc(nodes, sizeof *s->item),
               .degree = calloc(nodes, sizeof *s->degree),
               .edges = calloc((size_t)edges + 1, sizeof *s->edges),
               .items = calloc((size_t)items + 1, sizeof *s->items)};
  if (s->alive != NULL && s->gone != NULL && s->cost != NULL && s->half != NULL &&
      s->item != NULL && s->degree != NULL && s->edges != NULL && s->items != NULL)
    return true;
  return certificate_refuse(k->c, "out of memory");
}

// ---- graph ---------------------------------------------------------------------------

static void unlink_dead(state *s, uint32_t n) {
  uint32_t *at = &s->half[n];
  while ((*at = live(s, *at)) != NONE)
    at = &s->edges[*at >> 1].next[*at & 1];
}

uint32_t sharding_find_half(state *s, uint32_t a, uint32_t b) {
  bool swap = s->degree[b] < s->degree[a];
  uint32_t from = swap ? b : a, to = swap ? a : b;
  unlink_dead(s, from);
  EACH_HALF(s, from, h) if (other_end(s, h) == to) return swap ? h ^ 1 : h;
  return NONE;
}

static void link_half(state *s, uint32_t h, uint32_t n) {
  s->edges[h >> 1].ends[h & 1] = n;
  s->edges[h >> 1].next[h & 1] = s->half[n];
  s->half[n] = h;
  s->degree[n]++;
}

static void kill_edge(state *s, uint32_t e) {
  s->degree[s->edges[e].ends[0]]--;
  s->degree[s->edges[e].ends[1]]--;
  s->edges[e].ends[0] = NONE;
}

void sharding_touch(checker *k, uint32_t n) {
  if (k->queued[n]) return;
  k->queued[n] = 1;
  k->queue[k->queue_count++] = n;
}

void sharding_kill(checker *k, uint32_t n, uint32_t v) {
  uint8_t *alive = &k->s.alive[k->p->begin[n] + v];
  if (*alive) sharding_touch(k, n);
  *alive = 0;
}

static bool has_partner(const checker *k, uint32_t h, uint32_t v) {
  uint32_t other = other_end(&k->s, h);
  for (uint32_t w = 0; w < width(k, other); w++)
    if (k->s.alive[k->p->begin[other] + w] && *entry(k, &k->s, h, v, w) < FORBIDDEN)
      return true;
  return false;
}

// Removes strategies that have no allowed partner at a neighbour: visits the neighbours
// of each changed node, until nothing changes.
void sharding_make_consistent(checker *k) {
  state *s = &k->s;
  while (k->queue_count != 0) {
    uint32_t n = k->queue[--k->queue_count];
    k->queued[n] = 0;
    if (s->gone[n] || s->closed) continue;
    uint32_t left = 0;
    for (uint32_t v = 0; v < width(k, n); v++)
      left += s->alive[k->p->begin[n] + v];
    if (left == 0) s->closed = true;
    EACH_HALF(s, n, h) {
      uint32_t other = other_end(s, h);
      for (uint32_t w = 0; w < width(k, other); w++)
        if (s->alive[k->p->begin[other] + w] && !has_partner(k, h ^ 1, w))
          sharding_kill(k, other, w);
    }
  }
}

// ---- merging -------------------------------------------------------------------------

// Fills k->of with the only allowed partner in node g of each strategy of node n; false
// when a strategy has two partners.
static bool find_function(checker *k, uint32_t h, uint32_t n, uint32_t g) {
  for (uint32_t v = 0; v < width(k, n); v++) {
    uint32_t found = 0;
    k->of[v] = 0;
    if (!k->s.alive[k->p->begin[n] + v]) continue;
    for (uint32_t w = 0; w < width(k, g); w++)
      if (k->s.alive[k->p->begin[g] + w] && *entry(k, &k->s, h, v, w) < FORBIDDEN) {
        k->of[v] = w;
        found++;
      }
    if (found > 1) return false;
    if (found == 0) sharding_kill(k, n, v);
  }
  return true;
}

// Moves the end of half-edge h from node g to node n: its cost table gets a line per
// strategy of n; a strategy that is not alive gets a forbidden line.
static bool move_edge(checker *k, uint32_t h, uint32_t n, uint32_t g) {
  state *s = &k->s;
  uint32_t x = other_end(s, h), own = width(k, n), old = width(k, g), lines = width(k, x);
  size_t size = (size_t)own * lines;
  if (!sharding_grow(k, &k->scratch, size)) return false;
  for (uint32_t v = 0; v < own; v++)
    for (uint32_t w = 0; w < lines; w++)
      k->scratch.at[(h & 1) == 0 ? (size_t)v * lines + w : (size_t)w * own + v] =
          s->alive[k->p->begin[n] + v] ? *entry(k, s, h, k->of[v], w) : FORBIDDEN;
  edge *e = &s->edges[h >> 1];
  if (own > old) {
    e->table = s->table.count;
    if (!sharding_grow(k, &s->table, e->table + size)) return false;
  }
  memcpy(s->table.at + e->table, k->scratch.at, size * sizeof *k->scratch.at);
  uint32_t present = sharding_find_half(s, n, x);
  link_half(s, h, n);
  if (present == NONE) return true;
  for (uint32_t v = 0; v < own; v++)
    for (uint32_t w = 0; w < lines; w++) {
      int64_t *to = entry(k, s, present, v, w);
      *to = capped(*to, *entry(k, s, h, v, w));
    }
  kill_edge(s, h >> 1);
  return true;
}

static bool move_items(checker *k, uint32_t n, uint32_t g) {
  state *s = &k->s;
  for (uint32_t i = s->item[g], next; i != NONE; i = next) {
    item *it = &s->items[i];
    next = it->next;
    if (!sharding_grow(k, &k->scratch, width(k, n))) return false;
    for (uint32_t v = 0; v < width(k, n); v++)
      k->scratch.at[v] = s->usage.at[it->usage + k->of[v]];
    if (width(k, n) > width(k, g)) {
      it->usage = s->usage.count;
      if (!sharding_grow(k, &s->usage, it->usage + width(k, n))) return false;
    }
    memcpy(s->usage.at + it->usage, k->scratch.at, width(k, n) * sizeof(int64_t));
    it->next = s->item[n];
    s->item[n] = i;
  }
  return true;
}

bool sharding_merge(checker *k, uint32_t n, uint32_t g) {
  state *s = &k->s;
  if (s->closed) return true;
  if (n == g || s->gone[n] || s->gone[g])
    return certificate_refuse(k->c, "nodes %u and %u are not two", n, g);
  uint32_t h = sharding_find_half(s, n, g);
  if (h == NONE) return certificate_refuse(k->c, "nodes %u and %u have no table", n, g);
  if (!find_function(k, h, n, g)) {
    sharding_make_consistent(k);
    if (s->closed) return true;
    if (!find_function(k, h, n, g))
      return certificate_refuse(k->c, "node %u is no function of node %u", g, n);
  }
  for (uint32_t v = 0; v < width(k, n); v++) {
    int64_t *cost = &s->cost[k->p->begin[n] + v];
    if (!s->alive[k->p->begin[n] + v]) continue;
    *cost = capped(capped(*cost, s->cost[k->p->begin[g] + k->of[v]]),
                   *entry(k, s, h, v, k->of[v]));
    if (*cost >= k->cutoff) sharding_kill(k, n, v);
  }
  kill_edge(s, h >> 1);
  for (uint32_t m = live(s, s->half[g]), next; m != NONE; m = next) {
    next = live(s, s->edges[m >> 1].next[m & 1]);
    sharding_touch(k, other_end(s, m));
    if (!move_edge(k, m, n, g)) return false;
  }
  if (!move_items(k, n, g)) return false;
  s->gone[g] = 1;
  s->half[g] = s->item[g] = NONE;
  sharding_touch(k, n);
  return true;
}

// ---- beginnings and copies -----------------------------------------------------------

bool sharding_start(checker *k) {
  const sharding_problem *p = k->p;
  state *s = &k->s;
  input *in = &k->c->in;
  size_t nodes = (size_t)p->nodes + 1;
  if (!INPUT_ROOM(in, k->queue, nodes) || !INPUT_ROOM(in, k->queued, nodes) ||
      !INPUT_ROOM(in, k->of, p->cost.count + 1) ||
      !INPUT_ROOM(in, k->sum, p->cost.count + 1) ||
      !INPUT_ROOM(in, k->load, 2 * (size_t)p->slots + 2) ||
      !INPUT_ROOM(in, k->price, (size_t)p->slots + 2) ||
      !make_state(k, s, p->edges, p->nodes) ||
      !sharding_grow(k, &s->usage, p->usage.count) ||
      !sharding_grow(k, &s->table, p->table.count))
    return false;
  if (p->usage.count != 0)
    memcpy(s->usage.at, p->usage.at, p->usage.count * sizeof(int64_t));
  for (uint32_t n = 0; n < p->nodes; n++) {
    s->half[n] = s->item[n] = NONE;
    bool alive = p->first[n] < p->last[n];
    for (uint32_t i = p->begin[n]; i < p->begin[n + 1]; i++) {
      s->cost[i] = p->cost.at[i] < FORBIDDEN ? p->cost.at[i] : FORBIDDEN;
      s->alive[i] = s->cost[i] < k->cutoff && !(alive && p->usage.at[i] > p->limit);
    }
    sharding_touch(k, n);
    if (!alive) continue;
    s->item[n] = s->item_count;
    s->items[s->item_count++] = (item){p->first[n], p->last[n], NONE, p->begin[n]};
  }
  for (size_t i = 0; i < p->table.count; i++)
    s->table.at[i] = p->table.at[i] < k->cutoff ? p->table.at[i] : FORBIDDEN;
  for (uint32_t e = 0; e < p->edges; e++) {
    const uint32_t *ends = &p->ends[2 * (size_t)e];
    uint32_t present = sharding_find_half(s, ends[0], ends[1]), h = 2 * s->edge_count;
    s->edges[s->edge_count++].table = p->table_begin[e];
    link_half(s, h, ends[0]);
    link_half(s, h + 1, ends[1]);
    for (uint32_t v = 0; present != NONE && v < width(k, ends[0]); v++)
      for (uint32_t w = 0; w < width(k, ends[1]); w++) {
        int64_t *to = entry(k, s, present, v, w);
        *to = capped(*to, *entry(k, s, h, v, w));
      }
    if (present != NONE) kill_edge(s, h >> 1);
  }
  return true;
}

// Copies the current state of the proof without removed edges.
bool sharding_copy(checker *k, state *to) {
  const state *from = &k->s;
  size_t nodes = k->p->nodes, strategies = k->p->cost.count;
  if (!make_state(k, to, from->edge_count, from->item_count)) return false;
  memcpy(to->alive, from->alive, strategies);
  memcpy(to->gone, from->gone, nodes);
  memcpy(to->cost, from->cost, strategies * sizeof *to->cost);
  memcpy(to->item, from->item, nodes * sizeof *to->item);
  memcpy(to->items, from->items, from->item_count * sizeof *to->items);
  to->item_count = from->item_count;
  for (size_t n = 0; n < nodes; n++)
    to->half[n] = NONE;
  if (!sharding_grow(k, &to->usage, from->usage.count)) return false;
  if (from->usage.count != 0)
    memcpy(to->usage.at, from->usage.at, from->usage.count * sizeof *to->usage.at);
  for (uint32_t e = 0; e < from->edge_count; e++) {
    const edge *old = &from->edges[e];
    if (old->ends[0] == NONE) continue;
    size_t size = (size_t)width(k, old->ends[0]) * width(k, old->ends[1]);
    edge *fresh = &to->edges[to->edge_count];
    fresh->table = to->table.count;
    if (!sharding_grow(k, &to->table, fresh->table + size)) return false;
    memcpy(to->table.at + fresh->table, from->table.at + old->table,
           size * sizeof *to->table.at);
    for (uint32_t side = 0; side < 2; side++)
      link_half(to, 2 * to->edge_count + side, old->ends[side]);
    to->edge_count++;
  }
  return true;
}
