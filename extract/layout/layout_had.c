// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_had.h"

#include <math.h>

#include "base/owner.h"

#define OWNED                                                                            \
  (eg_u32s, users, targets, from, to), (eg_doubles, arc_cost, base, extra, users_cost),  \
      (eg_words, sets), (eg_bytes, dominated), (eg_layout_ways, ways),                   \
      (eg_layout_sets, finder)

// Numbers of layouts and sets are labels, none is one of them.
enum { MOST_SETS = UINT16_MAX, MOST_LAYOUTS = UINT16_MAX };

void eg_layout_had_init(eg_layout_had *h, egraph_allocator alloc) {
  *h = (eg_layout_had){.fits = true};
  EG_INIT_MEMBERS(h, alloc, OWNED)
}

void eg_layout_had_deinit(eg_layout_had *h) { EG_DEINIT_MEMBERS(h, OWNED) }

static const eg_layout_problem *problem_of(const eg_layout_factors *f) {
  return f->view->problem;
}

static void lose(eg_layout_had *h, double cost) {
  h->maker->lost = fmin(h->maker->lost, fmax(cost, 0));
}

static bool has_room(eg_layout_had *h, double cost) {
  if (cost <= h->maker->room) return true;
  lose(h, cost);
  return false;
}

static egraph_status find_users(eg_layout_had *h) {
  const eg_layout_factors *f = h->factors;
  h->users.len = 0;
  for (uint32_t i = f->trees_of.begin.data[h->value];
       i < f->trees_of.begin.data[h->value + 1]; i++) {
    const eg_tree_factor *tree = &f->trees.data[f->trees_of.items.data[i]];
    EG_TRY(eg_u32s_append(&h->users, tree->users, tree->user_count));
  }
  return EGRAPH_OK;
}

static egraph_status find_arcs(eg_layout_had *h) {
  const eg_layout_rows *rows = &h->factors->view->value_arcs;
  const eg_layout_problem *p = problem_of(h->factors);
  uint32_t first = p->place_begin.data[h->value];
  h->from.len = h->to.len = h->arc_cost.len = 0;
  for (uint32_t i = rows->begin.data[h->value]; i < rows->begin.data[h->value + 1]; i++) {
    uint32_t a = rows->items.data[i];
    if (!h->factors->active->arc.data[a] || !has_room(h, h->arc_excess->data[a]))
      continue;
    EG_TRY(eg_u32s_push(&h->from, p->arc_from.data[a] - first));
    EG_TRY(eg_u32s_push(&h->to, p->arc_to.data[a] - first));
    EG_TRY(eg_doubles_push(&h->arc_cost, h->factors->arc_cost.data[a]));
  }
  return EGRAPH_OK;
}

/// Numbers the layouts that users may ask for.
static egraph_status find_targets(eg_layout_had *h) {
  const eg_layout_factors *f = h->factors;
  h->targets.len = 0;
  for (uint32_t l = 0; l < h->layouts; l++) {
    bool is_asked = false;
    for (size_t i = 0; i < h->users.len && !is_asked; i++)
      is_asked = h->asked->data[f->links.data[h->users.data[i]].price + l];
    if (is_asked) EG_TRY(eg_u32s_push(&h->targets, l));
  }
  h->fits = h->targets.len <= EG_LAYOUT_SET_TARGETS && h->layouts <= MOST_LAYOUTS;
  return EGRAPH_OK;
}

/// Price of a layout for a user of the value at hand; INFINITY: it does not ask for it.
double eg_layout_had_price(const eg_layout_had *h, uint32_t link, uint32_t target) {
  uint32_t layout = h->targets.data[target];
  if (!h->asked->data[h->factors->links.data[link].price + layout]) return INFINITY;
  return eg_link_far_price(h->factors, link, layout);
}

double eg_layout_had_price_of_none(const eg_layout_had *h, uint32_t link) {
  return eg_link_far_price(h->factors, link,
                           eg_link_labels(h->factors, &h->factors->links.data[link]) - 1);
}

