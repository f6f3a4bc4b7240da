// Places buffers with known lifetimes in one block of memory.
//
//   step      0  1  2  3
//   a [0,1]   #  #            offset 0: a, then d
//   b [1,2]      #  #         behind:   b, then ...
//   d [3,3]            #      block of max(a, d) + b instead of a + b + d
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_MEMORY_PLAN_H
#define EG_EXEC_MEMORY_PLAN_H

#include "base/memory.h"

/// A buffer that holds a value from step `first` to step `last`, both included.
typedef struct eg_plan_buffer {
  size_t bytes;
  uint32_t first, last;
  size_t offset; // result of eg_memory_plan
} eg_plan_buffer;

/// Sets the offsets (multiples of `alignment`, a power of two) so that buffers alive in
/// the same step do not overlap, and *out_bytes to the size of the block. Largest first,
/// each into the smallest gap that holds it. O(n^2). Fails with EGRAPH_E_MEMORY, also
/// when the block would not fit the address space.
egraph_status eg_memory_plan(egraph_allocator alloc, eg_plan_buffer *buffers,
                             uint32_t count, size_t alignment, size_t *out_bytes);
/// Verifies a plan; EGRAPH_E_INTERNAL names the first two buffers that overlap.
egraph_status eg_memory_plan_check(const eg_plan_buffer *buffers, uint32_t count,
                                   size_t alignment, size_t bytes);

#endif
