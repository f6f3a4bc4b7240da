// Certificates of sharding problems. Everything is exact: integers of 128 bits, and a
// refusal where even those overflow.
//
// Claim: no choice within the limit costs less than the cutoff, the cost of the choice
// (of infeasibility: one more than any choice can cost). The state holds what such a
// choice may still be made of: strategies that are alive, and pairs of them whose table
// entry is finite. A record takes something away, for a reason that is checked here:
//
// - a strategy without a partner in some table goes (arc consistency), unasked;
// - merge N G: every strategy of N has one partner in G at most, so that G is a function
//   of N; its costs, tables and memory become N's;
// - memory: a strategy goes that, beside the least that all others use, exceeds the limit
//   at some time;
// - filter: any messages m and prices p >= 0 prove that a choice costs at least
//     sum over nodes of min (cost + charge + messages)
//     + sum over tables of min (entry - both messages) - sum of p * limit,
//   and a choice with a given strategy or pair at least that plus its reduced costs; what
//   reaches the cutoff goes;
// - branch N K S ...: N takes one of these strategies, or another one: two cases, one
//   after the other; closed: nothing is left of a case.
//
// A bound below the cutoff is claimed for the filters before the first branch.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/check_certificate/certificate.h"
#include "tools/check_certificate/sharding_problem.h"

#define NONE UINT32_MAX
// Tables and messages below these, that sums of three fit 64 bits.
#define MOST_SCALED (INT64_C(1) << 60)
#define MOST_BYTES ((size_t)16 << 30)
enum { MOST_DEPTH = 10000 };

// Half-edge h is side h & 1 of edge h >> 1; `table` and `message` are places in pools.
typedef struct edge {
  uint32_t ends[2]; // ends[0] == NONE: gone
  uint32_t next[2];
  size_t table, message[2];
} edge;

// Slots in which the node uses memory: usage[0] .. of each of its strategies.
typedef struct item {
  uint32_t first, last, next;
  size_t usage;
} item;

typedef struct state {
  uint8_t *alive;                 // [strategies]
  uint8_t *gone;                  // [nodes] merged
  int64_t *cost;                  // [strategies]
  uint32_t *half, *item, *degree; // [nodes]
  edge *edges;
  uint32_t edge_count;
  item *items;
  uint32_t item_count;
  numbers table, usage;
  bool closed; // no choice is left
} state;

typedef struct states {
  state *at;
  size_t count, capacity;
} states;

typedef struct checker {
  certificate *c;
  const sharding_problem *p;
  state s;
  states open;    // cases that come later
  int64_t cutoff; // only choices below it count
  int64_t bound;  // of the filters before the first branch
  bool branched, complete;
  size_t bytes;    // of all states
  uint32_t *queue; // nodes that lost strategies or pairs
  uint8_t *queued; // [nodes]
  size_t queue_count;
  uint32_t *of;     // scratch, a strategy each
  wide *sum, *load; // scratch: [strategies], [2 * slots]
  numbers scratch, message, line, least;
  int64_t *price; // [slots + 1]
} checker;

static uint32_t width(const checker *k, uint32_t n) {
  return k->p->begin[n + 1] - k->p->begin[n];
}

// ---- memory that grows ---------------------------------------------------------------

