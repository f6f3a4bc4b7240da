// Extracts by states of a frontier: classes are derived parents first, and a state is the
// set of classes that are needed and not yet derived, with the least cost that leads to
// it. A state is dropped when it needs a superset of the classes of a cheaper state. If
// few classes are open at a time, few states remain, and the walk is dynamic programming
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

#include "base/owner.h"
#include "extract/search/lookahead.h"

typedef struct eg_frontier_options {
  double limit;    // solutions from here on are ignored
  uint32_t states; // most states at a time, about; the dearest are dropped
  uint64_t steps;  // work after which the walk ends without a result
  /// An edge to a class that is earlier in the order lies on a cycle. false: the walk
  /// leaves out nodes with such edges. true: it ignores such edges, its result is a lower
  /// bound, and it ends when it would drop a state.
  bool ignores_cycles;
  /// Bounds of needed classes (lookahead.h): states that the limit excludes are left out,
  /// and states are compared by cost and bound together. NULL: by cost alone.
  const eg_lookahead *ahead;
} eg_frontier_options;

typedef struct eg_frontier_result {
  bool has_ended;   // false: the other fields are undefined
  bool is_complete; // no state was dropped
  bool has_cycle;   // some edge is on a cycle
  double cost;      // cost of the best solution, at most the limit
  eg_u32s choice;   // [class], empty if there is none
} eg_frontier_result;
EG_OWNER_DEFINE_STATIC(eg_frontier_result, (eg_u32s, choice))

/// Walks once over sets of needed classes. Costs must be >= 0. The incumbent (or NULL)
/// counts the work and may stop the walk. Fails with EGRAPH_E_MEMORY.
egraph_status eg_frontier_run(const eg_frontier *frontier, eg_incumbent *incumbent,
                              const eg_frontier_options *options,
                              eg_frontier_result *out);

/// Improves the incumbent, solution and bound, by walks with more and more states, within
/// about `steps` of work, and more if few classes are needed at a time. `looks_ahead`:
/// finds bounds of the needed classes first, from more and more states. *out_closed:
/// nothing below its cutoff and below `outer_cutoff` is left. Costs must be >= 0. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_frontier_improve(eg_incumbent *incumbent, const eg_class_index *index,
                                  double outer_cutoff, uint64_t steps, bool looks_ahead,
                                  bool *out_closed);

#endif
