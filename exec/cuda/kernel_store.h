// Kernels that are compiled while the program runs (kernel_compiler.h). A source is
// compiled once: its code is kept in memory, and in files for later processes, in folder
// egraph/kernels of the user's folder for caches. A file is written as a whole; it has
// the source and a sum of its bytes, and is compiled again where one of them differs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_KERNEL_STORE_H
#define EG_EXEC_KERNEL_STORE_H

#include "exec/cuda/cuda_support.h"

typedef struct eg_kernel_store eg_kernel_store;

/// Makes a store for devices of compute capability `sm`; the device is current at all
/// calls.
egraph_status eg_kernel_store_create(egraph_allocator alloc, int sm,
                                     eg_kernel_store **out);
void eg_kernel_store_destroy(eg_kernel_store *store); // NULL is allowed
/// Finds the kernel of this name in a source; it lives as long as the store. Fails with
/// EGRAPH_E_UNSUPPORTED where there is no compiler, EGRAPH_E_INTERNAL where it fails.
egraph_status eg_kernel_store_get(eg_kernel_store *store, const char *source,
                                  const char *name, cudaKernel_t *out);

#endif
