// Certificates of bounds: a layout problem, a solution of it, and the prices of an ascent
// (a dual), as text that another program checks (tools/check_certificate/README.md).
//
// Any prices prove a bound (layout_factors.h says why). A dual has a line for every link
// between two factors, with its prices by label (layouts of the value, then none). A
// price is added at the producers of a value, and subtracted at the far end:
//
//   made TREE                 the layout in which the value of the tree is produced
//   used TREE PRODUCERS NTH   the nth input (from 0) of an operator of value PRODUCERS
//   asked TREE NTH            root NTH; it has no prices
//   tied TIE VALUE            the layout in which a member of the tie is produced
//   in-cut CUT VALUE          "the operator chosen for the value is in the cut"
//
// Every tree has one `made`. Trees of one value share the costs of its arcs equally.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_BOUND_H
#define EG_EXTRACT_LAYOUT_LAYOUT_BOUND_H

#include "base/text.h"
#include "extract/layout/layout_factors.h"
#include "extract/layout/layout_solve.h"

typedef struct eg_layout_dual {
  eg_text text; // its lines
  double bound; // the bound that these lines prove
} eg_layout_dual;

static inline void eg_layout_dual_init(eg_layout_dual *dual, egraph_allocator alloc) {
  dual->bound = 0;
  eg_text_init(&dual->text, alloc);
}
static inline void eg_layout_dual_deinit(eg_layout_dual *dual) {
  eg_text_deinit(&dual->text);
}

/// Appends the lines of a dual: the factors with their current prices, and the prices of
/// memory (`price`: [rows]). Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_dual_write(const eg_layout_factors *factors, const double *price,
                                   eg_text *text);
/// Appends a certificate: the problem, a solution, its cost, and the dual with its bound.
/// `unchecked`: a bound that the solver has proven by methods without a certificate, or
/// -INFINITY. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_certificate_write(const eg_layout_problem *problem,
                                          const eg_layout_solution *solution,
                                          const eg_layout_dual *dual, double unchecked,
                                          eg_text *text);

// ---- bounds -------------------------------------------------------------------------
// The functions below compute a bound by dual ascent alone, proven by the Lagrangian
// decomposition of layout_factors.h. The bound uses no solution, deletes nothing because
// of its cost, and uses ties only by their multipliers. Therefore it holds for every
// problem that is composed of such parts and in which the same prices add up. (Exception:
// a row of equal blocks that this problem represents by one block tied to itself; see
// open problems below.)
//
// The presolve ignores ties. It deletes layouts of values that cannot be produced or are
// not needed.

typedef struct eg_layout_bound_options {
  uint64_t work_limit;       // steps (base/work.h), the first limit; 0: none
  double time_limit_seconds; // > 0
  const double *price;       // [memory rows] per unit, >= 0, of the last solve; NULL: 0
  const uint32_t *target;    // [value] a solution, which limits the bound; NULL: none
  // NULL, or the seams where copies of a block meet; receives multipliers of their
  // layouts. The bound then holds for every row of copies, and no dual is written
  eg_layout_potentials *potentials;
  uint64_t *done; // as eg_layout_options.done
} eg_layout_bound_options;

typedef struct eg_layout_bounded {
  double bound;                        // finite; INFINITY: there is no solution
  double price[EG_LAYOUT_MEMORY_ROWS]; // prices at which the bound was reached
  uint64_t work;                       // steps done
} eg_layout_bounded;

/// Computes a lower bound of the cost. When there are solutions, fills `dual`
/// (initialized, or NULL) with the proof. Fails with EGRAPH_E_ARGUMENT
/// (options), EGRAPH_E_MEMORY.
egraph_status eg_layout_bound(egraph_allocator alloc, const eg_layout_problem *problem,
                              const eg_layout_bound_options *options,
                              eg_layout_bounded *out, eg_layout_dual *dual);

// ---- open problems ------------------------------------------------------------------
//
// A problem in which one part represents equal copies in a row, cut open where the copies
// meet: bounds every row of copies, alike or not.
//
//      before | part x n | after          seams:  before|first    last|after
//
// At every seam of the row two values, one on each side, represent one value that crosses
// it, in either direction; both are produced in the same layout. In an open problem they
// are independent; the front seam has `before` and, of the part, `first`; the back seam
// has, of the part, `last`, and `after`. Values of the part count n-fold.
//
// Potentials p, q per layout are added to the costs of these four:
//
//   before + p      first - n p      last + n q      after - q      with q <= p
//
// Let a row of copies have the layouts h(0) .. h(n) at its n + 1 seams. Each copy, with
// the ends before and after it, solves the open problem; on average over the copies the
// potentials add up to p(h(0)) - sum p(h(0 .. n-1)) + sum q(h(1 .. n)) - q(h(n)), which
// is the sum of q - p at h(1 .. n-1), at most 0. So the row costs at least as much as the
// open problem with potentials, whatever they are and however this is proven.

typedef struct eg_open_options {
  uint64_t work_limit;       // steps (base/work.h); 0: none
  double time_limit_seconds; // > 0
  double ceiling; // the search raises its bound at most to here; > 0, may be INFINITY
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user;     // as in eg_layout_options; `cost` is INFINITY
  uint64_t *done; // as eg_layout_options.done
} eg_open_options;

/// Computes by dual ascent a lower bound of the cost of all rows of copies of a block,
/// and fills the potentials (multipliers), which are initialized with the seams and
/// empty. Bound INFINITY: there is no row. The problem must have no memory limits.
/// *out_work: steps done. Fails with EGRAPH_E_ARGUMENT (options, seams), EGRAPH_E_MEMORY.
egraph_status eg_layout_open_climb(egraph_allocator alloc,
                                   const eg_layout_problem *problem,
                                   const eg_open_options *options,
                                   eg_layout_potentials *potentials, double *out_bound,
                                   uint64_t *out_work);
/// Computes a lower bound of the cost of all rows of copies of a block by exact search,
/// after it has added the potentials to the costs of the problem. Fails as
/// eg_layout_open_climb, and with EGRAPH_E_INTERNAL.
egraph_status eg_layout_open_search(egraph_allocator alloc, eg_layout_problem *problem,
                                    const eg_open_options *options,
                                    const eg_layout_potentials *potentials,
                                    double *out_bound);

#endif