static bool grow(checker *k, numbers *list, size_t count) {
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

static void free_state(checker *k, state *s) {
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

#define EACH_HALF(s, n, h)                                                               \
  for (uint32_t h = live(s, (s)->half[n]); h != NONE;                                    \
       h = live(s, (s)->edges[h >> 1].next[h & 1]))

static uint32_t live(const state *s, uint32_t h) {
  while (h != NONE && s->edges[h >> 1].ends[0] == NONE)
    h = s->edges[h >> 1].next[h & 1];
  return h;
}

static uint32_t other_end(const state *s, uint32_t h) {
  return s->edges[h >> 1].ends[~h & 1];
}

// Entry of a table: strategy v of the end of half-edge h, w of the other.
static int64_t *entry(const checker *k, const state *s, uint32_t h, uint32_t v,
                      uint32_t w) {
  const edge *e = &s->edges[h >> 1];
  size_t at = (h & 1) == 0 ? (size_t)v * width(k, e->ends[1]) + w
                           : (size_t)w * width(k, e->ends[1]) + v;
  return s->table.at + e->table + at;
}

static void unlink_dead(state *s, uint32_t n) {
  uint32_t *at = &s->half[n];
  while ((*at = live(s, *at)) != NONE)
    at = &s->edges[*at >> 1].next[*at & 1];
}

// The half-edge of a that leads to b, or NONE.
static uint32_t find_half(state *s, uint32_t a, uint32_t b) {
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

static void touch(checker *k, uint32_t n) {
  if (k->queued[n]) return;
  k->queued[n] = 1;
  k->queue[k->queue_count++] = n;
}

static void kill_strategy(checker *k, uint32_t n, uint32_t v) {
  uint8_t *alive = &k->s.alive[k->p->begin[n] + v];
  if (*alive) touch(k, n);
  *alive = 0;
}

static int64_t capped(int64_t a, int64_t b) { // both are at most FORBIDDEN
  return a + b < FORBIDDEN ? a + b : FORBIDDEN;
}

static bool has_partner(const checker *k, uint32_t h, uint32_t v) {
  uint32_t other = other_end(&k->s, h);
  for (uint32_t w = 0; w < width(k, other); w++)
    if (k->s.alive[k->p->begin[other] + w] && *entry(k, &k->s, h, v, w) < FORBIDDEN)
      return true;
  return false;
}

// Neighbours of nodes that changed, and those nodes themselves, until nothing changes.
static void make_consistent(checker *k) {
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
          kill_strategy(k, other, w);
    }
  }
}

// ---- merging -------------------------------------------------------------------------

// Fills k->of: the partner in g of each strategy of n; false when one has two.
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
    if (found == 0) kill_strategy(k, n, v);
  }
  return true;
}

// The table of half-edge h (at g) gets a line per strategy of n; forbidden ones for those
// that are not alive.
static bool move_edge(checker *k, uint32_t h, uint32_t n, uint32_t g) {
  state *s = &k->s;
  uint32_t x = other_end(s, h), own = width(k, n), old = width(k, g), lines = width(k, x);
  size_t size = (size_t)own * lines;
  if (!grow(k, &k->scratch, size)) return false;
  for (uint32_t v = 0; v < own; v++)
    for (uint32_t w = 0; w < lines; w++)
      k->scratch.at[(h & 1) == 0 ? (size_t)v * lines + w : (size_t)w * own + v] =
          s->alive[k->p->begin[n] + v] ? *entry(k, s, h, k->of[v], w) : FORBIDDEN;
  edge *e = &s->edges[h >> 1];
  if (own > old) {
    e->table = s->table.count;
    if (!grow(k, &s->table, e->table + size)) return false;
  }
  memcpy(s->table.at + e->table, k->scratch.at, size * sizeof *k->scratch.at);
  uint32_t present = find_half(s, n, x);
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
    if (!grow(k, &k->scratch, width(k, n))) return false;
    for (uint32_t v = 0; v < width(k, n); v++)
      k->scratch.at[v] = s->usage.at[it->usage + k->of[v]];
    if (width(k, n) > width(k, g)) {
      it->usage = s->usage.count;
      if (!grow(k, &s->usage, it->usage + width(k, n))) return false;
    }
    memcpy(s->usage.at + it->usage, k->scratch.at, width(k, n) * sizeof(int64_t));
    it->next = s->item[n];
    s->item[n] = i;
  }
  return true;
}

static bool merge(checker *k) {
  state *s = &k->s;
  uint32_t n, g;
  if (!certificate_index(k->c, "a node", k->p->nodes, &n) ||
      !certificate_index(k->c, "a node", k->p->nodes, &g) || !certificate_line_ends(k->c))
    return false;
  if (s->closed) return true;
  if (n == g || s->gone[n] || s->gone[g])
    return certificate_refuse(k->c, "nodes %u and %u are not two", n, g);
  uint32_t h = find_half(s, n, g);
  if (h == NONE) return certificate_refuse(k->c, "nodes %u and %u have no table", n, g);
  if (!find_function(k, h, n, g)) {
    make_consistent(k);
    if (s->closed) return true;
    if (!find_function(k, h, n, g))
      return certificate_refuse(k->c, "node %u is no function of node %u", g, n);
  }
  for (uint32_t v = 0; v < width(k, n); v++) {
    int64_t *cost = &s->cost[k->p->begin[n] + v];
    if (!s->alive[k->p->begin[n] + v]) continue;
    *cost = capped(capped(*cost, s->cost[k->p->begin[g] + k->of[v]]),
                   *entry(k, s, h, v, k->of[v]));
    if (*cost >= k->cutoff) kill_strategy(k, n, v);
  }
  kill_edge(s, h >> 1);
  for (uint32_t m = live(s, s->half[g]), next; m != NONE; m = next) {
    next = live(s, s->edges[m >> 1].next[m & 1]);
    touch(k, other_end(s, m));
    if (!move_edge(k, m, n, g)) return false;
  }
  if (!move_items(k, n, g)) return false;
  s->gone[g] = 1;
  s->half[g] = s->item[g] = NONE;
  touch(k, n);
  return true;
}

