// The graph of the whole step, of which a plan with folded blocks is to become the plan:
// what the planned graph has, once for every block, and the step's own nodes where the
// planned graph has none.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_UNFOLD_GRAPH_H
#define EG_OPTIMIZE_FOLD_UNFOLD_GRAPH_H

#include "optimize/fold/unfold_draft.h"

typedef struct eg_unfolded_graph {
  eg_graph *graph;    // owned; nodes phase by phase
  eg_u32s like_step;  // [its nodes] step of the folded plan; UINT32_MAX: there is none
  eg_u32s phase;      // [its nodes] eg_phase
  eg_u32s like_value; // [its values] of the folded plan's graph; UINT32_MAX: none
} eg_unfolded_graph;

/// Writes what the outputs of the whole step need, equal nodes once, and all inputs, with
/// the step's names; what rules have made gets new ones. Fails with EGRAPH_E_MEMORY.
egraph_status eg_unfolded_graph_init(eg_unfolded_graph *out, egraph_allocator alloc,
                                     const eg_unfold_steps *steps,
                                     const eg_emitted_plan *folded);
void eg_unfolded_graph_deinit(eg_unfolded_graph *graph);

#endif
