// SPDX-License-Identifier: Apache-2.0
#include "extract/search/lookahead.h"

#include <math.h>
#include <stdlib.h>

#include "base/owner.h"
#include "extract/cost_heap.h"

EG_OWNER_DEFINE(eg_lookahead, (eg_u32s, slot, opened, node_begin, child_begin, children),
                (eg_doubles, cost, alone, pairs))

// ---- the problem by places ------------------------------------------------------------

static int compare_places(const void *a, const void *b) {
  uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
  return p < q ? -1 : p > q;
}

/// A node that needs its own class is in no solution.
static egraph_status add_node(eg_lookahead *a, uint32_t place, uint32_t node) {
  const eg_frontier *f = a->frontier;
  size_t begin = a->children.len, end = begin;
  EG_EACH_CHILD(f->problem, node, child) {
    uint32_t at = f->place.data[child];
    if (at > place) EG_TRY(eg_u32s_push(&a->children, at));
    if (at != place) continue;
    a->children.len = begin;
    return EGRAPH_OK;
  }
  uint32_t *row = a->children.data;
  if (a->children.len - begin > 1)
    qsort(row + begin, a->children.len - begin, sizeof *row, compare_places);
  for (size_t i = begin; i < a->children.len; i++)
    if (end == begin || row[end - 1] != row[i]) row[end++] = row[i];
  a->children.len = end;
  EG_TRY(eg_doubles_push(&a->cost, f->problem->cost.data[node]));
  return eg_u32s_push(&a->child_begin, (uint32_t)end);
}

static egraph_status add_place(eg_lookahead *a, uint32_t place) {
  const eg_frontier *f = a->frontier;
  uint32_t class = f->order.data[place];
  size_t first = a->children.len;
  a->slot.data[place] = f->slot.data[class];
  if (a->opened.data[place] != EG_EXTRACT_NONE) EG_EACH_MEMBER(f->index, class, node) {
      EG_TRY(add_node(a, place, node));
    }
  for (size_t i = first; i < a->children.len; i++) {
    uint32_t *opened = &a->opened.data[a->children.data[i]];
    if (*opened == EG_EXTRACT_NONE) *opened = place + 1;
  }
  return eg_u32s_push(&a->node_begin, (uint32_t)a->cost.len);
}

egraph_status eg_lookahead_build(eg_lookahead *ahead, const eg_frontier *frontier) {
  uint32_t count = (uint32_t)frontier->order.len;
  ahead->frontier = frontier;
  ahead->children.len = ahead->cost.len = ahead->pairs.len = ahead->alone.len = 0;
  ahead->child_begin.len = ahead->node_begin.len = 0;
  EG_TRY(eg_u32s_resize(&ahead->slot, count));
  EG_TRY(eg_doubles_resize(&ahead->alone, count));
  EG_TRY(eg_fill_none(&ahead->opened, count));
  for (size_t i = 0; i < frontier->problem->roots.len; i++)
    ahead->opened.data[frontier->place.data[frontier->problem->roots.data[i]]] = 0;
  EG_TRY(eg_u32s_push(&ahead->child_begin, 0));
  EG_TRY(eg_u32s_push(&ahead->node_begin, 0));
  for (uint32_t place = 0; place < count; place++)
    EG_TRY(add_place(ahead, place));
  return EGRAPH_OK;
}

// ---- a search from a set --------------------------------------------------------------

typedef struct search {
  eg_lookahead *ahead;
  eg_incumbent *incumbent;
  eg_u32s begin, places; // state s is places[begin[s] .. begin[s + 1]), ascending
  eg_doubles cost;       // [state] of the nodes that led to it
  eg_cost_heap open;     // by what a state costs at least
  eg_u32s holder;        // [slot] place of the class that is open there
  eg_u32s set;
  uint64_t work, counted; // counted: what the incumbent knows of it
  bool late;
} search;
EG_OWNER_DEFINE_STATIC(search, (eg_u32s, begin, places, holder, set), (eg_doubles, cost),
                       (eg_cost_heap, open))

static egraph_status add_state(search *s, double cost, double least) {
  const uint32_t *row = s->places.data + s->begin.data[s->cost.len];
  size_t count = s->places.len - s->begin.data[s->cost.len];
  double sum = cost + eg_lookahead_of(s->ahead, row, count);
  s->work += 16 + count * (s->ahead->pairs.len == 0 ? 2 : count + 2);
  EG_TRY(eg_u32s_push(&s->begin, (uint32_t)s->places.len));
  EG_TRY(eg_doubles_push(&s->cost, cost));
  if (!isfinite(sum)) return EGRAPH_OK;
  return eg_cost_heap_add(&s->open, sum > least ? sum : least, (uint32_t)s->cost.len - 1);
}

/// The first class of the state is looked at: the others and the children of a node are
/// merged.
static egraph_status expand(search *s, eg_cost_entry top) {
  const eg_lookahead *a = s->ahead;
  uint32_t place = s->places.data[s->begin.data[top.item]];
  for (uint32_t n = a->node_begin.data[place]; n < a->node_begin.data[place + 1]; n++) {
    uint32_t i = s->begin.data[top.item] + 1, k = a->child_begin.data[n];
    uint32_t i_end = s->begin.data[top.item + 1], k_end = a->child_begin.data[n + 1];
    while (i < i_end || k < k_end) {
      uint32_t other = i < i_end ? s->places.data[i] : UINT32_MAX;
      uint32_t child = k < k_end ? a->children.data[k] : UINT32_MAX;
      i += other <= child;
      k += child <= other;
      EG_TRY(eg_u32s_push(&s->places, other < child ? other : child));
    }
    EG_TRY(add_state(s, s->cost.data[top.item] + a->cost.data[n], top.cost));
  }
  return EGRAPH_OK;
}

