// Creates tensors in an arena, runs kernels on them, and widens floating-point types
// to float64.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAB_BASIS_TENSORS_H
#define EG_REWRITES_LAB_BASIS_TENSORS_H

#include "base/memory.h"
#include "ops/ops.h"

/// Creates a tensor of zeros.
egraph_status eg_arena_tensor(eg_arena *arena, const eg_type *type, eg_tensor *out);

egraph_status eg_kernel_run(eg_arena *arena, const eg_attrs *attrs,
                            const eg_tensor *inputs, uint32_t input_count,
                            const eg_tensor *outputs, uint32_t output_count);

static inline egraph_dtype eg_widened(egraph_dtype dtype) {
  return eg_dtype_is_float(dtype) ? EGRAPH_FLOAT64 : dtype;
}

egraph_status eg_attrs_widen(eg_arena *arena, const eg_attrs *attrs,
                             const eg_attrs **out);

#endif
