// The families of the CUDA back-end, which compile operators. A new operator is one row
// in device_families.c.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_DEVICE_FAMILIES_H
#define EG_EXEC_DEVICE_FAMILIES_H

#include "exec/cuda/cuda_builder.h"

/// Fills the builder with the stages of builder->spec, or fails with
/// EGRAPH_E_UNSUPPORTED. It gets no tensor that is empty or in blocks of channels.
typedef egraph_status (*eg_cuda_family)(eg_cuda_builder *builder);

/// Returns the family of an operator; NULL: the operator runs on its reference kernel.
eg_cuda_family eg_cuda_family_of(eg_op op);

egraph_status eg_cuda_adam_update(eg_cuda_builder *builder);
egraph_status eg_cuda_arg(eg_cuda_builder *builder);
egraph_status eg_cuda_batch_norm(eg_cuda_builder *builder);
egraph_status eg_cuda_concat(eg_cuda_builder *builder);
egraph_status eg_cuda_conv(eg_cuda_builder *builder);
egraph_status eg_cuda_conv_grad_weight(eg_cuda_builder *builder);
egraph_status eg_cuda_conv_transpose(eg_cuda_builder *builder);
egraph_status eg_cuda_cum_sum(eg_cuda_builder *builder);
egraph_status eg_cuda_einsum(eg_cuda_builder *builder);
egraph_status eg_cuda_expand(eg_cuda_builder *builder);
egraph_status eg_cuda_fill(eg_cuda_builder *builder);
egraph_status eg_cuda_gather(eg_cuda_builder *builder);
egraph_status eg_cuda_gather_grad(eg_cuda_builder *builder);
egraph_status eg_cuda_gemm(eg_cuda_builder *builder);
egraph_status eg_cuda_global_pool(eg_cuda_builder *builder);
egraph_status eg_cuda_group_norm(eg_cuda_builder *builder);
egraph_status eg_cuda_layer_norm(eg_cuda_builder *builder);
egraph_status eg_cuda_layer_norm_grad(eg_cuda_builder *builder);
egraph_status eg_cuda_lrn(eg_cuda_builder *builder);
egraph_status eg_cuda_matmul(eg_cuda_builder *builder);
egraph_status eg_cuda_pad(eg_cuda_builder *builder);
egraph_status eg_cuda_pointwise(eg_cuda_builder *builder);
egraph_status eg_cuda_pool(eg_cuda_builder *builder);
egraph_status eg_cuda_pool_grad(eg_cuda_builder *builder);
egraph_status eg_cuda_reduction(eg_cuda_builder *builder);
egraph_status eg_cuda_reshape(eg_cuda_builder *builder);
egraph_status eg_cuda_slice(eg_cuda_builder *builder);
egraph_status eg_cuda_softmax(eg_cuda_builder *builder);
egraph_status eg_cuda_split(eg_cuda_builder *builder);
egraph_status eg_cuda_tile(eg_cuda_builder *builder);
egraph_status eg_cuda_transpose(eg_cuda_builder *builder);

#endif
