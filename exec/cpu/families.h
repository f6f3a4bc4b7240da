// The families of the CPU back-end, which compile operators. A new operator is one row in
// families.c, or none if it is pointwise and has one operand.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_FAMILIES_H
#define EG_EXEC_CPU_FAMILIES_H

#include "exec/cpu/cpu_builder.h"
#include "exec/cpu/loop_nest.h"

/// Fills the builder with stages for builder->spec. Fails with EGRAPH_E_UNSUPPORTED where
/// it has no kernel.
typedef egraph_status (*eg_cpu_family)(eg_cpu_builder *builder);

/// Returns the family of an operator; NULL: the operator runs on its reference kernel.
eg_cpu_family eg_cpu_family_of(eg_op op);

egraph_status eg_cpu_binary(eg_cpu_builder *builder);
egraph_status eg_cpu_concat(eg_cpu_builder *builder);
egraph_status eg_cpu_conv(eg_cpu_builder *builder);
egraph_status eg_cpu_conv_grad_weight(eg_cpu_builder *builder);
egraph_status eg_cpu_conv_transpose(eg_cpu_builder *builder);
egraph_status eg_cpu_einsum(eg_cpu_builder *builder);
egraph_status eg_cpu_eltwise(eg_cpu_builder *builder);
egraph_status eg_cpu_expand(eg_cpu_builder *builder);
egraph_status eg_cpu_gemm(eg_cpu_builder *builder);
egraph_status eg_cpu_global_pool(eg_cpu_builder *builder);
egraph_status eg_cpu_identity(eg_cpu_builder *builder);
egraph_status eg_cpu_layer_norm(eg_cpu_builder *builder);
egraph_status eg_cpu_batch_norm(eg_cpu_builder *builder);
egraph_status eg_cpu_lrn(eg_cpu_builder *builder);
egraph_status eg_cpu_matmul(eg_cpu_builder *builder);
egraph_status eg_cpu_pad(eg_cpu_builder *builder);
egraph_status eg_cpu_pool(eg_cpu_builder *builder);
egraph_status eg_cpu_pool_grad(eg_cpu_builder *builder);
egraph_status eg_cpu_recurrent(eg_cpu_builder *builder);
egraph_status eg_cpu_reduction(eg_cpu_builder *builder);
egraph_status eg_cpu_slice(eg_cpu_builder *builder);
egraph_status eg_cpu_softmax(eg_cpu_builder *builder);
egraph_status eg_cpu_resize(eg_cpu_builder *builder);
egraph_status eg_cpu_split(eg_cpu_builder *builder);
egraph_status eg_cpu_transpose(eg_cpu_builder *builder);

/// Appends the copy from[strides 1] -> to[strides 0] over the nest, which is merged here.
/// Rows that are contiguous on both sides are copied with memcpy; a float32 permutation
/// without long rows becomes a reorder of oneDNN.
egraph_status eg_cpu_add_copy(eg_cpu_builder *builder, const eg_loop_nest *nest,
                              egraph_dtype dtype, eg_place from, eg_place to);
/// Fills the dimensions of a convolution's weights in oneDNN's order: [group,] out, in,
/// kernel. Returns the rank.
uint32_t eg_cpu_weight_dims(const eg_type *w, int64_t group, int64_t *dims);

/// Makes the node the product of operand 0, [m,k] or transposed [k,m], and operand 1,
/// [k,n] or transposed [n,k], both packed. Fails where oneDNN does: EGRAPH_E_UNSUPPORTED.
egraph_status eg_cpu_add_product(eg_cpu_builder *builder, int64_t m, int64_t n, int64_t k,
                                 bool a_is_turned, bool b_is_turned);

#endif
