// The strategies and arcs that an ascent leaves within reach of its bound, as a cost
// function network: relations between variables, with costs above the bound.
//
//   source(v)  the layout that value v is produced in, or none
//   set(v)     the set of layouts that v is provided in: its source, or reached by arcs
//   need(u)    the layout that an operator's input asks for, or none;
//              or whether the operator chosen for a value is in a cut
//   tie(t)     the layout of its members
//
//   strategies of v's operators    source(v), need(inputs), need(cuts)
//   uses of v                      need(u), set(v)
//   arborescences of v             source(v), set(v)
//   member v of a tie t            source(v), tie(t)
//   cut                            need(operators)
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_ENCODING_H
#define EG_EXTRACT_LAYOUT_LAYOUT_ENCODING_H

#include "extract/layout/layout_relation.h"
#include "extract/layout/layout_sets.h"

typedef struct eg_layout_encoding {
  // Borrowed.
  eg_layout_factors *factors;
  const eg_doubles *arc_excess, *strategy_excess;
  eg_cost_network *network; // empty; its maker has room and rows
  // Variables, or EG_LAYOUT_NONE.
  eg_u32s source, set; // [value]
  eg_u32s need;        // [link]
  double bound;        // below which no cost is
  bool fits; // false: a value has too many layouts or an operator too many inputs, and
             // the network is not whole
  // Of the producers at hand.
  eg_u32s uses;   // links of their inputs and cuts
  eg_u32s vars;   // of their relation: source, then the needs of `uses`
  eg_labels row;  // of a strategy in it
  double nearest; // their least cost
  eg_bytes asked; // [labels of links that use] by a strategy or root
  eg_layout_provision provision;
} eg_layout_encoding;

void eg_layout_encoding_init(eg_layout_encoding *encoding, egraph_allocator alloc);
void eg_layout_encoding_deinit(eg_layout_encoding *encoding);
/// Fills the network with the active strategies and arcs that have room; the others are
/// lost. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_encode(eg_layout_encoding *encoding);
/// The cheapest strategy of a value that has the labels of `label_of` ([variables]), or
/// EG_LAYOUT_NONE. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_decode(eg_layout_encoding *encoding, uint32_t value,
                               const uint16_t *label_of, uint32_t *out);

#endif
