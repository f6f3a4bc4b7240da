// Limited measures have prices. The sum of cost and priced measures, less limits times
// prices, bounds the cost from below at all prices, and elimination finds its minimum
// exactly: a cut, which tells the next prices (layout_prices.h). Where the next minimum
// is no lower than what the cuts allow, the prices are the best.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_close.h"

#include <math.h>

#include "extract/layout/layout_neighbours.h"
#include "extract/layout/layout_prices.h"

enum { MOST_PRICES = 10 };
enum { NEAREST = 40 };           // values of the smallest windows
static const double NEAR = 0.02; // of a price
static const double LIKELY_GAP = 0.02;
// Of eliminations: a share of the room there is; rows.
enum {
  SWEEP_ROWS = 1 << 10,
  MOST_DOUBLINGS = 4, // of the room of sweeps
  FIRST_ROOM = 64,
  FEWEST_ROWS = 1 << 12,
  MOST_ROWS = 1 << 22
};
enum { TIDY_ROWS = 1 << 16 };
// Where so many rows are needed, more room costs much.
enum { MANY_ROWS = 1 << 16 };
static const double FINE_STEP = 1.25;

typedef struct closer {
  eg_layout_search *search;
  eg_layout_active *active;
  eg_layout_ascent *ascent;
  eg_layout_excess *excess;
  eg_layout_pool *pool;
  eg_layout_prices prices; // of the ascent
} closer;

double eg_layout_delete_costly(eg_layout_search *search, eg_layout_active *active,
                               const eg_layout_excess *excess) {
  double room = eg_layout_search_cut(search) - excess->bound;
  size_t deleted = 0, all = 1;
  if (!isfinite(room)) return 0;
  room += EG_LAYOUT_TOLERANCE * (fabs(room) + fabs(excess->bound));
  for (uint32_t s = 0; s < excess->strategy.len; s++) {
    all += active->strategy.data[s];
    if (!active->strategy.data[s] || !(excess->strategy.data[s] > room)) continue;
    active->strategy.data[s] = 0;
    deleted++;
  }
  for (uint32_t a = 0; a < excess->arc.len; a++)
    if (excess->arc.data[a] > room) active->arc.data[a] = 0;
  return (double)deleted / (double)all;
}

static bool is_done(const closer *c) {
  return c->search->bound >= eg_layout_search_cutoff(c->search) ||
         eg_layout_search_stop(c->search);
}

/// Above the last ascent's bound, in which solutions lie that are no dearer, with what
/// rounding may take from a bound; before there is a solution a guess.
static double room_above(const closer *c) {
  double cutoff = eg_layout_search_cutoff(c->search);
  double room = cutoff - c->excess->bound + 2 * EG_LAYOUT_TOLERANCE * fabs(cutoff);
  if (isfinite(room)) return fmax(room, 0);
  room = fabs(c->excess->bound);
  for (size_t s = 0; s < c->excess->strategy.len; s++)
    if (c->excess->strategy.data[s] < INFINITY)
      room = fmax(room, c->excess->strategy.data[s]);
  return room;
}

/// The same, as far as bounds of ascents are off: solutions may be off by more.
static double likely_room(const closer *c) {
  double room = room_above(c), likely = LIKELY_GAP * fabs(c->excess->bound);
  return likely > 0 && likely < room ? likely : room;
}

/// Good solutions: the cheapest rows of much room, of more while there is none.
static egraph_status sweep(closer *c, eg_layout_eliminated *last) {
  double room = likely_room(c) / 2;
  for (int more = MOST_DOUBLINGS;; room *= 2, more--) {
    EG_TRY(eg_layout_ascent_eliminate(c->ascent, c->excess, room, SWEEP_ROWS, last));
    if (last->reach == EG_LAYOUT_REACH_ALL || is_done(c)) return EGRAPH_OK;
    if (last->found || more == 0 || !(room < room_above(c))) break;
  }
  if (last->reach != EG_LAYOUT_REACH_ROWS) return EGRAPH_OK;
  return eg_layout_ascent_eliminate(c->ascent, c->excess, room, FEWEST_ROWS, last);
}

