// The search for one subproblem: its state (the best solution, the cutoff); functions
// that translate a solution of a reduced model back to the subproblem, and keep it if it
// is the best so far; and the linear relaxation.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_EXTRACT_SEARCH_H
#define EG_EXTRACT_SEARCH_EXTRACT_SEARCH_H

#include "base/hash.h"
#include "base/owner.h"
#include "extract/ilp_glpk.h"
#include "extract/incumbent.h"
#include "extract/presolve/presolve.h"

typedef struct eg_extract_search {
  egraph_allocator alloc;
  eg_incumbent *incumbent; // incumbent of the subproblem, borrowed
  uint32_t depth;          // number of searches around this one
  double outer_cutoff;     // only solutions below are of use, whatever the incumbent
  eg_parts parts;
  eg_rng rng;
  eg_u32s choice, reduced_choice; // scratch
  eg_u32s best_choice;            // cheapest greedy choice for the current model
  double best_cost;               // set it to INFINITY when the model changes
} eg_extract_search;

void eg_extract_search_init(eg_extract_search *search, egraph_allocator alloc,
                            eg_incumbent *incumbent, double outer_cutoff);
void eg_extract_search_deinit(eg_extract_search *search);
double eg_extract_search_cutoff(const eg_extract_search *search);
/// Solves a linear program within the remaining work and time, and counts its iterations.
egraph_status eg_extract_search_solve_lp(eg_incumbent *incumbent, eg_lp *lp,
                                         double objective_limit, eg_lp_state *out);
/// Offers the choice of a reduced model to the incumbent; *out_cost is its cost.
egraph_status eg_extract_search_offer(eg_extract_search *search, const eg_reduced *model,
                                      const uint32_t *reduced_choice, double *out_cost);
/// Runs both greedy methods on the presolved model with the given node costs.
egraph_status eg_extract_search_greedy(eg_extract_search *search,
                                       const eg_presolve *presolve, const double *cost);

/// Runs greedy extraction on the reduced costs of dual ascents, which serve the roots in
/// `rounds` different orders: nodes that a bound leaves free make a good choice.
egraph_status eg_extract_search_ascend(eg_extract_search *search,
                                       const eg_presolve *presolve, uint32_t rounds);

// ---- the relaxation (relax.c) -------------------------------------------------------
// The linear relaxation of one presolved model: cutting planes, fixing by reduced costs,
// and greedy solutions guided by x. It bounds a node of the search tree (branch.c).

typedef enum eg_relax_outcome {
  EG_RELAX_CLOSED, // nothing below the cutoff
  EG_RELAX_SHRUNK, // many nodes can be dropped: presolve again
  EG_RELAX_OPEN,   // cuts improve x no more: branch
  EG_RELAX_STOPPED // out of time
} eg_relax_outcome;

typedef struct eg_relax {
  double bound;   // bound of the total, offset included
  eg_doubles x;   // [node]
  eg_bytes drop;  // [node] cannot be in a solution below the cutoff
  size_t dropped; // number of flags set in `drop`
} eg_relax;
EG_OWNER_DEFINE_STATIC(eg_relax, (eg_doubles, x), (eg_bytes, drop))

/// Solves the linear relaxation; uses presolve's landmarks if there are any. Fails with
/// EGRAPH_E_MEMORY or EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_relax_run(eg_relax *relax, eg_extract_search *search,
                           eg_presolve *presolve, eg_relax_outcome *out);

#endif
