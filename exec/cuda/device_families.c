// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"

// Operator, family. What is not here (or what a family refuses) runs on the reference
// kernels, on copies in host memory.
#define EG_CUDA_FAMILY_LIST(X)                                                           \
  X(FILL, fill)                                                                          \
  X(IDENTITY, pointwise)                                                                 \
  X(RELU, pointwise)                                                                     \
  X(SIGMOID, pointwise)                                                                  \
  X(TANH, pointwise)                                                                     \
  X(EXP, pointwise)                                                                      \
  X(LOG, pointwise)                                                                      \
  X(SQRT, pointwise)                                                                     \
  X(RSQRT, pointwise)                                                                    \
  X(RECIPROCAL, pointwise)                                                               \
  X(SQUARE, pointwise)                                                                   \
  X(NEG, pointwise)                                                                      \
  X(ABS, pointwise)                                                                      \
  X(SIGN, pointwise)                                                                     \
  X(FLOOR, pointwise)                                                                    \
  X(CEIL, pointwise)                                                                     \
  X(ROUND, pointwise)                                                                    \
  X(SIN, pointwise)                                                                      \
  X(COS, pointwise)                                                                      \
  X(ERF, pointwise)                                                                      \
  X(GELU, pointwise)                                                                     \
  X(SILU, pointwise)                                                                     \
  X(SOFTPLUS, pointwise)                                                                 \
  X(MISH, pointwise)                                                                     \
  X(SOFTSIGN, pointwise)                                                                 \
  X(HARD_SWISH, pointwise)                                                               \
  X(HARD_SIGMOID, pointwise)                                                             \
  X(LEAKY_RELU, pointwise)                                                               \
  X(ELU, pointwise)                                                                      \
  X(SELU, pointwise)                                                                     \
  X(CELU, pointwise)                                                                     \
  X(CLIP, pointwise)                                                                     \
  X(NOT, pointwise)                                                                      \
  X(CAST, pointwise)                                                                     \
  X(ADD, pointwise)                                                                      \
  X(SUB, pointwise)                                                                      \
  X(MUL, pointwise)                                                                      \
  X(DIV, pointwise)                                                                      \
  X(POW, pointwise)                                                                      \
  X(MAX, pointwise)                                                                      \
  X(MIN, pointwise)                                                                      \
  X(MOD, pointwise)                                                                      \
  X(PRELU, pointwise)                                                                    \
  X(EQUAL, pointwise)                                                                    \
  X(GREATER, pointwise)                                                                  \
  X(LESS, pointwise)                                                                     \
  X(GREATER_OR_EQUAL, pointwise)                                                         \
  X(LESS_OR_EQUAL, pointwise)                                                            \
  X(AND, pointwise)                                                                      \
  X(OR, pointwise)                                                                       \
  X(XOR, pointwise)                                                                      \
  X(WHERE, pointwise)                                                                    \
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
  X(ADAM_UPDATE, adam_update)

#define EG_CUDA_FAMILY_ROW(id, family) [EG_OP_##id] = eg_cuda_##family,
static const eg_cuda_family families[EG_OP_COUNT] = {
    EG_CUDA_FAMILY_LIST(EG_CUDA_FAMILY_ROW)};

eg_cuda_family eg_cuda_family_of(eg_op op) { return families[op]; }
