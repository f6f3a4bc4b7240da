// Large neighbourhood search (Shaw 1998) finds better solutions; elimination proves that
// there is none within some room above the bound. Limited measures have prices: at all
// prices, the minimum of the cost plus priced measures, less limits times prices, is a
// lower bound of the cost, and elimination finds this minimum exactly. Every minimum is a
// cut that gives the next prices (layout_prices.h); the prices are optimal when the next
// minimum is no lower than the cuts allow.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_gap.h"

#include <math.h>

// ---- windows ------------------------------------------------------------------------
//
// In a window, values that are close to each other are free and all others keep their
// strategies; ascent and elimination search it as a problem of its own. A window grows
// from a seed over operators and ties. A value that is neither free nor used by a free
// value keeps the arcs of the best solution, too. So passes of the ascent are quick, and
// a few are enough: its prices are good already.

enum { WINDOW_PASSES = 10, WINDOW_ROWS = 1 << 10 };

typedef struct neighbours {
  eg_layout_search *search;
  const eg_layout_active *active;
  eg_layout_ascent *ascent;
  const eg_layout_factors *factors;
  eg_u32s window;          // values, nearest to the seed first
  eg_bytes inside, beside; // [value] in the window; in it or used by a value in it
  eg_bytes covered;        // [value] near the seed of a window of this round
  eg_u32s before;          // [value] strategy before a window was searched
  eg_u32s changed;         // [value] number of the last window that changed the value
  eg_u32s searched;        // [value] number of the last window that grew from the value
  uint32_t number;         // number of windows so far
  eg_layout_active part;
  eg_layout_excess excess;
} neighbours;

static egraph_status enter_window(neighbours *n, uint32_t value) {
  assert(value < n->inside.len);
  if (n->inside.data[value] || !n->active->used.data[value]) return EGRAPH_OK;
  n->inside.data[value] = 1;
  return eg_u32s_push(&n->window, value);
}

/// Extends the window by the inputs of a value's operators, the values whose operators
/// use it, and the values tied to it.
static egraph_status spread_window(neighbours *n, uint32_t value) {
  const eg_layout_factors *f = n->factors;
  EG_EACH_ITEM(number, f->links_of, value) {
    const eg_link *link = &f->links.data[number];
    if (link->kind == EG_LINK_USE) EG_TRY(enter_window(n, link->value));
    if (link->kind != EG_LINK_TIE) continue;
    EG_EACH_ITEM(other, f->links_of_tie, link->far)
      EG_TRY(enter_window(n, f->links.data[other].value));
  }
  EG_EACH_ITEM(t, f->trees_of, value) {
    const eg_tree_factor *tree = &f->trees.data[t];
    for (uint32_t u = 0; u < tree->user_count; u++) {
      uint32_t user = f->links.data[tree->users[u]].producers;
      if (user != EG_LAYOUT_NONE) EG_TRY(enter_window(n, user));
    }
  }
  return EGRAPH_OK;
}

