// Finds the cheapest plan of a whole training step or model on one mesh.
//
// A step of equal blocks is planned folded first: one block represents all but the first
// and the last, which are all planned alike, or in groups of 2, 3, 4 neighbours. That is
// a restriction: its plan, unfolded, is a plan of the whole step, but its bound is no
// bound of the whole step. Therefore the search continues with this plan on the whole
// step, unless that is too large, and a bound comes from the folded step cut open at its
// seams (plan_folded.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_FOLD_WHOLE_STEP_H
#define EG_OPTIMIZE_FOLD_WHOLE_STEP_H

#include "base/owner.h"
#include "optimize/fold/unfold.h"
#include "optimize/search/planner.h"

typedef struct eg_whole_input {
  const eg_graph *forward;
  const eg_training_options *training;    // NULL: the forward graph alone
  bool folds;                             // look for equal blocks
  const eg_plan_constraints *constraints; // with names of the whole step; NULL: none
  double memory_limit;                    // bytes of a device
} eg_whole_input;

/// A training step or model, whole and folded (one block for many), for planning on
/// any mesh.
typedef struct eg_whole_step eg_whole_step;

/// Creates a step; borrows everything the input points to. Fails like eg_training_step,
/// and with EGRAPH_E_ARGUMENT for constraints on values that are not there.
egraph_status eg_whole_step_create(egraph_allocator alloc, const eg_whole_input *input,
                                   bool has_rules, eg_whole_step **out);
void eg_whole_step_destroy(eg_whole_step *step);
EG_HOLDER_DEFINE(eg_whole_step)
const eg_graph *eg_whole_step_graph(const eg_whole_step *step);
/// Returns how many equal blocks one block represents in the first search; 0 if the step
/// is not folded.
uint32_t eg_whole_step_blocks(const eg_whole_step *step);

/// Sets the memory of a device, in bytes, for later plans.
void eg_whole_step_limit_memory(eg_whole_step *step, double bytes);

/// Plans on the mesh of `planner`, whose graph, info and constraints are filled in here;
/// its time limit is for all searches. The plan is of the whole step; a searcher of
/// another algorithm plans the folded step, if there is one. Fails like eg_planner_run.
egraph_status eg_whole_step_plan(eg_whole_step *step, const eg_planner_input *planner,
                                 eg_planning *out);
/// Certifies a plan of this step on the problem of the whole step, which does not demand
/// equal blocks (plan_compete.h); *out is initialized. Fails like eg_planner_run.
egraph_status eg_whole_step_certify(eg_whole_step *step, const eg_planner_input *planner,
                                    const eg_plan_claim *claim, eg_plan_certificate *out);

#endif
