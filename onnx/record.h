// Whether two records of opaque nodes (read/opaque.h) are of one operator.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_RECORD_H
#define EG_ONNX_RECORD_H

#include "base/memory.h"

/// True when the records have the same bytes; or when they are nodes of the same operator
/// with the same attributes, with operands and results in the same places, in operator
/// sets in which that means the same. Names of the node's tensors and its own are free;
/// sub-graphs, the names that they capture, and the functions that they call are the
/// same. Fails with EGRAPH_E_MEMORY.
egraph_status eg_onnx_is_same_record(egraph_allocator alloc, const void *a, size_t a_size,
                                     const void *b, size_t b_size, bool *out);

#endif
