// Writes extraction problems as CPLEX LP text, for other solvers.
//
// One binary x<n> per node. Rows, by name:
//   root_<c>          the nodes of a root add up to 1
//   one_<c>           the nodes of any class add up to at most 1
//   need_<c>_<d>      nodes of class c with child d <= nodes of d
//   level_<c>_<d>     for c and d in one strongly connected component of K classes,
//                     with 0 <= t <= K - 1:
//                     t<d> - t<c> + K * (nodes of c with child d) <= K - 1
//   reach_<c>         only with negative costs: nodes of c <= nodes with child c
// A choice is acyclic exactly when levels t exist: in every component a chosen node lies
// above its children, and K levels are enough for K classes. The optimum of the text is
// the optimum of the problem; fixed_cost, which is 1, carries the cost of nodes that are
// already decided.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_LP_FORMAT_H
#define EG_EXTRACT_SEARCH_LP_FORMAT_H

#include "base/text.h"
#include "extract/problem.h"

/// Appends the problem unchanged; adds `offset` to its objective. Children of a node must
/// be distinct, and never its own class. Fails with EGRAPH_E_MEMORY.
egraph_status eg_lp_format_print(eg_text *text, const eg_extract_problem *problem,
                                 double offset);
/// Appends the problem after presolve. `best_cost` is the cost of any of its choices
/// (INFINITY: none known): presolve keeps an optimal choice and drops nodes that only
/// dearer choices contain. Fails with EGRAPH_E_MEMORY.
egraph_status eg_lp_format_reduced(egraph_allocator alloc,
                                   const eg_extract_problem *problem,
                                   const eg_extract_options *options, double best_cost,
                                   eg_text *text);

#endif