// ---- memory --------------------------------------------------------------------------

// Where a node's usage changes: slot, and which item begins or ends.
typedef struct border {
  uint32_t slot, item;
  bool ends;
} border;

static int compare_borders(const void *left, const void *right) {
  const border *a = left, *b = right;
  if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
  if (a->item != b->item) return a->item < b->item ? -1 : 1;
  return (int)a->ends - (int)b->ends;
}

typedef struct profile {
  border *at;
  size_t count, capacity;
} profile;

static bool list_borders(checker *k, uint32_t n, profile *list) {
  list->count = 0;
  for (uint32_t i = k->s.item[n]; i != NONE; i = k->s.items[i].next) {
    if (list->count + 2 > list->capacity) {
      size_t capacity = 2 * list->capacity + 64;
      border *at = realloc(list->at, capacity * sizeof *at);
      if (at == NULL) return certificate_refuse(k->c, "out of memory");
      list->at = at;
      list->capacity = capacity;
    }
    list->at[list->count++] = (border){k->s.items[i].first, i, false};
    list->at[list->count++] = (border){k->s.items[i].last, i, true};
  }
  qsort(list->at, list->count, sizeof *list->at, compare_borders);
  return true;
}

// The largest load in slots [first, last), which is not empty: a tree over the slots.
static wide most_load(const checker *k, uint32_t first, uint32_t last) {
  wide most = k->load[k->p->slots + first];
  for (size_t a = (size_t)first + k->p->slots, b = (size_t)last + k->p->slots; a < b;
       a /= 2, b /= 2) {
    if (a & 1) most = k->load[a] > most ? k->load[a] : most, a++;
    if (b & 1) b--, most = k->load[b] > most ? k->load[b] : most;
  }
  return most;
}

// Visits the node's stretches of equal usage: adds its least to the load, or (`drop`)
// takes away what does not fit beside the least of the others.
static void walk_profile(checker *k, uint32_t n, const profile *list, bool drop) {
  uint32_t count = width(k, n);
  const uint8_t *alive = k->s.alive + k->p->begin[n];
  wide *load = k->load + k->p->slots;
  memset(k->sum, 0, count * sizeof *k->sum);
  for (uint32_t v = 0; v < count; v++)
    k->of[v] = alive[v]; // as it was when the load was added up
  for (size_t i = 0; i < list->count;) {
    uint32_t slot = list->at[i].slot;
    for (; i < list->count && list->at[i].slot == slot; i++) {
      const int64_t *usage = k->s.usage.at + k->s.items[list->at[i].item].usage;
      for (uint32_t v = 0; v < count; v++)
        k->sum[v] += list->at[i].ends ? -(wide)usage[v] : usage[v];
    }
    if (i == list->count) return;
    wide least = -1;
    for (uint32_t v = 0; v < count; v++)
      if (k->of[v] && (least < 0 || k->sum[v] < least)) least = k->sum[v];
    if (least < 0) return; // nothing is left of the node
    if (!drop) {
      load[slot] += least;
      load[list->at[i].slot] -= least; // the last slot is followed by one more
      continue;
    }
    wide most = most_load(k, slot, list->at[i].slot);
    for (uint32_t v = 0; v < count; v++)
      if (alive[v] && most - least + k->sum[v] > k->p->limit) kill_strategy(k, n, v);
  }
}

static bool walk_profiles(checker *k, profile *list, bool drop) {
  for (uint32_t n = 0; n < k->p->nodes; n++) {
    if (k->s.gone[n] || k->s.item[n] == NONE) continue;
    if (!list_borders(k, n, list)) return false;
    walk_profile(k, n, list, drop);
  }
  return true;
}

