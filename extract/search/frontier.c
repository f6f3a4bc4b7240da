// SPDX-License-Identifier: Apache-2.0
#include "extract/search/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/flatmap.h"

// ---- states ---------------------------------------------------------------------------

/// A record of how a state was reached: the node chosen last, and the record before it.
typedef struct record {
  uint32_t before, node;
} record;
EG_VEC_DEFINE(records, record);

typedef struct state_list {
  eg_words bits; // [count * words]
  eg_doubles cost;
  eg_doubles rest; // lower bound of the open classes
  eg_u32s last;    // its record
} state_list;
EG_OWNER_DEFINE_STATIC(state_list, (eg_words, bits), (eg_doubles, cost, rest),
                       (eg_u32s, last))

enum { MOST_WORDS = 1 << 24 }; // most words of states at a time

typedef struct ranked {
  double cost; // cost including a bound of the rest
  uint32_t state;
} ranked;
EG_VEC_DEFINE(rankeds, ranked);

typedef struct walk {
  const eg_frontier *frontier;
  const eg_frontier_options *options;
  eg_incumbent *incumbent;
  uint32_t words;
  state_list now, next;
  eg_flatmap map; // index of the next states
  eg_words row;   // bits of the new state
  eg_u32s holder; // [slot] place of the class that is, or was last, open there
  eg_u32s open;   // places, of a row
  rankeds ranks;
  records records;
  eg_bytes is_live;
  uint64_t work, counted; // counted: the part that the incumbent has counted
  bool is_complete, has_cycle;
} walk;
EG_OWNER_DEFINE_STATIC(walk, (state_list, now, next), (eg_flatmap, map), (eg_words, row),
                       (eg_u32s, holder, open), (rankeds, ranks), (records, records),
                       (eg_bytes, is_live))

static uint64_t *bits_of(const walk *w, const state_list *s, uint32_t state) {
  return s->bits.data + (size_t)state * w->words;
}

static bool is_row(const void *user, uint32_t state, const void *key) {
  const walk *w = user;
  return memcmp(bits_of(w, &w->next, state), key, w->words * sizeof(uint64_t)) == 0;
}

/// Adds the class set w->row to the next states, unless it is there at no higher cost.
static egraph_status add_next_state(walk *w, double cost, double rest, uint32_t before,
                                    uint32_t node) {
  assert(w->row.len == w->words);
  uint64_t hash = eg_hash_bytes(0, w->row.data, w->words * sizeof(uint64_t));
  uint32_t state;
  w->work += w->words + 8;
  bool is_there = eg_flatmap_find(&w->map, hash, w->row.data, is_row, w, &state);
  if (is_there && cost >= w->next.cost.data[state]) return EGRAPH_OK;
  if (node != EG_EXTRACT_NONE && !w->options->ignores_cycles) {
    EG_TRY(records_push(&w->records, (record){before, node}));
    before = (uint32_t)w->records.len - 1;
  }
  if (is_there) {
    w->next.cost.data[state] = cost;
    w->next.last.data[state] = before;
    return EGRAPH_OK;
  }
  EG_TRY(eg_flatmap_insert(&w->map, hash, (uint32_t)w->next.cost.len));
  EG_TRY(eg_words_append(&w->next.bits, w->row.data, w->words));
  EG_TRY(eg_u32s_push(&w->next.last, before));
  EG_TRY(eg_doubles_push(&w->next.rest, rest));
  return eg_doubles_push(&w->next.cost, cost);
}

static void clear_next(walk *w) {
  eg_flatmap_clear(&w->map);
  w->next.bits.len = w->next.cost.len = w->next.rest.len = w->next.last.len = 0;
}

static void swap_states(walk *w) {
  state_list swapped = w->now;
  w->now = w->next;
  w->next = swapped;
}

/// Fills w->row with the classes that a state needs after it chose a node. False when a
/// child comes earlier in the order (a cycle).
static bool choose_node(walk *w, uint32_t state, uint32_t class, uint32_t node) {
  assert(eg_bits_has(bits_of(w, &w->now, state), w->frontier->slot.data[class]));
  const eg_frontier *f = w->frontier;
  memcpy(w->row.data, bits_of(w, &w->now, state), w->words * sizeof(uint64_t));
  eg_bits_clear(w->row.data, f->slot.data[class]);
  w->work +=
      1 + f->problem->child_begin.data[node + 1] - f->problem->child_begin.data[node];
  EG_EACH_CHILD(f->problem, node, child) {
    if (child == class) return false;
    if (f->place.data[child] > f->place.data[class])
      eg_bits_put(w->row.data, f->slot.data[child]);
    else if (w->has_cycle = true, !w->options->ignores_cycles)
      return false;
  }
  return true;
}

