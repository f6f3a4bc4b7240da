// Runs a convolution or a matrix product and the operations after it: act(kernel(x, w) +
// bias + z). Where it is fast and keeps NaN, the kernel of oneDNN includes z and the
// activation (as post-ops). Otherwise z and the activation are passes over the result.
//
//   fused      kernel: bias, z, act           where NaN was lost: kernel: bias, + z, act
//   not fused  kernel: bias, + z, act         each + and act: a pass
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_FUSED_H
#define EG_EXEC_CPU_FUSED_H

#include "exec/cpu/eltwise.h"

/// The operands, which convolutions and matrix products number alike.
enum { EG_FUSED_X, EG_FUSED_W, EG_FUSED_BIAS, EG_FUSED_Z };

/// The first members of the plans of convolutions and of matrix products.
typedef struct eg_fused_plan {
  const char *op; // for messages
  /// Describes the kernel for the given weights and attributes.
  egraph_status (*describe)(eg_cpu_builder *builder, const struct eg_fused_plan *plan,
                            const_dnnl_memory_desc_t weights,
                            const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out);
  const_dnnl_memory_desc_t x, weights, result;
  const_dnnl_memory_desc_t any_weights; // weights in a format that oneDNN chooses
  const_dnnl_memory_desc_t bias;        // bias that the kernel adds; NULL: none
  bool bias_follows; // the bias is added by a pass, as the kernel cannot add it
  bool has_z;
  eg_eltwise_chain act;      // activation that may be fused
  eg_eltwise_chain act_pass; // activation that needs a separate pass
} eg_fused_plan;

/// The oneDNN primitives chosen for a convolution or matrix product.
typedef struct eg_fused_choice {
  dnnl_primitive_desc_t primitive;
  dnnl_primitive_desc_t again; // without post-ops, for the same weights; NULL: none
  bool is_fused;               // false: passes add z and apply the activation
  bool sums;                   // the result overwrites z in place
} eg_fused_choice;

/// Describes the primitive with bias, addend z and activation as post-ops; when `sums` is
/// true, z lies in the result's memory before the kernel runs.
egraph_status eg_fused_describe(eg_cpu_builder *builder, const eg_fused_plan *plan,
                                bool sums, dnnl_primitive_desc_t *out);
/// Chooses the oneDNN primitives. On entry, *inout says whether post-ops are allowed
/// (is_fused), and whether the result may overwrite the addend z in place (sums).
egraph_status eg_fused_choose(eg_cpu_builder *builder, const eg_fused_plan *plan,
                              eg_fused_choice *inout);
/// Appends stages of the chosen primitives, and passes for operations they lack.
egraph_status eg_cpu_add_fused(eg_cpu_builder *builder, const eg_fused_plan *plan,
                               const eg_fused_choice *choice);

/// The passes after a kernel: out = act(out + operands ...), in place.
typedef struct eg_epilogue {
  uint32_t addends[2]; // operand numbers
  uint32_t count;
  eg_eltwise_chain act;
} eg_epilogue;
egraph_status eg_cpu_add_epilogue(eg_cpu_builder *builder, const eg_epilogue *epilogue);
/// Returns the passes after one of egraph's kernels, which adds bias and z and clips to
/// *low and *high; its result may overwrite z in place.
eg_epilogue eg_cpu_epilogue_of_own(eg_cpu_builder *builder, const eg_fused_plan *plan,
                                   float *low, float *high);

#endif
