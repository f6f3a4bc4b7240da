// Sets of layouts that one value may be needed in, each with what the cheapest
// arborescence that has them all costs from every layout the value may be made in
// (Dreyfus and Wagner 1971, over sets instead of users), as far as a limit allows.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_SETS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_SETS_H

#include "base/flatmap.h"
#include "extract/bits.h"

enum { EG_LAYOUT_SET_TARGETS = 255, EG_LAYOUT_SET_SIZE = 8 };

/// A set of targets: bytes from the lowest on, ascending, each 1 + a target's number.
typedef uint64_t eg_layout_set;

static inline uint32_t eg_layout_set_member(eg_layout_set set, uint32_t position) {
  return (uint32_t)(set >> 8 * position & 255) - 1;
}
/// Members lie at positions 0 .. count - 1.
static inline uint32_t eg_layout_set_count(eg_layout_set set) {
  uint32_t count = 0;
  for (; set != 0; set >>= 8)
    count++;
  return count;
}

typedef struct eg_layout_sets {
  // In.
  uint32_t layouts, arcs;
  const uint32_t *from, *to; // [arcs]
  const double *cost;        // [arcs] >= 0
  const uint32_t *targets;   // layouts
  const double *extra;       // [targets] >= 0, what having a target costs on top
  uint32_t target_count;     // <= EG_LAYOUT_SET_TARGETS
  const double *base;        // [layouts] what making the value there costs; INFINITY
  double room;               // sets that cost more from everywhere are left out
  uint32_t size, most;       // of a set, at most EG_LAYOUT_SET_SIZE; sets, >= 1
  // Out. The empty set is the first.
  eg_words members; // [sets] eg_layout_set
  eg_doubles way;   // [sets][layouts]
  double lost;      // no set left out costs less
  eg_flatmap index;
} eg_layout_sets;

void eg_layout_sets_init(eg_layout_sets *sets, egraph_allocator alloc);
void eg_layout_sets_deinit(eg_layout_sets *sets);
/// Fails with EGRAPH_E_MEMORY. O(sets (2^size + arcs) layouts).
egraph_status eg_layout_sets_find(eg_layout_sets *sets);
/// The set without its member at a position: with a set all its parts are found.
uint32_t eg_layout_sets_without(const eg_layout_sets *sets, uint32_t set,
                                uint32_t position);
/// What a set costs from a layout on.
static inline double eg_layout_sets_cost(const eg_layout_sets *sets, uint32_t set,
                                         uint32_t layout) {
  return sets->way.data[(size_t)set * sets->layouts + layout];
}

#endif
