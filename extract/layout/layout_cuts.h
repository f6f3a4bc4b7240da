// Rows that forbid values from needing themselves, and tighten the relaxation of
// alternatives, cyclic or not.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_CUTS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_CUTS_H

#include "extract/layout/layout_model.h"
#include "extract/search/separate.h"

/// S-cuts over values: for a set S of values and v in S, the strategies of values in S
/// whose operator has no input in S add up to at least whether v is needed.
typedef struct eg_layout_cuts {
  bool is_cyclic;        // operators left can form a cycle
  bool has_alternatives; // a value has several operators left: cuts tighten the bound
  egraph_allocator alloc;
  eg_parts parts;
  eg_presolve presolve; // a class per value, a node per operator left
  eg_u32s node_op;      // [node]
  eg_doubles node_x;
  eg_rng rng;
} eg_layout_cuts;

/// O(size). Fails with EGRAPH_E_MEMORY; then needs no deinit.
egraph_status eg_layout_cuts_init(eg_layout_cuts *cuts, egraph_allocator alloc,
                                  const eg_layout_model *model);
void eg_layout_cuts_deinit(eg_layout_cuts *cuts);
/// Appends violated rows for the program's values x ([column]). An integral x that is
/// cyclic always gets one.
egraph_status eg_layout_cuts_separate(eg_layout_cuts *cuts, const eg_layout_model *model,
                                      const double *x, eg_lp_rows *rows);

#endif