/// True when the walk has used its steps, or the states of a class with many nodes take
/// more than about 128 MB.
static bool is_spent(const walk *w) {
  return w->work > w->options->steps || w->next.bits.len > MOST_WORDS;
}

/// Marks the children of the class as needed and not yet derived.
static void hold_children(walk *w, uint32_t class) {
  const eg_frontier *f = w->frontier;
  EG_EACH_MEMBER(f->index, class, node) {
    EG_EACH_CHILD(f->problem, node, child) {
      uint32_t place = f->place.data[child];
      if (place > f->place.data[class]) w->holder.data[f->slot.data[child]] = place;
    }
  }
}

/// Finds a lower bound of the cost of the classes in w->row.
static egraph_status find_rest(walk *w, double *out) {
  *out = 0;
  if (w->options->ahead == NULL) return EGRAPH_OK;
  w->open.len = 0;
  EG_EACH_BIT(w->row.data, w->words, slot)
  EG_TRY(eg_u32s_push(&w->open, w->holder.data[slot]));
  w->work += w->open.len * (w->options->ahead->pairs.len == 0 ? 1 : w->open.len);
  *out = eg_lookahead_of(w->options->ahead, w->open.data, w->open.len);
  return EGRAPH_OK;
}

static egraph_status expand_state(walk *w, uint32_t class, uint32_t state) {
  const eg_frontier *f = w->frontier;
  double cost = w->now.cost.data[state], rest = w->now.rest.data[state];
  uint32_t last = w->now.last.data[state];
  if (!eg_bits_has(bits_of(w, &w->now, state), f->slot.data[class])) {
    memcpy(w->row.data, bits_of(w, &w->now, state), w->words * sizeof(uint64_t));
    return add_next_state(w, cost, rest, last, EG_EXTRACT_NONE);
  }
  EG_EACH_MEMBER(f->index, class, node) {
    double sum = cost + f->problem->cost.data[node];
    if (!(sum < w->options->limit) || !choose_node(w, state, class, node)) continue;
    EG_TRY(find_rest(w, &rest));
    if (sum + rest < w->options->limit) EG_TRY(add_next_state(w, sum, rest, last, node));
  }
  return EGRAPH_OK;
}

static egraph_status expand_class(walk *w, uint32_t class) {
  assert(w->frontier->slot.data[class] != EG_EXTRACT_NONE);
  clear_next(w);
  hold_children(w, class);
  for (uint32_t s = 0; s < w->now.cost.len && !is_spent(w); s++)
    EG_TRY(expand_state(w, class, s));
  if (!is_spent(w)) swap_states(w);
  return EGRAPH_OK;
}

// ---- fewer states ---------------------------------------------------------------------

static int compare_ranked(const void *a, const void *b) {
  const ranked *p = a, *q = b;
  if (p->cost != q->cost) return p->cost < q->cost ? -1 : 1;
  return p->state < q->state ? -1 : 1;
}

/// True when one of the first `count` ranked states needs a subset of the classes of
/// `state`, at no higher cost; *out_tried: how many were compared.
static bool is_superseded(const walk *w, uint32_t state, size_t count,
                          size_t *out_tried) {
  const double *costs = w->now.cost.data;
  const uint64_t *mine = bits_of(w, &w->now, state);
  bool found = false;
  size_t k = 0;
  for (; k < count && !found; k++) {
    const uint64_t *other = bits_of(w, &w->now, w->ranks.data[k].state);
    uint32_t i = 0;
    while (i < w->words && (other[i] & ~mine[i]) == 0)
      i++;
    found = i == w->words && costs[w->ranks.data[k].state] <= costs[state];
  }
  *out_tried = k;
  return found;
}

/// Ranks the states cheapest first, without states whose classes include those of a
/// cheaper state, up to one more than the limit.
static egraph_status rank_states(walk *w) {
  w->ranks.len = 0;
  for (uint32_t s = 0; s < w->now.cost.len; s++)
    EG_TRY(
        rankeds_push(&w->ranks, (ranked){w->now.cost.data[s] + w->now.rest.data[s], s}));
  qsort(w->ranks.data, w->ranks.len, sizeof(ranked), compare_ranked);
  size_t kept = 0;
  for (size_t i = 0; i < w->ranks.len && kept <= w->options->states; i++) {
    uint32_t state = w->ranks.data[i].state;
    size_t tried;
    bool is_worse = is_superseded(w, state, kept, &tried);
    w->work += tried * (1 + w->words);
    if (!is_worse) w->ranks.data[kept++] = w->ranks.data[i];
  }
  w->ranks.len = kept;
  return EGRAPH_OK;
}

