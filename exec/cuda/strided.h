// Tensors as strides, and the stages that use them. Strides describe row-major and nhwc
// tensors, and broadcast, transposed and sliced operands, so most operators that move or
// combine elements are one loop over strides.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_STRIDED_H
#define EG_EXEC_STRIDED_H

#include "exec/cuda/cuda_builder.h"

/// Fills the strides of an operand in the dimensions of a result to which it broadcasts.
void eg_spread_strides(const eg_type *result, const eg_type *operand, int64_t *out);

/// The dimensions of a loop over several tensors, before dimensions are merged.
typedef struct eg_loop_plan {
  uint32_t rank, tensors;
  int64_t dims[2 * EGRAPH_MAX_RANK];
  int64_t strides[EG_LOOP_TENSORS][2 * EGRAPH_MAX_RANK];
} eg_loop_plan;
/// Appends a dimension; tensor t has stride strides[t] along it.
void eg_loop_add(eg_loop_plan *plan, int64_t dim, const int64_t *strides);
/// Sorts dimensions as in tensor 0's memory, merges them; false: more than
/// EG_LOOP_RANK remain.
bool eg_loop_merge(const eg_loop_plan *plan, eg_device_loop *out);

/// Finds the type in which arithmetic of a dtype is done; false for uint64.
bool eg_compute_of(egraph_dtype dtype, eg_compute *out);
/// Finds the type for sums of a dtype: float64 for floats; false for uint64 and bool.
bool eg_accumulation_of(egraph_dtype dtype, eg_compute *out);

/// A block of elements of a tensor: its beginning, and the strides of its dimensions.
typedef struct eg_block {
  eg_device_place place;
  int64_t offset; // elements
  int64_t strides[2 * EGRAPH_MAX_RANK];
} eg_block;
/// Adds a kernel to the program that copies block `from` to block `to`. Both have the
/// dimensions `dims`, and elements of `element_bytes` bytes.
egraph_status eg_cuda_add_move(eg_cuda_builder *builder, uint32_t rank,
                               const int64_t *dims, size_t element_bytes,
                               const eg_block *to, const eg_block *from);
/// Appends result 0 = op(operands), point by point; operands broadcast to result 0.
typedef struct eg_pointwise_operand {
  eg_device_place place;
  const eg_type *type;
} eg_pointwise_operand;
egraph_status eg_cuda_add_pointwise(eg_cuda_builder *builder, eg_op op,
                                    const double params[2], eg_compute compute,
                                    const eg_pointwise_operand *operands, uint32_t count);
/// Appends a stage that fills result 0 with `value`.
egraph_status eg_cuda_add_fill(eg_cuda_builder *builder, double value);

/// These functions append operations that a product or sum could not include: result 0 =
/// act(result 0 + scale * addend ...), one stage for each operation.
egraph_status eg_cuda_add_addend(eg_cuda_builder *builder, uint32_t operand,
                                 const eg_type *type);
egraph_status eg_cuda_add_act(eg_cuda_builder *builder);

#endif
