// Device memory of back-ends that compute on the host.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_HOST_MEMORY_H
#define EG_EXEC_HOST_MEMORY_H

#include "exec/backend.h"

/// memory_create and memory_destroy for such back-ends: zeroed, aligned to
/// EG_DEVICE_ALIGNMENT, from the back-end's allocator.
egraph_status eg_host_memory_create(eg_backend *backend, size_t bytes,
                                    eg_device_memory *out);
void eg_host_memory_destroy(eg_backend *backend, eg_device_memory *memory);
/// Processors of this machine that are online.
uint32_t eg_host_processors(void);
/// Appends the processor's model, family and widest vector instruction set: "AMD
/// EPYC 25.17 avx512".
egraph_status eg_host_describe(eg_text *out);

#endif
