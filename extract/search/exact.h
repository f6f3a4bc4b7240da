// Exact extraction: the solver for costs >= 0, its search tree, and the solver for costs
// of any sign.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_EXACT_H
#define EG_EXTRACT_SEARCH_EXACT_H

#include "extract/incumbent.h"

/// Improves the incumbent's solution and bound until they meet or time is up: presolve,
/// dual ascent, linear relaxation with cuts, branch and bound. Costs must be >= 0, and
/// the incumbent holds a solution. Writes the reduced sizes to `result`. Fails with
/// EGRAPH_E_MEMORY or EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_exact_run(egraph_allocator alloc, eg_incumbent *incumbent,
                           eg_extract_result *result);

/// Runs branch and bound on one subproblem, with presolve in every node of the tree
/// (branch.c): improves the incumbent until no solution below its cutoff and below
/// `outer_cutoff` is left (*out_closed), or time is up. `depth` counts nested searches.
/// eg_exact_run calls it for each subproblem and window, and a search in proof mode for
/// the whole problem. Fails as eg_exact_run does.
egraph_status eg_branch_run(egraph_allocator alloc, eg_incumbent *incumbent,
                            double outer_cutoff, uint32_t depth, bool *out_closed);

/// As eg_exact_run for costs of any sign (branch_cut.c): plain formulation
/// (formulation.h), cutting planes, and best-first branch and bound on the nodes. Much
/// slower, because presolve and its bounds need costs >= 0. Writes the sizes of the model
/// to `result`.
egraph_status eg_branch_cut_run(egraph_allocator alloc, eg_incumbent *incumbent,
                                eg_extract_result *result);

#endif
