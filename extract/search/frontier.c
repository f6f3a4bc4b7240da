// SPDX-License-Identifier: Apache-2.0
#include "extract/search/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/flatmap.h"
#include "base/owner.h"

EG_OWNER_DEFINE(eg_frontier_result, (eg_u32s, choice))

// ---- states ---------------------------------------------------------------------------

/// How a state came about: what was chosen last where something was.
typedef struct record {
  uint32_t before, node;
} record;
EG_VEC_DEFINE(records, record);

typedef struct state_list {
  eg_words bits; // [count * words]
  eg_doubles cost;
  eg_u32s last; // its record
} state_list;
EG_OWNER_DEFINE_STATIC(state_list, (eg_words, bits), (eg_doubles, cost), (eg_u32s, last))

enum { MOST_WORDS = 1 << 24 }; // of states, at a time

typedef struct ranked {
  double cost;
  uint32_t state;
} ranked;
EG_VEC_DEFINE(rankeds, ranked);

typedef struct walk {
  const eg_frontier *frontier;
  const eg_frontier_options *options;
  eg_incumbent *incumbent;
  uint32_t words;
  state_list now, next;
  eg_flatmap map; // of next
  eg_words row;   // under construction
  rankeds ranks;
  records records;
  eg_bytes is_live;
  uint64_t work, counted; // counted: what the incumbent knows of it
  bool is_complete, has_cycle;
} walk;
EG_OWNER_DEFINE_STATIC(walk, (state_list, now, next), (eg_flatmap, map), (eg_words, row),
                       (rankeds, ranks), (records, records), (eg_bytes, is_live))

static uint64_t *bits_of(const walk *w, const state_list *s, uint32_t state) {
  return s->bits.data + (size_t)state * w->words;
}

static bool is_row(const void *user, uint32_t state, const void *key) {
  const walk *w = user;
  return memcmp(bits_of(w, &w->next, state), key, w->words * sizeof(uint64_t)) == 0;
}

/// The state w->row, unless it is there for less.
static egraph_status add_state(walk *w, double cost, uint32_t before, uint32_t node) {
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
  return eg_doubles_push(&w->next.cost, cost);
}

/// The next states are those of now; what were is overwritten.
static void swap_states(walk *w) {
  state_list swapped = w->now;
  w->now = w->next;
  w->next = swapped;
}

