// The graph of the whole step, of which a plan with folded blocks is to become the plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_UNFOLD_GRAPH_H
#define EG_OPTIMIZE_PLAN_UNFOLD_GRAPH_H

#include "optimize/plan/plan_emit.h"
#include "optimize/plan/unfold_match.h"

typedef struct eg_unfolded_graph {
  eg_graph *graph;    // owned; nodes phase by phase
  eg_u32s like_step;  // [its nodes] step of the folded plan
  eg_u32s like_value; // [its values] of the folded plan's graph; UINT32_MAX: none
} eg_unfolded_graph;

/// Writes what the outputs of the whole step need, equal nodes once, and all inputs, with
/// the step's names. Fails with EGRAPH_E_UNSUPPORTED when nothing stands for a node.
egraph_status eg_unfolded_graph_init(eg_unfolded_graph *out, egraph_allocator alloc,
                                     const eg_unfold_steps *steps,
                                     const eg_emitted_plan *folded);
void eg_unfolded_graph_deinit(eg_unfolded_graph *graph);

#endif