static egraph_status find_window(neighbours *n, uint32_t seed, size_t size) {
  const eg_layout_factors *f = n->factors;
  memset(n->inside.data, 0, n->inside.len);
  n->window.len = 0;
  EG_TRY(enter_window(n, seed));
  for (size_t i = 0; i < n->window.len && n->window.len < size; i++)
    EG_TRY(spread_window(n, n->window.data[i]));
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

/// True when no search began at this seed yet, or a value near it has changed since.
static bool is_new(const neighbours *n, uint32_t seed) {
  if (n->searched.data[seed] == 0) return true;
  for (size_t v = 0; v < n->beside.len; v++)
    if (n->beside.data[v] && n->changed.data[v] > n->searched.data[seed]) return true;
  return false;
}

static void restrict_part(neighbours *n) {
  assert(n->search->has_best);
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

static egraph_status search_window(neighbours *n, uint32_t seed) {
  assert(n->search->has_best);
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
  for (size_t v = 0; v < n->before.len; v++)
    if (search->best.strategy.data[v] != n->before.data[v])
      n->changed.data[v] = n->number;
  return status;
}

/// Searches windows (values near a seed) whose inner halves cover all values;
/// *out_searched: some windows were new.
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

static void neighbours_deinit(neighbours *n) {
  EG_DEINIT_MEMBERS(n, OWNED)
  eg_layout_active_deinit(&n->part);
}

egraph_status eg_layout_neighbours(eg_layout_search *search,
                                   const eg_layout_active *active,
                                   eg_layout_ascent *ascent, size_t size) {
  size_t values = active->used.len;
  if (!search->has_best) return EGRAPH_OK;
  EG_OWNED(neighbours, n);
  EG_INIT_MEMBERS(&n, search->alloc, OWNED)
  n.search = search;
  n.active = active;
  n.ascent = ascent;
  n.factors = eg_layout_ascent_factors(ascent);
  EG_TRY(eg_layout_active_init(&n.part, search->alloc, search->view));
  eg_layout_active_copy(&n.part, active);
  EG_TRY(eg_u32s_resize(&n.before, values));
  EG_TRY(eg_u32s_resize(&n.changed, values));
  EG_TRY(eg_u32s_resize(&n.searched, values));
  EG_TRY(eg_bytes_resize(&n.inside, values));
  EG_TRY(eg_bytes_resize(&n.beside, values));
  EG_TRY(eg_bytes_resize(&n.covered, values));
  for (bool searched = true; searched;)
    EG_TRY(search_round(&n, size, &searched));
  return EGRAPH_OK;
}

// ---- sweeps and proofs --------------------------------------------------------------

enum { MOST_PRICES = 10 };
enum { NEAREST = 40 };           // values of the smallest windows
static const double NEAR = 0.02; // relative difference of a price
static const double LIKELY_GAP = 0.02;
// Limits of eliminations.
enum {
  SWEEP_ROWS = 1 << 10,
  MOST_DOUBLINGS = 4, // doublings of the room of sweeps
  FIRST_ROOM = 64,
  FEWEST_ROWS = 1 << 12,
  MOST_ROWS = 1 << 22
};
enum { TIDY_ROWS = 1 << 16 };
// With so many rows in a relation, the limit of cost above the bound grows slowly.
enum { MANY_ROWS = 1 << 16 };
static const double FINE_STEP = 1.25;

typedef struct closer {
  eg_layout_search *search;
  eg_layout_active *active;
  eg_layout_ascent *ascent;
  eg_layout_excess *excess;
  eg_layout_pool *pool;
  eg_layout_prices *prices;  // prices of the ascent
  eg_layout_eliminated last; // elimination; reach NONE: none since the last ascent
} closer;

double eg_layout_delete_costly(eg_layout_search *search, eg_layout_active *active,
                               const eg_layout_excess *excess) {
  assert(excess->strategy.len == active->strategy.len);
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

static bool is_gap_closed(const closer *c) {
  return c->search->bound >= eg_layout_search_cutoff(c->search);
}

static bool is_over(const closer *c) {
  return c->active->infeasible || is_gap_closed(c) || eg_layout_search_stop(c->search);
}

/// True when the least cost at the ascent's memory prices is known.
static bool is_exact(const closer *c) { return c->last.reach == EG_LAYOUT_REACH_ALL; }

static egraph_status eliminate_within(closer *c, double room, uint32_t rows) {
  assert(room >= 0 && rows >= 1);
  return eg_layout_ascent_eliminate(c->ascent, c->excess, room, rows, &c->last);
}

/// Returns how far above the last ascent's bound solutions no dearer than the best may
/// be, plus the rounding error of a bound. Before there is a solution it returns a guess.
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

/// Returns room_above, but at most the usual distance of an ascent's bound from
/// the optimum.
static double likely_room(const closer *c) {
  double room = room_above(c), likely = LIKELY_GAP * fabs(c->excess->bound);
  return likely > 0 && likely < room ? likely : room;
}

/// Finds good solutions: eliminates with a high limit of cost above the bound, keeping
/// the cheapest rows, and raises the limit while there is no solution.
static egraph_status sweep_rooms(closer *c) {
  double room = likely_room(c) / 2;
  for (int more = MOST_DOUBLINGS;; room *= 2, more--) {
    EG_TRY(eliminate_within(c, room, SWEEP_ROWS));
    if (is_exact(c) || is_over(c)) return EGRAPH_OK;
    if (c->last.found || more == 0 || !(room < room_above(c))) break;
  }
  return c->last.reach == EG_LAYOUT_REACH_ROWS ? eliminate_within(c, room, FEWEST_ROWS)
                                               : EGRAPH_OK;
}

/// Proves a bound by eliminations, with a low limit of cost above the bound at first,
/// then higher ones, and with at most `most` rows.
static egraph_status widen_room(closer *c, uint32_t most) {
  eg_layout_search *search = c->search;
  double known = search->bound - c->excess->bound;
  double room = fmax(likely_room(c) / FIRST_ROOM, 2 * known);
  for (uint32_t rows = FEWEST_ROWS; rows <= most && !is_over(c);) {
    double before = eg_layout_search_value(search);
    if (search->has_best) room = fmin(room, room_above(c));
    EG_TRY(eliminate_within(c, room, rows));
    if (is_exact(c) || c->last.reach == EG_LAYOUT_REACH_NONE) break;
    if (c->last.reach == EG_LAYOUT_REACH_ROOM)
      room = (rows < MANY_ROWS ? 2 : FINE_STEP) *
             fmax(room, search->bound - c->excess->bound);
    else if (!(eg_layout_search_value(search) < before))
      rows *= 4;
  }
  return EGRAPH_OK;
}

/// Runs the ascent, then searches solutions by eliminations at its prices of memory.
static egraph_status descend(closer *c) {
  bool any;
  c->last.reach = EG_LAYOUT_REACH_NONE;
  c->last.found = false;
  EG_TRY(eg_layout_ascent_climb(c->ascent, EG_LAYOUT_MOST_PASSES, c->excess, &any));
  c->active->infeasible = !any;
  if (is_over(c)) return EGRAPH_OK;
  if (eg_layout_search_wants_bound(c->search)) {
    // Keeps few rows at first, because many rows take too long in wide problems.
    EG_TRY(eliminate_within(c, room_above(c), SWEEP_ROWS));
    return is_over(c) ? EGRAPH_OK : eliminate_within(c, room_above(c), MANY_ROWS);
  }
  EG_TRY(sweep_rooms(c));
  (void)eg_layout_delete_costly(c->search, c->active, c->excess);
  return EGRAPH_OK;
}

/// Finds the least cost at the ascent's memory prices, if ascent and elimination can.
static egraph_status minimize_at_prices(closer *c) {
  EG_TRY(descend(c));
  return is_over(c) || is_exact(c) ? EGRAPH_OK : widen_room(c, MOST_ROWS);
}

// ---- prices -------------------------------------------------------------------------

/// Adds the last choice to the pool and as a cut; *out_moved: the prices changed.
static egraph_status move_prices(closer *c, bool *out_moved) {
  const eg_u32s *strategy = &c->search->trial.strategy;
  EG_TRY(eg_bytes_resize(&c->pool->strategy, c->excess->strategy.len));
  c->pool->solutions++;
  for (size_t v = 0; v < strategy->len; v++)
    if (strategy->data[v] != EG_LAYOUT_NONE)
      c->pool->strategy.data[strategy->data[v]] = 1;
  EG_TRY(eg_layout_prices_next(c->prices, c->last.sum, out_moved));
  eg_layout_ascent_set_prices(c->ascent, c->prices->price);
  return EGRAPH_OK;
}

/// Approaches the best memory prices by sweep_rooms alone, without exact least costs.
static egraph_status approach_prices(closer *c) {
  for (uint32_t i = 0; i < MOST_PRICES * c->prices->count && c->last.found; i++) {
    double before[EG_LAYOUT_MEMORY_ROWS];
    bool moved, is_near = true;
    memcpy(before, c->prices->price, sizeof before);
    EG_TRY(move_prices(c, &moved));
    if (!moved) break;
    EG_TRY(descend(c));
    for (uint32_t k = 0; k < c->prices->count; k++)
      is_near = is_near && fabs(c->prices->price[k] - before[k]) <= NEAR * before[k];
    if (is_over(c) || is_near) break;
  }
  return EGRAPH_OK;
}

/// Finds the best prices of memory by exact least costs at each tried price.
static egraph_status settle_prices(closer *c) {
  for (uint32_t i = 0; i < MOST_PRICES * c->prices->count; i++) {
    bool moved;
    if (!is_exact(c) || !c->last.found) break;
    EG_TRY(move_prices(c, &moved));
    if (!moved) break;
    EG_TRY(minimize_at_prices(c));
    double level = c->prices->level;
    if (is_over(c) || c->search->bound >= level - 1e-9 * fabs(level)) break;
  }
  return EGRAPH_OK;
}

/// Searches for less memory at equal cost. If the bound has met a solution, another
/// solution of the same cost may take less memory, which the ascent's costs include at a
/// low price.
static egraph_status save_memory(closer *c) {
  const eg_layout_search *search = c->search;
  bool is_priced = false;
  for (uint32_t i = 0; i < c->prices->count; i++)
    is_priced = is_priced || c->prices->price[i] > 0;
  if (!is_gap_closed(c) || c->active->infeasible || search->clock->stopped || is_priced ||
      search->task->objective != EG_LAYOUT_COST || is_exact(c))
    return EGRAPH_OK;
  return eliminate_within(c, room_above(c), TIDY_ROWS);
}

// ---- the whole ----------------------------------------------------------------------

/// Searches near the best solution; runs the ascent again if this found a better one.
static egraph_status search_near(closer *c, size_t size) {
  double before = eg_layout_search_value(c->search);
  EG_TRY(eg_layout_neighbours(c->search, c->active, c->ascent, size));
  return !(eg_layout_search_value(c->search) < before) || is_over(c) ? EGRAPH_OK
                                                                     : descend(c);
}

/// Searches near and then farther from the best solution, when no limit binds. In between
/// it tries a proof, if the bound is near enough.
static egraph_status improve_nearby(closer *c) {
  size_t values = eg_layout_active_values(c->active);
  EG_TRY(search_near(c, NEAREST));
  if (is_over(c) || is_exact(c)) return EGRAPH_OK;
  if (!(room_above(c) > likely_room(c))) EG_TRY(widen_room(c, MANY_ROWS));
  for (size_t size = 2 * NEAREST; size < values; size *= 2) {
    if (is_over(c) || is_exact(c)) break;
    EG_TRY(search_near(c, size));
  }
  return EGRAPH_OK;
}

static egraph_status close_gap(closer *c) {
  EG_TRY(descend(c));
  if (is_over(c) || eg_layout_search_wants_bound(c->search)) return EGRAPH_OK;
  bool exceeds = c->last.found && eg_layout_prices_exceeds(c->prices, c->last.sum);
  if (!is_exact(c) && !exceeds) EG_TRY(improve_nearby(c));
  if (c->prices->count != 0 && !is_over(c)) EG_TRY(approach_prices(c));
  if (is_over(c)) return EGRAPH_OK;
  if (!is_exact(c)) EG_TRY(widen_room(c, MOST_ROWS));
  if (c->prices->count == 0 || is_over(c)) return EGRAPH_OK;
  if (is_exact(c)) return settle_prices(c);
  if (c->search->has_best) return EGRAPH_OK;
  EG_TRY(eg_layout_ascent_find_prices(c->ascent));
  return minimize_at_prices(c);
}

egraph_status eg_layout_close_gap(eg_layout_search *search, eg_layout_active *active,
                                  eg_layout_ascent *ascent, eg_layout_excess *excess,
                                  eg_layout_pool *pool) {
  EG_OWNED(eg_layout_prices, prices);
  eg_layout_prices_init(&prices, search, eg_layout_ascent_weights(ascent));
  closer c = {.search = search,
              .active = active,
              .ascent = ascent,
              .excess = excess,
              .pool = pool,
              .prices = &prices,
              .last = {.reach = EG_LAYOUT_REACH_NONE}};
  EG_TRY(close_gap(&c));
  return save_memory(&c);
}
