// Linear programs over binary columns, by GLPK's dual simplex.
//
//   minimize cost x,  0 <= x <= 1,  every row: sum of coefficient * x >= lower
//
// This module and its users never see glpk.h. GLPK aborts the process on errors; this
// module returns EGRAPH_E_INTERNAL with GLPK's message instead, and the program is
// unusable afterwards. GLPK keeps one environment per thread, and an error can only be
// left by freeing the environment: use one program at a time per thread.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_ILP_GLPK_H
#define EG_EXTRACT_ILP_GLPK_H

#include "base/owner.h"
#include "extract/containers.h"

/// Rows of a program: row r has items begin[r] .. begin[r + 1) of `columns`
/// and `coefficients`.
typedef struct eg_lp_rows {
  eg_u32s begin, columns;
  eg_doubles coefficients, lower; // lower: [row]
} eg_lp_rows;
EG_OWNER_DEFINE_MEMBERS(eg_lp_rows, (eg_u32s, begin, columns),
                        (eg_doubles, coefficients, lower))

egraph_status eg_lp_rows_init(eg_lp_rows *rows, egraph_allocator alloc);
void eg_lp_rows_clear(eg_lp_rows *rows);
static inline uint32_t eg_lp_rows_count(const eg_lp_rows *rows) {
  return (uint32_t)rows->lower.len;
}
/// Adds an item (column, coefficient) to the row under construction.
egraph_status eg_lp_rows_item(eg_lp_rows *rows, uint32_t column, double coefficient);
/// Ends the row under construction.
egraph_status eg_lp_rows_end(eg_lp_rows *rows, double lower);

typedef enum eg_lp_state {
  EG_LP_OPTIMAL,
  EG_LP_INFEASIBLE, // proven by a ray that our own arithmetic has checked
  // Time, iterations or objective passed a limit, or GLPK reports no solution, but its
  // ray does not prove this
  EG_LP_LIMIT
} eg_lp_state;

typedef struct eg_lp eg_lp;

/// Creates a program without rows; the caller destroys it. Costs must be finite,
/// best between 1 and 1000 (GLPK's tolerances are absolute). Fails with
/// EGRAPH_E_MEMORY or EGRAPH_E_INTERNAL.
egraph_status eg_lp_create(egraph_allocator alloc, uint32_t columns, const double *cost,
                           eg_lp **out);
void eg_lp_destroy(eg_lp *lp);
EG_HOLDER_DEFINE(eg_lp)
/// Adds copies of rows to a program. A column may appear once in a row.
egraph_status eg_lp_add_rows(eg_lp *lp, const eg_lp_rows *rows);
/// Sets the upper bound of a column to 0.
egraph_status eg_lp_fix_zero(eg_lp *lp, uint32_t column);
/// Sets the bounds of a column, 0 <= lower <= upper <= 1; for search trees that go back.
egraph_status eg_lp_set_range(eg_lp *lp, uint32_t column, double lower, double upper);
/// Deletes rows from `first` on whose slack is above `slack`.
egraph_status eg_lp_purge(eg_lp *lp, uint32_t first, double slack);
/// Limits the simplex iterations of each later solve; 0: no limit.
void eg_lp_limit_iterations(eg_lp *lp, uint32_t iterations);
/// Return steps of work (base/work.h): an estimate for one iteration; the total of all
/// solves so far.
uint64_t eg_lp_iteration_steps(const eg_lp *lp);
uint64_t eg_lp_steps(const eg_lp *lp);
/// Sets a function that solves call from time to time; when it returns true, the current
/// solve and all later ones end with EG_LP_LIMIT.
void eg_lp_interrupt(eg_lp *lp, bool (*stop)(void *user), void *user);
/// Solves from the last basis. Values, reduced costs and bound are valid afterwards, in
/// any state.
egraph_status eg_lp_solve(eg_lp *lp, double seconds, double objective_limit,
                          eg_lp_state *out);
const double *eg_lp_values(const eg_lp *lp);
/// Returns the reduced costs under the multipliers that the bound uses.
const double *eg_lp_reduced_costs(const eg_lp *lp);
/// Returns a lower bound recomputed from the multipliers (Neumaier, Shcherbina 2004),
/// less the possible rounding error: the bound is valid however wrong GLPK's basis may
/// be. With EG_LP_INFEASIBLE the ray is part of the multipliers, and the bound exceeds
/// any objective.
double eg_lp_bound(const eg_lp *lp);
uint32_t eg_lp_row_count(const eg_lp *lp);
/// Return the rows of the program, and for each row the multiplier that the bound uses.
const eg_lp_rows *eg_lp_rows_of(const eg_lp *lp);
const double *eg_lp_multipliers(const eg_lp *lp);

/// True when nonnegative multipliers of the rows prove that no x within the columns'
/// bounds satisfies them: the weighted sum of the lower sides exceeds the largest value
/// of the weighted sum of the rows by *out_value > 0, rounding included.
bool eg_lp_ray_proves(const eg_lp_rows *rows, uint32_t columns, const double *floor,
                      const double *ceiling, const double *ray, double *scratch,
                      double *out_value);

#endif
