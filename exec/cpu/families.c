// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"

// Operator, family. What is not here (or what a family refuses) runs on the reference
// kernels: max, min and their reductions, because oneDNN's lose NaN.
#define EG_CPU_FAMILY_LIST(X)                                                            \
  X(IDENTITY, identity)                                                                  \
  X(RELU, eltwise)                                                                       \
  X(SIGMOID, eltwise)                                                                    \
  X(TANH, eltwise)                                                                       \
  X(EXP, eltwise)                                                                        \
  X(LOG, eltwise)                                                                        \
  X(SQRT, eltwise)                                                                       \
  X(RSQRT, eltwise)                                                                      \
  X(RECIPROCAL, eltwise)                                                                 \
  X(SQUARE, eltwise)                                                                     \
  X(NEG, eltwise)                                                                        \
  X(ABS, eltwise)                                                                        \
  X(SIGN, eltwise)                                                                       \
  X(FLOOR, eltwise)                                                                      \
  X(CEIL, eltwise)                                                                       \
  X(ROUND, eltwise)                                                                      \
  X(ERF, eltwise)                                                                        \
  X(GELU, eltwise)                                                                       \
  X(SILU, eltwise)                                                                       \
  X(SOFTPLUS, eltwise)                                                                   \
  X(MISH, eltwise)                                                                       \
  X(SOFTSIGN, eltwise)                                                                   \
  X(HARD_SWISH, eltwise)                                                                 \
  X(HARD_SIGMOID, eltwise)                                                               \
  X(LEAKY_RELU, eltwise)                                                                 \
  X(ELU, eltwise)                                                                        \
  X(SELU, eltwise)                                                                       \
  X(CELU, eltwise)                                                                       \
  X(CLIP, eltwise)                                                                       \
  X(ADD, binary)                                                                         \
  X(SUB, binary)                                                                         \
  X(MUL, binary)                                                                         \
  X(DIV, binary)                                                                         \
  X(POW, binary)                                                                         \
  X(MATMUL, matmul)                                                                      \
  X(GEMM, gemm)                                                                          \
  X(EINSUM, einsum)                                                                      \
  X(CONV, conv)                                                                          \
  X(CONV_TRANSPOSE, conv_transpose)                                                      \
  X(CONV_GRAD_WEIGHT, conv_grad_weight)                                                  \
  X(MAX_POOL, pool)                                                                      \
  X(AVERAGE_POOL, pool)                                                                  \
  X(MAX_POOL_GRAD, pool_grad)                                                            \
  X(AVERAGE_POOL_GRAD, pool_grad)                                                        \
  X(GLOBAL_AVERAGE_POOL, global_pool)                                                    \
  X(GLOBAL_MAX_POOL, global_pool)                                                        \
  X(BATCH_NORM, batch_norm)                                                              \
  X(LAYER_NORM, layer_norm)                                                              \
  X(LRN, lrn)                                                                            \
  X(SOFTMAX, softmax)                                                                    \
  X(LOG_SOFTMAX, softmax)                                                                \
  X(REDUCE_SUM, reduction)                                                               \
  X(REDUCE_MEAN, reduction)                                                              \
  X(REDUCE_PROD, reduction)                                                              \
  X(TRANSPOSE, transpose)                                                                \
  X(CONCAT, concat)                                                                      \
  X(SPLIT, split)                                                                        \
  X(PAD, pad)                                                                            \
  X(SLICE, slice)                                                                        \
  X(EXPAND, expand)                                                                      \
  X(RESIZE, resize)                                                                      \
  X(RNN, recurrent)                                                                      \
  X(GRU, recurrent)                                                                      \
  X(LSTM, recurrent)

#define EG_CPU_FAMILY_ROW(id, family) [EG_OP_##id] = eg_cpu_##family,
static const eg_cpu_family families[EG_OP_COUNT] = {
    EG_CPU_FAMILY_LIST(EG_CPU_FAMILY_ROW)};

eg_cpu_family eg_cpu_family_of(eg_op op) { return families[op]; }
