// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_order.h"

#define NONE EG_LAYOUT_NONE

void eg_layout_order_init(eg_layout_order *order, egraph_allocator alloc) {
  eg_u32s_init(&order->values, alloc);
  eg_u32s_init(&order->position, alloc);
}

void eg_layout_order_deinit(eg_layout_order *order) {
  eg_u32s_deinit(&order->values);
  eg_u32s_deinit(&order->position);
}

static egraph_status push_inputs(const eg_layout_order *order,
                                 const eg_layout_active *active, uint32_t value,
                                 eg_u32s *stack) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t last = NONE;
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1]; i++) {
    uint32_t s = view->strategies.items.data[i], op = view->op_of.data[s];
    if (!active->strategy.data[s] || op == last) continue;
    last = op;
    for (uint32_t k = p->input_begin.data[op]; k < p->input_begin.data[op + 1]; k++)
      if (order->position.data[p->inputs.data[k]] == NONE)
        EG_TRY(eg_u32s_push(stack, p->inputs.data[k]));
  }
  return EGRAPH_OK;
}

static egraph_status sort_from(eg_layout_order *order, const eg_layout_active *active,
                               uint32_t value, eg_u32s *stack, eg_bytes *opened) {
  EG_TRY(eg_u32s_push(stack, value));
  while (stack->len != 0) {
    uint32_t top = stack->data[stack->len - 1];
    if (!opened->data[top]) {
      opened->data[top] = 1;
      EG_TRY(push_inputs(order, active, top, stack));
      continue;
    }
    stack->len--;
    if (order->position.data[top] != NONE) continue;
    order->position.data[top] = (uint32_t)order->values.len;
    EG_TRY(eg_u32s_push(&order->values, top));
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_order_fill(eg_layout_order *order,
                                   const eg_layout_active *active) {
  size_t values = active->used.len;
  eg_u32s stack;
  eg_bytes opened;
  eg_u32s_init(&stack, order->values.alloc);
  eg_bytes_init(&opened, order->values.alloc);
  egraph_status status = eg_u32s_resize(&order->position, values);
  if (status == EGRAPH_OK) status = eg_bytes_resize(&opened, values);
  for (size_t v = 0; status == EGRAPH_OK && v < values; v++)
    order->position.data[v] = NONE;
  for (uint32_t v = 0; status == EGRAPH_OK && v < values; v++)
    if (active->used.data[v]) status = sort_from(order, active, v, &stack, &opened);
  eg_u32s_deinit(&stack);
  eg_bytes_deinit(&opened);
  return status;
}
