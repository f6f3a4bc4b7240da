// Problems of which one part stands for equal copies in a row, cut open where the copies
// meet: a bound of every row of copies, alike or not.
//
//      before | part x n | after          seams:  before|first    last|after
//
// At every seam of the row two values stand for one that goes across, in either
// direction: one on each side, both made in the same layout. In an open problem they are
// free of each other; the front seam has `before` and, of the part, `first`; the back
// seam has, of the part, `last`, and `after`. Values of the part count n-fold.
//
// Potentials p, q per layout are added to the costs of these four:
//
//   before + p      first - n p      last + n q      after - q      with q <= p
//
// Let a row of copies have the layouts h(0) .. h(n) at its n + 1 seams. Each copy, with
// the ends before and after it, solves the open problem; on average over the copies the
// potentials add up to p(h(0)) - sum p(h(0 .. n-1)) + sum q(h(1 .. n)) - q(h(n)), which
// is the sum of q - p at h(1 .. n-1), at most 0. So the row costs at least what the open
// problem does with potentials, whatever they are and however that is proven.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_SEAMS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_SEAMS_H

#include "extract/layout/layout_problem.h"

/// Values of one problem with the same number of layouts, which are made in every
/// solution, by operators without inputs that have no cost, or from a copy of them.
typedef struct eg_layout_seam {
  uint32_t before, first, last, after;
  double times; // n >= 1
} eg_layout_seam;
EG_VEC_DEFINE(eg_layout_seam_list, eg_layout_seam);
enum { EG_SEAM_BEFORE, EG_SEAM_FIRST, EG_SEAM_LAST, EG_SEAM_AFTER, EG_SEAM_ENDS };

/// Potentials of an open problem, seam by seam, layout by layout.
typedef struct eg_layout_potentials {
  const eg_layout_seam_list *seams; // borrowed
  eg_doubles front, back;           // p, q
  eg_bytes impossible; // [ends of seams][layouts] in no row: before, first, last, after
} eg_layout_potentials;

static inline void eg_layout_potentials_init(eg_layout_potentials *potentials,
                                             egraph_allocator alloc,
                                             const eg_layout_seam_list *seams) {
  potentials->seams = seams;
  eg_doubles_init(&potentials->front, alloc);
  eg_doubles_init(&potentials->back, alloc);
  eg_bytes_init(&potentials->impossible, alloc);
}
static inline void eg_layout_potentials_deinit(eg_layout_potentials *potentials) {
  eg_doubles_deinit(&potentials->front);
  eg_doubles_deinit(&potentials->back);
  eg_bytes_deinit(&potentials->impossible);
}

typedef struct eg_open_options {
  uint64_t work_limit;       // steps (base/work.h); 0: none
  double time_limit_seconds; // > 0
  double ceiling; // of a search: > 0, its bound goes up to here; may be INFINITY
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user; // as in eg_layout_options; `cost` is INFINITY
} eg_open_options;

/// A bound of all rows of copies by dual ascent, and its potentials, which are
/// initialized and empty and have the seams. INFINITY: there is no row. The problem has
/// no limits of memory. *out_work: steps done. Fails with EGRAPH_E_ARGUMENT (options,
/// seams), EGRAPH_E_MEMORY.
egraph_status eg_layout_open_climb(egraph_allocator alloc,
                                   const eg_layout_problem *problem,
                                   const eg_open_options *options,
                                   eg_layout_potentials *potentials, double *out_bound,
                                   uint64_t *out_work);
/// The same by an exact search of the open problem at potentials; their costs are left in
/// it. Fails likewise, and with EGRAPH_E_INTERNAL.
egraph_status eg_layout_open_search(egraph_allocator alloc, eg_layout_problem *problem,
                                    const eg_open_options *options,
                                    const eg_layout_potentials *potentials,
                                    double *out_bound);

#endif
