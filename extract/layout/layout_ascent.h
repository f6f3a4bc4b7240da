// A lower bound, solutions and deletions by dual ascent, without a linear program: for
// problems over many layouts, whose relaxation takes simplex minutes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_ASCENT_H
#define EG_EXTRACT_LAYOUT_LAYOUT_ASCENT_H

#include "extract/layout/layout_search.h"

/// Raises search->bound, offers solutions, and takes from `active`, which is presolved,
/// what is in no better solution. Stops when the bound stands still, or with the clock. A
/// limit on another measure counts at a price. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_ascend(eg_layout_search *search, eg_layout_active *active);

#endif
