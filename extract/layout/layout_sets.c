// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_sets.h"

#include <math.h>

#include "base/hash.h"

// ---- layout sets --------------------------------------------------------------------
//
// Sets grow by one target at a time. A set costs at least as much as each of its subsets;
// therefore a set is left out when a subset was left out.

static bool has_members(const void *user, uint32_t id, const void *key) {
  const eg_layout_sets *s = user;
  return s->members.data[id] == *(const eg_layout_set *)key;
}

static bool find_set(const eg_layout_sets *s, eg_layout_set set, uint32_t *out) {
  return eg_flatmap_find(&s->index, eg_hash_mix(set), &set, has_members, s, out);
}

/// Returns the members of a set at the positions in a mask.
static eg_layout_set part_of(eg_layout_set set, uint32_t positions) {
  eg_layout_set part = 0;
  for (uint32_t i = 0, shift = 0; positions >> i != 0; i++) {
    if (!(positions >> i & 1)) continue;
    part |= (set >> 8 * i & 255) << shift;
    shift += 8;
  }
  return part;
}

static double *ways_of(const eg_layout_sets *s, size_t set) {
  return s->way.data + set * s->layouts;
}

/// Lowers the cost of reaching a set from a layout by an arc to another layout.
static void relax_set_ways(const eg_layout_sets *s, double *way) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t a = 0; a < s->arcs; a++) {
      double through = s->cost[a] + way[s->to[a]];
      if (!(through < way[s->from[a]])) continue;
      way[s->from[a]] = through;
      changed = true;
    }
  }
}

/// Joins the arborescences to two parts of a set in a common layout; false when a part
/// was left out.
static bool join_parts(const eg_layout_sets *s, eg_layout_set set, double *way) {
  uint32_t all = (UINT32_C(1) << eg_layout_set_count(set)) - 1, a, b;
  // The first member is in the complement
  for (uint32_t part = 2; part < all; part += 2) {
    if (!find_set(s, part_of(set, part), &a) ||
        !find_set(s, part_of(set, all ^ part), &b))
      return false;
    const double *one = ways_of(s, a), *other = ways_of(s, b);
    for (uint32_t l = 0; l < s->layouts; l++)
      if (one[l] + other[l] < way[l]) way[l] = one[l] + other[l];
  }
  return true;
}

static double least_cost(const eg_layout_sets *s, eg_layout_set set, const double *way) {
  double least = INFINITY, extra = 0;
  for (; set != 0; set >>= 8)
    extra += s->extra[eg_layout_set_member(set, 0)];
  for (uint32_t l = 0; l < s->layouts; l++)
    if (s->base[l] + way[l] < least) least = s->base[l] + way[l];
  return least + extra;
}

/// Keeps a set of needed layouts if its cost is at most s->room; *out_full: too
/// many sets.
static egraph_status keep_set(eg_layout_sets *s, eg_layout_set members, bool *out_full) {
  assert(s->way.len >= (s->members.len + 1) * s->layouts);
  size_t set = s->members.len;
  double least = least_cost(s, members, ways_of(s, set));
  if (!(least <= s->room)) {
    s->lost = fmin(s->lost, least);
    return EGRAPH_OK;
  }
  *out_full = set >= s->most;
  if (*out_full) return EGRAPH_OK;
  EG_TRY(eg_words_push(&s->members, members));
  EG_TRY(eg_flatmap_insert(&s->index, eg_hash_mix(members), (uint32_t)set));
  return eg_doubles_resize(&s->way, (set + 2) * s->layouts);
}

static egraph_status add_set(eg_layout_sets *s, eg_layout_set set, uint32_t target,
                             bool *out_full) {
  assert(set != 0);
  double *way = ways_of(s, s->members.len);
  bool is_single = set >> 8 == 0;
  for (uint32_t l = 0; l < s->layouts; l++)
    way[l] = INFINITY;
  if (is_single)
    way[s->targets[target]] = 0;
  else if (!join_parts(s, set, way))
    return EGRAPH_OK;
  relax_set_ways(s, way);
  return keep_set(s, set, out_full);
}

/// Adds the sets that extend a set by one needed layout; *out_full: there are too many.
static egraph_status extend_set(eg_layout_sets *s, size_t at, bool *out_full) {
  eg_layout_set set = s->members.data[at];
  uint32_t count = eg_layout_set_count(set);
  uint32_t next = count == 0 ? 0 : eg_layout_set_member(set, count - 1) + 1;
  for (uint32_t t = next; t < s->target_count && !*out_full; t++)
    EG_TRY(add_set(s, set | (eg_layout_set)(t + 1) << 8 * count, t, out_full));
  return EGRAPH_OK;
}

