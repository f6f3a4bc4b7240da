// Extraction of the cheapest acyclic choice, with a proven bound.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_EXTRACT_H
#define EG_EXTRACT_SEARCH_EXTRACT_H

#include "extract/incumbent.h"
#include "extract/plain_proof.h"
#include "extract/problem.h"

/// Solves a problem. `result` must be initialized by eg_extract_result_init; limits are
/// results, not errors. Negative costs that cannot be shifted away go to branch and cut
/// (branch_cut.c), without presolve.
/// Fails with EGRAPH_E_ARGUMENT (malformed problem), EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL
/// (GLPK).
egraph_status eg_extract_solve(egraph_allocator alloc, const eg_extract_problem *problem,
                               const eg_extract_options *options,
                               eg_extract_result *result);

/// Writes shifted costs to `cost` [node]: every choice costs the same as before, less
/// *out_offset. *out_done: no shifted cost is negative. O(nodes + edges) and landmarks of
/// at most 64 MiB. Fails with EGRAPH_E_MEMORY.
egraph_status eg_cost_shift_find(egraph_allocator alloc,
                                 const eg_extract_problem *problem, eg_patience patience,
                                 eg_doubles *cost, double *out_offset, bool *out_done);

/// Appends the certificate of a result, and sets result->certified to the bound
/// that the certificate proves. Takes at most the time limit. Fails with
/// EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL.
egraph_status eg_plain_certificate_make(egraph_allocator alloc,
                                        const eg_extract_problem *problem,
                                        const eg_extract_options *options,
                                        eg_extract_result *result, eg_text *out);

#endif
