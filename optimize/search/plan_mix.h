// Plans of a whole step whose equal blocks are of several kinds, each as one plan has
// them.
//
// Where a limit of memory binds, all blocks alike are either too large or dearer than
// they need be: the limit lies between two plans that are the cheapest at one price of
// memory. The cheapest of all has about as many blocks of the cheaper kind as fit.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_MIX_H
#define EG_OPTIMIZE_SEARCH_PLAN_MIX_H

#include "optimize/model/plan_emit.h"
#include "optimize/model/plan_model.h"

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
