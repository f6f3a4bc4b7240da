// The best solutions of a layout problem, each with a proven bound and a certificate.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_SOLVE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_SOLVE_H

#include "extract/layout/layout_problem.h"

typedef enum eg_layout_status {
  EG_LAYOUT_OPTIMAL,   // bound meets cost, relative 1e-9
  EG_LAYOUT_FEASIBLE,  // a solution and a bound, not closed (time, gap or cancelled)
  EG_LAYOUT_UNKNOWN,   // no solution found in time, and not shown that there is none
  EG_LAYOUT_NO_MEMORY, // every solution exceeds a limit: least_memory would do
  EG_LAYOUT_INFEASIBLE // no solution, however much memory
} eg_layout_status;

typedef struct eg_layout_options {
  double time_limit_seconds; // > 0
  bool by_work;              // of callers with these options: only steps limit parts of
                             // the search, no clock, however busy the machine is
  uint64_t work_limit;       // steps (base/work.h), the first limit; 0: none
  double relative_gap;       // stop when (cost - bound) / cost is at most this
  double late_gap;           // the same once late_work steps are done
  uint64_t late_work;        // 0: late_gap does not count
  double ceiling;            // > 0: only a bound is asked for, none above this; may be
                             // INFINITY. Nothing is looked for that costs as much
  uint32_t solutions;        // how many, cheapest first; they differ in strategies; >= 1
  const uint32_t *incumbent; // strategy per value (EG_LAYOUT_NONE: none), or NULL;
                             // ignored when it is no solution
  /// Called at most ten times a second, or every so many steps where only they limit the
  /// search (by_work), with the best cost (INFINITY before there is one)
  /// and bound of the solution at work; true stops. May be NULL.
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user;
  uint64_t *done; // steps are added here, too, of all searches with these options; NULL
} eg_layout_options;
#define EG_LAYOUT_OPTIONS_DEFAULT                                                        \
  { .time_limit_seconds = 20.0, .solutions = 1 }

typedef struct eg_layout_solution {
  double cost, memory[EG_LAYOUT_MEMORY_ROWS]; // by the certificate
  double bound;      // of the cost of solutions other than those before
  bool is_proven;    // bound meets cost
  eg_u32s strategy;  // [value] numbered through, EG_LAYOUT_NONE: not needed
  eg_bytes arc_used; // [arc]
} eg_layout_solution;
EG_VEC_DEFINE(eg_layout_solutions, eg_layout_solution);
void eg_layout_solution_deinit(eg_layout_solution *solution);

typedef struct eg_layout_result {
  eg_layout_status status; // of the first solution
  double cost, bound, gap; // likewise; gap = (cost - bound) / cost
  /// Status NO_MEMORY, else 0: the rows of a solution that exceeds limits by as little as
  /// could be found (the largest excess of a row counts).
  double least_memory[EG_LAYOUT_MEMORY_ROWS];
  eg_u32s least; // its strategies by value
  double
      price[EG_LAYOUT_MEMORY_ROWS]; // of memory: of the best bounds of the first solution
  bool is_least_memory_proven;      // no solution exceeds the limits by less
  uint64_t work;                    // steps done
  eg_layout_solutions solutions;    // fewer than asked for: there are no more, or no time
  bool is_complete;                 // there are no more solutions than these
} eg_layout_result;

void eg_layout_result_init(eg_layout_result *result, egraph_allocator alloc);
void eg_layout_result_deinit(eg_layout_result *result);
/// Solves; every solution passes eg_layout_certify. `result` is initialized and empty.
/// Limits are results, not errors. Deterministic unless the time limit strikes. Fails
/// with EGRAPH_E_ARGUMENT (options), EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL (GLPK, or a
/// certificate that fails).
egraph_status eg_layout_solve(egraph_allocator alloc, const eg_layout_problem *problem,
                              const eg_layout_options *options, eg_layout_result *result);

/// From strategies to solutions: the arcs of least cost that go with them.
typedef struct eg_layout_completer eg_layout_completer;

/// For many choices of strategies of one problem, borrowed. O(problem). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_layout_completer_create(egraph_allocator alloc,
                                         const eg_layout_problem *problem,
                                         eg_layout_completer **out);
void eg_layout_completer_destroy(eg_layout_completer *completer);
/// `strategy`: [value], EG_LAYOUT_NONE where nothing is known; values that are not needed
/// are left out. *out_is_solution: every need is reached, ties and limits of memory hold,
/// nothing forbidden is used; *out is yours then, checked by eg_layout_certify. Fails
/// with EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL.
egraph_status eg_layout_complete(eg_layout_completer *completer, const uint32_t *strategy,
                                 eg_layout_solution *out, bool *out_is_solution);

#endif