static bool check_memory(checker *k) {
  state *s = &k->s;
  if (!certificate_line_ends(k->c)) return false;
  make_consistent(k);
  if (s->closed || k->p->limit == INT64_MAX || k->p->slots == 0) return true;
  size_t slots = k->p->slots;
  memset(k->load, 0, (2 * slots + 1) * sizeof *k->load);
  profile list = {NULL, 0, 0};
  bool good = walk_profiles(k, &list, false);
  for (size_t i = 1; i < slots; i++)
    k->load[slots + i] += k->load[slots + i - 1];
  for (size_t i = slots; i-- > 1;)
    k->load[i] =
        k->load[2 * i] > k->load[2 * i + 1] ? k->load[2 * i] : k->load[2 * i + 1];
  if (good && most_load(k, 0, (uint32_t)slots) > k->p->limit) s->closed = true;
  good = good && (s->closed || walk_profiles(k, &list, true));
  free(list.at);
  return good;
}

// ---- filter --------------------------------------------------------------------------

typedef struct filter {
  uint32_t scale, shift;
  wide total; // the bound, in units of 2^-(scale + shift)
  wide most;  // what a choice below the cutoff can cost
  bool overflow;
} filter;

static void add(filter *f, wide *to, wide value) {
  if (__builtin_add_overflow(*to, value, to)) f->overflow = true;
}

static void add_product(filter *f, wide *to, wide a, wide b) {
  wide product;
  if (__builtin_mul_overflow(a, b, &product)) f->overflow = true;
  if (!f->overflow) add(f, to, product);
}

static bool read_price(checker *k, filter *f, uint32_t slots) {
  int64_t time, price;
  if (!certificate_int64(k->c, "a time", &time) ||
      !certificate_int64(k->c, "a price", &price) || !certificate_line_ends(k->c))
    return false;
  if (price < 0) return certificate_refuse(k->c, "a negative price");
  uint32_t low = 0, high = slots + 1;
  if (slots == 0 || time < k->p->time[0] || time >= k->p->time[slots])
    return certificate_refuse(k->c, "a price where no node is alive");
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (k->p->time[middle] <= time)
      low = middle;
    else
      high = middle;
  }
  if (price > INT64_MAX - k->price[low + 1]) return certificate_refuse(k->c, "overflow");
  k->price[low + 1] += price;
  if (k->p->limit == INT64_MAX)
    return certificate_refuse(k->c, "a price without a limit");
  add_product(f, &f->total, -(wide)price, k->p->limit);
  return true;
}

static bool read_messages(checker *k, uint32_t h) {
  uint32_t n = k->s.edges[h >> 1].ends[h & 1], count, v;
  int64_t *message = k->message.at + k->s.edges[h >> 1].message[h & 1];
  if (!certificate_index(k->c, "a number of messages", width(k, n) + 1, &count))
    return false;
  for (uint32_t i = 0; i < count; i++) {
    int64_t value;
    if (!certificate_index(k->c, "a strategy", width(k, n), &v) ||
        !certificate_int64(k->c, "a message", &value))
      return false;
    if (value > MOST_SCALED || value < -MOST_SCALED)
      return certificate_refuse(k->c, "a message that is too large");
    message[v] = value;
  }
  return true;
}

static bool read_edge(checker *k) {
  uint32_t a, b;
  if (!certificate_index(k->c, "a node", k->p->nodes, &a) ||
      !certificate_index(k->c, "a node", k->p->nodes, &b))
    return false;
  if (k->s.closed) return true;
  uint32_t h = k->s.gone[a] || k->s.gone[b] ? NONE : find_half(&k->s, a, b);
  if (h == NONE) return certificate_refuse(k->c, "nodes %u and %u have no table", a, b);
  return read_messages(k, h) && read_messages(k, h ^ 1) && certificate_line_ends(k->c);
}

