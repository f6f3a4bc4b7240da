// The connected subproblems of a presolved model. Only the sum of their costs connects
// them, so each subproblem is solved by itself and has its own best solution and bound.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_SUBPROBLEMS_H
#define EG_EXTRACT_SEARCH_SUBPROBLEMS_H

#include "extract/class_graph.h"
#include "extract/incumbent.h"

typedef enum eg_subproblem_state {
  EG_SUBPROBLEM_OPEN,
  EG_SUBPROBLEM_SOLVED,   // its solution is the best one
  EG_SUBPROBLEM_EXHAUSTED // nothing below its cutoff: the whole has no better solution
} eg_subproblem_state;

typedef struct eg_subproblem {
  eg_extract_problem problem;
  eg_class_index index;
  eg_u32s class_of, node_of; // class and node in the model
  eg_cuts cuts;              // rows of its nodes
  eg_incumbent incumbent;    // of `problem`; its bound is the bound of the subproblem
  eg_subproblem_state state;
  double outer_cutoff; // only solutions below this help the whole problem
  eg_part_clock clock; // clock of its thread
} eg_subproblem;

EG_VEC_DEFINE(eg_subproblems, eg_subproblem);

/// Splits a model into its subproblems, small ones first; `subproblems` is initialized
/// and empty. Rows of `cuts` within a subproblem become its cuts; rows across subproblems
/// are lost. Incumbents report to `whole` and start from bound 0. O(nodes + edges).
egraph_status eg_subproblems_split(eg_subproblems *subproblems,
                                   const eg_extract_problem *model, const eg_cuts *cuts,
                                   eg_incumbent *whole);
/// Deinits every subproblem and the vector.
void eg_subproblems_destroy(eg_subproblems *subproblems);
/// Returns the sum of the bounds of all subproblems except `without` (NULL: of all).
double eg_subproblems_bound(const eg_subproblems *subproblems,
                            const eg_subproblem *without);
/// Offers the subproblem the part of a model's choice that lies in the subproblem.
egraph_status eg_subproblem_seed(eg_subproblem *subproblem,
                                 const eg_extract_problem *model, const uint32_t *choice);
/// Raises the bound of the subproblem by dual ascent.
egraph_status eg_subproblem_bound(eg_subproblem *subproblem);
/// Writes the best choice of the subproblem into a choice of the model.
void eg_subproblem_adopt(const eg_subproblem *subproblem, uint32_t *choice);

// ---- side by side -----------------------------------------------------------------

// Subproblems run in batches of a fixed size. Before a batch each subproblem receives a
// cutoff and the sum of the bounds of the others; after the batch the whole problem
// receives their solutions and bounds. No subproblem sees the progress of another;
// therefore the result is the same for any number of threads. Only a subproblem that is
// alone in its batch reports each better solution at once.

typedef struct eg_batches {
  egraph_allocator alloc;
  eg_subproblems *subproblems;
  eg_incumbent *whole;
  double offset; // cost of the whole outside the subproblems
  void *user;
  /// Copies better choices of subproblems into the choice of the whole problem.
  egraph_status (*adopt)(void *user);
  bool exhausted; // result: some subproblem is exhausted
} eg_batches;

/// A function that does one step of solving a subproblem. It writes only this subproblem,
/// reads only constant parts of the others, and may run in any thread.
typedef egraph_status (*eg_subproblem_step)(void *user, eg_subproblem *subproblem);

/// Runs `step` on every open subproblem, until the whole solve stops or one subproblem is
/// exhausted, and raises the bound of the whole problem. Fails as the first failing
/// subproblem does.
egraph_status eg_subproblems_run(eg_batches *batches, eg_subproblem_step step);

#endif