/// Price of the cheapest label for a user of a value that is had in a set of layouts.
double eg_layout_had_least(const eg_layout_had *h, uint32_t link, eg_layout_set set) {
  double least = eg_layout_had_price_of_none(h, link);
  for (; set != 0; set >>= 8)
    least = fmin(least, eg_layout_had_price(h, link, eg_layout_set_member(set, 0)));
  return least;
}

/// The same with all that it asks for.
static double least_price_of_all(const eg_layout_had *h, uint32_t link) {
  double least = eg_layout_had_price_of_none(h, link);
  for (uint32_t t = 0; t < h->targets.len; t++)
    least = fmin(least, eg_layout_had_price(h, link, t));
  return least;
}

static double price_of_made(const eg_layout_had *h, uint32_t layout) {
  const eg_layout_factors *f = h->factors;
  double price = 0;
  for (uint32_t i = f->trees_of.begin.data[h->value];
       i < f->trees_of.begin.data[h->value + 1]; i++)
    price += eg_link_far_price(f, f->trees.data[f->trees_of.items.data[i]].made, layout);
  return price;
}

/// The cheapest label for every user of a value that is had in a set.
static double users_cost(const eg_layout_had *h, eg_layout_set set) {
  double sum = 0;
  for (size_t i = 0; i < h->users.len; i++)
    sum += eg_layout_had_least(h, h->users.data[i], set);
  return sum;
}

/// A layout is of use to a user that asks for it, each to another one: what that user
/// costs beyond its cheapest label, at least. *out_sum: those labels.
static egraph_status price_targets(eg_layout_had *h, double *out_sum) {
  *out_sum = 0;
  h->extra.len = 0;
  for (uint32_t t = 0; t < h->targets.len; t++)
    EG_TRY(eg_doubles_push(&h->extra, INFINITY));
  for (size_t i = 0; i < h->users.len; i++) {
    uint32_t link = h->users.data[i];
    double least = least_price_of_all(h, link);
    *out_sum += least;
    for (uint32_t t = 0; t < h->targets.len; t++)
      h->extra.data[t] = fmin(h->extra.data[t], eg_layout_had_price(h, link, t) - least);
  }
  return EGRAPH_OK;
}

/// What sets cost at least that are wider than what was looked for.
static double least_of_wide(const eg_layout_had *h) {
  double least = INFINITY;
  for (uint32_t k = 0; k < h->finder.members.len; k++) {
    if (eg_layout_set_count(h->finder.members.data[k]) < EG_LAYOUT_SET_SIZE) continue;
    for (uint32_t l = 0; l < h->finder.layouts; l++)
      least = fmin(least, h->base.data[l] + eg_layout_sets_cost(&h->finder, k, l));
  }
  return least;
}

static egraph_status run_sets(eg_layout_had *h) {
  eg_layout_sets *sets = &h->finder;
  double users;
  EG_TRY(price_targets(h, &users));
  h->base.len = 0;
  for (uint32_t l = 0; l < h->layouts; l++)
    EG_TRY(eg_doubles_push(&h->base, h->made[l] + price_of_made(h, l) - h->least));
  sets->layouts = h->layouts;
  sets->arcs = (uint32_t)h->from.len;
  sets->from = h->from.data;
  sets->to = h->to.data;
  sets->cost = h->arc_cost.data;
  sets->targets = h->targets.data;
  sets->extra = h->extra.data;
  sets->target_count = (uint32_t)h->targets.len;
  sets->base = h->base.data;
  sets->room = h->maker->room - users;
  sets->size = (uint32_t)h->users.len;
  if (sets->size > EG_LAYOUT_SET_SIZE) sets->size = EG_LAYOUT_SET_SIZE;
  sets->most = h->maker->rows < MOST_SETS ? h->maker->rows : MOST_SETS;
  EG_TRY(eg_layout_sets_find(sets));
  lose(h, sets->lost + users);
  if (h->users.len > EG_LAYOUT_SET_SIZE) lose(h, least_of_wide(h) + users);
  return EGRAPH_OK;
}

