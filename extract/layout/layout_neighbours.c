// A window grows from a seed over operators and ties. Where nothing is free, of a value
// or of what its operators use, the arcs of the best solution are kept too, so that
// passes of the ascent are quick; its prices are good ones already, and few passes will
// do.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_neighbours.h"

#define NONE EG_LAYOUT_NONE

enum { PASSES = 10, ROWS = 1 << 10 };

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

// ---- windows ------------------------------------------------------------------------

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
      if (user != NONE) EG_TRY(enter(n, user));
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

// ---- search -------------------------------------------------------------------------

static void restrict_part(neighbours *n) {
  const eg_layout_search *search = n->search;
  const eg_layout_view *view = search->view;
  const eg_layout_active *all = n->active;
  for (uint32_t s = 0; s < all->strategy.len; s++) {
    uint32_t value = view->value_of.data[s], best = search->best.strategy.data[value];
    bool is_free = n->inside.data[value] || best == NONE || !all->strategy.data[best];
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
  EG_TRY(eg_layout_ascent_climb(n->ascent, PASSES, &n->excess, &any));
  double cutoff = eg_layout_search_cutoff(search);
  if (!any || search->bound >= cutoff || eg_layout_search_stop(search)) return EGRAPH_OK;
  return eg_layout_ascent_eliminate(n->ascent, &n->excess,
                                    fmax(cutoff - n->excess.bound, 0), ROWS, &ignored);
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

// ---- the whole ----------------------------------------------------------------------

#define EACH_U32S(X) X(window) X(before) X(changed) X(searched)
#define EACH_BYTES(X) X(inside) X(beside) X(covered)

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
#define INIT_U32S(field) eg_u32s_init(&n.field, search->alloc);
#define INIT_BYTES(field) eg_bytes_init(&n.field, search->alloc);
  EACH_U32S(INIT_U32S)
  EACH_BYTES(INIT_BYTES)
  eg_doubles_init(&n.excess.strategy, search->alloc);
  eg_doubles_init(&n.excess.arc, search->alloc);
  egraph_status status = size_lists(&n);
  for (bool searched = true; status == EGRAPH_OK && searched;)
    status = search_round(&n, size, &searched);
#define DEINIT_U32S(field) eg_u32s_deinit(&n.field);
#define DEINIT_BYTES(field) eg_bytes_deinit(&n.field);
  EACH_U32S(DEINIT_U32S)
  EACH_BYTES(DEINIT_BYTES)
  eg_doubles_deinit(&n.excess.arc);
  eg_doubles_deinit(&n.excess.strategy);
  eg_layout_active_deinit(&n.part);
  return status;
}
