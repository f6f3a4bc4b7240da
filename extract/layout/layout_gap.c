// Limited measures have prices. The sum of cost and priced measures, less limits times
// prices, bounds the cost from below at all prices, and elimination finds its minimum
// exactly: a cut, which tells the next prices (layout_prices.h). Where the next minimum
// is no lower than what the cuts allow, the prices are the best.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_gap.h"

#include <math.h>

#include "base/owner.h"

EG_OWNER_DEFINE(eg_layout_pool, (eg_bytes, strategy))

// ---- windows ------------------------------------------------------------------------
//
// A window grows from a seed over operators and ties. Where nothing is free, of a value
// or of what its operators use, the arcs of the best solution are kept too, so that
// passes of the ascent are quick; its prices are good ones already, and few passes will
// do.

enum { WINDOW_PASSES = 10, WINDOW_ROWS = 1 << 10 };

typedef struct neighbours {
  eg_layout_search *search;
  const eg_layout_active *active;
  eg_layout_ascent *ascent;
  const eg_layout_factors *factors;
  eg_u32s window;          // values, nearest to the seed first
  eg_bytes inside, beside; // [value] in the window; in it or used by one that is
  eg_bytes covered;        // [value] near the seed of a window of this round
  eg_u32s before;          // [value] strategy before a window was searched
  eg_u32s changed;         // [value] number of the window that changed it last
  eg_u32s searched;        // [value] of the last window that grew from it
  uint32_t number;         // of windows so far
  eg_layout_active part;
  eg_layout_excess excess;
} neighbours;

static egraph_status enter(neighbours *n, uint32_t value) {
  if (n->inside.data[value] || !n->active->used.data[value]) return EGRAPH_OK;
  n->inside.data[value] = 1;
  return eg_u32s_push(&n->window, value);
}

static egraph_status spread_over_tie(neighbours *n, uint32_t tie) {
  const eg_layout_factors *f = n->factors;
  for (uint32_t i = f->links_of_tie.begin.data[tie];
       i < f->links_of_tie.begin.data[tie + 1]; i++)
    EG_TRY(enter(n, f->links.data[f->links_of_tie.items.data[i]].value));
  return EGRAPH_OK;
}

/// To what the operators of a value use, whose operators use it, and what it is tied to.
static egraph_status spread(neighbours *n, uint32_t value) {
  const eg_layout_factors *f = n->factors;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    const eg_link *link = &f->links.data[f->links_of.items.data[i]];
    if (link->kind == EG_LINK_USE) EG_TRY(enter(n, link->value));
    if (link->kind == EG_LINK_TIE) EG_TRY(spread_over_tie(n, link->far));
  }
  for (uint32_t i = f->trees_of.begin.data[value]; i < f->trees_of.begin.data[value + 1];
       i++) {
    const eg_tree_factor *tree = &f->trees.data[f->trees_of.items.data[i]];
    for (uint32_t u = 0; u < tree->user_count; u++) {
      uint32_t user = f->links.data[tree->users[u]].producers;
      if (user != EG_LAYOUT_NONE) EG_TRY(enter(n, user));
    }
  }
  return EGRAPH_OK;
}

static egraph_status find_window(neighbours *n, uint32_t seed, size_t size) {
  const eg_layout_factors *f = n->factors;
  memset(n->inside.data, 0, n->inside.len);
  n->window.len = 0;
  EG_TRY(enter(n, seed));
  for (size_t i = 0; i < n->window.len && n->window.len < size; i++)
    EG_TRY(spread(n, n->window.data[i]));
  for (size_t i = 0; 2 * i < n->window.len; i++)
    n->covered.data[n->window.data[i]] = 1;
  memcpy(n->beside.data, n->inside.data, n->inside.len);
  for (uint32_t i = 0; i < f->links.len; i++) {
    const eg_link *link = &f->links.data[i];
    if (link->kind == EG_LINK_USE && n->inside.data[link->producers])
      n->beside.data[link->value] = 1;
  }
  return EGRAPH_OK;
}

/// Whether a window from this seed may give what it did not give the last time.
static bool is_new(const neighbours *n, uint32_t seed) {
  if (n->searched.data[seed] == 0) return true;
  for (size_t v = 0; v < n->beside.len; v++)
    if (n->beside.data[v] && n->changed.data[v] > n->searched.data[seed]) return true;
  return false;
}

