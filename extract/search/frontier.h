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

#include "extract/search/lookahead.h"

typedef struct eg_frontier_options {
  double limit;    // solutions from here on are of no interest
  uint32_t states; // about as many at a time; the dearest ones are dropped
  uint64_t steps;  // of work, after which the walk ends without a result
  /// An edge to a class that was looked at before is on a cycle. false: nodes that have
  /// one are left out. true: it asks for nothing, the result is a lower bound, and the
  /// walk ends where it would drop a state.
  bool ignores_cycles;
  /// Bounds of what is open (lookahead.h): states that the limit excludes are left out,
  /// and the dearest with what is open is dropped. NULL: states are known by their cost.
  const eg_lookahead *ahead;
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
/// about `steps` of work, and more where few classes are open at a time. `looks_ahead`:
/// finds bounds of what is open first, with more and more foresight. *out_closed: nothing
/// below its cutoff and below `outer_cutoff` is left. Costs must be >= 0. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_frontier_improve(eg_incumbent *incumbent, const eg_class_index *index,
                                  double outer_cutoff, uint64_t steps, bool looks_ahead,
                                  bool *out_closed);

#endif
