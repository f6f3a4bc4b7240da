// The state of one minimization (the best solution, the bound, the limits of work and
// time), and the entry points of the algorithms that work on this state.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_SEARCH_H
#define EG_EXTRACT_LAYOUT_LAYOUT_SEARCH_H

#include "base/work.h"
#include "extract/layout/layout_options.h"
#include "extract/layout/layout_presolve.h"

/// The relative difference up to which costs count as equal.
#define EG_LAYOUT_TOLERANCE 1e-9

typedef struct eg_layout_clock {
  double start_seconds, deadline; // times of eg_clock_seconds()
  double asked_seconds;           // time of the last call of progress
  uint64_t asked_work;            // steps done at that call
  bool by_work;                   // eg_layout_options
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user;
  bool stopped;
  eg_work work; // the first limit, independent of the machine's load; limit 0: none
} eg_layout_clock;

typedef struct eg_layout_search {
  egraph_allocator alloc;
  const eg_layout_view *view;
  const eg_layout_task *task;
  eg_layout_clock *clock;
  const eg_layout_options *gaps; // at which it stops; NULL: only a proof stops it
  double ceiling;                // eg_layout_options
  eg_layout_active legal;        // allowed by the user
  eg_layout_evaluator evaluator;
  eg_doubles arc_weight, arc_priced; // scratch: of legal arcs
  eg_layout_choice best, trial;
  bool has_best;
  double least; // objective of the cheapest solution so far
  double bound; // valid lower bound of the objective
  double whole; // the bound of the whole while only a part is searched; else INFINITY
  // Least cost of the solutions deleted because they are not cheaper than the best;
  // INFINITY: none
  double cut;
  double rounding;                     // largest rounding error of a sum of costs
  double price[EG_LAYOUT_MEMORY_ROWS]; // prices of memory rows at the best bounds
  double unit;                         // divides the objective; 0: unknown
} eg_layout_search;

/// Starts a minimization. Borrows all arguments. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_search_init(eg_layout_search *search, egraph_allocator alloc,
                                    const eg_layout_view *view,
                                    const eg_layout_task *task, eg_layout_clock *clock);
void eg_layout_search_deinit(eg_layout_search *search);
/// True when only a bound is needed.
static inline bool eg_layout_search_wants_bound(const eg_layout_search *search) {
  return search->ceiling > 0;
}

/// Fills search->trial.strategy with the allowed strategies of `strategy` ([value]).
void eg_layout_search_take(eg_layout_search *search, const uint32_t *strategy);
/// Completes search->trial.strategy (strategies that the user allows) with arcs of least
/// weight, and keeps the choice if it is better than the best solution. *out_ok: the
/// choice is a solution within the limits, not excluded. Fails with EGRAPH_E_INTERNAL
/// when it costs less than the bound.
egraph_status eg_layout_search_offer(eg_layout_search *search, bool *out_ok);
/// As eg_layout_search_offer, but with arcs of finite `weight` only.
egraph_status eg_layout_search_offer_arcs(eg_layout_search *search, const double *weight,
                                          bool *out_ok);
/// Keeps a copy of a whole solution when it is better than the best.
egraph_status eg_layout_search_adopt(eg_layout_search *search,
                                     const eg_layout_choice *choice);
/// Returns the objective of the best solution, INFINITY before there is one.
double eg_layout_search_value(const eg_layout_search *search);
/// Returns the cutoff: solutions of this cost or more are ignored.
double eg_layout_search_cutoff(const eg_layout_search *search);
/// Returns the cutoff for deletions, and records it: strategies and arcs may be
/// deleted if all their solutions cost at least this. Up to it, bounds of the rest
/// hold for the whole.
double eg_layout_search_cut(eg_layout_search *search);
/// Raises the bound: no remaining solution costs less. Fails with EGRAPH_E_INTERNAL when
/// a known solution does.
egraph_status eg_layout_search_raise(eg_layout_search *search, double bound);
/// Marks the search as complete: the best solution is optimal, or there is none.
void eg_layout_search_close(eg_layout_search *search);
/// Counts work.
void eg_layout_search_work(eg_layout_search *search, uint64_t steps);
/// Returns one `part`th of the remaining work; 0: there is no limit.
uint64_t eg_layout_search_share(const eg_layout_search *search, uint64_t part);
/// True when work, deadline, gap or the caller ends the search; calls progress at most
/// ten times a second.
bool eg_layout_search_stop(eg_layout_search *search);

/// Offers greedy solutions of the presolved problem; `favour` ([strategy], or NULL) makes
/// likely strategies cheap. See layout_greedy.c.
egraph_status eg_layout_greedy(eg_layout_search *search, const eg_layout_active *active,
                               const double *favour);
/// Minimizes: presolve, bounds, branch and bound. *out_closed: the best solution is
/// optimal, or there is no solution. Fails with EGRAPH_E_MEMORY or
/// EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_layout_search_run(eg_layout_search *search, bool *out_closed);

#endif