static bool read_filter(checker *k, filter *f) {
  const sharding_problem *p = k->p;
  if (!certificate_index(k->c, "the scale", 21, &f->scale) ||
      !certificate_index(k->c, "the shift", 61, &f->shift) ||
      !certificate_line_ends(k->c))
    return false;
  if (k->cutoff > MOST_SCALED >> f->scale)
    return certificate_refuse(k->c, "the scale is too large for such costs");
  size_t messages = 0;
  for (uint32_t e = 0; e < k->s.edge_count; e++)
    for (int side = 0; k->s.edges[e].ends[0] != NONE && side < 2; side++) {
      k->s.edges[e].message[side] = messages;
      messages += width(k, k->s.edges[e].ends[side]);
    }
  if (!grow(k, &k->message, messages) || !grow(k, &k->line, messages) ||
      !grow(k, &k->least, k->s.edge_count))
    return false;
  if (messages != 0) memset(k->message.at, 0, messages * sizeof *k->message.at);
  memset(k->price, 0, ((size_t)p->slots + 2) * sizeof *k->price);
  const char *word;
  while (certificate_next(k->c) && certificate_name(k->c, "a record", &word)) {
    if (strcmp(word, "end") == 0) break;
    bool is_price = strcmp(word, "price") == 0;
    if (!is_price && strcmp(word, "edge") != 0)
      return certificate_refuse(k->c, "'%.40s' in a filter", word);
    if (is_price ? !read_price(k, f, p->slots) : !read_edge(k)) return false;
  }
  for (size_t i = 1; i <= (size_t)p->slots + 1; i++)
    if (__builtin_add_overflow(k->price[i], k->price[i - 1], &k->price[i]))
      return certificate_refuse(k->c, "the prices are too large");
  return true;
}

// The sums of node n into k->sum, less the least of them, which goes into the total.
static void price_node(checker *k, filter *f, uint32_t n) {
  state *s = &k->s;
  uint32_t begin = k->p->begin[n];
  wide unit = (wide)1 << (f->scale + f->shift), least = 0;
  bool found = false;
  for (uint32_t v = 0; v < width(k, n); v++) {
    wide *sum = &k->sum[begin + v], messages = 0;
    *sum = 0;
    if (!s->alive[begin + v]) continue;
    add_product(f, sum, s->cost[begin + v], unit);
    for (uint32_t i = s->item[n]; i != NONE; i = s->items[i].next)
      add_product(f, sum, s->usage.at[s->items[i].usage + v],
                  k->price[s->items[i].last] - k->price[s->items[i].first]);
    EACH_HALF(s, n, h) messages += k->message.at[s->edges[h >> 1].message[h & 1] + v];
    add_product(f, sum, messages, (wide)1 << f->shift);
    if (!found || *sum < least) least = *sum;
    found = true;
  }
  add(f, &f->total, least);
  for (uint32_t v = 0; v < width(k, n); v++)
    if (s->alive[begin + v]) add(f, &k->sum[begin + v], -least);
}

static int64_t residual(const checker *k, const filter *f, uint32_t e, uint32_t v,
                        uint32_t w) {
  const edge *d = &k->s.edges[e];
  return *entry(k, &k->s, 2 * e, v, w) * (INT64_C(1) << f->scale) -
         k->message.at[d->message[0] + v] - k->message.at[d->message[1] + w];
}

// Least residuals of the table, of its lines above that, and the total.
static void price_edge(checker *k, filter *f, uint32_t e) {
  const edge *d = &k->s.edges[e];
  const uint8_t *alive[2];
  int64_t *line[2], least = INT64_MAX;
  for (int side = 0; side < 2; side++) {
    alive[side] = k->s.alive + k->p->begin[d->ends[side]];
    line[side] = k->line.at + d->message[side];
    for (uint32_t v = 0; v < width(k, d->ends[side]); v++)
      line[side][v] = INT64_MAX;
  }
  for (uint32_t v = 0; v < width(k, d->ends[0]); v++)
    for (uint32_t w = 0; alive[0][v] && w < width(k, d->ends[1]); w++) {
      if (!alive[1][w] || *entry(k, &k->s, 2 * e, v, w) >= k->cutoff) continue;
      int64_t value = residual(k, f, e, v, w);
      if (value < line[0][v]) line[0][v] = value;
      if (value < line[1][w]) line[1][w] = value;
      if (value < least) least = value;
    }
  k->least.at[e] = least;
  if (least == INT64_MAX) k->s.closed = true; // no pair is below the cutoff
  if (least == INT64_MAX) return;
  for (int side = 0; side < 2; side++)
    for (uint32_t v = 0; v < width(k, d->ends[side]); v++)
      if (line[side][v] != INT64_MAX) line[side][v] -= least;
  add_product(f, &f->total, least, (wide)1 << f->shift);
  for (int side = 0; side < 2; side++)
    for (uint32_t v = 0; v < width(k, d->ends[side]); v++) {
      if (!alive[side][v]) continue;
      if (line[side][v] == INT64_MAX)
        kill_strategy(k, d->ends[side], v);
      else
        add_product(f, &k->sum[k->p->begin[d->ends[side]] + v], line[side][v],
                    (wide)1 << f->shift);
    }
}

