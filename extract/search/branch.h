// Branch and bound on one subproblem, with presolve in every node of the tree. The exact
// solver runs it on each subproblem, on windows, and in proof mode on the whole problem.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_BRANCH_H
#define EG_EXTRACT_SEARCH_BRANCH_H

#include "extract/search/extract_search.h"

/// Improves the incumbent (solution and bound) until nothing below its cutoff and below
/// `outer_cutoff` is left or time is up; *out_closed says which. `depth` counts searches
/// inside searches. Fails with EGRAPH_E_MEMORY or EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_branch_run(egraph_allocator alloc, eg_incumbent *incumbent,
                            double outer_cutoff, uint32_t depth, bool *out_closed);

#endif
