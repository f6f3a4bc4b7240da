// Files with external data, which must lie in the model's directory.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_ONNX_EXTERNAL_H
#define EG_PCG_ONNX_EXTERNAL_H

#include "pcg/graph/graph.h"

/// Maps bytes of `location`, relative to the directory `base`. *out stays NULL when there
/// is no such file. Fails with EGRAPH_E_PARSE when the location is absolute or leaves the
/// directory (also through symbolic links), EGRAPH_E_IO when the file is too short or
/// unreadable.
egraph_status eg_onnx_external_map(egraph_allocator alloc, const char *base,
                                   const char *location, uint64_t offset, size_t size,
                                   eg_buffer **out);

#endif
