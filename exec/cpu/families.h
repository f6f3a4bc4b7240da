// The families of the CPU back-end, which compile operators. A new operator is one row of
// the list, or none if it is pointwise and has one operand. eg_cpu_<family> appends the
// stages of builder->spec, or fails with EGRAPH_E_UNSUPPORTED where it has no kernel.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_FAMILIES_H
#define EG_EXEC_CPU_FAMILIES_H

#include "exec/cpu/cpu_builder.h"
#include "exec/cpu/loop_nest.h"

// Operator and family. Pointwise operators of one operand that are missing here belong to
// eltwise. All others (and nodes that a family refuses) run on the reference kernels,
// such as max, min and their reductions, because oneDNN's kernels lose NaN.
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
  X(ATTENTION, attention)                                                                \
  X(ATTENTION_GRAD, attention_grad)                                                      \
  X(FUSED, body)                                                                         \
  X(ROPE, rope)                                                                          \
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
#define EG_CPU_FAMILY(id, family) egraph_status eg_cpu_##family(eg_cpu_builder *builder);
EG_CPU_FAMILY_LIST(EG_CPU_FAMILY)
#undef EG_CPU_FAMILY
egraph_status eg_cpu_eltwise(eg_cpu_builder *builder);

/// Appends the copy from[strides 1] -> to[strides 0] over the nest, which is merged here.
/// Rows that are contiguous on both sides are copied with memcpy; a float32 permutation
/// without long rows becomes transpositions of matrices, or a reorder of oneDNN.
egraph_status eg_cpu_add_copy(eg_cpu_builder *builder, const eg_loop_nest *nest,
                              egraph_dtype dtype, eg_place from, eg_place to);
/// True when the copy over a merged nest of float32 transposes matrices (turn.c).
bool eg_turn_fits(const eg_loop_nest *nest);
/// Appends such a copy.
egraph_status eg_cpu_add_turn(eg_cpu_builder *builder, const eg_loop_nest *nest,
                              eg_place from, eg_place to);
/// Fills the dimensions of a convolution's weights in oneDNN's order: [group,] out, in,
/// kernel. Returns the rank.
uint32_t eg_cpu_weight_dims(const eg_type *w, int64_t group, int64_t *dims);

/// Makes the node the product of operand 0, [m,k] or transposed [k,m], and operand 1,
/// [k,n] or transposed [n,k], both packed. Fails where oneDNN does: EGRAPH_E_UNSUPPORTED.
egraph_status eg_cpu_add_product(eg_cpu_builder *builder, int64_t m, int64_t n, int64_t k,
                                 bool a_is_turned, bool b_is_turned);

#endif
