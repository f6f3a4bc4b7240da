// Finds the best solutions of a layout problem, each with a proven bound and
// a certificate.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_SOLVE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_SOLVE_H

#include "base/owner.h"
#include "extract/layout/layout_options.h"
#include "extract/layout/layout_problem.h"

typedef enum eg_layout_status {
  EG_LAYOUT_OPTIMAL,   // bound meets cost, relative 1e-9
  EG_LAYOUT_FEASIBLE,  // a solution and a bound, not closed (time, gap or cancelled)
  EG_LAYOUT_UNKNOWN,   // no solution found in time, and no proof that there is none
  EG_LAYOUT_NO_MEMORY, // every solution exceeds a limit; least_memory would suffice
  EG_LAYOUT_INFEASIBLE // no solution, however much memory
} eg_layout_status;

typedef struct eg_layout_solution {
  double cost, memory[EG_LAYOUT_MEMORY_ROWS]; // computed by the certificate
  double bound;      // bound of the cost of all solutions except the previous ones
  bool is_proven;    // bound meets cost
  eg_u32s strategy;  // [value] numbered through, EG_LAYOUT_NONE: not needed
  eg_bytes arc_used; // [arc]
} eg_layout_solution;
EG_OWNER_DEFINE_MEMBERS(eg_layout_solution, (eg_u32s, strategy), (eg_bytes, arc_used))
EG_VEC_DEFINE(eg_layout_solutions, eg_layout_solution);

typedef struct eg_layout_result {
  eg_layout_status status; // status of the first solution
  double cost, bound, gap; // of the first solution; gap = (cost - bound) / cost
  /// With status NO_MEMORY (else 0): the memory of the found solution whose largest
  /// excess over a limit is least.
  double least_memory[EG_LAYOUT_MEMORY_ROWS];
  eg_u32s least;                       // its strategies by value
  double price[EG_LAYOUT_MEMORY_ROWS]; // memory prices of the best bound
  bool is_least_memory_proven;         // no solution exceeds the limits by less
  uint64_t work;                       // steps done
  eg_layout_solutions solutions;       // may be fewer than options->solutions
  bool is_complete;                    // there are no other solutions
} eg_layout_result;

void eg_layout_result_init(eg_layout_result *result, egraph_allocator alloc);
void eg_layout_result_deinit(eg_layout_result *result);
/// Solves a problem; every solution passes eg_layout_certify. `result` is initialized and
/// empty.
/// Limits are results, not errors. Deterministic unless the time limit strikes. Fails
/// with EGRAPH_E_ARGUMENT (options), EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL (GLPK, or a
/// certificate that fails).
egraph_status eg_layout_solve(egraph_allocator alloc, const eg_layout_problem *problem,
                              const eg_layout_options *options, eg_layout_result *result);

/// Turns strategies into solutions by adding the arcs of least cost.
typedef struct eg_layout_completer eg_layout_completer;

/// Creates a completer for many choices of one problem, which it borrows. O(problem).
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_completer_create(egraph_allocator alloc,
                                         const eg_layout_problem *problem,
                                         eg_layout_completer **out);
void eg_layout_completer_destroy(eg_layout_completer *completer);
EG_HOLDER_DEFINE(eg_layout_completer)
/// Adds the cheapest arcs to chosen strategies. `strategy`: [value], EG_LAYOUT_NONE where
/// unknown; leaves out values that are not needed. *out_is_solution: every needed layout
/// is provided, ties and memory limits hold, and no forbidden item is used; then
/// eg_layout_certify has checked *out, and the caller owns it. Fails with
/// EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL.
egraph_status eg_layout_complete(eg_layout_completer *completer, const uint32_t *strategy,
                                 eg_layout_solution *out, bool *out_is_solution);

#endif
