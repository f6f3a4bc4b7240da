// Better solutions near the best one. In a window, values that are close to each other
// are free and all others keep their strategies; what that leaves is searched by ascent
// and elimination as a problem of its own (large neighbourhood search: Shaw 1998).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_NEIGHBOURS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_NEIGHBOURS_H

#include "extract/layout/layout_ascent.h"

/// Offers solutions, if there is one to begin with: searches windows of `size` values all
/// over the problem, until none gives a better one. `active` is what the ascent works on;
/// its prices and search->bound are as before then. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_neighbours(eg_layout_search *search,
                                   const eg_layout_active *active,
                                   eg_layout_ascent *ascent, size_t size);

#endif
