// The ascent's bound apart: what the Lagrangian decomposition of layout_factors.h proves
// by itself. No solution is compared with, nothing is deleted because something else
// costs less, and ties enter by their multipliers alone. So the bound holds for every
// problem for whose parts the same prices add up. (Not for a row of equal blocks of which
// this problem has one that is tied to itself: layout_seams.h.)
//
// Steps of the presolve that look through ties are left out: labels that another member
// lacks. Left are what cannot be derived or is not needed, and what all ways to the roots
// need.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_BOUND_H
#define EG_EXTRACT_LAYOUT_LAYOUT_BOUND_H

#include "extract/layout/layout_dual.h"
#include "extract/layout/layout_solve.h"

typedef struct eg_layout_bound_options {
  uint64_t work_limit;       // steps (base/work.h), the first limit; 0: none
  double time_limit_seconds; // > 0
  const double *price;       // [memory rows] of a unit, >= 0: of the last solve; NULL: 0
  const uint32_t *target;    // a solution's strategies ([value]), or NULL: the bound does
                             // not rise above its cost, and stops there
  eg_layout_potentials *potentials; // of an open problem, whose seams are given: empty,
                                    // to be filled; the bound is of rows of copies
                                    // then, without a dual. NULL: none
} eg_layout_bound_options;

typedef struct eg_layout_bounded {
  double bound;                        // INFINITY: there is no solution; else finite
  double price[EG_LAYOUT_MEMORY_ROWS]; // at which it was reached
  uint64_t work;                       // steps done
} eg_layout_bounded;

/// `dual`, initialized, is filled with the proof when there are solutions; NULL: not
/// wanted. Fails with EGRAPH_E_ARGUMENT (options), EGRAPH_E_MEMORY.
egraph_status eg_layout_bound(egraph_allocator alloc, const eg_layout_problem *problem,
                              const eg_layout_bound_options *options,
                              eg_layout_bounded *out, eg_layout_dual *dual);

#endif
