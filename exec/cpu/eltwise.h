// Computes pointwise functions of one operand with oneDNN: alone, as a chain, or fused
// into another primitive. Also computes arithmetic of two operands that broadcast.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_ELTWISE_H
#define EG_EXEC_CPU_ELTWISE_H

#include "exec/cpu/cpu_builder.h"

typedef struct eg_eltwise {
  dnnl_alg_kind_t alg;
  float alpha, beta;
} eg_eltwise;

enum { EG_MAX_ELTWISE_CHAIN = 3 };

/// One to three pointwise functions, applied in order; count 0: no function.
typedef struct eg_eltwise_chain {
  eg_eltwise step[EG_MAX_ELTWISE_CHAIN];
  uint32_t count;
} eg_eltwise_chain;

/// Returns the functions of a node's fused activation.
eg_eltwise_chain eg_eltwise_of_act(const eg_attrs *attrs);
/// True when oneDNN's function turns NaN into numbers: relu and clip. Its kernels then
/// raise the floating-point flag (kernel_threads.h).
bool eg_eltwise_loses_nan(const eg_eltwise_chain *chain);
/// True when oneDNN's function turns infinities into NaN, so that it must not be fused.
bool eg_eltwise_loses_infinities(const eg_eltwise_chain *chain);
/// True when egraph's loop (pointwise.h) is faster than oneDNN's kernel; fusing such a
/// function costs more than a separate pass.
bool eg_eltwise_is_slow(const eg_eltwise_chain *chain);
/// True when a separate pass must run egraph's loop: oneDNN's function loses NaN or
/// infinities, or is slower.
bool eg_eltwise_has_loop(const eg_eltwise_chain *chain);
/// True when f(0) is 0 for the functions together: the channels that pad a blocked format
/// must stay 0.
bool eg_eltwise_keeps_zero(const eg_eltwise_chain *chain);
/// Appends a stage that applies the functions to `elements` floats; `to` may be `from`.
egraph_status eg_cpu_add_eltwise(eg_cpu_builder *builder, const eg_eltwise_chain *chain,
                                 int64_t elements, eg_place from, eg_place to);
/// Makes attributes of a primitive (with scratchpads of the caller) that have the
/// pointwise functions as post-ops.
egraph_status eg_cpu_attr_with_chain(const eg_eltwise_chain *chain,
                                     dnnl_primitive_attr_t *out);
/// Makes attributes of a fused operator. An addend in the format `z` (NULL: none) is
/// added by a binary post-op or, with `sums`, lies in the result's memory before; then
/// the pointwise functions follow.
egraph_status eg_cpu_attr_with_epilogue(const_dnnl_memory_desc_t z, bool sums,
                                        const eg_eltwise_chain *chain,
                                        dnnl_primitive_attr_t *out);

/// Removes a relu or a clip from the list of functions and returns its bounds, for a
/// kernel that clips; for any other list the bounds are infinite.
void eg_eltwise_take_clip(eg_eltwise_chain *chain, float *out_low, float *out_high);

// ---- binary operators ---------------------------------------------------------------

/// A float32 tensor and the memory where a stage finds it.
typedef struct eg_placed {
  eg_place place;
  const eg_type *type;
} eg_placed;

/// Appends out = act(alg(a, b)); a and b broadcast to out's type. The result may share
/// memory with operands of its type.
egraph_status eg_cpu_add_binary(eg_cpu_builder *builder, dnnl_alg_kind_t alg, eg_placed a,
                                eg_placed b, eg_placed out, const eg_eltwise_chain *act);

#endif