// Pairs whose reduced cost reaches the cutoff become forbidden.
static void drop_pairs(checker *k, filter *f, uint32_t e) {
  const edge *d = &k->s.edges[e];
  const wide *sum[2] = {k->sum + k->p->begin[d->ends[0]],
                        k->sum + k->p->begin[d->ends[1]]};
  const uint8_t *alive[2] = {k->s.alive + k->p->begin[d->ends[0]],
                             k->s.alive + k->p->begin[d->ends[1]]};
  const int64_t *line[2] = {k->line.at + d->message[0], k->line.at + d->message[1]};
  wide spare = f->most - f->total;
  bool found = false;
  for (uint32_t v = 0; v < width(k, d->ends[0]); v++)
    for (uint32_t w = 0; alive[0][v] && w < width(k, d->ends[1]); w++) {
      int64_t *at = entry(k, &k->s, 2 * e, v, w);
      if (!alive[1][w] || *at >= FORBIDDEN) continue;
      bool goes = *at >= k->cutoff;
      if (!goes) {
        wide lines =
            (wide)residual(k, f, e, v, w) - k->least.at[e] - line[0][v] - line[1][w];
        wide reduced = lines * ((wide)1 << f->shift);
        goes = sum[0][v] + sum[1][w] + reduced > spare;
      }
      if (!goes) continue;
      *at = FORBIDDEN;
      found = true;
    }
  if (!found) return;
  touch(k, d->ends[0]);
  touch(k, d->ends[1]);
}

static bool check_filter(checker *k) {
  filter f = {.total = 0};
  state *s = &k->s;
  make_consistent(k);
  if (!read_filter(k, &f)) return false;
  if (s->closed) return true;
  for (uint32_t n = 0; n < k->p->nodes; n++)
    if (!s->gone[n]) price_node(k, &f, n);
  for (uint32_t e = 0; e < s->edge_count; e++)
    if (s->edges[e].ends[0] != NONE) price_edge(k, &f, e);
  f.most = (wide)(k->cutoff - 1) * ((wide)1 << (f.scale + f.shift));
  wide room = (wide)1 << 124; // so that sums of a few cannot overflow below
  if (f.overflow || f.total > room || f.total < -room || f.most > room)
    return certificate_refuse(k->c, "the filter's numbers are too large");
  for (size_t i = 0; i < k->p->cost.count; i++)
    if (s->alive[i] && k->sum[i] > room) k->sum[i] = room;
  wide unit = (wide)1 << (f.scale + f.shift), bound = f.total / unit;
  if (bound * unit < f.total) bound++; // costs are integers
  if (bound >= k->cutoff) s->closed = true;
  if (!k->branched && bound > k->bound)
    k->bound = bound < k->cutoff ? (int64_t)bound : k->cutoff;
  if (s->closed) return true;
  for (uint32_t e = 0; e < s->edge_count; e++)
    if (s->edges[e].ends[0] != NONE) drop_pairs(k, &f, e);
  for (uint32_t n = 0; n < k->p->nodes; n++)
    for (uint32_t v = 0; !s->gone[n] && v < width(k, n); v++)
      if (s->alive[k->p->begin[n] + v] && k->sum[k->p->begin[n] + v] > f.most - f.total)
        kill_strategy(k, n, v);
  return true;
}

// ---- cases ---------------------------------------------------------------------------

// A copy without edges that are gone.
static bool copy_state(checker *k, state *to) {
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
  if (!grow(k, &to->usage, from->usage.count)) return false;
  if (from->usage.count != 0)
    memcpy(to->usage.at, from->usage.at, from->usage.count * sizeof *to->usage.at);
  for (uint32_t e = 0; e < from->edge_count; e++) {
    const edge *old = &from->edges[e];
    if (old->ends[0] == NONE) continue;
    size_t size = (size_t)width(k, old->ends[0]) * width(k, old->ends[1]);
    edge *fresh = &to->edges[to->edge_count];
    fresh->table = to->table.count;
    if (!grow(k, &to->table, fresh->table + size)) return false;
    memcpy(to->table.at + fresh->table, from->table.at + old->table,
           size * sizeof *to->table.at);
    for (uint32_t side = 0; side < 2; side++)
      link_half(to, 2 * to->edge_count + side, old->ends[side]);
    to->edge_count++;
  }
  return true;
}

