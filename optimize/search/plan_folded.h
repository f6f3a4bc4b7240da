// Results for a whole step from its folded one: a bound, and plans whose equal blocks are
// of several kinds.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_FOLDED_H
#define EG_OPTIMIZE_SEARCH_PLAN_FOLDED_H

#include "extract/layout/layout_bound.h"
#include "optimize/model/plan_emit.h"
#include "optimize/model/plan_model.h"

// A bound of all plans of a whole step, from its folded one cut open at the seams.
//
// The block that represents many and the nodes before and after it are independent but
// for potentials (extract/layout/layout_bound.h): every plan of the whole step, whatever
// its blocks do, costs at least as much. A limit of memory is a price per byte here, as
// each block takes a part of it.

typedef struct eg_cut_input {
  const eg_plan_space *space;          // of a folded step
  const eg_plan_limits *limits;        // the user's constraints; NULL: none
  double price[EG_LAYOUT_MEMORY_ROWS]; // seconds of a byte, >= 0, to begin with
  double cost;   // of a plan within the limits, which a bound cannot exceed; or INFINITY
  bool may_bind; // the limit of memory: look for better prices
  eg_open_options options;
} eg_cut_input;

typedef struct eg_cut {
  double bound; // seconds of a step; 0 where the folded step proves none
                // (eg_plan_space.can_be_cut), INFINITY: there is no plan
  double price[EG_LAYOUT_MEMORY_ROWS]; // at which it was reached
} eg_cut;

/// Better prices, then an exact search. Fails with EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL.
egraph_status eg_plan_cut_bound(egraph_allocator alloc, const eg_cut_input *input,
                                eg_cut *out);

// Plans of a whole step whose equal blocks are of several kinds, each as one plan has
// them.
//
// Where a limit of memory binds, all blocks alike are either too large or dearer than
// they need be: the limit lies between two plans that are the cheapest at one price of
// memory. The cheapest of all has about as many blocks of the cheaper kind as fit.

enum { EG_MIX_KINDS = 3 }; // at most

typedef struct eg_mix_input {
  const eg_plan_model *model; // of a step whose blocks are known (eg_step_fold)
  // The first is what all blocks begin as, and what is outside of them; of each further
  // kind blocks become as many as fit.
  const eg_plan *kind[EG_MIX_KINDS];
  uint32_t kinds;
  double memory_limit; // bytes of a device
  double deadline;     // of eg_clock_seconds()
} eg_mix_input;

typedef struct eg_mixed_plan {
  bool has_plan;       // false: none that fits was found
  double cost, memory; // seconds of a step, bytes at the peak
  eg_emitted_plan emitted;
} eg_mixed_plan;

/// By bisection, kind by kind. Fails with EGRAPH_E_MEMORY. O(kinds log blocks) plans are
/// emitted and their peaks counted.
egraph_status eg_plan_mix(egraph_allocator alloc, const eg_mix_input *input,
                          eg_mixed_plan *out);

#endif
