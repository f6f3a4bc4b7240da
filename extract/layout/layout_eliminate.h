// Exact search on the strategies that an ascent leaves: variable elimination over their
// relations. Its cost grows with the width of a problem, not with its length, and shrinks
// with the gap.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_ELIMINATE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_ELIMINATE_H

#include "extract/layout/layout_factors.h"
#include "extract/layout/layout_search.h"

typedef enum eg_layout_reach {
  EG_LAYOUT_REACH_ALL,  // the least cost is known, or there is no solution
  EG_LAYOUT_REACH_ROOM, // no solution within room
  EG_LAYOUT_REACH_ROWS, // more than the cheapest rows may give a better result
  EG_LAYOUT_REACH_NONE  // the problem is too wide, or the clock stopped
} eg_layout_reach;

typedef struct eg_layout_elimination {
  const eg_doubles *strategy_excess, *arc_excess; // from eg_layout_excess
  double constant;                                // to be added to the sum of the factors
  double room;   // above the bound, finite: rows that cost more are left out
  uint32_t rows; // most rows of a relation, the cheapest
} eg_layout_elimination;

typedef struct eg_layout_eliminated {
  eg_layout_reach reach;
  bool found;                     // a choice of strategies is in search->trial
  double sum[EG_LAYOUT_MEASURES]; // sums of this choice
} eg_layout_eliminated;

/// Eliminates the factors' variables: offers the best solution found, and raises
/// search->bound to the bound that prices and elimination prove. The elimination ignores
/// cycles and limits: its bound is valid, but its solution may break them, so the offer
/// checks it. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_eliminate(eg_layout_search *search, eg_layout_factors *factors,
                                  const eg_layout_elimination *options,
                                  eg_layout_eliminated *out);

#endif