static bool branch(checker *k) {
  uint32_t n, count, v;
  make_consistent(k);
  if (!certificate_index(k->c, "a node", k->p->nodes, &n) ||
      !certificate_index(k->c, "a number of strategies", width(k, n) + 1, &count))
    return false;
  if (k->open.count == MOST_DEPTH) return certificate_refuse(k->c, "too many cases");
  if (!k->s.closed && k->s.gone[n])
    return certificate_refuse(k->c, "node %u is merged", n);
  memset(k->of, 0, width(k, n) * sizeof *k->of);
  for (uint32_t i = 0; i < count; i++) {
    if (!certificate_index(k->c, "a strategy", width(k, n), &v)) return false;
    k->of[v] = 1;
  }
  if (!certificate_line_ends(k->c)) return false;
  if (k->open.count == k->open.capacity) {
    size_t capacity = 2 * k->open.capacity + 16;
    state *at = realloc(k->open.at, capacity * sizeof *at);
    if (at == NULL) return certificate_refuse(k->c, "out of memory");
    k->open.at = at;
    k->open.capacity = capacity;
  }
  state *other = &k->open.at[k->open.count++];
  *other = (state){.closed = true};
  k->branched = true;
  if (k->s.closed) return true;
  if (!copy_state(k, other)) return false;
  for (v = 0; v < width(k, n); v++) {
    if (k->of[v])
      other->alive[k->p->begin[n] + v] = 0;
    else
      kill_strategy(k, n, v);
  }
  return true;
}

static bool close_case(checker *k) {
  if (!certificate_line_ends(k->c)) return false;
  make_consistent(k);
  if (!k->s.closed) return certificate_refuse(k->c, "choices are left in this case");
  free_state(k, &k->s);
  if (k->open.count == 0) {
    k->complete = true;
    return true;
  }
  k->s = k->open.at[--k->open.count];
  memset(k->queued, 0, k->p->nodes);
  k->queue_count = 0;
  for (uint32_t n = 0; n < k->p->nodes && !k->s.closed; n++)
    if (!k->s.gone[n]) touch(k, n);
  return true;
}

// ---- the whole -----------------------------------------------------------------------

