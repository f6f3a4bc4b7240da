// Local search over choices of any cost: one class at a time takes another node.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_FLIPS_H
#define EG_EXTRACT_FLIPS_H

#include "base/hash.h"
#include "extract/class_index.h"
#include "extract/incumbent.h"

typedef struct eg_flips {
  eg_incumbent *incumbent;
  const eg_u32s *candidate_begin; // [class + 1], rows of `candidates`
  const eg_u32s *candidates;      // nodes that a class may take
  eg_rng *rng;
  uint64_t work; // budget, in classes and edges walked
} eg_flips;

/// Improves `choice` (a node for every class that may come to be needed) as long as one
/// changed class does, then changes a few at random and tries again until the budget is
/// used up. Every better choice goes to the incumbent. Deterministic for a seed, unless
/// time runs out. Fails with EGRAPH_E_MEMORY.
egraph_status eg_flips_run(const eg_flips *flips, uint32_t *choice);

#endif