/// What a state costs in all above the bound; made where making it costs `made`.
static double bound_of_state(const eg_layout_had *h, uint32_t set, uint32_t layout) {
  return h->base.data[layout] + eg_layout_sets_cost(&h->finder, set, layout) +
         h->users_cost.data[set];
}

/// Notes the states of which another set has more and costs no more; it has room when
/// they have.
static egraph_status find_dominated(eg_layout_had *h) {
  const eg_layout_sets *sets = &h->finder;
  uint32_t count = (uint32_t)sets->members.len;
  h->dominated.len = 0;
  EG_TRY(eg_bytes_resize(&h->dominated, (size_t)count * h->layouts));
  for (uint32_t k = 0; k < count; k++) {
    const double *cost = &sets->way.data[(size_t)k * h->layouts];
    for (uint32_t i = 0; i < eg_layout_set_count(sets->members.data[k]); i++) {
      size_t other = (size_t)eg_layout_sets_without(sets, k, i) * h->layouts;
      for (uint32_t l = 0; l < h->layouts; l++)
        h->dominated.data[other + l] |= cost[l] <= sets->way.data[other + l];
    }
  }
  return EGRAPH_OK;
}

/// Ways with the sets that were found, each set numbered when it is first kept.
static egraph_status list_ways(eg_layout_had *h) {
  const eg_words *members = &h->finder.members;
  EG_TRY(find_dominated(h));
  for (uint32_t k = 0; k < members->len; k++) {
    bool is_new = true;
    for (uint32_t l = 0; l < h->layouts; l++) {
      double bound = bound_of_state(h, k, l);
      if (!(bound < INFINITY) || !has_room(h, bound) ||
          h->dominated.data[(size_t)k * h->layouts + l])
        continue;
      if (is_new) EG_TRY(eg_words_push(&h->sets, members->data[k]));
      is_new = false;
      uint32_t set = (uint32_t)h->sets.len - 1;
      EG_TRY(eg_layout_ways_push(&h->ways,
                                 (eg_layout_way){l, set, fmax(bound - h->made[l], 0)}));
    }
  }
  return EGRAPH_OK;
}

/// The way not to have the value.
static egraph_status add_nothing(eg_layout_had *h) {
  double cost = price_of_made(h, h->layouts) + users_cost(h, 0) - h->least;
  if (!(cost + h->made[h->layouts] < INFINITY)) return EGRAPH_OK;
  EG_TRY(eg_words_push(&h->sets, 0));
  uint32_t set = (uint32_t)h->sets.len - 1;
  return eg_layout_ways_push(&h->ways, (eg_layout_way){h->layouts, set, fmax(cost, 0)});
}

static egraph_status solve_trees(eg_layout_had *h) {
  const eg_layout_rows *rows = &h->factors->trees_of;
  h->least = 0;
  for (uint32_t i = rows->begin.data[h->value]; i < rows->begin.data[h->value + 1]; i++) {
    double least;
    EG_TRY(eg_factor_tree(h->factors, rows->items.data[i], &least));
    h->least += least;
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_had_find(eg_layout_had *h, uint32_t value, const double *made) {
  h->value = value;
  h->layouts = eg_layout_layout_count(problem_of(h->factors), value);
  h->made = made;
  h->sets.len = h->ways.len = h->users_cost.len = 0;
  EG_TRY(find_users(h));
  EG_TRY(find_arcs(h));
  EG_TRY(find_targets(h));
  if (!h->fits) return EGRAPH_OK;
  EG_TRY(solve_trees(h));
  EG_TRY(run_sets(h));
  for (uint32_t k = 0; k < h->finder.members.len; k++)
    EG_TRY(eg_doubles_push(&h->users_cost, users_cost(h, h->finder.members.data[k])));
  EG_TRY(list_ways(h));
  return add_nothing(h);
}
