// Every solution of a small layout problem, one after the other: which strategy makes
// each value that is needed, and along which arcs its layouts are reached. For what
// cannot be said of a solution by sums of its choices, such as the peak of its plan.
//
// From the roots to the entries: when a value is decided, all that need it are. A branch
// is cut where what is decided, and the least that each value needed so far can cost,
// exceed the cost that is asked for, or a memory row its limit.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_WALK_H
#define EG_OPTIMIZE_SEARCH_PLAN_WALK_H

#include "extract/layout/layout_solve.h"

typedef struct eg_plan_walk {
  double most_cost;     // of the solutions to visit; may be lowered by `visit`
  uint64_t most_steps;  // a strategy or an arc tried is one
  uint32_t visit_steps; // what a visit counts
  double deadline;      // eg_clock_seconds, the second limit
  /// The solution's cost, memory, strategies and arcs; borrowed.
  egraph_status (*visit)(void *user, const eg_layout_solution *solution);
  void *user;
  uint64_t steps;   // out: taken
  bool is_complete; // out: there is no solution of at most that cost that was not visited
} eg_plan_walk;

/// Problems of more than EG_WALK_VALUES values, with several roots in one of some
/// layouts, forced strategies, tied operators, or in which a value may need itself, are
/// not walked. Fails with EGRAPH_E_MEMORY or as `visit` does.
enum { EG_WALK_VALUES = 128 };
egraph_status eg_plan_walk_run(eg_plan_walk *walk, egraph_allocator alloc,
                               const eg_layout_problem *problem);

#endif