static egraph_status keep_state(walk *w, const ranked *at) {
  assert(at->state < w->now.cost.len);
  memcpy(w->row.data, bits_of(w, &w->now, at->state), w->words * sizeof(uint64_t));
  return add_next_state(w, w->now.cost.data[at->state], w->now.rest.data[at->state],
                        w->now.last.data[at->state], EG_EXTRACT_NONE);
}

/// Drops the dearest states if there are too many.
static egraph_status drop_dearest(walk *w) {
  size_t most = w->options->states;
  if (w->now.cost.len <= 2 * most) return EGRAPH_OK;
  EG_TRY(rank_states(w));
  w->is_complete = w->is_complete && w->ranks.len <= most;
  clear_next(w);
  for (size_t i = 0; i < w->ranks.len && i < most; i++)
    EG_TRY(keep_state(w, &w->ranks.data[i]));
  swap_states(w);
  return EGRAPH_OK;
}

enum { RECORDS = 1 << 20 };

/// Frees the records that no current state descends from.
static egraph_status drop_records(walk *w, size_t *inout_limit) {
  if (w->records.len < *inout_limit) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(&w->is_live, w->records.len));
  memset(w->is_live.data, 0, w->is_live.len);
  w->is_live.data[0] = 1;
  for (size_t s = 0; s < w->now.last.len; s++)
    w->is_live.data[w->now.last.data[s]] = 1;
  for (size_t r = w->records.len - 1; r > 0; r--)
    if (w->is_live.data[r]) w->is_live.data[w->records.data[r].before] = 1;
  EG_LOCAL(eg_u32s, number, w->records.alloc);
  EG_TRY(eg_u32s_resize(&number, w->records.len));
  size_t kept = 0;
  for (size_t r = 0; r < w->records.len; r++) {
    if (!w->is_live.data[r]) continue;
    record *at = &w->records.data[kept];
    *at = w->records.data[r];
    at->before = number.data[at->before];
    number.data[r] = (uint32_t)kept++;
  }
  for (size_t s = 0; s < w->now.last.len; s++)
    w->now.last.data[s] = number.data[w->now.last.data[s]];
  w->records.len = kept;
  *inout_limit = RECORDS + 2 * kept;
  return EGRAPH_OK;
}

// ---- the walk -------------------------------------------------------------------------

static egraph_status begin_walk(walk *w) {
  assert(w->records.len == 0);
  const eg_frontier *f = w->frontier;
  w->words = (uint32_t)eg_bits_words(f->width == 0 ? 1 : f->width);
  w->is_complete = true;
  EG_TRY(eg_words_resize(&w->row, w->words));
  memset(w->row.data, 0, w->words * sizeof(uint64_t));
  EG_TRY(eg_u32s_resize(&w->holder, f->width));
  for (size_t i = 0; i < f->problem->roots.len; i++) {
    uint32_t root = f->problem->roots.data[i];
    eg_bits_put(w->row.data, f->slot.data[root]);
    w->holder.data[f->slot.data[root]] = f->place.data[root];
  }
  EG_TRY(records_push(&w->records, (record){0, EG_EXTRACT_NONE}));
  EG_TRY(add_next_state(w, 0, 0, 0, EG_EXTRACT_NONE));
  swap_states(w);
  return EGRAPH_OK;
}

static egraph_status end_walk(walk *w, eg_frontier_result *out) {
  out->has_ended = true;
  out->is_complete = w->is_complete;
  out->has_cycle = w->has_cycle;
  out->cost = w->options->limit;
  if (w->now.cost.len == 0) return EGRAPH_OK; // nothing is below the limit
  assert(w->now.cost.len == 1);               // no class is open
  out->cost = w->now.cost.data[0];
  if (w->options->ignores_cycles) return EGRAPH_OK;
  EG_TRY(eg_fill_none(&out->choice, w->frontier->problem->class_count));
  for (uint32_t r = w->now.last.data[0]; r != 0; r = w->records.data[r].before) {
    uint32_t node = w->records.data[r].node;
    out->choice.data[w->frontier->problem->node_class.data[node]] = node;
  }
  return EGRAPH_OK;
}

