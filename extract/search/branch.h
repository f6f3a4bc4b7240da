// Branch and bound on one subproblem, with presolve in every node of the tree. The exact
// solver runs it on each subproblem, on windows, and in proof mode on the whole problem.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_BRANCH_H
#define EG_EXTRACT_SEARCH_BRANCH_H

#include "extract/search/search.h"

/// Improves the search's incumbent (solution and bound) until nothing below the cutoff is
/// left or time is up; *out_closed says which. Fails with EGRAPH_E_MEMORY or
/// EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_branch_run(eg_search *search, bool *out_closed);

#endif
