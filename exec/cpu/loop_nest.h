// Loop nests over tensor elements: dimensions in the order in which they lie in memory,
// with the strides of up to 16 tensors. Merging neighbouring loops reduces every
// memory format to a few plain dimensions, for oneDNN's fast kernels and memcpy:
//
//   [1,12,128,128] + [1,12,128,1]     dims 1536 x 128     strides (128 1) (1 0)
//   nChw16c [1,64,56,56] + [64,1,1]   dims 4 x 3136 x 16  strides (50176 16 1) (16 0 1)
//
// Strides count elements; 0 is a broadcast.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_LOOP_NEST_H
#define EG_EXEC_CPU_LOOP_NEST_H

#include "ops/tensor.h"

enum { EG_MAX_LOOPS = EGRAPH_MAX_RANK + 1, EG_MAX_LOOP_TENSORS = 16 };

typedef struct eg_loop_nest {
  uint32_t rank;
  int64_t dims[EG_MAX_LOOPS];
  int64_t strides[EG_MAX_LOOP_TENSORS][EG_MAX_LOOPS];
} eg_loop_nest;

/// Fills the dimensions of `type` in the order in which they lie in memory, and the
/// logical dimension of each. A blocked format has channels twice: first the blocks, last
/// the channels within a block. Both: [EG_MAX_LOOPS]. Returns the number of dimensions.
uint32_t eg_stored_dims(const eg_type *type, int64_t *out_dims, uint32_t *out_logical);
/// Sets up loops over the elements of `type` as it is stored; strides[0] are the strides
/// of `type`. For a blocked format the loops include padding channels.
void eg_loop_nest_init(eg_loop_nest *nest, const eg_type *type);
/// Sets strides[tensor] for an operand that broadcasts to `type`, over which the loops of
/// the nest run. False when strides cannot express this: the formats differ, or padding
/// channels would be read beyond a plain operand.
bool eg_loop_nest_add(eg_loop_nest *nest, const eg_type *type, uint32_t tensor,
                      const eg_type *operand);
/// Drops loops of one step and merges neighbouring loops that are contiguous in tensors
/// [0, count). At least one loop remains.
void eg_loop_nest_merge(eg_loop_nest *nest, uint32_t count);
/// True when the channels of a blocked format do not fill its last block.
bool eg_type_has_padding(const eg_type *type);

#endif
