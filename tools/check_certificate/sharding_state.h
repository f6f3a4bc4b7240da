// A sharding certificate while it is checked. The state contains the strategies (alive)
// and pairs of strategies (finite table entry) that a choice below the cutoff may still
// use. Two reductions need no numbers of the certificate: arc consistency and merging.
// sharding.c checks the records.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_SHARDING_STATE_H
#define CHECK_SHARDING_STATE_H

#include "tools/check_certificate/certificate.h"
#include "tools/check_certificate/sharding_problem.h"

#define NONE UINT32_MAX

// An edge of the graph. Half-edge h is end h & 1 of edge h >> 1; `table` and `message`
// are positions in pools of numbers.
typedef struct edge {
  uint32_t ends[2]; // ends[0] == NONE: removed
  uint32_t next[2];
  size_t table, message[2];
} edge;

// A node's memory use in an interval of slots; usage[0] ..: bytes of each strategy.
typedef struct item {
  uint32_t first, last, next;
  size_t usage;
} item;

typedef struct state {
  uint8_t *alive;                 // [strategies]
  uint8_t *gone;                  // [nodes] merged into another node
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
  states open;    // cases that are checked later
  int64_t cutoff; // only choices below the cutoff count
  int64_t bound;  // bound by the filters before the first branch
  bool branched, complete;
  size_t bytes;    // bytes of all states
  uint32_t *queue; // nodes that lost strategies or pairs
  uint8_t *queued; // [nodes]
  size_t queue_count;
  uint32_t *of;     // scratch: a strategy for each strategy of a node
  wide *sum, *load; // scratch: [strategies], [2 * slots]
  numbers scratch, message, line, least;
  int64_t *price; // [slots + 1]
} checker;

static inline uint32_t width(const checker *k, uint32_t n) {
  return k->p->begin[n + 1] - k->p->begin[n];
}

/// Visits the half-edges of node n that are not removed.
#define EACH_HALF(s, n, h)                                                               \
  for (uint32_t h = live(s, (s)->half[n]); h != NONE;                                    \
       h = live(s, (s)->edges[h >> 1].next[h & 1]))

static inline uint32_t live(const state *s, uint32_t h) {
  while (h != NONE && s->edges[h >> 1].ends[0] == NONE)
    h = s->edges[h >> 1].next[h & 1];
  return h;
}

static inline uint32_t other_end(const state *s, uint32_t h) {
  return s->edges[h >> 1].ends[~h & 1];
}

/// Returns the table entry of strategy v at the end of half-edge h and strategy w at the
/// other end.
static inline int64_t *entry(const checker *k, const state *s, uint32_t h, uint32_t v,
                             uint32_t w) {
  const edge *e = &s->edges[h >> 1];
  size_t at = (h & 1) == 0 ? (size_t)v * width(k, e->ends[1]) + w
                           : (size_t)w * width(k, e->ends[1]) + v;
  return s->table.at + e->table + at;
}

static inline int64_t capped(int64_t a, int64_t b) { // both are at most FORBIDDEN
  return a + b < FORBIDDEN ? a + b : FORBIDDEN;
}

// The functions below refuse the certificate when memory is lacking, and return false.

/// Makes a list of numbers longer; adds its bytes to the bytes of all proof states.
bool sharding_grow(checker *k, numbers *list, size_t count);
/// Makes the initial state of the problem; k->p and k->cutoff must be set.
bool sharding_start(checker *k);
/// Copies the current state of the proof without removed edges.
bool sharding_copy(checker *k, state *to);
void sharding_free(checker *k, state *s);

/// Finds the half-edge from a to b, or NONE.
uint32_t sharding_find_half(state *s, uint32_t a, uint32_t b);
/// Notes that node n lost strategies or pairs, so that its neighbours are visited again.
void sharding_touch(checker *k, uint32_t n);
void sharding_kill(checker *k, uint32_t n, uint32_t v);
/// Removes strategies without an allowed partner at a neighbour until nothing changes.
void sharding_make_consistent(checker *k);
/// Merges node g into its neighbour n, whose strategy must determine the one of g.
bool sharding_merge(checker *k, uint32_t n, uint32_t g);

#endif
