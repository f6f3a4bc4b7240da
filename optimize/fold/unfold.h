// Maps each value of the whole step to a value of the planned step, whose blocks were
// folded before planning (pcg/graph/blocks.h).
//
//   forward graph  -> folded graph     what folding knows (eg_folded.value)
//        |                |
//   whole step ------> small step      the same training step made of each
//
// The draft lists the nodes of the unfolded graph in the order of the whole step, before
// they are sorted by phases. Each node is read from the planned graph, once for each
// block (unfold_draft.c), or is copied from the whole step.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_UNFOLD_H
#define EG_OPTIMIZE_FOLD_UNFOLD_H

#include "base/owner.h"
#include "optimize/model/plan_emit.h"
#include "optimize/space/step_info.h"

/// A step with all its blocks, and the folded step that was planned.
typedef struct eg_unfold_steps {
  const eg_graph *forward; // all blocks
  const eg_blocks *blocks;
  eg_fold_ends ends;
  const eg_folded *folded;
  const eg_training *whole,
      *small; // training steps of `forward` and `folded`; NULL: those graphs
} eg_unfold_steps;

typedef struct eg_unfold_match {
  eg_step_blocks blocks; // of the whole step
  eg_u32s value; // [values of the whole step] of the small step, or UINT32_MAX: none
} eg_unfold_match;

const eg_graph *eg_unfold_whole(const eg_unfold_steps *steps);
const eg_graph *eg_unfold_small(const eg_unfold_steps *steps);
/// Maps each value of the whole step to one of the small step, or fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_unfold_match_init(eg_unfold_match *match, egraph_allocator alloc,
                                   const eg_unfold_steps *steps);
void eg_unfold_match_deinit(eg_unfold_match *match);

typedef struct eg_draft_node {
  const eg_attrs *attrs;
  const char *name;
  bool is_again; // makes values again that another node makes
  uint32_t step; // step of the folded plan that this one copies; UINT32_MAX: none
  eg_phase phase;
  uint32_t operands, operand_count; // draft values, in eg_unfold_draft.operands
  uint32_t results, result_count;   // draft values, numbered consecutively
} eg_draft_node;
EG_VEC_DEFINE(eg_draft_nodes, eg_draft_node);

typedef struct eg_draft_value {
  uint32_t whole;    // value of the step with this name; UINT32_MAX: new
  uint32_t planned;  // value of the planned graph that represents it; UINT32_MAX: none
  uint32_t again_of; // value of the whole step that is made again; UINT32_MAX: none
} eg_draft_value;
EG_VEC_DEFINE(eg_draft_values, eg_draft_value);

typedef struct eg_unfold_draft {
  eg_draft_nodes nodes; // operands first
  eg_draft_values values;
  eg_u32s operands;
  eg_u32s made; // [values of the whole step] draft value; UINT32_MAX: not needed
} eg_unfold_draft;
EG_OWNER_DEFINE_MEMBERS(eg_unfold_draft, (eg_draft_nodes, nodes),
                        (eg_draft_values, values), (eg_u32s, operands, made))

/// Drafts the nodes that the outputs of the whole step need. A value that would
/// need itself (rules may swap operand and result) gets the whole step's node.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_unfold_draft_init(eg_unfold_draft *draft, egraph_allocator alloc,
                                   const eg_unfold_steps *steps,
                                   const eg_emitted_plan *folded);

// Turns a plan in which one block represents many into a plan of the whole step: every
// block gets the choices of the block that represents it.

/// Unfolds `folded`, the plan of the small step (its graph's pool of attributes may
/// grow); `costs` prices moves that the folded plan lacks, where a block needs its
/// neighbour's value in another layout than there. The new plan passes eg_plan_check and
/// is not folded; names are those of the whole step. It costs what the folded plan does,
/// except for nodes that only the whole step has (unfold_draft.c): every device computes
/// these whole, after the moves for them. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_unfold(egraph_allocator alloc, const eg_unfold_steps *steps,
                             const eg_emitted_plan *folded, const eg_plan_costs *costs,
                             eg_emitted_plan *out);

#endif
