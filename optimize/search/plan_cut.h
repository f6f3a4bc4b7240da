// A bound of all plans of a whole step, from its folded one cut open at the seams.
//
// The block that stands for many and what is before and after it are free of each other
// but for potentials (extract/layout/layout_seams.h): every plan of the whole step,
// whatever its blocks do, costs at least as much. A limit of memory is a price per byte
// here, as each block takes a part of it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_CUT_H
#define EG_OPTIMIZE_SEARCH_PLAN_CUT_H

#include "extract/layout/layout_bound.h"
#include "optimize/model/plan_model.h"

typedef struct eg_cut_input {
  const eg_plan_space *space;          // of a folded step
  const eg_plan_limits *limits;        // the user's constraints; NULL: none
  double price[EG_LAYOUT_MEMORY_ROWS]; // seconds of a byte, >= 0, to begin with
  double cost;   // of a plan within the limits, which a bound cannot exceed; or INFINITY
  bool may_bind; // the limit of memory: look for better prices
  eg_open_options options;
} eg_cut_input;

typedef struct eg_cut {
  double bound; // seconds of a step; 0 where the folded step does not tell
                // (eg_plan_space.can_be_cut), INFINITY: there is no plan
  double price[EG_LAYOUT_MEMORY_ROWS]; // at which it was reached
} eg_cut;

/// Better prices, then an exact search. Fails with EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL.
egraph_status eg_plan_cut_bound(egraph_allocator alloc, const eg_cut_input *input,
                                eg_cut *out);

#endif
