// A limited measure has a price. The sum of cost and price, less the limit times the
// price, bounds the cost from below at every price, and elimination finds its minimum
// exactly. Two solutions, one that keeps the limit and one that does not, give the next
// price: the one at which they cost the same (Lagrangian dual by cutting planes; Held and
// Karp 1971, Kelley 1960). Where the next minimum is no lower than theirs, the price is
// the best.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_close.h"

#include <math.h>

enum { ROUNDS = 4, MOST_PRICES = 10 };
// Of eliminations: a share of the room there is; rows.
enum { FIRST_ROOM = 64, FEWEST_ROWS = 1 << 12, MOST_ROWS = 1 << 22 };
// Where so many rows are needed, more room costs much.
enum { MANY_ROWS = 1 << 16 };
static const double FINE_STEP = 1.25;

typedef struct closer {
  eg_layout_search *search;
  eg_layout_active *active;
  eg_layout_ascent *ascent;
  eg_layout_excess *excess;
  eg_layout_pool *pool;
} closer;

double eg_layout_delete_costly(const eg_layout_search *search, eg_layout_active *active,
                               const eg_layout_excess *excess) {
  double room = eg_layout_search_cutoff(search) - excess->bound;
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

/// Above the last ascent's bound, in which better solutions lie, with what rounding may
/// take from a bound; before there is a solution a guess.
static double room_above(const closer *c) {
  double cutoff = eg_layout_search_cutoff(c->search);
  double room = cutoff - c->excess->bound + EG_LAYOUT_TOLERANCE * fabs(cutoff);
  if (isfinite(room)) return fmax(room, 0);
  room = fabs(c->excess->bound);
  for (size_t s = 0; s < c->excess->strategy.len; s++)
    if (c->excess->strategy.data[s] < INFINITY)
      room = fmax(room, c->excess->strategy.data[s]);
  return room;
}

/// Good solutions: the cheapest rows of much room.
static egraph_status sweep(closer *c, eg_layout_eliminated *last) {
  static const uint32_t ROWS[] = {1 << 10, 1 << 12};
  last->reach = EG_LAYOUT_REACH_ROWS;
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    if (last->reach != EG_LAYOUT_REACH_ROWS || is_done(c)) break;
    EG_TRY(eg_layout_ascent_eliminate(c->ascent, c->excess, room_above(c) / 2, ROWS[i],
                                      last));
  }
  return EGRAPH_OK;
}

/// Proof: little room at first, then more, with as many rows as it takes.
static egraph_status widen(closer *c, eg_layout_eliminated *last) {
  eg_layout_search *search = c->search;
  double known = search->bound - c->excess->bound;
  double room = fmax(room_above(c) / FIRST_ROOM, 2 * known);
  for (uint32_t rows = FEWEST_ROWS; rows <= MOST_ROWS && !is_done(c);) {
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

/// The minimum at the ascent's price, as far as ascent and elimination go.
static egraph_status minimize(closer *c, eg_layout_eliminated *last) {
  bool any, better = true;
  last->reach = EG_LAYOUT_REACH_NONE;
  for (int round = 0; better && round < ROUNDS; round++) {
    double before = eg_layout_search_value(c->search);
    EG_TRY(eg_layout_ascent_climb(c->ascent, c->excess, &any));
    c->active->infeasible = !any;
    if (!any || is_done(c)) return EGRAPH_OK;
    EG_TRY(sweep(c, last));
    better = eg_layout_search_value(c->search) < before;
    (void)eg_layout_delete_costly(c->search, c->active, c->excess);
    if (last->reach == EG_LAYOUT_REACH_ALL || is_done(c)) return EGRAPH_OK;
  }
  return widen(c, last);
}

static egraph_status keep_solution(closer *c) {
  EG_TRY(eg_bytes_resize(&c->pool->strategy, c->excess->strategy.len));
  c->pool->solutions++;
  for (size_t v = 0; v < c->search->trial.strategy.len; v++) {
    uint32_t s = c->search->trial.strategy.data[v];
    if (s != EG_LAYOUT_NONE) c->pool->strategy.data[s] = 1;
  }
  return EGRAPH_OK;
}

/// A solution's cost and what it uses of the limited measure.
typedef struct trade {
  double cost, used;
} trade;

static egraph_status find_price(closer *c, int limited, eg_layout_eliminated *last) {
  const eg_layout_search *search = c->search;
  int objective = (int)search->task->objective;
  double limit = search->task->limit[limited];
  trade over = {-INFINITY, INFINITY}, within = {INFINITY, 0};
  for (int i = 0; i < MOST_PRICES; i++) {
    if (last->reach != EG_LAYOUT_REACH_ALL || !last->found) return EGRAPH_OK;
    EG_TRY(keep_solution(c));
    trade now = {last->sum[objective], last->sum[limited]};
    if (now.used <= limit)
      within = now;
    else
      over = now;
    if (search->has_best && search->best.sum[objective] < within.cost)
      within = (trade){search->best.sum[objective], search->best.sum[limited]};
    if (isinf(within.cost) || isinf(over.used) || !(over.cost < within.cost))
      return EGRAPH_OK;
    double price = (within.cost - over.cost) / (over.used - within.used);
    eg_layout_ascent_set_price(c->ascent, price);
    EG_TRY(minimize(c, last));
    if (c->active->infeasible || is_done(c)) return EGRAPH_OK;
    double both = over.cost + price * (over.used - limit);
    if (search->bound >= both - 1e-9 * fabs(both)) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_close(eg_layout_search *search, eg_layout_active *active,
                              eg_layout_ascent *ascent, eg_layout_excess *excess,
                              eg_layout_pool *pool) {
  closer c = {search, active, ascent, excess, pool};
  eg_layout_eliminated last = {.reach = EG_LAYOUT_REACH_NONE};
  int limited = eg_layout_ascent_limited(ascent);
  EG_TRY(minimize(&c, &last));
  if (limited < 0 || active->infeasible || is_done(&c)) return EGRAPH_OK;
  if (last.reach == EG_LAYOUT_REACH_ALL) return find_price(&c, limited, &last);
  EG_TRY(eg_layout_ascent_find_price(ascent));
  return minimize(&c, &last);
}