static egraph_status walk_all(walk *w, eg_frontier_result *out) {
  enum { ASK_EVERY = 1 << 16 };
  const eg_frontier *f = w->frontier;
  size_t limit = RECORDS;
  EG_TRY(begin_walk(w));
  for (uint32_t i = 0; i < f->order.len && w->now.cost.len != 0; i++) {
    if (f->slot.data[f->order.data[i]] == EG_EXTRACT_NONE) continue;
    EG_TRY(expand_class(w, f->order.data[i]));
    if (is_spent(w)) return EGRAPH_OK;
    EG_TRY(drop_dearest(w));
    EG_TRY(drop_records(w, &limit));
    if (w->options->ignores_cycles && !w->is_complete) return EGRAPH_OK;
    if (w->work - w->counted < ASK_EVERY) continue;
    eg_incumbent_count(w->incumbent, w->work - w->counted);
    w->counted = w->work;
    if (w->incumbent != NULL && eg_incumbent_stop(w->incumbent)) return EGRAPH_OK;
  }
  return end_walk(w, out);
}

egraph_status eg_frontier_run(const eg_frontier *frontier, eg_incumbent *incumbent,
                              const eg_frontier_options *options,
                              eg_frontier_result *out) {
  assert(options->states != 0);
  EG_LOCAL_WITH(walk, w, frontier->order.alloc, .frontier = frontier, .options = options,
                .incumbent = incumbent);
  out->has_ended = false;
  out->choice.len = 0;
  EG_TRY(walk_all(&w, out));
  eg_incumbent_count(incumbent, w.work - w.counted);
  return EGRAPH_OK;
}

// ---- improving an incumbent ---------------------------------------------------------

typedef struct improvement {
  eg_frontier frontier;
  eg_frontier_result result;
  eg_lookahead ahead;
  bool looks_ahead;
  eg_incumbent *incumbent;
  double outer_cutoff;
  uint64_t until; // work to leave for later steps
} improvement;
EG_OWNER_DEFINE_STATIC(improvement, (eg_frontier, frontier), (eg_frontier_result, result),
                       (eg_lookahead, ahead))

static uint64_t steps_left(const improvement *i) {
  uint64_t left = eg_incumbent_work_left(i->incumbent);
  return left > i->until ? left - i->until : 0;
}

/// Returns the limit: solutions of this cost or more are ignored.
static double limit_of(const improvement *i) {
  return fmin(i->outer_cutoff, eg_incumbent_cutoff(i->incumbent));
}

/// Returns the approximate steps of a walk.
static uint64_t steps_of(const improvement *i, uint32_t states) {
  uint64_t words = eg_bits_words(i->frontier.width) + 8;
  return words * 3 * states * i->frontier.order.len;
}

static egraph_status walk_states(improvement *i, uint32_t states, bool ignores_cycles) {
  eg_frontier_options options = {.limit = limit_of(i),
                                 .states = states,
                                 .steps = steps_left(i),
                                 .ignores_cycles = ignores_cycles,
                                 .ahead = i->looks_ahead ? &i->ahead : NULL};
  double cost;
  EG_TRY(eg_frontier_run(&i->frontier, i->incumbent, &options, &i->result));
  if (!i->result.has_ended || i->result.choice.len == 0) return EGRAPH_OK;
  return eg_incumbent_offer(i->incumbent, i->result.choice.data, &cost);
}

// ---- bounds from more and more states -------------------------------------------------

enum {
  AHEAD_ALONE = 8,    // states of the first search from a class
  AHEAD_IN_PAIRS = 2, // and from a pair
  AHEAD_MORE = 8,
  AHEAD_WALK = 64,      // states of the walk after each run
  MOST_POOR = 2,        // small gains in a row
  MOST_PAIRS = 1 << 24, // 128 MB
};
static const double AHEAD_GAIN = 0.125; // relative to the gap: a smaller gain is small
static const double AHEAD_HELPS = 0.5;  // share of the limit: a walk needs this bound
static const double WALK_SHARE = 0.25;  // share of the remaining work, for walks

/// Returns the kind of bounds (of single classes or of pairs) that is cheaper to raise;
/// *out_fits: the work that is left suffices for this and for walks.
static eg_lookahead_options *next_kind(const improvement *i, eg_lookahead_options *kinds,
                                       bool *out_fits) {
  uint64_t alone = eg_lookahead_steps(&i->ahead, &kinds[0]);
  uint64_t in_pairs = eg_lookahead_steps(&i->ahead, &kinds[1]);
  uint64_t pairs = (uint64_t)i->frontier.width * i->frontier.order.len;
  bool is_pairs = pairs <= MOST_PAIRS && in_pairs < alone;
  *out_fits = (is_pairs ? in_pairs : alone) < steps_left(i) / 2;
  return &kinds[is_pairs];
}

