// A good plan in a large space, for the solver to begin with. Rules change a graph here
// and there, layouts are chosen across all of it; so one is held while the other is
// chosen, in turn:
//
//   a plan of the graph as it was given ---> algebra in its layouts -> layouts ...
//
// Each solution is no worse than the one before. Together they are left to the solver.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_IMPROVE_H
#define EG_OPTIMIZE_SEARCH_PLAN_IMPROVE_H

#include "optimize/model/plan_choices.h"

/// Fills `best`, which is initialized and empty: the strategies, by value of the space's
/// model, of a plan that costs no more than `given`, which costs `cost`; empty when that
/// is no plan. `layout` has the time limit of all and the progress. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_plan_improve(egraph_allocator alloc, const eg_plan_space *space,
                              const eg_layout_options *layout,
                              const eg_plan_choices *given, double cost, eg_u32s *best);

#endif