/// The row of a state after it chose a node. A child that was looked at before is on a
/// cycle: a solution may have it, but this order cannot say so.
static bool choose(walk *w, uint32_t state, uint32_t class, uint32_t node) {
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

/// The walk has taken its work, or the states of a class with many nodes some 128 MB.
static bool is_spent(const walk *w) {
  return w->work > w->options->steps || w->next.bits.len > MOST_WORDS;
}

static egraph_status look_at(walk *w, uint32_t class) {
  const eg_frontier *f = w->frontier;
  uint32_t slot = f->slot.data[class];
  eg_flatmap_clear(&w->map);
  w->next.bits.len = w->next.cost.len = w->next.last.len = 0;
  for (uint32_t s = 0; s < w->now.cost.len && !is_spent(w); s++) {
    double cost = w->now.cost.data[s];
    if (!eg_bits_has(bits_of(w, &w->now, s), slot)) {
      memcpy(w->row.data, bits_of(w, &w->now, s), w->words * sizeof(uint64_t));
      EG_TRY(add_state(w, cost, w->now.last.data[s], EG_EXTRACT_NONE));
      continue;
    }
    EG_EACH_MEMBER(f->index, class, node) {
      double sum = cost + f->problem->cost.data[node];
      if (sum < w->options->limit && choose(w, s, class, node))
        EG_TRY(add_state(w, sum, w->now.last.data[s], node));
    }
  }
  if (!is_spent(w)) swap_states(w);
  return EGRAPH_OK;
}

// ---- fewer states ---------------------------------------------------------------------

static int compare(const void *a, const void *b) {
  const ranked *p = a, *q = b;
  if (p->cost != q->cost) return p->cost < q->cost ? -1 : 1;
  return p->state < q->state ? -1 : 1;
}

static bool is_within(const uint64_t *a, const uint64_t *b, uint32_t words) {
  for (uint32_t i = 0; i < words; i++)
    if ((a[i] & ~b[i]) != 0) return false;
  return true;
}

/// Cheapest first, without those that need all that a cheaper one needs, up to one more
/// than may be kept.
static egraph_status rank(walk *w) {
  w->ranks.len = 0;
  for (uint32_t s = 0; s < w->now.cost.len; s++)
    EG_TRY(rankeds_push(&w->ranks, (ranked){w->now.cost.data[s], s}));
  qsort(w->ranks.data, w->ranks.len, sizeof(ranked), compare);
  size_t kept = 0;
  for (size_t i = 0; i < w->ranks.len && kept <= w->options->states; i++) {
    const uint64_t *row = bits_of(w, &w->now, w->ranks.data[i].state);
    bool is_worse = false;
    size_t k = 0;
    for (; k < kept && !is_worse; k++)
      is_worse = is_within(bits_of(w, &w->now, w->ranks.data[k].state), row, w->words);
    w->work += k * (1 + w->words);
    if (!is_worse) w->ranks.data[kept++] = w->ranks.data[i];
  }
  w->ranks.len = kept;
  return EGRAPH_OK;
}

static egraph_status keep(walk *w, const ranked *at) {
  memcpy(w->row.data, bits_of(w, &w->now, at->state), w->words * sizeof(uint64_t));
  return add_state(w, at->cost, w->now.last.data[at->state], EG_EXTRACT_NONE);
}

/// Drops the dearest states where there are too many.
static egraph_status narrow(walk *w) {
  size_t most = w->options->states;
  if (w->now.cost.len <= 2 * most) return EGRAPH_OK;
  EG_TRY(rank(w));
  w->is_complete = w->is_complete && w->ranks.len <= most;
  eg_flatmap_clear(&w->map);
  w->next.bits.len = w->next.cost.len = w->next.last.len = 0;
  for (size_t i = 0; i < w->ranks.len && i < most; i++)
    EG_TRY(keep(w, &w->ranks.data[i]));
  swap_states(w);
  return EGRAPH_OK;
}

enum { RECORDS = 1 << 20 };

/// Frees records that no state has come from.
static egraph_status forget(walk *w, size_t *inout_limit) {
  if (w->records.len < *inout_limit) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(&w->is_live, w->records.len));
  memset(w->is_live.data, 0, w->is_live.len);
  w->is_live.data[0] = 1;
  for (size_t s = 0; s < w->now.last.len; s++)
    w->is_live.data[w->now.last.data[s]] = 1;
  for (size_t r = w->records.len - 1; r > 0; r--)
    if (w->is_live.data[r]) w->is_live.data[w->records.data[r].before] = 1;
  eg_u32s number;
  eg_u32s_init(&number, w->records.alloc);
  egraph_status status = eg_u32s_resize(&number, w->records.len);
  size_t kept = 0;
  for (size_t r = 0; status == EGRAPH_OK && r < w->records.len; r++) {
    if (!w->is_live.data[r]) continue;
    record *at = &w->records.data[kept];
    *at = w->records.data[r];
    at->before = number.data[at->before];
    number.data[r] = (uint32_t)kept++;
  }
  for (size_t s = 0; status == EGRAPH_OK && s < w->now.last.len; s++)
    w->now.last.data[s] = number.data[w->now.last.data[s]];
  eg_u32s_deinit(&number);
  EG_TRY(status);
  w->records.len = kept;
  *inout_limit = RECORDS + 2 * kept;
  return EGRAPH_OK;
}

// ---- the walk -------------------------------------------------------------------------

static egraph_status begin(walk *w) {
  const eg_frontier *f = w->frontier;
  w->words = (uint32_t)eg_bits_words(f->width == 0 ? 1 : f->width);
  w->is_complete = true;
  EG_TRY(eg_words_resize(&w->row, w->words));
  memset(w->row.data, 0, w->words * sizeof(uint64_t));
  for (size_t i = 0; i < f->problem->roots.len; i++)
    eg_bits_put(w->row.data, f->slot.data[f->problem->roots.data[i]]);
  EG_TRY(records_push(&w->records, (record){0, EG_EXTRACT_NONE}));
  EG_TRY(add_state(w, 0, 0, EG_EXTRACT_NONE));
  swap_states(w);
  return EGRAPH_OK;
}

