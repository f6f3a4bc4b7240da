// The families of the CUDA back-end, which compile operators. A new operator is one row
// of the list. eg_cuda_<family> appends the stages of builder->spec, or fails with
// EGRAPH_E_UNSUPPORTED; it gets no tensor that is empty or in blocks of channels.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_DEVICE_FAMILIES_H
#define EG_EXEC_DEVICE_FAMILIES_H

#include "exec/cuda/cuda_builder.h"

// Operator and family. Operators that are missing here and in the list of pointwise
// operators (and nodes that a family refuses) run on the reference kernels, on copies in
// host memory.
#define EG_CUDA_FAMILY_LIST(X)                                                           \
  X(FILL, fill)                                                                          \
  X(MATMUL, matmul)                                                                      \
  X(GEMM, gemm)                                                                          \
  X(CONV, conv)                                                                          \
  X(CONV_TRANSPOSE, conv_transpose)                                                      \
  X(EINSUM, einsum)                                                                      \
  X(MAX_POOL, pool)                                                                      \
  X(AVERAGE_POOL, pool)                                                                  \
  X(GLOBAL_AVERAGE_POOL, global_pool)                                                    \
  X(GLOBAL_MAX_POOL, global_pool)                                                        \
  X(BATCH_NORM, batch_norm)                                                              \
  X(LAYER_NORM, layer_norm)                                                              \
  X(RMS_NORM, layer_norm)                                                                \
  X(GROUP_NORM, group_norm)                                                              \
  X(INSTANCE_NORM, group_norm)                                                           \
  X(LRN, lrn)                                                                            \
  X(SOFTMAX, softmax)                                                                    \
  X(LOG_SOFTMAX, softmax)                                                                \
  X(ATTENTION, attention)                                                                \
  X(REDUCE_SUM, reduction)                                                               \
  X(REDUCE_MEAN, reduction)                                                              \
  X(REDUCE_MAX, reduction)                                                               \
  X(REDUCE_MIN, reduction)                                                               \
  X(REDUCE_PROD, reduction)                                                              \
  X(ARG_MAX, arg)                                                                        \
  X(ARG_MIN, arg)                                                                        \
  X(CUM_SUM, cum_sum)                                                                    \
  X(RESHAPE, reshape)                                                                    \
  X(SQUEEZE, reshape)                                                                    \
  X(UNSQUEEZE, reshape)                                                                  \
  X(FLATTEN, reshape)                                                                    \
  X(TRANSPOSE, transpose)                                                                \
  X(CONCAT, concat)                                                                      \
  X(SPLIT, split)                                                                        \
  X(SLICE, slice)                                                                        \
  X(PAD, pad)                                                                            \
  X(EXPAND, expand)                                                                      \
  X(TILE, tile)                                                                          \
  X(GATHER, gather)                                                                      \
  X(CONV_GRAD_WEIGHT, conv_grad_weight)                                                  \
  X(MAX_POOL_GRAD, pool_grad)                                                            \
  X(AVERAGE_POOL_GRAD, pool_grad)                                                        \
  X(GATHER_GRAD, gather_grad)                                                            \
  X(LAYER_NORM_GRAD, layer_norm_grad)                                                    \
  X(RMS_NORM_GRAD, layer_norm_grad)                                                      \
  X(ATTENTION_GRAD, attention_grad)                                                      \
  X(ADAM_UPDATE, adam_update)                                                            \
  X(FUSED, fused)
#define EG_CUDA_FAMILY(id, family)                                                       \
  egraph_status eg_cuda_##family(eg_cuda_builder *builder);
EG_CUDA_FAMILY_LIST(EG_CUDA_FAMILY)
#undef EG_CUDA_FAMILY
egraph_status eg_cuda_pointwise(eg_cuda_builder *builder);
/// Appends the stages of builder->spec by the family of its operator (cuda_program.c).
egraph_status eg_cuda_add_node(eg_cuda_builder *builder);

#endif