static bool start(checker *k) {
  const sharding_problem *p = k->p;
  state *s = &k->s;
  input *in = &k->c->in;
  size_t nodes = (size_t)p->nodes + 1;
  k->queue = input_allocate(in, nodes, sizeof *k->queue);
  k->queued = input_allocate(in, nodes, 1);
  k->of = input_allocate(in, p->cost.count + 1, sizeof *k->of);
  k->sum = input_allocate(in, p->cost.count + 1, sizeof *k->sum);
  k->load = input_allocate(in, 2 * (size_t)p->slots + 2, sizeof *k->load);
  k->price = input_allocate(in, (size_t)p->slots + 2, sizeof *k->price);
  if (k->queue == NULL || k->queued == NULL || k->of == NULL || k->sum == NULL ||
      k->load == NULL || k->price == NULL || !make_state(k, s, p->edges, p->nodes) ||
      !grow(k, &s->usage, p->usage.count) || !grow(k, &s->table, p->table.count))
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
    touch(k, n);
    if (!alive) continue;
    s->item[n] = s->item_count;
    s->items[s->item_count++] = (item){p->first[n], p->last[n], NONE, p->begin[n]};
  }
  for (size_t i = 0; i < p->table.count; i++)
    s->table.at[i] = p->table.at[i] < k->cutoff ? p->table.at[i] : FORBIDDEN;
  for (uint32_t e = 0; e < p->edges; e++) {
    const uint32_t *ends = &p->ends[2 * (size_t)e];
    uint32_t present = find_half(s, ends[0], ends[1]), h = 2 * s->edge_count;
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

static bool run_records(checker *k) {
  const char *word;
  if (!start(k)) return false;
  while (certificate_next(k->c)) {
    if (!certificate_name(k->c, "a record", &word)) return false;
    if (strcmp(word, "end") == 0)
      return certificate_line_ends(k->c) &&
             (!certificate_next(k->c) ||
              certificate_refuse(k->c, "a record after the end"));
    bool good;
    if (k->complete)
      good = certificate_refuse(k->c, "a record after the last case");
    else if (strcmp(word, "merge") == 0)
      good = merge(k);
    else if (strcmp(word, "memory") == 0)
      good = check_memory(k);
    else if (strcmp(word, "filter") == 0)
      good = check_filter(k);
    else if (strcmp(word, "branch") == 0)
      good = branch(k);
    else if (strcmp(word, "closed") == 0)
      good = close_case(k);
    else
      good = certificate_refuse(k->c, "unknown record '%.40s'", word);
    if (!good) return false;
  }
  return certificate_refuse(k->c, "the certificate is cut off");
}

// A line that begins with `name`.
static bool expect_line(certificate *c, const char *name) {
  const char *word;
  if (!certificate_next(c) || !certificate_name(c, name, &word)) return false;
  return strcmp(word, name) == 0 || certificate_refuse(c, "'%s' is expected here", name);
}

// An integer, or `none`, which is FORBIDDEN.
static bool read_amount(certificate *c, const char *what, int64_t *out) {
  char *at = c->at + strspn(c->at, " ");
  *out = FORBIDDEN;
  if (strcmp(at, "none") != 0)
    return certificate_int64(c, what, out) && certificate_line_ends(c);
  return true;
}

static bool check_choice(checker *k, problem_json *json, int64_t claimed) {
  uint32_t *choice = input_allocate(&k->c->in, (size_t)k->p->nodes + 1, sizeof *choice);
  int64_t cost, peak;
  if (choice == NULL || !expect_line(k->c, "choice")) return false;
  for (uint32_t n = 0; n < k->p->nodes; n++)
    if (!certificate_index(k->c, "a strategy", width(k, n), &choice[n])) return false;
  if (!certificate_line_ends(k->c) ||
      !sharding_evaluate(json, k->p, choice, &cost, &peak))
    return false;
  if (cost != claimed || cost >= FORBIDDEN)
    return certificate_refuse(k->c, "the choice costs %lld", (long long)cost);
  return peak <= k->p->limit ||
         certificate_refuse(k->c, "the choice takes %lld of memory, the limit is %lld",
                            (long long)peak, (long long)k->p->limit);
}

static bool check_all(checker *k, problem_json *json, verdict *out) {
  int64_t cost, bound;
  if (!expect_line(k->c, "cost") || !read_amount(k->c, "the cost", &cost)) return false;
  if (cost < FORBIDDEN && !check_choice(k, json, cost)) return false;
  k->cutoff = cost;
  if (cost >= FORBIDDEN) {
    int64_t most = sharding_most(k->p);
    k->cutoff = most < FORBIDDEN ? most + 1 : FORBIDDEN;
  }
  if (!expect_line(k->c, "bound") || !read_amount(k->c, "the bound", &bound) ||
      !run_records(k))
    return false;
  int64_t derived = k->complete ? cost : k->bound;
  if (bound > derived)
    return certificate_refuse(k->c, "the bound is %lld, but %lld was derived",
                              (long long)bound, (long long)derived);
  if (cost < FORBIDDEN)
    (void)snprintf(out->cost, sizeof out->cost, "%" PRId64, cost);
  else
    (void)snprintf(out->cost, sizeof out->cost, "none");
  if (derived < FORBIDDEN)
    (void)snprintf(out->bound, sizeof out->bound, "%" PRId64, derived);
  else
    (void)snprintf(out->bound, sizeof out->bound, "none");
  (void)snprintf(out->remark, sizeof out->remark, "%s",
                 derived < cost     ? ""
                 : cost < FORBIDDEN ? "optimal"
                                    : "infeasible");
  return true;
}

bool check_sharding(certificate *c, const char *problem, verdict *out) {
  if (problem == NULL)
    return certificate_refuse(
        c, "a certificate of a sharding needs the problem's file, too");
  problem_json json = {.at = 0};
  if (c->problem == NULL && !input_open(&json.in, problem, c->in.why)) return false;
  if (c->problem != NULL) json.in = *c->problem;
  sharding_problem p;
  checker k = {.c = c, .p = &p};
  bool good = sharding_read(&json, &p) && check_all(&k, &json, out);
  if (k.s.alive != NULL) free_state(&k, &k.s);
  for (size_t i = 0; i < k.open.count; i++)
    free_state(&k, &k.open.at[i]);
  free(k.open.at);
  free(k.scratch.at);
  free(k.message.at);
  free(k.line.at);
  free(k.least.at);
  sharding_close(&p);
  if (c->problem == NULL)
    input_close(&json.in);
  else
    c->problem->blocks = json.in.blocks; // whoever opened it frees them
  return good;
}
