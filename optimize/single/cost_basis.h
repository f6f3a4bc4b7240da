// What costs rest on: how many of them are measured, estimated, guessed, given, or of
// operators that have no price.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SINGLE_COST_BASIS_H
#define EG_OPTIMIZE_SINGLE_COST_BASIS_H

#include "include/egraph.h"
#include "pcg/graph/graph.h"
#include "sim/cost.h"

/// Counts a cost; free ones are not counted.
void eg_cost_basis_count(egraph_cost_basis *inout, eg_cost_source source, bool is_guess);
/// Whether some cost is one of an operator with a price.
bool eg_cost_basis_has_prices(const egraph_cost_basis *basis);

/// Counts the operators of a graph in the report's basis, with the time that is estimated
/// from bytes alone, and what that estimate leaves out.
egraph_status eg_cost_basis_report(const eg_graph *graph, egraph_allocator alloc,
                                   eg_cost_model *costs, egraph_report *inout);

#endif
