// What strategies and arcs cost beyond a bound by dual ascent.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_EXCESS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_EXCESS_H

#include "extract/layout/layout_factors.h"

/// The least that a solution with a strategy or arc in it exceeds `bound` by.
typedef struct eg_layout_excess {
  eg_doubles strategy, arc; // INFINITY: in no solution
  double bound;
} eg_layout_excess;

/// Of what is active; `bound` is the sum of the factors' least costs, and what else the
/// caller counts. Solves every factor twice. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_excess_fill(eg_layout_factors *factors, egraph_allocator alloc,
                                    double bound, eg_layout_excess *out);

#endif
