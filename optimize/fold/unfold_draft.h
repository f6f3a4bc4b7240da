// The nodes of an unfolded graph in the order of the whole step, before they are sorted
// by phases: each is like a node of the planned graph, in a row (unfold_draft.c), or one
// of the whole step's own.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_UNFOLD_DRAFT_H
#define EG_OPTIMIZE_FOLD_UNFOLD_DRAFT_H

#include "optimize/fold/unfold_match.h"
#include "optimize/model/plan_emit.h"

typedef struct eg_draft_node {
  const eg_attrs *attrs;
  const char *name;
  uint32_t step; // of the folded plan that it is like; UINT32_MAX: there is none
  eg_phase phase;
  uint32_t operands, operand_count; // draft values, in eg_unfold_draft.operands
  uint32_t results, result_count;   // draft values, one behind the other
} eg_draft_node;
EG_VEC_DEFINE(eg_draft_nodes, eg_draft_node);

typedef struct eg_draft_value {
  uint32_t whole;   // of the whole step, whose name it gets; UINT32_MAX: a new one
  uint32_t planned; // of the planned graph that it is like; UINT32_MAX: none
} eg_draft_value;
EG_VEC_DEFINE(eg_draft_values, eg_draft_value);

typedef struct eg_unfold_draft {
  eg_draft_nodes nodes; // operands first
  eg_draft_values values;
  eg_u32s operands;
  eg_u32s made; // [values of the whole step] draft value; UINT32_MAX: not needed
} eg_unfold_draft;

/// What the outputs of the whole step need. A node that would need itself that way (rules
/// may turn around what is made of what) becomes the step's own. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_unfold_draft_init(eg_unfold_draft *draft, egraph_allocator alloc,
                                   const eg_unfold_steps *steps,
                                   const eg_emitted_plan *folded);
void eg_unfold_draft_deinit(eg_unfold_draft *draft);

#endif