egraph_status eg_layout_sets_find(eg_layout_sets *s) {
  assert(s->size <= EG_LAYOUT_SET_SIZE && s->most >= 1 &&
         s->target_count <= EG_LAYOUT_SET_TARGETS);
  bool full = false;
  size_t at = 0;
  s->members.len = s->way.len = 0;
  s->lost = INFINITY;
  eg_flatmap_clear(&s->index);
  EG_TRY(eg_doubles_resize(&s->way, s->layouts)); // zeros
  EG_TRY(keep_set(s, 0, &full));                  // the empty set
  for (; at < s->members.len; at++) {             // smaller sets first
    if (eg_layout_set_count(s->members.data[at]) == s->size) break;
    EG_TRY(extend_set(s, at, &full));
    if (full) break;
  }
  // Records the costs of sets that were not extended: larger sets left out cost no less.
  for (; full && at < s->members.len; at++)
    s->lost = fmin(s->lost, least_cost(s, s->members.data[at], ways_of(s, at)));
  return EGRAPH_OK;
}

uint32_t eg_layout_sets_without(const eg_layout_sets *s, uint32_t set,
                                uint32_t position) {
  assert(set < s->members.len && position < eg_layout_set_count(s->members.data[set]));
  eg_layout_set members = s->members.data[set];
  eg_layout_set below = members & ((UINT64_C(1) << 8 * position) - 1);
  uint32_t without = 0;
  (void)find_set(s, below | (members >> 8 * position >> 8) << 8 * position, &without);
  return without;
}

// ---- ways to provide a value --------------------------------------------------------

// Labels are numbers of layouts and sets, plus one for none.
enum { MOST_SETS = UINT16_MAX, MOST_LAYOUTS = UINT16_MAX };

static egraph_status find_arcs(eg_layout_provision *h) {
  const eg_layout_rows *rows = &h->factors->view->value_arcs;
  const eg_layout_problem *p = h->factors->view->problem;
  uint32_t first = p->place_begin.data[h->value];
  h->from.len = h->to.len = h->arc_cost.len = 0;
  EG_EACH_ITEM(a, *rows, h->value) {
    if (!h->factors->active->arc.data[a] ||
        !eg_relation_has_room(h->maker, h->arc_excess->data[a]))
      continue;
    EG_TRY(eg_u32s_push(&h->from, p->arc_from.data[a] - first));
    EG_TRY(eg_u32s_push(&h->to, p->arc_to.data[a] - first));
    EG_TRY(eg_doubles_push(&h->arc_cost, h->factors->arc_cost.data[a]));
  }
  return EGRAPH_OK;
}