static void restrict_part(neighbours *n) {
  const eg_layout_search *search = n->search;
  const eg_layout_view *view = search->view;
  const eg_layout_active *all = n->active;
  for (uint32_t s = 0; s < all->strategy.len; s++) {
    uint32_t value = view->value_of.data[s], best = search->best.strategy.data[value];
    bool is_free =
        n->inside.data[value] || best == EG_LAYOUT_NONE || !all->strategy.data[best];
    n->part.strategy.data[s] = all->strategy.data[s] && (is_free || s == best);
  }
  for (uint32_t a = 0; a < all->arc.len; a++) {
    bool is_free = n->beside.data[view->arc_value.data[a]];
    n->part.arc.data[a] = all->arc.data[a] && (is_free || search->best.arc_used.data[a]);
  }
}

static egraph_status search_part(neighbours *n) {
  eg_layout_search *search = n->search;
  eg_layout_eliminated ignored;
  bool any;
  EG_TRY(eg_layout_ascent_climb(n->ascent, WINDOW_PASSES, &n->excess, &any));
  double cutoff = eg_layout_search_cutoff(search);
  if (!any || search->bound >= cutoff || eg_layout_search_stop(search)) return EGRAPH_OK;
  return eg_layout_ascent_eliminate(
      n->ascent, &n->excess, fmax(cutoff - n->excess.bound, 0), WINDOW_ROWS, &ignored);
}

/// Notes the values whose strategies are not what they were before the window.
static void note_changes(neighbours *n) {
  for (size_t v = 0; v < n->before.len; v++)
    if (n->search->best.strategy.data[v] != n->before.data[v])
      n->changed.data[v] = n->number;
}

static egraph_status search_window(neighbours *n, uint32_t seed) {
  eg_layout_search *search = n->search;
  double cut = search->cut;
  search->whole = search->bound;
  n->searched.data[seed] = ++n->number;
  memcpy(n->before.data, search->best.strategy.data,
         n->before.len * sizeof *n->before.data);
  restrict_part(n);
  EG_TRY(eg_layout_ascent_restrict(n->ascent, &n->part));
  egraph_status status = search_part(n);
  eg_layout_ascent_release(n->ascent);
  search->bound = search->whole;
  search->whole = INFINITY;
  search->cut = cut;
  note_changes(n);
  return status;
}

/// Windows that cover all values with their inner halves; *out_searched: some were new.
static egraph_status search_round(neighbours *n, size_t size, bool *out_searched) {
  *out_searched = false;
  memset(n->covered.data, 0, n->covered.len);
  for (uint32_t v = 0; v < n->covered.len && !eg_layout_search_stop(n->search); v++) {
    if (!n->active->used.data[v] || n->covered.data[v]) continue;
    EG_TRY(find_window(n, v, size));
    if (!is_new(n, v)) continue;
    EG_TRY(search_window(n, v));
    *out_searched = true;
  }
  return EGRAPH_OK;
}

#define OWNED                                                                            \
  (eg_u32s, window, before, changed, searched), (eg_bytes, inside, beside, covered),     \
      (eg_layout_excess, excess)

static egraph_status size_lists(neighbours *n) {
  size_t values = n->active->used.len;
  eg_layout_active_copy(&n->part, n->active);
  EG_TRY(eg_u32s_resize(&n->before, values));
  EG_TRY(eg_u32s_resize(&n->changed, values));
  EG_TRY(eg_u32s_resize(&n->searched, values));
  EG_TRY(eg_bytes_resize(&n->inside, values));
  EG_TRY(eg_bytes_resize(&n->beside, values));
  return eg_bytes_resize(&n->covered, values);
}

egraph_status eg_layout_neighbours(eg_layout_search *search,
                                   const eg_layout_active *active,
                                   eg_layout_ascent *ascent, size_t size) {
  neighbours n = {.search = search,
                  .active = active,
                  .ascent = ascent,
                  .factors = eg_layout_ascent_factors(ascent)};
  if (!search->has_best) return EGRAPH_OK;
  EG_TRY(eg_layout_active_init(&n.part, search->alloc, search->view));
  EG_INIT_MEMBERS(&n, search->alloc, OWNED)
  egraph_status status = size_lists(&n);
  for (bool searched = true; status == EGRAPH_OK && searched;)
    status = search_round(&n, size, &searched);
  EG_DEINIT_MEMBERS(&n, OWNED)
  eg_layout_active_deinit(&n.part);
  return status;
}

// ---- sweeps and proofs --------------------------------------------------------------

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

egraph_status eg_layout_close_gap(eg_layout_search *search, eg_layout_active *active,
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
