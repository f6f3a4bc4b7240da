// Derives results for a whole step from its folded step (one block for many): a bound,
// and plans in which equal blocks are not all planned alike.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_FOLDED_H
#define EG_OPTIMIZE_SEARCH_PLAN_FOLDED_H

#include "extract/layout/layout_bound.h"
#include "extract/layout/layout_options.h"
#include "optimize/model/plan_emit.h"
#include "optimize/model/plan_model.h"
#include "optimize/search/plan_peak.h"

// Bounds all plans of a whole step by its folded step, cut open at the seams.
//
// The block that represents many and the nodes before and after it are independent except
// for potentials (extract/layout/layout_bound.h): every plan of the whole step costs at
// least as much, even with different blocks. Here a limit of memory is a price per byte,
// because each block takes a part of it.

typedef struct eg_cut_input {
  const eg_plan_space *space;     // of a folded step
  const eg_plan_limits *limits;   // the user's constraints; NULL: none
  const eg_memory_prices *prices; // to begin with; NULL: memory is free
  double cost;  // of a plan within the limits, no bound exceeds it; or INFINITY
  double known; // better prices are searched if the first ones give this bound; 0: always
  double at_hand; // a bound near this cost needs no better prices; or INFINITY
  const eg_layout_options *gaps; // near: by eg_layout_gap_after; NULL: never
  bool may_bind;                 // the limit of memory may bind: look for better prices
  bool climb_only;               // no search, for which a climb is often enough
  eg_open_options options;
} eg_cut_input;

typedef struct eg_cut {
  // Seconds of a step; 0 where the folded step proves no bound
  // (eg_plan_space.can_be_cut), INFINITY: there is no plan
  double bound;
  // Prices of this bound; behind the rows of the model the price of the step
  double price[EG_LAYOUT_MEMORY_ROWS];
  uint32_t rows;         // of the model
  uint32_t places, arcs; // of the problem; 0: the step cannot be cut
} eg_cut;

/// Bounds the step: improves the memory prices, then searches exactly. Fails with
/// EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL.
egraph_status eg_plan_cut_bound(egraph_allocator alloc, const eg_cut_input *input,
                                eg_cut *out);

// Mixes plans of a whole step: each of its equal blocks takes its choices from one plan.
//
// If a limit of memory binds, a plan with equal blocks is too large or dearer than
// necessary: the limit lies between two plans that are both cheapest at one price of
// memory. The cheapest mixture has about as many blocks of the cheaper kind as fit.

enum { EG_MIX_KINDS = 3 }; // at most

typedef struct eg_mix_input {
  const eg_plan_model *model; // of a step whose blocks are known (eg_step_fold)
  // All blocks begin with the choices of the first plan, which also decides the nodes
  // outside the blocks; then as many blocks as fit get the choices of each further plan.
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

/// Finds by bisection how many blocks each further plan gets. Fails with EGRAPH_E_MEMORY.
/// O(kinds log blocks) plans are emitted and their peaks counted.
egraph_status eg_plan_mix(egraph_allocator alloc, const eg_mix_input *input,
                          eg_mixed_plan *out);

#endif