/// Raises bounds until they reach the limit (*out_closed) or gain little. *out_helps: the
/// bounds are high enough to guide walks.
static egraph_status raise_bounds(improvement *i, bool *out_closed, bool *out_helps) {
  eg_lookahead_options kinds[] = {{.states = AHEAD_ALONE},
                                  {.states = AHEAD_IN_PAIRS, .in_pairs = true}};
  double bound = 0, before = INFINITY;
  *out_helps = false;
  EG_TRY(eg_lookahead_build(&i->ahead, &i->frontier));
  for (uint32_t poor = 0; poor < MOST_POOR;) {
    bool fits;
    eg_lookahead_options *kind = next_kind(i, kinds, &fits);
    if (!fits || eg_incumbent_stop(i->incumbent)) return EGRAPH_OK;
    kind->steps = steps_left(i);
    EG_TRY(eg_lookahead_run(&i->ahead, i->incumbent, kind, &bound));
    kind->states *= AHEAD_MORE;
    *out_helps = bound >= AHEAD_HELPS * limit_of(i);
    if (*out_helps) EG_TRY(walk_states(i, AHEAD_WALK, false));
    *out_closed = bound >= limit_of(i);
    if (isfinite(bound)) eg_incumbent_raise(i->incumbent, bound);
    if (*out_closed) return EGRAPH_OK;
    double gap = limit_of(i) - bound;
    poor = gap > (1 - AHEAD_GAIN) * before ? poor + 1 : 0;
    before = gap;
  }
  return EGRAPH_OK;
}

// ---- more and more states -------------------------------------------------------------

enum { FEWEST_STATES = 16, MORE = 4, MOST_STATES = 1 << 16, NARROW = 16 };
static const double NARROW_SHARE = 0.2; // share of the work, if no more classes are open

/// Walks with more and more states until none is dropped; *out_states 0: not enough work.
static egraph_status find_solutions(improvement *i, uint32_t *out_states) {
  *out_states = 0;
  for (uint32_t states = FEWEST_STATES; states <= MOST_STATES; states *= MORE) {
    if (steps_of(i, states) > steps_left(i)) return EGRAPH_OK;
    EG_TRY(walk_states(i, states, false));
    if (!i->result.has_ended) return EGRAPH_OK;
    if (i->result.is_complete) *out_states = states;
    if (i->result.is_complete) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

/// Improves the incumbent by walks; *out_closed: nothing below the limit is left. If
/// cycles hide solutions from this order, a walk that ignores cycles gives a bound.
static egraph_status improve_incumbent(improvement *i, const eg_class_index *index,
                                       uint64_t steps, bool *out_closed) {
  uint32_t states;
  uint64_t left = eg_incumbent_work_left(i->incumbent);
  EG_TRY(eg_frontier_find(&i->frontier, i->incumbent->problem, index));
  uint64_t share = (uint64_t)(NARROW_SHARE * (double)left);
  if (i->frontier.mean_width <= NARROW && share > steps) steps = share;
  i->until = left > steps ? left - steps : 0;
  if (i->looks_ahead) {
    bool helps;
    EG_TRY(raise_bounds(i, out_closed, &helps));
    if (*out_closed || !helps) return EGRAPH_OK;
    i->until += (uint64_t)((1 - WALK_SHARE) * (double)steps_left(i));
  }
  EG_TRY(find_solutions(i, &states));
  if (states == 0) return EGRAPH_OK;
  *out_closed = !i->result.has_cycle;
  if (*out_closed) return EGRAPH_OK;
  EG_TRY(walk_states(i, states, true));
  if (!i->result.has_ended) return EGRAPH_OK;
  eg_incumbent_raise(i->incumbent, i->result.cost);
  *out_closed = i->result.cost >= limit_of(i);
  return EGRAPH_OK;
}

egraph_status eg_frontier_improve(eg_incumbent *incumbent, const eg_class_index *index,
                                  double outer_cutoff, uint64_t steps, bool looks_ahead,
                                  bool *out_closed) {
  EG_LOCAL_WITH(improvement, i, incumbent->choice.alloc, .looks_ahead = looks_ahead,
                .incumbent = incumbent, .outer_cutoff = outer_cutoff);
  *out_closed = false;
  return improve_incumbent(&i, index, steps, out_closed);
}
