// The state of the planner, and the baselines that compete with its plan. They are
// planned roughly, then finely before the search, again after a search without a proof,
// and always if the user asked for their costs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLANNER_INTERNAL_H
#define EG_OPTIMIZE_SEARCH_PLANNER_INTERNAL_H

#include "optimize/search/budget.h"
#include "optimize/search/planner.h"

/// A baseline plan of the mesh, which competes with the planner's plan.
typedef struct eg_contender {
  eg_axis_roles roles;
  bool is_fewer;           // planning for fewer devices
  uint32_t number;         // in the order of eg_baselines_of_mesh
  uint32_t outcome;        // its index in eg_planning.baseline
  double cost, bound;      // of its plans; INFINITY, 0: none is known
  bool is_large;           // its last plan exceeds the limit of memory
  eg_layout_status status; // of its last plan
} eg_contender;
EG_VEC_DEFINE(eg_contenders, eg_contender);

/// The stages of the planner, in order. Baselines that may be cheaper than the plan are
/// planned in the stages of SEEDING and in CONTESTING; COMPARING plans only the baselines
/// that the user asked for.
typedef enum eg_planner_stage {
  EG_PLANNER_SEEDING,     // baselines of the given graph
  EG_PLANNER_GIVEN_GRAPH, // the cheapest plan of the given graph
  EG_PLANNER_SEEDING_VARIANTS,
  EG_PLANNER_SEARCHING,
  EG_PLANNER_CUTTING,
  EG_PLANNER_CONTESTING, // after a search without a proof
  EG_PLANNER_COMPARING   // after a search with a proof
} eg_planner_stage;

typedef struct eg_planner {
  egraph_allocator alloc;
  const eg_planner_input *input;
  eg_step_info info;        // the input's, with the current limit of memory
  eg_layout_options budget; // the input's, with the remaining time and work
  uint64_t done;            // steps
  bool is_lifted;           // the first searches ignore the limit of memory
  double floor;             // bound of all plans, with unlimited memory
  double known_cost;        // of the recalled plan; INFINITY: there is none
  eg_planning *out;
  eg_tensor_egraph *egraph;
  eg_mesh mesh; // without axes of one device
  eg_planner_stage stage;
  const eg_contender *current; // the baseline that is being planned, or NULL
  bool is_cancelled;
  uint32_t given_nodes; // of the e-graph, before groups and rules
  uint32_t tries;       // plans of baselines
  double least;         // least peak of all plans so far; 0: there are none
  eg_contenders contenders;
  eg_plan_choices seed;    // of the cheapest plan before the search
  eg_plan_algebra loose;   // the graph of the plan that exceeds the limit, if is_found
  eg_memory_prices prices; // that the search found
  double cut_end;          // clock: of a folded step's bound and mates
  double start;
} eg_planner;

/// Returns the planner's budget, with the remaining time as its limit.
eg_layout_options eg_planner_remaining(const eg_planner *p);
/// Reports progress; the callback of eg_layout_options for a planner. While baselines are
/// planned, it reports only the best cost so far. A baseline of use only if it is cheaper
/// ends when its bound shows that it is not.
bool eg_planner_progress(void *planner, double cost, double bound, double seconds);
bool eg_planner_fits(const eg_planner *p);
/// True when the user has no constraints.
bool eg_planner_is_free(const eg_planner *p);
void eg_planner_note_least(eg_planner *p, const eg_fitted_plan *plan);
/// Replaces the planner's plan.
void eg_planner_take(eg_planner *p, eg_fitted_plan *plan);
/// Replaces the planner's plan by `plan` if that fits in memory and is cheaper, and seeds
/// the search with it. Fails with EGRAPH_E_INTERNAL when `plan` contradicts a bound.
egraph_status eg_planner_let_win(eg_planner *p, const char *name, eg_fitted_plan *plan);

/// Lists the baseline plans that exist on the mesh. Fails with EGRAPH_E_MEMORY.
egraph_status eg_contest_list(eg_planner *p);
/// Plans the baselines of one graph roughly, then those that may be the cheapest finely,
/// and sorts the baselines by cost.
egraph_status eg_contest_seed(eg_planner *p, eg_competition *competition);
/// Plans for fewer devices, and plans the baseline that was cheapest for the given graph,
/// both with the variants that rules made.
egraph_status eg_contest_seed_variants(eg_planner *p, eg_competition *competition);
/// Forgets plans of baselines that exceed the limit of memory (or `all` plans) after a
/// search without the limit, so that these baselines are planned again. The plan of one
/// device is not forgotten: no plan on one device takes less memory.
void eg_contest_forget(eg_planner *p, bool all);
/// Plans, after the search, baselines that may be cheaper than the plan, and baselines
/// that the user asked for.
egraph_status eg_contest_close(eg_planner *p, eg_competition *competition);

#endif
