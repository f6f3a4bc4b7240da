// Solutions by the prices of an ascent: a greedy walk over the values, inputs first, that
// takes of each the strategy that is cheapest by what making its value may cost.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_WALK_H
#define EG_EXTRACT_LAYOUT_LAYOUT_WALK_H

#include "extract/layout/layout_factors.h"
#include "extract/layout/layout_search.h"

typedef struct eg_layout_walk {
  // Borrowed.
  eg_layout_search *search;
  const eg_layout_factors *factors;
  const eg_u32s *order; // values, inputs first
  // Of one walk.
  eg_doubles far;  // [places] ways from where a value is made
  eg_u32s made_in; // [value] layout, or NONE
  eg_u32s label;   // [tie]
} eg_layout_walk;

/// Deinit it also when this fails. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_walk_init(eg_layout_walk *walk, eg_layout_search *search,
                                  const eg_layout_factors *factors, const eg_u32s *order);
void eg_layout_walk_deinit(eg_layout_walk *walk);
/// Walks and offers what it chose, which is in search->trial then, a solution or not.
egraph_status eg_layout_walk_offer(eg_layout_walk *walk);

#endif
