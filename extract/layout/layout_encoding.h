// What is left of a layout problem after the ascent as relations between variables, with
// what each choice exceeds the bound by as its cost:
//
//   made(v)   the layout that value v is made in, or none
//   had(v)    the set of layouts that v is had in: made, or reached along arcs
//   need(u)   the layout that an operator's input asks for, or none
//   label(t)  of a tie
//
//   strategies of v's operators    made(v), need(inputs)
//   uses of v                      need(u), had(v)
//   arborescences of v             made(v), had(v)
//   member v of a tie t            made(v), label(t)
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_ENCODING_H
#define EG_EXTRACT_LAYOUT_LAYOUT_ENCODING_H

#include "extract/layout/layout_diffusion.h"
#include "extract/layout/layout_sets.h"

typedef struct eg_layout_encoding {
  eg_layout_factors *factors;                     // borrowed; used to solve factors
  const eg_doubles *arc_excess, *strategy_excess; // borrowed
  eg_u32s made, had; // variable of a value, or EG_LAYOUT_NONE
  eg_u32s need;      // of a link
  eg_u32s label;     // of a tie
  double bound;      // what all costs are above of
} eg_layout_encoding;

/// Into an empty network whose maker has room and rows: what is active and has room;
/// the rest is lost. *out_fits: false when a value has too many layouts or an operator
/// too many inputs, and the network is not whole. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_encoding_init(eg_layout_encoding *states, egraph_allocator alloc,
                                      eg_layout_factors *factors,
                                      const eg_doubles *strategy_excess,
                                      const eg_doubles *arc_excess,
                                      eg_cost_network *network, bool *out_fits);
void eg_layout_encoding_deinit(eg_layout_encoding *states);
/// The cheapest strategy of a value, given the label of every variable.
uint32_t eg_layout_decode(const eg_layout_encoding *states, uint32_t value,
                          const uint16_t *label_of);

#endif
