// Finds the sets of layouts in which one value may be needed. For each set and each
// layout in which the value may be produced: the cost of the cheapest arborescence to all
// layouts of the set (Dreyfus and Wagner 1971, over sets instead of users), within a
// limit. Also finds all ways to provide a value.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_SETS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_SETS_H

#include <math.h>

#include "base/owner.h"
#include "extract/layout/layout_factors.h"
#include "extract/layout/layout_relation.h"

enum { EG_LAYOUT_SET_TARGETS = 255, EG_LAYOUT_SET_SIZE = 8 };

/// A set of targets (layouts in which a value may be needed): its bytes, from the lowest
/// on, are 1 + the targets' numbers, ascending.
typedef uint64_t eg_layout_set;

static inline uint32_t eg_layout_set_member(eg_layout_set set, uint32_t position) {
  return (uint32_t)(set >> 8 * position & 255) - 1;
}
/// Returns the number of members, which are at positions 0 .. count - 1.
static inline uint32_t eg_layout_set_count(eg_layout_set set) {
  uint32_t count = 0;
  for (; set != 0; set >>= 8)
    count++;
  return count;
}

typedef struct eg_layout_sets {
  // Input:
  uint32_t layouts, arcs;
  const uint32_t *from, *to; // [arcs]
  const double *cost;        // [arcs] >= 0
  const uint32_t *targets;   // layouts
  const double *extra;       // [targets] >= 0, cost of a target on top
  uint32_t target_count;     // <= EG_LAYOUT_SET_TARGETS
  const double *base;        // [layouts] cost of producing the value, or INFINITY
  double room;               // sets that cost more from everywhere are left out
  uint32_t size, most;       // members of a set, at most EG_LAYOUT_SET_SIZE; sets, >= 1
  // Output; the first set is the empty set:
  eg_words members; // [sets] eg_layout_set
  eg_doubles way;   // [sets][layouts]
  double lost;      // no set left out costs less
  eg_flatmap index;
} eg_layout_sets;
EG_OWNER_DEFINE_STATIC_FROM(eg_layout_sets, (.room = INFINITY), (eg_words, members),
                            (eg_doubles, way), (eg_flatmap, index))

/// Finds the sets of needed layouts that cost at most sets->room, and their costs by the
/// layout of production. Fails with EGRAPH_E_MEMORY. O(sets (2^size + arcs) layouts).
egraph_status eg_layout_sets_find(eg_layout_sets *sets);
/// Returns the number of the set that lacks the member at a position. (Every subset of a
/// found set is found.)
uint32_t eg_layout_sets_without(const eg_layout_sets *sets, uint32_t set,
                                uint32_t position);
/// Returns the cost of a set when the value is produced in a layout.
static inline double eg_layout_sets_cost(const eg_layout_sets *sets, uint32_t set,
                                         uint32_t layout) {
  return sets->way.data[(size_t)set * sets->layouts + layout];
}

/// A way to provide a value: the layout of production, the set of layouts to convert to.
typedef struct eg_layout_way {
  uint32_t source; // layout, or the number of layouts: not produced
  uint32_t set;    // number
  double cost;     // without its source: arcs, and the cheapest labels of its users
} eg_layout_way;
EG_VEC_DEFINE(eg_layout_ways, eg_layout_way);

/// All ways to provide one value: the layout in which it is produced, the set of layouts
/// into which it is converted, and the cost above the cheapest way.
typedef struct eg_layout_provision {
  // Borrowed:
  eg_layout_factors *factors;
  const eg_bytes *asked;        // [labels of links] by a strategy or root
  const eg_doubles *arc_excess; // see eg_layout_excess
  eg_relation_maker *maker;     // room, rows, lost
  // The current value:
  uint32_t value, layouts;
  const double *source; // [layouts + 1] production cost above the least
  double least;         // least cost of the value's arborescences
  bool fits;            // false: the value has, or its users need, too many layouts
  eg_u32s users;        // links that use the value
  eg_u32s targets;      // layouts that the users may need
  eg_words sets;        // eg_layout_set of targets; numbered
  eg_layout_ways ways;
  // Scratch:
  eg_u32s from, to;
  eg_doubles arc_cost, base, extra, users_cost;
  eg_bytes dominated; // [sets][layouts]
  eg_layout_sets finder;
} eg_layout_provision;
EG_OWNER_DEFINE_STATIC(eg_layout_provision, (eg_u32s, users, targets, from, to),
                       (eg_doubles, arc_cost, base, extra, users_cost), (eg_words, sets),
                       (eg_bytes, dominated), (eg_layout_ways, ways),
                       (eg_layout_sets, finder))

/// Finds the ways to provide a value that cost at most maker->room; `source`: the cost of
/// producing it in each layout, above the least. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_provision_find(eg_layout_provision *provision, uint32_t value,
                                       const double *source);
/// Returns the price of a layout for a reader of the value; INFINITY: it never needs it.
double eg_layout_provision_price(const eg_layout_provision *provision, uint32_t link,
                                 uint32_t target);
/// Returns the price of the case that a reader of the value (a link) is not chosen.
double eg_layout_provision_price_of_none(const eg_layout_provision *provision,
                                         uint32_t link);
/// Returns the least price for a reader of the value: of a layout of the set, or of none.
double eg_layout_provision_least(const eg_layout_provision *provision, uint32_t link,
                                 eg_layout_set set);

#endif
