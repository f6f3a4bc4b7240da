// Separation: rows that solutions satisfy and a fractional one does not.
//
// S-cut (loop formula, directed cut): for a class set S and a class c in S,
//   sum { x_n : class(n) in S, no child of n in S }  >=  y_c,   y_c = sum of c's nodes
// Exact for acyclicity, and the strongest tightening known here.
// Landmark row: y_c <= y_d for every landmark d of c.
// Usage row: y_c <= sum of the users of c, unless c is a root: not every solution
// satisfies it, but those without superfluous classes do, and one of them is optimal.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEPARATE_H
#define EG_EXTRACT_SEPARATE_H

#include "base/hash.h"
#include "extract/ilp_glpk.h"
#include "extract/presolve.h"

typedef struct eg_separate_options {
  const eg_presolve *presolve; // model, index and landmarks
  const double *x;             // [node]
  double violation;            // least violation worth a row
  uint32_t max_rows;
  eg_rng *rng;
} eg_separate_options;

/// Appends violated rows to `rows`. An integral x that is cyclic always gets one. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_separate_run(egraph_allocator alloc, const eg_separate_options *options,
                              eg_lp_rows *rows);

#endif
