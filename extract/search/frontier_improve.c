// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/owner.h"
#include "extract/search/frontier.h"

typedef struct improvement {
  eg_frontier frontier;
  eg_frontier_result result;
  eg_lookahead ahead;
  bool looks_ahead;
  eg_incumbent *incumbent;
  double outer_cutoff;
  uint64_t until; // work that is to be left
} improvement;
EG_OWNER_DEFINE_STATIC(improvement, (eg_frontier, frontier), (eg_frontier_result, result),
                       (eg_lookahead, ahead))

static uint64_t steps_left(const improvement *i) {
  uint64_t left = eg_incumbent_work_left(i->incumbent);
  return left > i->until ? left - i->until : 0;
}

/// Only solutions below are of interest.
static double limit_of(const improvement *i) {
  return fmin(i->outer_cutoff, eg_incumbent_cutoff(i->incumbent));
}

/// Steps of a walk, about.
static uint64_t steps_of(const improvement *i, uint32_t states) {
  uint64_t words = eg_bits_words(i->frontier.width) + 8;
  return words * 3 * states * i->frontier.order.len;
}

static egraph_status walk(improvement *i, uint32_t states, bool ignores_cycles) {
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

// ---- more and more foresight ----------------------------------------------------------

enum {
  AHEAD_ALONE = 8,    // states that the first search from a class looks at
  AHEAD_IN_PAIRS = 2, // and from a pair
  AHEAD_MORE = 8,
  AHEAD_WALK = 64,      // states of the walk after each
  MOST_POOR = 2,        // gains one after the other
  MOST_PAIRS = 1 << 24, // 128 MB
};
static const double AHEAD_GAIN = 0.125; // of the gap, to go on
static const double AHEAD_HELPS = 0.5;  // of the limit, to walk
static const double WALK_SHARE = 0.25;  // of what is left then

/// Whichever kind is cheaper next; *out_fits: there is work for it, and for walks.
static eg_lookahead_options *next_kind(const improvement *i, eg_lookahead_options *kinds,
                                       bool *out_fits) {
  uint64_t alone = eg_lookahead_steps(&i->ahead, &kinds[0]);
  uint64_t in_pairs = eg_lookahead_steps(&i->ahead, &kinds[1]);
  uint64_t pairs = (uint64_t)i->frontier.width * i->frontier.order.len;
  bool is_pairs = pairs <= MOST_PAIRS && in_pairs < alone;
  *out_fits = (is_pairs ? in_pairs : alone) < steps_left(i) / 2;
  return &kinds[is_pairs];
}

/// Until the bounds reach the limit, or come no nearer to it. *out_helps: they are near
/// enough to lead walks.
static egraph_status look_ahead(improvement *i, bool *out_closed, bool *out_helps) {
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
    if (*out_helps) EG_TRY(walk(i, AHEAD_WALK, false));
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
static const double NARROW_SHARE = 0.2; // of the work, where no more are open at a time

/// Until no state is dropped; *out_states 0: there is not enough work for that.
static egraph_status find_solutions(improvement *i, uint32_t *out_states) {
  *out_states = 0;
  for (uint32_t states = FEWEST_STATES; states <= MOST_STATES; states *= MORE) {
    if (steps_of(i, states) > steps_left(i)) return EGRAPH_OK;
    EG_TRY(walk(i, states, false));
    if (!i->result.has_ended) return EGRAPH_OK;
    if (i->result.is_complete) *out_states = states;
    if (i->result.is_complete) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

/// What the order cannot say, because of cycles, gets a bound.
static egraph_status improve(improvement *i, const eg_class_index *index, uint64_t steps,
                             bool *out_closed) {
  uint32_t states;
  uint64_t left = eg_incumbent_work_left(i->incumbent);
  EG_TRY(eg_frontier_find(&i->frontier, i->incumbent->problem, index));
  uint64_t share = (uint64_t)(NARROW_SHARE * (double)left);
  if (i->frontier.mean_width <= NARROW && share > steps) steps = share;
  i->until = left > steps ? left - steps : 0;
  if (i->looks_ahead) {
    bool helps;
    EG_TRY(look_ahead(i, out_closed, &helps));
    if (*out_closed || !helps) return EGRAPH_OK;
    i->until += (uint64_t)((1 - WALK_SHARE) * (double)steps_left(i));
  }
  EG_TRY(find_solutions(i, &states));
  if (states == 0) return EGRAPH_OK;
  *out_closed = !i->result.has_cycle;
  if (*out_closed) return EGRAPH_OK;
  EG_TRY(walk(i, states, true));
  if (!i->result.has_ended) return EGRAPH_OK;
  eg_incumbent_raise(i->incumbent, i->result.cost);
  *out_closed = i->result.cost >= limit_of(i);
  return EGRAPH_OK;
}

egraph_status eg_frontier_improve(eg_incumbent *incumbent, const eg_class_index *index,
                                  double outer_cutoff, uint64_t steps, bool looks_ahead,
                                  bool *out_closed) {
  improvement i;
  improvement_init(&i, incumbent->choice.alloc);
  i.looks_ahead = looks_ahead;
  i.incumbent = incumbent;
  i.outer_cutoff = outer_cutoff;
  *out_closed = false;
  egraph_status status = improve(&i, index, steps, out_closed);
  improvement_deinit(&i);
  return status;
}
