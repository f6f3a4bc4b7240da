// Weights: their bytes, and values for weights whose data is absent and for inputs
// without data.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_WEIGHTS_H
#define EG_PCG_WEIGHTS_H

#include "ops/tensor.h"

/// Bytes of a weight, shared between graphs by reference counting; memory-mapped for
/// external data.
typedef struct eg_buffer eg_buffer;
egraph_status eg_buffer_create(const egraph_allocator *alloc, size_t size,
                               eg_buffer **out);
/// Maps [offset, offset + size) of a file read-only. Fails with EGRAPH_E_IO.
egraph_status eg_buffer_map(const egraph_allocator *alloc, const char *path,
                            uint64_t offset, size_t size, eg_buffer **out);
eg_buffer *eg_buffer_retain(eg_buffer *buffer);
void eg_buffer_release(eg_buffer *buffer); // NULL is allowed
const void *eg_buffer_data(const eg_buffer *buffer);
/// Asserts that the buffer is neither mapped nor shared.
void *eg_buffer_writable(eg_buffer *buffer);
size_t eg_buffer_size(const eg_buffer *buffer);

// Values are drawn from the seed and the tensor's name alone, so that a graph and its
// optimized form get the same values. Integers are 0 or 1.

/// Fills a row-major tensor with values for the weight `name`. Rank <= 1: uniform in
/// [0.5, 1.5], safe as variance and as scale. Rank 2 and more: uniform in +-sqrt(3 /
/// fan_in); fan_in is the larger dimension for rank 2, elements / dims[0] above.
void eg_weight_draw(const char *name, uint64_t seed, const eg_tensor *tensor);
/// Fills a row-major tensor with values for the graph input `name`: uniform in [-1, 1].
void eg_input_draw(const char *name, uint64_t seed, const eg_tensor *tensor);

#endif
