// Negative costs that can be paid elsewhere, so that the solver for costs >= 0 applies.
//
// Adding d to the cost of all nodes of a class changes the cost of a choice by d exactly
// when the class is needed. So d may be taken
//   - from every choice, when the roots always need the class;
//   - from the nodes that use it, when they all lie in one class: one of them at most is
//     chosen, and the class is needed when one is.
// Pushed upwards like this, a negative cost often ends where it makes nothing negative.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_COST_SHIFT_H
#define EG_EXTRACT_COST_SHIFT_H

#include "extract/incumbent.h"
#include "extract/patience.h"

/// Writes costs to `cost` [node] such that every choice costs as much as before, less
/// *out_offset. *out_done: none is negative. O(nodes + edges) and landmarks of at most
/// 64 MiB. Fails with EGRAPH_E_MEMORY.
egraph_status eg_cost_shift_find(egraph_allocator alloc,
                                 const eg_extract_problem *problem, eg_patience patience,
                                 eg_doubles *cost, double *out_offset, bool *out_done);
/// Solves a problem with negative costs by eg_exact_run (exact.h) when they can be
/// shifted away; *out_done says whether. Fails as that does.
egraph_status eg_cost_shift_run(egraph_allocator alloc, eg_incumbent *incumbent,
                                eg_extract_result *result, bool *out_done);

#endif
