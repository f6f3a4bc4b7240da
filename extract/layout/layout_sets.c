// Sets grow by one target at a time. A set costs at least what its parts do, so that one
// whose parts were left out is left out too.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_sets.h"

#include <math.h>

#include "base/hash.h"

void eg_layout_sets_init(eg_layout_sets *s, egraph_allocator alloc) {
  *s = (eg_layout_sets){.room = INFINITY};
  eg_words_init(&s->members, alloc);
  eg_doubles_init(&s->way, alloc);
  eg_flatmap_init(&s->index, alloc);
}

void eg_layout_sets_deinit(eg_layout_sets *s) {
  eg_words_deinit(&s->members);
  eg_doubles_deinit(&s->way);
  eg_flatmap_deinit(&s->index);
}

static bool same_members(const void *user, uint32_t id, const void *key) {
  const eg_layout_sets *s = user;
  return s->members.data[id] == *(const eg_layout_set *)key;
}

static bool find(const eg_layout_sets *s, eg_layout_set set, uint32_t *out) {
  return eg_flatmap_find(&s->index, eg_hash_mix(set), &set, same_members, s, out);
}

/// The members of a set at the positions in a mask.
static eg_layout_set part_of(eg_layout_set set, uint32_t positions) {
  eg_layout_set part = 0;
  for (uint32_t i = 0, shift = 0; positions >> i != 0; i++) {
    if (!(positions >> i & 1)) continue;
    part |= (set >> 8 * i & 255) << shift;
    shift += 8;
  }
  return part;
}

static double *ways(const eg_layout_sets *s, size_t set) {
  return s->way.data + set * s->layouts;
}

/// Ways to a set begin with any arc.
static void relax(const eg_layout_sets *s, double *way) {
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

/// The set goes apart in some layout; false when a part was left out.
static bool join_parts(const eg_layout_sets *s, eg_layout_set set, double *way) {
  uint32_t all = (UINT32_C(1) << eg_layout_set_count(set)) - 1, a, b;
  for (uint32_t part = 2; part < all; part += 2) { // the first member is in the rest
    if (!find(s, part_of(set, part), &a) || !find(s, part_of(set, all ^ part), &b))
      return false;
    const double *one = ways(s, a), *other = ways(s, b);
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

/// Keeps a set that has room; *out_full: there are too many.
static egraph_status keep(eg_layout_sets *s, eg_layout_set members, bool *out_full) {
  size_t set = s->members.len;
  double least = least_cost(s, members, ways(s, set));
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

static egraph_status add_empty(eg_layout_sets *s) {
  bool full;
  EG_TRY(eg_doubles_resize(&s->way, s->layouts));
  for (uint32_t l = 0; l < s->layouts; l++)
    s->way.data[l] = 0;
  return keep(s, 0, &full);
}

static egraph_status add_set(eg_layout_sets *s, eg_layout_set set, uint32_t target,
                             bool *out_full) {
  double *way = ways(s, s->members.len);
  bool is_single = set >> 8 == 0;
  for (uint32_t l = 0; l < s->layouts; l++)
    way[l] = INFINITY;
  if (is_single)
    way[s->targets[target]] = 0;
  else if (!join_parts(s, set, way))
    return EGRAPH_OK;
  relax(s, way);
  return keep(s, set, out_full);
}

/// All sets that have one more target, behind its last one.
static egraph_status extend(eg_layout_sets *s, size_t at, bool *out_full) {
  eg_layout_set set = s->members.data[at];
  uint32_t count = eg_layout_set_count(set);
  uint32_t next = count == 0 ? 0 : eg_layout_set_member(set, count - 1) + 1;
  for (uint32_t t = next; t < s->target_count && !*out_full; t++)
    EG_TRY(add_set(s, set | (eg_layout_set)(t + 1) << 8 * count, t, out_full));
  return EGRAPH_OK;
}

egraph_status eg_layout_sets_find(eg_layout_sets *s) {
  bool full = false;
  size_t at = 0;
  s->members.len = s->way.len = 0;
  s->lost = INFINITY;
  eg_flatmap_clear(&s->index);
  EG_TRY(add_empty(s));
  for (; at < s->members.len; at++) { // smaller ones first
    if (eg_layout_set_count(s->members.data[at]) == s->size) break;
    EG_TRY(extend(s, at, &full));
    if (full) break;
  }
  // Sets that were not reached have one that was not extended whole as a part.
  for (; full && at < s->members.len; at++)
    s->lost = fmin(s->lost, least_cost(s, s->members.data[at], ways(s, at)));
  return EGRAPH_OK;
}

uint32_t eg_layout_sets_without(const eg_layout_sets *s, uint32_t set,
                                uint32_t position) {
  eg_layout_set members = s->members.data[set];
  eg_layout_set below = members & ((UINT64_C(1) << 8 * position) - 1);
  uint32_t without = 0;
  (void)find(s, below | (members >> 8 * position >> 8) << 8 * position, &without);
  return without;
}