static egraph_status end(walk *w, eg_frontier_result *out) {
  out->has_ended = true;
  out->is_complete = w->is_complete;
  out->has_cycle = w->has_cycle;
  out->cost = w->options->limit;
  if (w->now.cost.len == 0) return EGRAPH_OK; // nothing is below the limit
  out->cost = w->now.cost.data[0];            // nothing is open: one state
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
  EG_TRY(begin(w));
  for (uint32_t i = 0; i < f->order.len && w->now.cost.len != 0; i++) {
    if (f->slot.data[f->order.data[i]] == EG_EXTRACT_NONE) continue;
    EG_TRY(look_at(w, f->order.data[i]));
    if (is_spent(w)) return EGRAPH_OK;
    EG_TRY(narrow(w));
    EG_TRY(forget(w, &limit));
    if (w->options->ignores_cycles && !w->is_complete) return EGRAPH_OK;
    if (w->work - w->counted < ASK_EVERY) continue;
    eg_incumbent_count(w->incumbent, w->work - w->counted);
    w->counted = w->work;
    if (w->incumbent != NULL && eg_incumbent_stop(w->incumbent)) return EGRAPH_OK;
  }
  return end(w, out);
}

/// Steps of a walk, about.
static uint64_t steps_of(const eg_frontier *frontier, uint32_t states) {
  uint64_t words = eg_bits_words(frontier->width) + 8;
  return words * 3 * states * frontier->order.len;
}

egraph_status eg_frontier_run(const eg_frontier *frontier, eg_incumbent *incumbent,
                              const eg_frontier_options *options,
                              eg_frontier_result *out) {
  walk w;
  walk_init(&w, frontier->order.alloc);
  w.frontier = frontier;
  w.options = options;
  w.incumbent = incumbent;
  out->has_ended = false;
  out->choice.len = 0;
  egraph_status status = walk_all(&w, out);
  eg_incumbent_count(incumbent, w.work - w.counted);
  walk_deinit(&w);
  return status;
}

// ---- more and more states -------------------------------------------------------------

enum { FEWEST_STATES = 16, MORE = 4, MOST_STATES = 1 << 16 };

typedef struct improvement {
  eg_frontier frontier;
  eg_frontier_result result;
  eg_incumbent *incumbent;
  double outer_cutoff;
  uint64_t until; // work that is to be left
} improvement;
EG_OWNER_DEFINE_STATIC(improvement, (eg_frontier, frontier), (eg_frontier_result, result))

static uint64_t steps_left(const improvement *i) {
  uint64_t left = eg_incumbent_work_left(i->incumbent);
  return left > i->until ? left - i->until : 0;
}

static egraph_status run(improvement *i, uint32_t states, bool ignores_cycles) {
  eg_frontier_options options = {
      .limit = fmin(i->outer_cutoff, eg_incumbent_cutoff(i->incumbent)),
      .states = states,
      .steps = steps_left(i),
      .ignores_cycles = ignores_cycles};
  return eg_frontier_run(&i->frontier, i->incumbent, &options, &i->result);
}

/// Until no state is dropped; *out_states 0: there is not enough work for that.
static egraph_status find_solutions(improvement *i, uint32_t *out_states) {
  *out_states = 0;
  for (uint32_t states = FEWEST_STATES; states <= MOST_STATES; states *= MORE) {
    double cost;
    if (steps_of(&i->frontier, states) > steps_left(i)) return EGRAPH_OK;
    EG_TRY(run(i, states, false));
    if (!i->result.has_ended) return EGRAPH_OK;
    if (i->result.choice.len != 0)
      EG_TRY(eg_incumbent_offer(i->incumbent, i->result.choice.data, &cost));
    if (i->result.is_complete) *out_states = states;
    if (i->result.is_complete) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

static egraph_status improve(improvement *i, const eg_class_index *index,
                             bool *out_closed) {
  uint32_t states;
  EG_TRY(eg_frontier_find(&i->frontier, i->incumbent->problem, index));
  EG_TRY(find_solutions(i, &states));
  if (states == 0) return EGRAPH_OK;
  *out_closed = !i->result.has_cycle;
  if (*out_closed) return EGRAPH_OK;
  EG_TRY(run(i, states, true));
  if (!i->result.has_ended) return EGRAPH_OK;
  eg_incumbent_raise(i->incumbent, i->result.cost);
  *out_closed = i->result.cost >= eg_incumbent_cutoff(i->incumbent) ||
                i->result.cost >= i->outer_cutoff;
  return EGRAPH_OK;
}

egraph_status eg_frontier_improve(eg_incumbent *incumbent, const eg_class_index *index,
                                  double outer_cutoff, uint64_t steps, bool *out_closed) {
  improvement i;
  improvement_init(&i, incumbent->choice.alloc);
  i.incumbent = incumbent;
  i.outer_cutoff = outer_cutoff;
  uint64_t left = eg_incumbent_work_left(incumbent);
  i.until = left > steps ? left - steps : 0;
  *out_closed = false;
  egraph_status status = improve(&i, index, out_closed);
  improvement_deinit(&i);
  return status;
}
