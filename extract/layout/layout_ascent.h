// Dual ascent over the factors of a layout problem (layout_factors.h): finds a lower
// bound, solutions and deletions without a linear program, because simplex takes minutes
// on the relaxation of problems with many layouts.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_ASCENT_H
#define EG_EXTRACT_LAYOUT_LAYOUT_ASCENT_H

#include "base/owner.h"
#include "extract/layout/layout_eliminate.h"
#include "extract/layout/layout_prices.h"

/// The excess of a strategy or arc is a lower bound of (the cost of every solution that
/// contains it) - `bound`.
typedef struct eg_layout_excess {
  eg_doubles strategy, arc; // INFINITY: in no solution
  double bound;
} eg_layout_excess;
EG_OWNER_DEFINE_STATIC(eg_layout_excess, (eg_doubles, strategy, arc))

typedef struct eg_layout_ascent eg_layout_ascent;

enum { EG_LAYOUT_MOST_PASSES = 400 }; // enough for any climb

/// Creates an ascent over the active strategies and arcs, which must be presolved. Marks
/// landmarks (values in every solution) in `active` as required; later calls may delete
/// strategies and arcs from `active`. Borrows both arguments. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_ascent_create(eg_layout_search *search, eg_layout_active *active,
                                      eg_layout_ascent **out);
void eg_layout_ascent_destroy(eg_layout_ascent *ascent);
EG_HOLDER_DEFINE(eg_layout_ascent)
/// Raises search->bound, offers solutions, and fills the excess of all active strategies
/// and arcs. Stops after `passes` passes, when the bound hardly rises or meets the best
/// solution, or at the deadline; the next call continues from there. Limited memory
/// counts at its prices; the first call checks that the limits can be kept, unless a
/// known solution is far below them. *out_any: false when the active strategies have no
/// solution. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_ascent_climb(eg_layout_ascent *ascent, int passes,
                                     eg_layout_excess *out, bool *out_any);
/// Returns the limited memory rows and their next prices, 0 at first. Borrowed.
const eg_layout_weights *eg_layout_ascent_weights(const eg_layout_ascent *ascent);
/// Sets the next prices of memory. `price`: [limited measures], >= 0.
void eg_layout_ascent_set_prices(eg_layout_ascent *ascent, const double *price);
/// Keeps layouts and strategies that cost more than the best solution, so that proofs do
/// not depend on this solution.
void eg_layout_ascent_keep_all(eg_layout_ascent *ascent);
/// Returns the best bound of all climbs, -INFINITY before the first.
double eg_layout_ascent_best(const eg_layout_ascent *ascent);
/// Finds the prices of memory with the best bound, guided by the memory that greedy
/// solutions use; the next climb uses these prices.
egraph_status eg_layout_ascent_find_prices(eg_layout_ascent *ascent);
/// Restricts the ascent to a part of the active strategies and arcs, until
/// eg_layout_ascent_release, which restores the prices. Meanwhile proofs of climb and
/// eliminate, search->bound included, hold for the part only. Borrows `part`. Fails with
/// EGRAPH_E_MEMORY and then changes nothing.
egraph_status eg_layout_ascent_restrict(eg_layout_ascent *ascent,
                                        const eg_layout_active *part);
void eg_layout_ascent_release(eg_layout_ascent *ascent);
/// Appends the multipliers of the layouts at the seams of repeated blocks, at the current
/// prices. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_ascent_potentials(eg_layout_ascent *ascent,
                                          eg_layout_potentials *out);
/// Returns the subproblems of the Lagrangian decomposition, borrowed.
const eg_layout_factors *eg_layout_ascent_factors(const eg_layout_ascent *ascent);
/// Searches all solutions within `room` of the last climb's bound;
/// see eg_layout_eliminate.
egraph_status eg_layout_ascent_eliminate(eg_layout_ascent *ascent,
                                         const eg_layout_excess *excess, double room,
                                         uint32_t rows, eg_layout_eliminated *out);

#endif
