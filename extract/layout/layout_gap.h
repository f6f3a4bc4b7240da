// Closes the gap between the bound of an ascent and the best solution: windows around the
// solution, eliminations near the bound, prices of limits.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_GAP_H
#define EG_EXTRACT_LAYOUT_LAYOUT_GAP_H

#include "base/owner.h"
#include "extract/layout/layout_ascent.h"

/// Strategies of solutions at several memory prices, also of solutions above a limit.
typedef struct eg_layout_pool {
  eg_bytes strategy; // [strategies]
  uint32_t solutions;
} eg_layout_pool;
EG_OWNER_DEFINE_STATIC(eg_layout_pool, (eg_bytes, strategy))

/// Raises search->bound and offers solutions. Deletes from `active`, which the ascent
/// shares, strategies and arcs that are in no better solution; `excess` is from the
/// last eg_layout_ascent_climb. active->infeasible: there is no better solution. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_layout_close_gap(eg_layout_search *search, eg_layout_active *active,
                                  eg_layout_ascent *ascent, eg_layout_excess *excess,
                                  eg_layout_pool *pool);

/// Deletes from `active` the strategies and arcs that exceed the bound by more than the
/// best solution does; returns the share of strategies that it deleted.
double eg_layout_delete_costly(eg_layout_search *search, eg_layout_active *active,
                               const eg_layout_excess *excess);

/// Searches large neighbourhoods (Shaw 1998) of the best solution, if there is one:
/// windows of `size` values all over the problem, until none gives a better solution.
/// `active` belongs to the ascent. Restores search->bound and the prices of the ascent.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_neighbours(eg_layout_search *search,
                                   const eg_layout_active *active,
                                   eg_layout_ascent *ascent, size_t size);

#endif
