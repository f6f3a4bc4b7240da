// A lower bound, solutions and deletions by dual ascent over the factors of a layout
// problem (layout_factors.h), without a linear program: simplex takes minutes on the
// relaxation of problems with many layouts.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_ASCENT_H
#define EG_EXTRACT_LAYOUT_LAYOUT_ASCENT_H

#include "extract/layout/layout_eliminate.h"
#include "extract/layout/layout_prices.h"

/// The least cost beyond `bound` of a solution with a strategy or arc in it.
typedef struct eg_layout_excess {
  eg_doubles strategy, arc; // INFINITY: in no solution
  double bound;
} eg_layout_excess;
void eg_layout_excess_init(eg_layout_excess *excess, egraph_allocator alloc);
void eg_layout_excess_deinit(eg_layout_excess *excess);

typedef struct eg_layout_ascent eg_layout_ascent;

enum { EG_LAYOUT_MOST_PASSES = 400 }; // enough for any climb

/// Of the strategies and arcs that are active, which are presolved; values that are
/// landmarks become required there, and more may be taken away later on. Borrows both.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_ascent_create(eg_layout_search *search, eg_layout_active *active,
                                      eg_layout_ascent **out);
void eg_layout_ascent_destroy(eg_layout_ascent *ascent);
/// Raises search->bound, offers solutions, and fills the excess of all that is active.
/// Stops after so many passes, when the bound hardly rises any more, meets the best
/// solution, or with the clock; goes on from there when called again. Limits on other
/// measures count at prices, and are checked against the least that there is at first,
/// unless a solution is known that keeps far below. *out_any: false when nothing that is
/// active can be a solution. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_ascent_climb(eg_layout_ascent *ascent, int passes,
                                     eg_layout_excess *out, bool *out_any);
/// Borrowed: the limited measures, and the prices at which climb works, 0 at first.
const eg_layout_weights *eg_layout_ascent_weights(const eg_layout_ascent *ascent);
/// `price`: [limited measures], >= 0; they count from the next climb on.
void eg_layout_ascent_set_prices(eg_layout_ascent *ascent, const double *price);
/// From now on no label is given up because a solution is cheaper: proofs do not depend
/// on the best solution.
void eg_layout_ascent_keep_all(eg_layout_ascent *ascent);
/// The best bound of all climbs, -INFINITY before the first.
double eg_layout_ascent_best(const eg_layout_ascent *ascent);
/// Looks for the prices of the best bound by the use of greedy solutions; the next
/// climb is at those.
egraph_status eg_layout_ascent_find_prices(eg_layout_ascent *ascent);
/// Works on a part of the active strategies and arcs, borrowed, until released: prices
/// are then as they were. Proofs of climb and eliminate meanwhile, search->bound
/// included, are of the part. Fails with EGRAPH_E_MEMORY, nothing has changed then.
egraph_status eg_layout_ascent_restrict(eg_layout_ascent *ascent,
                                        const eg_layout_active *part);
void eg_layout_ascent_release(eg_layout_ascent *ascent);
/// Appends the potentials of an open problem at the present prices. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_layout_ascent_potentials(eg_layout_ascent *ascent,
                                          eg_layout_potentials *out);
/// Borrowed.
const eg_layout_factors *eg_layout_ascent_factors(const eg_layout_ascent *ascent);
/// After climb: exact search within `room` of the bound, see layout_eliminate.h.
egraph_status eg_layout_ascent_eliminate(eg_layout_ascent *ascent,
                                         const eg_layout_excess *excess, double room,
                                         uint32_t rows, eg_layout_eliminated *out);

#endif
