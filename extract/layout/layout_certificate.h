// Certificates of bounds: a layout problem, a solution of it, and the prices of an ascent
// (a dual), as text that another program checks (tools/check_certificate/README.md).
//
// Whatever the prices are, they prove a bound (layout_factors.h says why). A dual has a
// line for every link between two factors, with its prices by label (layouts of the
// value, then none). A price counts at the producers of a value, and with the other sign
// at the far end:
//
//   made TREE                 where the value of the tree is produced
//   used TREE PRODUCERS NTH   the nth input (from 0) of an operator of value PRODUCERS
//   asked TREE NTH            root NTH; it has no prices
//   tied TIE VALUE            where a member of the tie is produced
//   in-cut CUT VALUE          whether the operator chosen for the value is in the cut
//
// Every tree has one `made`. Trees of one value share the costs of its arcs equally.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_CERTIFICATE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_CERTIFICATE_H

#include "base/text.h"
#include "extract/layout/layout_factors.h"
#include "extract/layout/layout_solve.h"

typedef struct eg_layout_dual {
  eg_text text; // its lines
  double bound; // that they prove
} eg_layout_dual;

static inline void eg_layout_dual_init(eg_layout_dual *dual, egraph_allocator alloc) {
  dual->bound = 0;
  eg_text_init(&dual->text, alloc);
}
static inline void eg_layout_dual_deinit(eg_layout_dual *dual) {
  eg_text_deinit(&dual->text);
}

/// Appends the lines of a dual: the factors as they stand, with the prices of memory
/// (`price`: [rows]). Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_dual_write(const eg_layout_factors *factors, const double *price,
                                   eg_text *text);
/// Appends a certificate: the problem, a solution, its cost, and the dual with its bound.
/// `unchecked`: a bound that the solver has proven by means that leave no certificate, or
/// -INFINITY. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_certificate_write(const eg_layout_problem *problem,
                                          const eg_layout_solution *solution,
                                          const eg_layout_dual *dual, double unchecked,
                                          eg_text *text);

#endif
