// The values of a layout problem, inputs first.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_ORDER_H
#define EG_EXTRACT_LAYOUT_LAYOUT_ORDER_H

#include "extract/layout/layout_presolve.h"

typedef struct eg_layout_order {
  eg_u32s values;   // that are used; inputs first, as far as cycles allow
  eg_u32s position; // [value] in values, or EG_LAYOUT_NONE
} eg_layout_order;

void eg_layout_order_init(eg_layout_order *order, egraph_allocator alloc);
void eg_layout_order_deinit(eg_layout_order *order);
/// Of what is active. O(size). Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_order_fill(eg_layout_order *order,
                                   const eg_layout_active *active);

#endif