/// Proof: little room at first, then more, with as many rows as it takes, up to a number.
static egraph_status widen(closer *c, uint32_t most, eg_layout_eliminated *last) {
  eg_layout_search *search = c->search;
  double known = search->bound - c->excess->bound;
  double room = fmax(likely_room(c) / FIRST_ROOM, 2 * known);
  for (uint32_t rows = FEWEST_ROWS; rows <= most && !is_done(c);) {
    double before = eg_layout_search_value(search);
    if (search->has_best) room = fmin(room, room_above(c));
    EG_TRY(eg_layout_ascent_eliminate(c->ascent, c->excess, room, rows, last));
    if (last->reach == EG_LAYOUT_REACH_ALL || last->reach == EG_LAYOUT_REACH_NONE) break;
    if (last->reach == EG_LAYOUT_REACH_ROOM)
      room = (rows < MANY_ROWS ? 2 : FINE_STEP) *
             fmax(room, search->bound - c->excess->bound);
    else if (!(eg_layout_search_value(search) < before))
      rows *= 4;
  }
  return EGRAPH_OK;
}

/// Only a bound. Relations have few rows at first: in wide problems many take too long.
static egraph_status prove(closer *c, eg_layout_eliminated *last) {
  static const uint32_t ROWS[] = {SWEEP_ROWS, MANY_ROWS};
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS && !is_done(c); i++)
    EG_TRY(
        eg_layout_ascent_eliminate(c->ascent, c->excess, room_above(c), ROWS[i], last));
  return EGRAPH_OK;
}

/// Ascent and a sweep at the ascent's price.
static egraph_status descend(closer *c, eg_layout_eliminated *last) {
  bool any;
  last->reach = EG_LAYOUT_REACH_NONE;
  last->found = false;
  EG_TRY(eg_layout_ascent_climb(c->ascent, EG_LAYOUT_MOST_PASSES, c->excess, &any));
  c->active->infeasible = !any;
  if (!any || is_done(c)) return EGRAPH_OK;
  if (eg_layout_search_wants_bound(c->search)) return prove(c, last);
  EG_TRY(sweep(c, last));
  (void)eg_layout_delete_costly(c->search, c->active, c->excess);
  return EGRAPH_OK;
}

static bool is_over(const closer *c) { return c->active->infeasible || is_done(c); }

/// The minimum at the ascent's price, as far as ascent and elimination go.
static egraph_status minimize(closer *c, eg_layout_eliminated *last) {
  EG_TRY(descend(c, last));
  if (is_over(c) || last->reach == EG_LAYOUT_REACH_ALL) return EGRAPH_OK;
  return widen(c, MOST_ROWS, last);
}

// ---- prices -------------------------------------------------------------------------

static egraph_status keep_solution(closer *c) {
  EG_TRY(eg_bytes_resize(&c->pool->strategy, c->excess->strategy.len));
  c->pool->solutions++;
  for (size_t v = 0; v < c->search->trial.strategy.len; v++) {
    uint32_t s = c->search->trial.strategy.data[v];
    if (s != EG_LAYOUT_NONE) c->pool->strategy.data[s] = 1;
  }
  return EGRAPH_OK;
}

/// The ascent's next prices by what was found last; see eg_layout_prices_next.
static egraph_status move_prices(closer *c, const eg_layout_eliminated *last,
                                 bool *out_moved) {
  EG_TRY(eg_layout_prices_next(&c->prices, last->sum, out_moved));
  eg_layout_ascent_set_prices(c->ascent, c->prices.price);
  return EGRAPH_OK;
}

/// Whether the prices are nearly what they were.
static bool is_near(const eg_layout_prices *now, const double *before) {
  for (uint32_t i = 0; i < now->count; i++)
    if (fabs(now->price[i] - before[i]) > NEAR * before[i]) return false;
  return true;
}

/// Near the best prices by sweeps alone.
static egraph_status approach(closer *c, eg_layout_eliminated *last) {
  for (uint32_t i = 0; i < MOST_PRICES * c->prices.count && last->found; i++) {
    double before[EG_LAYOUT_MEMORY_ROWS];
    bool moved;
    memcpy(before, c->prices.price, sizeof before);
    EG_TRY(keep_solution(c));
    EG_TRY(move_prices(c, last, &moved));
    if (!moved) break;
    EG_TRY(descend(c, last));
    if (is_over(c) || is_near(&c->prices, before)) break;
  }
  return EGRAPH_OK;
}

