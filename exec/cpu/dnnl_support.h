// The seam to oneDNN 2.x: status translation, memory descriptors.
//
// <dnnl.h> is included here and nowhere else. The operation-descriptor API used
// throughout this folder was removed in oneDNN 3.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_DNNL_SUPPORT_H
#define EG_EXEC_CPU_DNNL_SUPPORT_H

#include <dnnl.h>

#include "ops/tensor.h"

/// Translates a oneDNN status; `what` names the call. "Unimplemented" and "invalid
/// arguments" become EGRAPH_E_UNSUPPORTED: they say that this library has no kernel for
/// the shapes or formats.
egraph_status eg_dnnl_check(dnnl_status_t status, const char *what);

/// Descriptor of a float32 tensor as it is stored. Fails with EGRAPH_E_UNSUPPORTED
/// for other dtypes.
egraph_status eg_dnnl_desc(const eg_type *type, dnnl_memory_desc_t *out);
/// Row-major float32 descriptor of the given shape.
egraph_status eg_dnnl_desc_dims(uint32_t rank, const int64_t *dims,
                                dnnl_memory_desc_t *out);
/// Float32 descriptor with strides in elements.
egraph_status eg_dnnl_desc_strided(uint32_t rank, const int64_t *dims,
                                   const int64_t *strides, dnnl_memory_desc_t *out);
/// Float32 descriptor of a shape whose format the primitive chooses.
egraph_status eg_dnnl_desc_any(uint32_t rank, const int64_t *dims,
                               dnnl_memory_desc_t *out);

#endif
