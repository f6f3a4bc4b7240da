// Finds plans on one plan space: the cheapest within the user's constraints, and the
// baselines (plan_baselines.h), which seed a search that ended without a proof and are
// compared with its plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_COMPETE_H
#define EG_OPTIMIZE_SEARCH_PLAN_COMPETE_H

#include "base/text.h"
#include "optimize/model/plan_model.h"
#include "optimize/search/plan_algebra.h"
#include "optimize/search/plan_baselines.h"
#include "optimize/search/plan_fit.h"
#include "optimize/search/plan_folded.h"
#include "optimize/search/plan_searcher.h"

typedef struct eg_competition {
  egraph_allocator alloc;
  const eg_plan_space *space;
  const eg_plan_constraints *constraints; // the user's; NULL: none
  const eg_plan_algebra *algebra;         // NULL: chosen with the layouts
  eg_layout_options layout;
  const eg_mesh *mesh;         // with axes of one device, which the space lacks
  bool beyond_memory;          // if nothing fits, plan as if everything did
  bool only_fitting;           // eg_plan_fit
  const eg_plan_choices *seed; // to begin the search with; NULL: none
} eg_competition;

// The functions below that find a plan fill an initialized eg_fitted_plan.

/// Finds the cheapest plan. Fails with EGRAPH_E_ARGUMENT when the constraints leave no
/// plan, naming the first statement after which there is none.
egraph_status eg_compete_search(const eg_competition *competition, eg_fitted_plan *out);
/// Finds the cheapest plan, like eg_compete_search, but a missing plan is a result.
egraph_status eg_compete_given(const eg_competition *competition, eg_fitted_plan *out);
/// Runs the search of another algorithm and takes its plan, even if that does not fit in
/// memory. `question` is complete except for the model. The status is UNKNOWN if the
/// search finds no plan. Fails as eg_compete_search and the search do.
egraph_status eg_compete_by(const eg_competition *competition,
                            const eg_plan_searcher *searcher,
                            const eg_plan_question *question, eg_fitted_plan *out,
                            eg_plan_searched *out_searched);
/// Bounds all plans of the whole step (plan_folded.h), within the time of the options.
/// `how`: without space, limits and options.
egraph_status eg_compete_cut(const eg_competition *competition, const eg_cut_input *how,
                             eg_cut *out);
/// Takes the price of another mesh, and makes the memory row of its step.
egraph_status eg_compete_recall(const eg_competition *competition,
                                const eg_memory_hint *hint, eg_memory_prices *out);
/// Computes a rough bound, to decide if a search for plans cheaper than `ceiling` seconds
/// is of use. `is_folded`: the bound is for the whole step.
egraph_status eg_compete_probe(const eg_competition *competition, double ceiling,
                               bool is_folded, double *out);
enum { EG_MATE_SMALL, EG_MATE_CHEAP, EG_MATES };
/// The cheapest plans at two prices of memory: EG_MATE_SMALL fits, and at a slightly
/// lower price EG_MATE_CHEAP does not.
typedef struct eg_mates {
  bool has[EG_MATES];
  double factor[EG_MATES]; // of the best bound's price
  double seconds[EG_MATES], peak[EG_MATES];
  double meeting; // the factor at which both cost the same; 0: not known
  eg_emitted_plan plan[EG_MATES];
} eg_mates;
void eg_mates_deinit(eg_mates *mates);
/// Finds mates at prices near `best`, as of eg_cut, with its step; the competition's work
/// and time are for all solutions together. `large`: takes the memory row of the peak of
/// the first plan that exceeds the limit, if it has none.
egraph_status eg_compete_mates(const eg_competition *competition, const double *best,
                               const eg_peak_row *step, eg_peak_row *large,
                               eg_mates *mates);

/// The reason why a baseline does not exist for this step on this mesh: a size that its
/// axes do not divide.
typedef struct eg_baseline_obstacle {
  uint32_t parts; // parts into which the size should be cut; 0: no obstacle
  int64_t batch;  // dimension 0 of the batches; 0: no weight divides
} eg_baseline_obstacle;

/// Finds the cheapest plan of a baseline, as far as the user's constraints allow it. If
/// its axes do not divide a size, *obstacle says so and *out is INFEASIBLE.
egraph_status eg_compete_baseline(const eg_competition *competition,
                                  const eg_axis_roles *roles,
                                  eg_baseline_obstacle *obstacle, eg_fitted_plan *out);
/// Finds the plan of a named baseline. A size that its axes do not divide is
/// an EGRAPH_E_ARGUMENT.
egraph_status eg_compete_named(const eg_competition *competition, const char *name,
                               eg_fitted_plan *out);

// A certificate of a plan, for tools/check_certificate: the layout problem of its step,
// the plan as a solution of that problem, and prices that prove a lower bound.
//
// A search also proves bounds by means that leave no certificate: branching, deletion of
// dominated choices, folded steps cut open. Therefore the prices are found anew, on the
// full problem. They may prove less than the search did; the certificate then says how
// much of the bound is unchecked.

/// The claim of a search about its plan.
typedef struct eg_plan_claim {
  const eg_plan *plan; // of the whole step
  double cost, bound;  // seconds of a step
} eg_plan_claim;

typedef enum eg_plan_certified {
  EG_PLAN_CERTIFIED,
  EG_PLAN_LOST,     // rules have not made the plan's nodes again
  EG_PLAN_DIFFERENT // its choices are no solution of the problem at its cost
} eg_plan_certified;

typedef struct eg_plan_certificate {
  eg_plan_certified outcome;
  eg_text text;   // CERTIFIED: the certificate
  double checked; // CERTIFIED: the lower bound that it proves
  bool is_all;    // the problem has all variants that rules make
} eg_plan_certificate;

void eg_plan_certificate_init(eg_plan_certificate *certificate, egraph_allocator alloc);
void eg_plan_certificate_deinit(eg_plan_certificate *certificate);
/// Fills an empty certificate for the problem that eg_compete_search solves or, with
/// roles of axes, for that baseline's problem. The options' limits are for the proof.
/// Fails with EGRAPH_E_INTERNAL where the prices contradict the plan.
egraph_status eg_compete_certify(const eg_competition *competition,
                                 const eg_axis_roles *roles, const eg_plan_claim *claim,
                                 eg_plan_certificate *out);

#endif