/// To the best prices by exact minima.
static egraph_status settle_prices(closer *c, eg_layout_eliminated *last) {
  for (uint32_t i = 0; i < MOST_PRICES * c->prices.count; i++) {
    bool moved;
    if (last->reach != EG_LAYOUT_REACH_ALL || !last->found) break;
    EG_TRY(keep_solution(c));
    EG_TRY(move_prices(c, last, &moved));
    if (!moved) break;
    EG_TRY(minimize(c, last));
    double level = c->prices.level;
    if (is_over(c) || c->search->bound >= level - 1e-9 * fabs(level)) break;
  }
  return EGRAPH_OK;
}

static bool is_priced(const closer *c) {
  for (uint32_t i = 0; i < c->prices.count; i++)
    if (c->prices.price[i] > 0) return true;
  return false;
}

/// Where the bound met a solution, one as cheap may take less memory: the ascent's costs
/// tell them apart.
static egraph_status tidy(closer *c, eg_layout_eliminated *last) {
  const eg_layout_search *search = c->search;
  bool is_closed = search->bound >= eg_layout_search_cutoff(search);
  if (!is_closed || c->active->infeasible || search->clock->stopped || is_priced(c) ||
      search->task->objective != EG_LAYOUT_COST || last->reach == EG_LAYOUT_REACH_ALL)
    return EGRAPH_OK;
  return eg_layout_ascent_eliminate(c->ascent, c->excess, room_above(c), TIDY_ROWS, last);
}

/// Whether what was found last exceeds a limit.
static bool is_beyond(const closer *c, const eg_layout_eliminated *last) {
  return last->found && eg_layout_prices_exceeds(&c->prices, last->sum);
}

/// Solutions near the best one; then prices that go with the better one.
static egraph_status look_near(closer *c, size_t size, eg_layout_eliminated *last) {
  double before = eg_layout_search_value(c->search);
  EG_TRY(eg_layout_neighbours(c->search, c->active, c->ascent, size));
  if (!(eg_layout_search_value(c->search) < before) || is_done(c)) return EGRAPH_OK;
  return descend(c, last);
}

/// Whether the best solution may be near enough the bound for a proof.
static bool is_likely(const closer *c) { return !(room_above(c) > likely_room(c)); }

/// Where no limit binds: solutions near and then farther from the best one; in between a
/// proof, should it be easy.
static egraph_status improve(closer *c, eg_layout_eliminated *last) {
  size_t values = 0;
  for (size_t v = 0; v < c->active->used.len; v++)
    values += c->active->used.data[v];
  EG_TRY(look_near(c, NEAREST, last));
  if (is_over(c) || last->reach == EG_LAYOUT_REACH_ALL) return EGRAPH_OK;
  if (is_likely(c)) EG_TRY(widen(c, MANY_ROWS, last));
  for (size_t size = 2 * NEAREST; size < values; size *= 2) {
    if (is_over(c) || last->reach == EG_LAYOUT_REACH_ALL) break;
    EG_TRY(look_near(c, size, last));
  }
  return EGRAPH_OK;
}

static egraph_status close_gap(closer *c, eg_layout_eliminated *last) {
  EG_TRY(descend(c, last));
  if (is_over(c) || eg_layout_search_wants_bound(c->search)) return EGRAPH_OK;
  if (last->reach != EG_LAYOUT_REACH_ALL && !is_beyond(c, last)) EG_TRY(improve(c, last));
  if (c->prices.count != 0 && !is_over(c)) EG_TRY(approach(c, last));
  if (is_over(c)) return EGRAPH_OK;
  if (last->reach != EG_LAYOUT_REACH_ALL) EG_TRY(widen(c, MOST_ROWS, last));
  if (c->prices.count == 0 || is_over(c)) return EGRAPH_OK;
  if (last->reach == EG_LAYOUT_REACH_ALL) return settle_prices(c, last);
  if (c->search->has_best) return EGRAPH_OK;
  EG_TRY(eg_layout_ascent_find_prices(c->ascent));
  return minimize(c, last);
}

egraph_status eg_layout_close(eg_layout_search *search, eg_layout_active *active,
                              eg_layout_ascent *ascent, eg_layout_excess *excess,
                              eg_layout_pool *pool) {
  closer c = {.search = search,
              .active = active,
              .ascent = ascent,
              .excess = excess,
              .pool = pool};
  eg_layout_prices_init(&c.prices, search, eg_layout_ascent_weights(ascent));
  eg_layout_eliminated last = {.reach = EG_LAYOUT_REACH_NONE};
  egraph_status status = close_gap(&c, &last);
  if (status == EGRAPH_OK) status = tidy(&c, &last);
  eg_layout_prices_deinit(&c.prices);
  return status;
}
