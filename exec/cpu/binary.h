// Broadcasting arithmetic of two operands.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_BINARY_H
#define EG_EXEC_CPU_BINARY_H

#include "exec/cpu/eltwise.h"

/// A float32 tensor somewhere.
typedef struct eg_placed {
  eg_place place;
  const eg_type *type;
} eg_placed;

/// Appends out = act(alg(a, b)); a and b broadcast to out's type. Result and operands of
/// its type may share memory.
egraph_status eg_cpu_add_binary(eg_cpu_builder *builder, dnnl_alg_kind_t alg, eg_placed a,
                                eg_placed b, eg_placed out, const eg_eltwise_chain *act);

/// What follows a convolution or matmul that cannot fuse it: out = act(out + operands
/// ...), in place.
typedef struct eg_epilogue {
  uint32_t addends[2]; // operand numbers
  uint32_t count;
  eg_eltwise_chain act;
} eg_epilogue;
egraph_status eg_cpu_add_epilogue(eg_cpu_builder *builder, const eg_epilogue *epilogue);

#endif