enum { MOST_PLACES = 1 << 23 }; // of states, at a time

/// Bound of s->set, which is ascending; INFINITY: nothing derives it.
static egraph_status look_ahead(search *s, uint32_t states, double *out) {
  s->begin.len = s->places.len = s->cost.len = s->open.len = 0;
  EG_TRY(eg_u32s_push(&s->begin, 0));
  EG_TRY(eg_u32s_append(&s->places, s->set.data, s->set.len));
  EG_TRY(add_state(s, 0, 0));
  for (uint32_t k = 0; k < states && s->open.len != 0; k++) {
    if (s->places.len > MOST_PLACES) break;
    uint32_t first = s->open.data[0].item;
    if (s->begin.data[first] == s->begin.data[first + 1]) break; // all is derived
    EG_TRY(expand(s, eg_cost_heap_take(&s->open)));
  }
  *out = s->open.len != 0 ? s->open.data[0].cost : INFINITY;
  return EGRAPH_OK;
}

// ---- all sets, from the last class up -------------------------------------------------

/// The class at `place` is open now, and what it opens is not yet.
static void step_back(search *s, uint32_t place) {
  const eg_lookahead *a = s->ahead;
  for (uint32_t n = a->node_begin.data[place]; n < a->node_begin.data[place + 1]; n++)
    for (uint32_t i = a->child_begin.data[n]; i < a->child_begin.data[n + 1]; i++) {
      uint32_t child = a->children.data[i];
      if (a->opened.data[child] == place + 1)
        s->holder.data[a->slot.data[child]] = EG_EXTRACT_NONE;
    }
  s->holder.data[a->slot.data[place]] = place;
}

static egraph_status look_from_pairs(search *s, uint32_t place, uint32_t states) {
  eg_lookahead *a = s->ahead;
  for (uint32_t slot = 0; slot < s->holder.len; slot++) {
    uint32_t other = s->holder.data[slot];
    if (other == EG_EXTRACT_NONE || other == place) continue;
    s->set.len = 0;
    EG_TRY(eg_u32s_push(&s->set, place));
    EG_TRY(eg_u32s_push(&s->set, other));
    EG_TRY(look_ahead(s, states, &a->pairs.data[(size_t)place * s->holder.len + slot]));
  }
  return EGRAPH_OK;
}

static bool is_late(search *s, uint64_t steps) {
  enum { ASK_EVERY = 1 << 18 };
  if (s->work > steps) s->late = true;
  if (s->work - s->counted < ASK_EVERY) return s->late;
  eg_incumbent_count(s->incumbent, s->work - s->counted);
  s->counted = s->work;
  if (s->incumbent != NULL && eg_incumbent_stop(s->incumbent)) s->late = true;
  return s->late;
}

static egraph_status look_from_all(search *s, const eg_lookahead_options *options) {
  eg_lookahead *a = s->ahead;
  size_t width = a->frontier->width;
  EG_TRY(eg_fill_none(&s->holder, width));
  if (options->in_pairs) EG_TRY(eg_doubles_resize(&a->pairs, a->alone.len * width));
  for (uint32_t place = (uint32_t)a->alone.len; place-- > 0;) {
    if (a->opened.data[place] == EG_EXTRACT_NONE) continue;
    if (is_late(s, options->steps)) break;
    step_back(s, place);
    s->set.len = 0;
    EG_TRY(eg_u32s_push(&s->set, place));
    EG_TRY(look_ahead(s, options->states, &a->alone.data[place]));
    if (options->in_pairs) EG_TRY(look_from_pairs(s, place, options->states));
  }
  return EGRAPH_OK;
}

/// The bound that matters may be looked for as long as those of all classes were.
static egraph_status look_from_roots(search *s, double *out_bound) {
  const eg_lookahead *a = s->ahead;
  s->set.len = 0;
  for (uint32_t place = 0; place < a->alone.len; place++)
    if (a->opened.data[place] == 0) EG_TRY(eg_u32s_push(&s->set, place));
  double bound;
  EG_TRY(look_ahead(s, (uint32_t)a->alone.len, &bound));
  if (bound > *out_bound) *out_bound = bound;
  return EGRAPH_OK;
}

uint64_t eg_lookahead_steps(const eg_lookahead *ahead,
                            const eg_lookahead_options *options) {
  enum { STEPS_ALONE = 100, STEPS_IN_PAIRS = 150 }; // of a state, about
  uint64_t states = (uint64_t)options->states * ahead->alone.len;
  if (!options->in_pairs) return STEPS_ALONE * states;
  return STEPS_IN_PAIRS * states * (ahead->frontier->mean_width + 1);
}

egraph_status eg_lookahead_run(eg_lookahead *ahead, eg_incumbent *incumbent,
                               const eg_lookahead_options *options, double *out_bound) {
  search s;
  search_init(&s, ahead->alone.alloc);
  s.ahead = ahead;
  s.incumbent = incumbent;
  egraph_status status = look_from_all(&s, options);
  if (status == EGRAPH_OK && !s.late) status = look_from_roots(&s, out_bound);
  eg_incumbent_count(incumbent, s.work - s.counted);
  search_deinit(&s);
  return status;
}
