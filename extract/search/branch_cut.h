// Exact extraction for costs of any sign: a plain formulation (formulation.h), cutting
// planes and best-first branch and bound on the nodes.
//
// Slower by far than exact.h, whose presolve and bounds rest on costs >= 0.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_BRANCH_CUT_H
#define EG_EXTRACT_SEARCH_BRANCH_CUT_H

#include "extract/incumbent.h"

/// Improves the incumbent's solution and bound until they meet or time is up. The
/// incumbent holds a solution. Writes the sizes of the model to `result`. Fails with
/// EGRAPH_E_MEMORY or EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_branch_cut_run(egraph_allocator alloc, eg_incumbent *incumbent,
                                eg_extract_result *result);

#endif
