// What the search for one subproblem shares: the best solution, the cutoff, and the way
// from a reduced model to a solution of the subproblem.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_EXTRACT_SEARCH_H
#define EG_EXTRACT_SEARCH_EXTRACT_SEARCH_H

#include "base/hash.h"
#include "extract/ilp_glpk.h"
#include "extract/incumbent.h"
#include "extract/presolve/presolve.h"

typedef struct eg_extract_search {
  egraph_allocator alloc;
  eg_incumbent *incumbent; // of the component, borrowed
  uint32_t depth;          // of searches inside searches
  double outer_cutoff;     // only solutions below are of use, whatever the incumbent
  eg_parts parts;
  eg_rng rng;
  eg_u32s choice, reduced_choice; // scratch
  eg_u32s best_choice;            // cheapest that greedy found for the present model
  double best_cost;               // set it to INFINITY when the model changes
} eg_extract_search;

void eg_extract_search_init(eg_extract_search *search, egraph_allocator alloc,
                            eg_incumbent *incumbent, double outer_cutoff);
void eg_extract_search_deinit(eg_extract_search *search);
double eg_extract_search_cutoff(const eg_extract_search *search);
/// Solves within the work and time that are left, and counts the iterations.
egraph_status eg_extract_search_solve_lp(eg_incumbent *incumbent, eg_lp *lp,
                                         double objective_limit, eg_lp_state *out);
/// Offers the choice of a reduced model to the incumbent; *out_cost is what it costs.
egraph_status eg_extract_search_offer(eg_extract_search *search, const eg_reduced *model,
                                      const uint32_t *reduced_choice, double *out_cost);
/// Greedy extraction of the presolved model with the given node costs, both kinds.
egraph_status eg_extract_search_greedy(eg_extract_search *search,
                                       const eg_presolve *presolve, const double *cost);

/// Greedy extraction on the reduced costs of dual ascents with the roots in `rounds`
/// different orders: what a bound leaves free is a good choice.
egraph_status eg_extract_search_ascend(eg_extract_search *search,
                                       const eg_presolve *presolve, uint32_t rounds);

#endif
