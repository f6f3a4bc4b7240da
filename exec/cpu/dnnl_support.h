// Access to oneDNN 2.6 to 3: status translation, memory descriptors. This folder is
// written for oneDNN 3; dnnl_v2.h implements its calls with those of oneDNN 2.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_DNNL_SUPPORT_H
#define EG_EXEC_CPU_DNNL_SUPPORT_H

#include <dnnl.h>

#include "base/memory.h"
#include "exec/cpu/dnnl_v2.h"
#include "ops/tensor.h"

/// Translates a oneDNN status; `what` names the call. "Unimplemented" and "invalid
/// arguments" become EGRAPH_E_UNSUPPORTED: oneDNN has no such kernel.
egraph_status eg_dnnl_check(dnnl_status_t status, const char *what);

/// Descriptors of memory and of primitives; eg_descs_deinit destroys them.
typedef struct eg_descs {
  eg_arena *arena; // holds the list of descriptors, and lives longer than they do
  struct eg_desc_cell *last;
} eg_descs;
void eg_descs_deinit(eg_descs *descs);
/// Takes ownership of a primitive descriptor that a call of oneDNN has made: `status` is
/// the status of the call, `what` names the call. Fails as eg_dnnl_check does.
egraph_status eg_dnnl_own(eg_descs *descs, dnnl_status_t status,
                          dnnl_primitive_desc_t primitive, const char *what);

/// Finds the next kernel that oneDNN has for the operation of `primitive`, which stays
/// unchanged. Fails with EGRAPH_E_UNSUPPORTED when there is no other kernel.
egraph_status eg_dnnl_next(eg_descs *descs, const_dnnl_primitive_desc_t primitive,
                           const char *what, dnnl_primitive_desc_t *out);

/// Makes the descriptor of a float32 tensor as it is stored. Fails with
/// EGRAPH_E_UNSUPPORTED for other dtypes.
egraph_status eg_dnnl_desc(eg_descs *descs, const eg_type *type,
                           const_dnnl_memory_desc_t *out);
/// Makes a row-major float32 descriptor of the given shape.
egraph_status eg_dnnl_desc_dims(eg_descs *descs, uint32_t rank, const int64_t *dims,
                                const_dnnl_memory_desc_t *out);
/// Makes a float32 memory descriptor with strides in elements.
egraph_status eg_dnnl_desc_strided(eg_descs *descs, uint32_t rank, const int64_t *dims,
                                   const int64_t *strides, const_dnnl_memory_desc_t *out);
/// Makes a float32 memory descriptor of a shape whose format a primitive chooses.
egraph_status eg_dnnl_desc_any(eg_descs *descs, uint32_t rank, const int64_t *dims,
                               const_dnnl_memory_desc_t *out);
egraph_status eg_dnnl_desc_copy(eg_descs *descs, const_dnnl_memory_desc_t desc,
                                const_dnnl_memory_desc_t *out);
/// Returns the weights' format that a primitive has chosen; borrowed from the primitive.
static inline const_dnnl_memory_desc_t
eg_dnnl_weights_of(const_dnnl_primitive_desc_t primitive) {
  return dnnl_primitive_desc_query_md(primitive, dnnl_query_weights_md, 0);
}

#endif
