// Visits every solution of a small layout problem: the strategy that makes each needed
// value, and the arcs that reach its layouts. Used for properties that are no sums over
// choices, such as the peak of a plan.
//
// The walk goes from the roots to the entries: a value is decided after all values that
// need it. A branch is cut if the decided costs, plus the least cost of each other value
// needed so far, exceed the most cost, or if a memory row exceeds its limit.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_WALK_H
#define EG_OPTIMIZE_SEARCH_PLAN_WALK_H

#include "extract/layout/layout_solve.h"

typedef struct eg_plan_walk {
  double most_cost;     // of the solutions to visit; may be lowered by `visit`
  uint64_t most_steps;  // each strategy or arc tried is a step
  uint32_t visit_steps; // steps that a visit counts as
  double deadline;      // eg_clock_seconds, the second limit
  /// Receives a solution: its cost, memory, strategies and used arcs; borrowed.
  egraph_status (*visit)(void *user, const eg_layout_solution *solution);
  void *user;
  uint64_t steps;   // out: taken
  bool is_complete; // out: all solutions of at most that cost were visited
} eg_plan_walk;

/// Walks the problem's solutions, unless it has more than EG_WALK_VALUES values, several
/// roots with a choice of layouts, forced strategies, tied operators, or a value that may
/// need itself. Fails with EGRAPH_E_MEMORY or as `visit` does.
enum { EG_WALK_VALUES = 128 };
egraph_status eg_plan_walk_run(eg_plan_walk *walk, egraph_allocator alloc,
                               const eg_layout_problem *problem);

#endif
