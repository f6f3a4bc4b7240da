// Extraction by states of a frontier: classes are looked at parents first, and a state is
// the set of classes that are needed and not yet looked at, with the least cost that
// leads to it. A state that needs all that a cheaper one needs is of no use. Where few
// classes are open at a time few states are left, and the walk is dynamic programming
// over a path decomposition, linear in the size of the problem; with a limit of states it
// is a beam search.
//
//   order    root, a, b, c       root = f(a, b), a = g(c) or h(b, c) ...
//   states   {root}  {a b}  {b c}  {c}  {}
//
// Goharshady, Lam, Parreaux 2024, "Fast and Optimal Extraction for Sparse Equality
// Graphs", do it over tree decompositions.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_FRONTIER_H
#define EG_EXTRACT_SEARCH_FRONTIER_H

#include "extract/class_graph.h"
#include "extract/incumbent.h"

/// The order in which classes are looked at, and the bits that they have in a state.
typedef struct eg_frontier {
  const eg_extract_problem *problem; // borrowed, as the index
  const eg_class_index *index;
  eg_u32s order; // classes, parents first but for cycles
  eg_u32s place; // [class] in order
  eg_u32s slot;  // [class] its bit, or EG_EXTRACT_NONE: nothing before it needs it
  uint32_t width, mean_width; // classes that are open at a time: bits; on average
} eg_frontier;

void eg_frontier_init(eg_frontier *frontier, egraph_allocator alloc);
void eg_frontier_deinit(eg_frontier *frontier);
/// Takes the order with the least open classes of a few. O(nodes + edges). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_frontier_find(eg_frontier *frontier, const eg_extract_problem *problem,
                               const eg_class_index *index);

typedef struct eg_frontier_options {
  double limit;    // solutions from here on are of no interest
  uint32_t states; // about as many at a time; the dearest ones are dropped
  uint64_t steps;  // of work, after which the walk ends without a result
  /// An edge to a class that was looked at before is on a cycle. false: nodes that have
  /// one are left out. true: it asks for nothing, the result is a lower bound, and the
  /// walk ends where it would drop a state.
  bool ignores_cycles;
} eg_frontier_options;

typedef struct eg_frontier_result {
  bool has_ended;   // else the rest says nothing
  bool is_complete; // no state was dropped
  bool has_cycle;   // such an edge was met
  double cost;      // of the best solution; the limit where none is below it
  eg_u32s choice;   // [class], empty where there is none
} eg_frontier_result;

void eg_frontier_result_init(eg_frontier_result *result, egraph_allocator alloc);
void eg_frontier_result_deinit(eg_frontier_result *result);
/// Costs must be >= 0. Counts its work for the incumbent, which may stop it; NULL: none
/// does. Fails with EGRAPH_E_MEMORY.
egraph_status eg_frontier_run(const eg_frontier *frontier, eg_incumbent *incumbent,
                              const eg_frontier_options *options,
                              eg_frontier_result *out);

/// Improves the incumbent, solution and bound, by walks with more and more states, within
/// about `steps` of work. *out_closed: nothing below its cutoff and below `outer_cutoff`
/// is left. Costs must be >= 0. Fails with EGRAPH_E_MEMORY.
egraph_status eg_frontier_improve(eg_incumbent *incumbent, const eg_class_index *index,
                                  double outer_cutoff, uint64_t steps, bool *out_closed);

#endif