/// Numbers the layouts that readers of the value may need.
static egraph_status find_targets(eg_layout_provision *h) {
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

double eg_layout_provision_price(const eg_layout_provision *h, uint32_t link,
                                 uint32_t target) {
  uint32_t layout = h->targets.data[target];
  if (!h->asked->data[h->factors->links.data[link].price + layout]) return INFINITY;
  return eg_link_far_price(h->factors, link, layout);
}

double eg_layout_provision_price_of_none(const eg_layout_provision *h, uint32_t link) {
  return eg_link_far_price(h->factors, link,
                           eg_link_labels(h->factors, &h->factors->links.data[link]) - 1);
}

double eg_layout_provision_least(const eg_layout_provision *h, uint32_t link,
                                 eg_layout_set set) {
  double least = eg_layout_provision_price_of_none(h, link);
  for (; set != 0; set >>= 8)
    least = fmin(least, eg_layout_provision_price(h, link, eg_layout_set_member(set, 0)));
  return least;
}

/// Returns the least price for a reader of the value, over all its layouts and none.
static double least_price_of_all(const eg_layout_provision *h, uint32_t link) {
  double least = eg_layout_provision_price_of_none(h, link);
  for (uint32_t t = 0; t < h->targets.len; t++)
    least = fmin(least, eg_layout_provision_price(h, link, t));
  return least;
}

static double price_of_source(const eg_layout_provision *h, uint32_t layout) {
  const eg_layout_factors *f = h->factors;
  double price = 0;
  EG_EACH_ITEM(t, f->trees_of, h->value)
    price += eg_link_far_price(f, f->trees.data[t].source, layout);
  return price;
}

/// Sums the least prices of all readers of a value that is provided in a set of layouts.
static double users_cost(const eg_layout_provision *h, eg_layout_set set) {
  double sum = 0;
  for (size_t i = 0; i < h->users.len; i++)
    sum += eg_layout_provision_least(h, h->users.data[i], set);
  return sum;
}

/// Finds, for each needed layout (target), its least cost above the cheapest choice of a
/// reader that may need it: in a minimal set every target serves another reader.
/// *out_sum: the sum of the cheapest choices.
static egraph_status price_targets(eg_layout_provision *h, double *out_sum) {
  *out_sum = 0;
  h->extra.len = 0;
  for (uint32_t t = 0; t < h->targets.len; t++)
    EG_TRY(eg_doubles_push(&h->extra, INFINITY));
  for (size_t i = 0; i < h->users.len; i++) {
    uint32_t link = h->users.data[i];
    double least = least_price_of_all(h, link);
    *out_sum += least;
    for (uint32_t t = 0; t < h->targets.len; t++)
      h->extra.data[t] =
          fmin(h->extra.data[t], eg_layout_provision_price(h, link, t) - least);
  }
  return EGRAPH_OK;
}

/// Returns the least cost of sets with more than EG_LAYOUT_SET_SIZE members.
static double least_of_wide(const eg_layout_provision *h) {
  double least = INFINITY;
  for (uint32_t k = 0; k < h->finder.members.len; k++) {
    if (eg_layout_set_count(h->finder.members.data[k]) < EG_LAYOUT_SET_SIZE) continue;
    for (uint32_t l = 0; l < h->finder.layouts; l++)
      least = fmin(least, h->base.data[l] + eg_layout_sets_cost(&h->finder, k, l));
  }
  return least;
}

static egraph_status run_sets(eg_layout_provision *h) {
  eg_layout_sets *sets = &h->finder;
  double users;
  EG_TRY(price_targets(h, &users));
  h->base.len = 0;
  for (uint32_t l = 0; l < h->layouts; l++)
    EG_TRY(eg_doubles_push(&h->base, h->source[l] + price_of_source(h, l) - h->least));
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
  double lost = sets->lost;
  if (h->users.len > EG_LAYOUT_SET_SIZE) lost = fmin(lost, least_of_wide(h));
  eg_relation_lose(h->maker, fmax(lost + users, 0));
  return EGRAPH_OK;
}

/// Marks pairs of a set and a layout of production for which a larger set costs no more;
/// the larger set is within the limit of cost when they are.
static egraph_status find_dominated(eg_layout_provision *h) {
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

/// Lists ways to provide the value by the found sets; numbers a set when first kept.
static egraph_status list_ways(eg_layout_provision *h) {
  const eg_words *members = &h->finder.members;
  EG_TRY(find_dominated(h));
  for (uint32_t k = 0; k < members->len; k++) {
    bool is_new = true;
    for (uint32_t l = 0; l < h->layouts; l++) {
      double bound =
          h->base.data[l] + eg_layout_sets_cost(&h->finder, k, l) + h->users_cost.data[k];
      if (!(bound < INFINITY) || !eg_relation_has_room(h->maker, bound) ||
          h->dominated.data[(size_t)k * h->layouts + l])
        continue;
      if (is_new) EG_TRY(eg_words_push(&h->sets, members->data[k]));
      is_new = false;
      uint32_t set = (uint32_t)h->sets.len - 1;
      EG_TRY(eg_layout_ways_push(&h->ways,
                                 (eg_layout_way){l, set, fmax(bound - h->source[l], 0)}));
    }
  }
  return EGRAPH_OK;
}

/// Adds the case that the value is not produced.
static egraph_status add_nothing(eg_layout_provision *h) {
  double cost = price_of_source(h, h->layouts) + users_cost(h, 0) - h->least;
  if (!(cost + h->source[h->layouts] < INFINITY)) return EGRAPH_OK;
  EG_TRY(eg_words_push(&h->sets, 0));
  uint32_t set = (uint32_t)h->sets.len - 1;
  return eg_layout_ways_push(&h->ways, (eg_layout_way){h->layouts, set, fmax(cost, 0)});
}

egraph_status eg_layout_provision_find(eg_layout_provision *h, uint32_t value,
                                       const double *source) {
  assert(h->factors != NULL && h->maker != NULL);
  h->value = value;
  h->layouts = eg_layout_layout_count(h->factors->view->problem, value);
  h->source = source;
  h->users.len = h->sets.len = h->ways.len = h->users_cost.len = 0;
  EG_EACH_ITEM(t, h->factors->trees_of, value) {
    const eg_tree_factor *tree = &h->factors->trees.data[t];
    EG_TRY(eg_u32s_append(&h->users, tree->users, tree->user_count));
  }
  EG_TRY(find_arcs(h));
  EG_TRY(find_targets(h));
  if (!h->fits) return EGRAPH_OK;
  h->least = 0;
  EG_EACH_ITEM(t, h->factors->trees_of, value) {
    double least;
    EG_TRY(eg_factor_tree(h->factors, t, &least));
    h->least += least;
  }
  EG_TRY(run_sets(h));
  for (uint32_t k = 0; k < h->finder.members.len; k++)
    EG_TRY(eg_doubles_push(&h->users_cost, users_cost(h, h->finder.members.data[k])));
  EG_TRY(list_ways(h));
  return add_nothing(h);
}
