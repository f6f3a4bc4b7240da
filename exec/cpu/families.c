// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"

// Operator, family. Pointwise operators of one operand that are missing here are eltwise.
// All others (and nodes that a family refuses) run on the reference kernels, such as max,
// min and their reductions, because oneDNN's kernels lose NaN.
#define EG_CPU_FAMILY_LIST(X)                                                            \
  X(IDENTITY, identity)                                                                  \
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

eg_cpu_family eg_cpu_family_of(eg_op op) {
  const eg_op_info *info = eg_op_info_of(op);
  bool is_unary = (info->flags & EG_OPF_POINTWISE) != 0 && info->max_inputs == 1;
  return families[op] == NULL && is_unary ? eg_cpu_eltwise : families[op];
}
