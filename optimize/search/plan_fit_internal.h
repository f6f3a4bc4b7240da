// The attempts of a search for a plan that fits in memory (plan_fit.h): solutions of the
// layout problem within limits of stored bytes; the peak of each solution's plan is
// counted, and the cheapest that fits stays.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_FIT_INTERNAL_H
#define EG_OPTIMIZE_SEARCH_PLAN_FIT_INTERNAL_H

#include "optimize/search/budget.h"
#include "optimize/search/plan_fit.h"
#include "optimize/search/plan_forbid.h"
#include "optimize/search/plan_peak.h"
#include "optimize/search/plan_walk.h"

typedef struct eg_fit_rows {
  double at[EG_LAYOUT_MEMORY_ROWS];
} eg_fit_rows;

/// A plan above the memory limit: the step at its peak, which makes a value of the
/// problem (EG_SPACE_NONE: not known) or moves it into a layout; and the plan's choices.
typedef struct eg_large_plan {
  uint32_t made, into;
  eg_u32s strategy;
  eg_bytes arc_used;
} eg_large_plan;

typedef struct eg_fitter {
  egraph_allocator alloc;
  eg_plan_model *model;
  const eg_layout_options *options;
  bool only_fitting;
  double limit, deadline;
  eg_work work;
  uint64_t first_work; // work of the first solution
  uint32_t own_rows;   // rows of the given problem
  uint32_t rows;       // own_rows and rows of steps: every plan obeys their limits
  eg_large_plan large; // the last one
  uint32_t first_made, first_into;  // of the plan whose peak step is the first row of one
  eg_u32s first_strategy;           // its choices; empty: there is no such row
  double least_peak;                // of all emitted plans
  double least_cost;                // of the plans that fit
  double floor;                     // lower bound of all costs, from prices
  eg_peak_row last_peak, best_peak; // of the last rejected plan; of the best plan
  eg_plan_walk walk;
  double walk_share; // factor of the least cost: solutions up to it are visited
  eg_u32s found;     // strategies of the cheapest solution whose plan fits, or empty
  eg_u32s least; // of a solution that keeps little, the start while none fits; or empty
  eg_plan_forbidden forbidden;
  eg_fitted_plan *out;
} eg_fitter;
EG_OWNER_DEFINE_MEMBERS(eg_fitter, (eg_peak_row, last_peak, best_peak),
                        (eg_u32s, found, least, large.strategy, first_strategy),
                        (eg_bytes, large.arc_used), (eg_plan_forbidden, forbidden))

/// The result of solving within limits of the bytes stored between phases.
typedef struct eg_fit_attempt {
  eg_layout_status status;
  double cost, bound;
  eg_fit_rows price; // seconds of a byte
  eg_fit_rows least; // NO_MEMORY: least kept bytes above the limits
  bool is_solved;
  eg_fit_rows kept;  // is_solved
  double peak;       // is_solved
  uint32_t peak_row; // is_solved: the row that the peak is nearest to
} eg_fit_attempt;

double eg_fit_seconds_left(const eg_fitter *f);
/// Returns a share of the remaining work limit; EG_WORK_UNLIMITED: there is no limit.
uint64_t eg_fit_work_left(const eg_fitter *f, double share);
/// Returns a work limit: `times` times the work of the first solution.
uint64_t eg_fit_work_of(const eg_fitter *f, double times);
void eg_fit_limit_rows(eg_fitter *f, const eg_fit_rows *most);
double eg_fit_most_kept(const eg_fitter *f, const eg_fit_rows *kept);
bool eg_fit_is_within(const eg_fitter *f, const eg_fit_attempt *a);
/// Keeps the solution's plan if it fits in memory and is the cheapest so far.
egraph_status eg_fit_weigh(eg_fitter *f, const eg_layout_solution *solution,
                           eg_fit_attempt *out);
/// Returns the seconds that a search limited to `work` may take.
double eg_fit_clock_of(const eg_fitter *f, uint64_t work);
egraph_status eg_fit_solve(eg_fitter *f, const eg_layout_options *options,
                           eg_fit_attempt *out);
egraph_status eg_fit_solve_within(eg_fitter *f, double share, uint64_t work, double gap,
                                  eg_fit_attempt *out);
/// Returns the most bytes that a plan which fits may have in each memory row (a sum of
/// bytes that the layout problem limits); INFINITY for rows that are not used.
eg_fit_rows eg_fit_limits(const eg_fitter *f);
egraph_status eg_fit_keep(eg_fitter *f, const eg_fit_rows *most, double share,
                          uint64_t work, eg_fit_attempt *out);

#endif
