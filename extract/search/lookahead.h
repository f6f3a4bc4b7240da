// Finds the order of a walk over states (frontier.h): parents before children except on
// cycles, with few open classes. A class is open from the first class that needs it until
// its own place in the order.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_LOOKAHEAD_H
#define EG_EXTRACT_SEARCH_LOOKAHEAD_H

#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/incumbent.h"

/// The order of the classes, and the bit of each class in a state.
typedef struct eg_frontier {
  const eg_extract_problem *problem; // borrowed, like the index
  const eg_class_index *index;
  eg_u32s order; // classes, parents first but for cycles
  eg_u32s place; // [class] in order
  eg_u32s slot;  // [class] its bit, or EG_EXTRACT_NONE: no earlier class needs it
  uint32_t width, mean_width; // open classes: at most (bits of a state), on average
} eg_frontier;
EG_OWNER_DEFINE_STATIC(eg_frontier, (eg_u32s, order, place, slot))

/// Computes two orders of the classes and takes the order with fewer classes needed at a
/// time. O(nodes + edges). Fails with EGRAPH_E_MEMORY.
egraph_status eg_frontier_find(eg_frontier *frontier, const eg_extract_problem *problem,
                               const eg_class_index *index);

// ---- bounds -------------------------------------------------------------------------
// Lower bounds of the cost of one class, or of two classes together. In the order of a
// frontier a set of classes costs at least as much as its dearest class, or pair of
// classes, with all its descendants. Therefore bounds are computed from the last class
// up. A best-first search starts from the set, over the states of the frontier, and
// estimates open classes by the bounds found so far. It ends after some states; the least
// remaining estimate is a bound of the set.
//
//   {a}  derives a: {b c} by one node, {d} by another; each costs at least the node and
//        the dearest of b, c, bc, or d; then derives b or d, the cheaper state first ...
//
// Haslum, Geffner 2000, "Admissible Heuristics for Optimal Planning" (h^m); the search
// adds the cost of a few classes together before their descendants part or join.

/// Lower bounds of costs of classes, named by their positions (places) in the order.
/// Edges to earlier classes are ignored, as on a walk that ignores cycles.
typedef struct eg_lookahead {
  const eg_frontier *frontier; // borrowed
  eg_u32s slot;                // [place]
  // [position in the order] 1 + position of the first class that needs this class; 0: a
  // root; EG_EXTRACT_NONE: never needed
  eg_u32s opened;
  eg_u32s node_begin;  // [place + 1]
  eg_doubles cost;     // [node]
  eg_u32s child_begin; // [node + 1]
  eg_u32s children;    // places, ascending
  eg_doubles alone;    // [place] bound of this class
  eg_doubles pairs;    // [place * width + slot of a later class], or empty
} eg_lookahead;
EG_OWNER_DEFINE_STATIC(eg_lookahead,
                       (eg_u32s, slot, opened, node_begin, child_begin, children),
                       (eg_doubles, cost, alone, pairs))

typedef struct eg_lookahead_options {
  uint32_t states; // most states of a search
  bool in_pairs;   // bounds of two classes, too: memory is places * width
  uint64_t steps;  // work after which the run ends; the bounds are valid then, too
} eg_lookahead_options;

/// Copies the problem in the order of the frontier, with all bounds 0. O(nodes + edges
/// log edges). Fails with EGRAPH_E_MEMORY.
egraph_status eg_lookahead_build(eg_lookahead *ahead, const eg_frontier *frontier);
/// Returns the approximate steps of eg_lookahead_run.
uint64_t eg_lookahead_steps(const eg_lookahead *ahead,
                            const eg_lookahead_options *options);
/// Raises the lower bounds of classes, and *out_bound to a bound of the roots. Adds its
/// work to the count of the incumbent, which may stop the run; the incumbent may be NULL.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_lookahead_run(eg_lookahead *ahead, eg_incumbent *incumbent,
                               const eg_lookahead_options *options, double *out_bound);

static inline double eg_lookahead_of_pair(const eg_lookahead *a, uint32_t p, uint32_t q) {
  uint32_t first = p < q ? p : q, last = p < q ? q : p;
  return a->pairs.data[(size_t)first * a->frontier->width + a->slot.data[last]];
}

/// Returns a lower bound of the cost of `count` classes, given by positions in the order.
static inline double eg_lookahead_of(const eg_lookahead *a, const uint32_t *places,
                                     size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++)
    if (a->alone.data[places[i]] > most) most = a->alone.data[places[i]];
  if (a->pairs.len == 0) return most;
  for (size_t i = 1; i < count; i++)
    for (size_t k = 0; k < i; k++) {
      double pair = eg_lookahead_of_pair(a, places[i], places[k]);
      if (pair > most) most = pair;
    }
  return most;
}

#endif
