// A random walk over configurations by simulated seconds, like FlexFlow's (MLSys'19, 6):
// a proposal gives one operator another configuration. A shorter step is accepted, a
// longer step with a probability that falls with the difference.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SOAP_SOAP_WALK_H
#define EG_OPTIMIZE_SOAP_SOAP_WALK_H

#include "base/hash.h"
#include "base/owner.h"
#include "optimize/search/plan_searcher.h"
#include "optimize/soap/soap.h"
#include "pcg/plan/plan.h"

typedef struct eg_soap_walk {
  eg_soap *soap;                    // borrowed
  const eg_plan_question *question; // borrowed
  // True: a proposal, with probability 1/2 each, changes all operators that are alike,
  // and changes the layouts of values stored near an operator with it; no accepted
  // proposal exceeds the problem's limits. False: as FlexFlow published
  bool changes_alike;
  eg_u32s choice;           // [leads] current option
  eg_u32s best, best_kept;  // choices of the shortest step; empty: no plan yet
  double current, shortest; // seconds
  eg_u32s alike, firsts; // [leads] the next that is alike, in a ring; first of each ring
  eg_u32s near_begin, near;       // [leads + 1] values that are kept near a lead
  eg_u32s undo_lead, undo_option; // to undo a proposal
  eg_u32s undo_value, undo_kept;
  eg_rng rng;
  uint64_t proposals;
  double start, deadline; // seconds of the clock
  eg_plan_stop stop;
  bool is_over; // the clock, or the caller, has ended the walk
} eg_soap_walk;
EG_OWNER_DEFINE_MEMBERS(eg_soap_walk,
                        (eg_u32s, choice, best, best_kept, alike, firsts, near_begin,
                         near, undo_lead, undo_option, undo_value, undo_kept))

egraph_status eg_soap_walk_init(eg_soap_walk *walk, eg_soap *soap,
                                const eg_plan_question *question, bool changes_alike);
/// Draws an option (strategy) of a lead, an operator with a configuration.
uint32_t eg_soap_walk_draw(eg_soap_walk *walk, uint32_t lead);
/// Walks on from the configurations `choice` until `steps` proposals are done, or half of
/// them have gained nothing. Fails with EGRAPH_E_MEMORY.
egraph_status eg_soap_walk_on(eg_soap_walk *walk, uint64_t steps);
/// Appends the strategies of the shortest step to the answer, and fills in the rest.
egraph_status eg_soap_walk_answer(eg_soap_walk *walk, eg_plan_answer *out);

// Improves a plan by small changes: a walk over configurations of its operators
// (soap_walk.h) that begins with the plan and estimates the seconds of the overlapped
// step. The graph of the plan stays.

typedef struct eg_plan_refinement {
  // Borrowed, on the question's mesh; NULL: data parallelism, in a question without rules
  const eg_plan *plan;
} eg_plan_refinement;

/// Returns a search that improves plans of the whole step, with the work limit of its
/// question. It finds no plan if the question's e-graph lacks nodes that rules have made
/// in the plan. Borrows `refinement`.
eg_plan_searcher eg_plan_refinement_searcher(const eg_plan_refinement *refinement);

#endif
