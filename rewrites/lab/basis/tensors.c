// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/basis/tensors.h"

egraph_status eg_arena_tensor(eg_arena *arena, const eg_type *type, eg_tensor *out) {
  size_t bytes = eg_type_bytes(type);
  *out = (eg_tensor){.type = *type};
  return eg_arena_alloc(arena, bytes > 0 ? bytes : 1, 1, &out->data);
}

egraph_status eg_kernel_run(eg_arena *arena, const eg_attrs *attrs,
                            const eg_tensor *inputs, uint32_t input_count,
                            const eg_tensor *outputs, uint32_t output_count) {
  const eg_kernel_call call = {.attrs = attrs,
                               .inputs = inputs,
                               .input_count = input_count,
                               .outputs = outputs,
                               .output_count = output_count,
                               .alloc = arena->alloc};
  return eg_op_run(&call);
}

egraph_status eg_attrs_widen(eg_arena *arena, const eg_attrs *attrs,
                             const eg_attrs **out) {
  eg_attr *slots;
  eg_attrs *copy;
  EG_NEW(arena, (size_t)attrs->count + 1, slots);
  EG_NEW(arena, 1, copy);
  for (uint16_t i = 0; i < attrs->count; i++) {
    slots[i] = attrs->slots[i];
    if (slots[i].kind == EG_ATTR_DTYPE) slots[i].i = eg_widened((egraph_dtype)slots[i].i);
  }
  *copy = (eg_attrs){.op = attrs->op, .count = attrs->count, .slots = slots};
  *out = copy;
  return EGRAPH_OK;
}
