// The ascent's proof as data: prices in the words of the problem, without anything of the
// solver's. Whatever the prices are, they prove a bound (layout_factors.h says why), so a
// dual may be changed, or put together for another problem, say one of equal blocks from
// the dual of one block.
//
// A link is a variable that two factors share: the layout of `value` at one place of use,
// or none, with a price per label (layouts of the value, then none). The price counts at
// the producers of value `producers`, and with the other sign at the far end:
//
//   MADE  where the value is made; far end: tree `at` of it (producers: the value itself)
//   USE   the nth input (from 0) of an operator of `producers` that is the value; tree
//   `at` ROOT  root `nth`; tree `at`. No prices: its length is 0 TIE   where the value is
//   made; far end: tie `at` CUT   two labels: the operator of the value that is chosen is
//   in cut `at`, or is not
//
// Every tree has one MADE link. Trees of one value share the costs of its arcs equally.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_DUAL_H
#define EG_EXTRACT_LAYOUT_LAYOUT_DUAL_H

#include "base/text.h"
#include "extract/layout/layout_factors.h"
#include "extract/layout/layout_solve.h"

typedef struct eg_dual_link {
  uint32_t kind; // eg_link_kind
  uint32_t value, producers, nth, at;
  uint32_t price; // where its prices begin
  uint32_t labels;
} eg_dual_link;
EG_VEC_DEFINE(eg_dual_links, eg_dual_link);

typedef struct eg_layout_dual {
  eg_u32s tree_value; // [trees]
  eg_dual_links links;
  eg_doubles prices;
  eg_u32s required;           // values of every solution; a checker must find that out
  eg_u32s cut_begin, cut_ops; // [cuts + 1]; every solution has one of the operators
  double price[EG_LAYOUT_MEMORY_ROWS]; // of memory
  double bound;
} eg_layout_dual;

egraph_status eg_layout_dual_init(eg_layout_dual *dual, egraph_allocator alloc);
void eg_layout_dual_deinit(eg_layout_dual *dual);
/// Fills an empty dual from the factors as they stand; labels in no solution have price
/// 0. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_dual_fill(eg_layout_dual *dual, const eg_layout_factors *factors);

/// A certificate (tools/check_certificate/README.md): the problem, a solution, its cost,
/// and the dual with the bound that it claims. `unchecked`: a bound that the solver has
/// proven by means that leave no certificate, or -INFINITY. Appends to `text`. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_layout_certificate_write(const eg_layout_problem *problem,
                                          const eg_layout_solution *solution,
                                          const eg_layout_dual *dual, double unchecked,
                                          eg_text *text);

#endif
