// Dual ascent in bulk: a whole family of nested cuts at a time, for problems too large
// for one cut after the other (dual_ascent.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LEVEL_ASCENT_H
#define EG_EXTRACT_LEVEL_ASCENT_H

#include "extract/class_index.h"
#include "extract/patience.h"

/// `price` holds costs (>= 0) on entry and reduced costs on return; *out_bound is what
/// all solutions cost beyond them, INFINITY when a root has no derivation. Each round
/// serves the root that is hardest to derive; ends after `max_rounds`, after a round that
/// gives little, or with patience; bound and prices are valid
/// then. O(edges + nodes log nodes) a round. Fails with EGRAPH_E_MEMORY.
egraph_status eg_level_ascent_run(egraph_allocator alloc,
                                  const eg_extract_problem *problem,
                                  const eg_class_index *index, uint32_t max_rounds,
                                  eg_patience patience, double *price, double *out_bound);

#endif
