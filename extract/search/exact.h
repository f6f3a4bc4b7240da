// The exact solver: presolve, dual ascent, linear relaxation with cuts, branch and bound.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_EXACT_H
#define EG_EXTRACT_SEARCH_EXACT_H

#include "extract/incumbent.h"

/// Improves the incumbent's solution and bound until they meet or time is up. The
/// incumbent holds a solution. Writes the reduced sizes to `result`. Fails with
/// EGRAPH_E_MEMORY or EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_exact_run(egraph_allocator alloc, eg_incumbent *incumbent,
                           eg_extract_result *result);

#endif
