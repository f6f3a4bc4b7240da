// Compiles CUDA C while the program runs, by NVRTC (kernel_compiler.c), which needs no
// device. NVRTC is part of CUDA's toolkit, but not of its driver: it may be missing.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_KERNEL_COMPILER_H
#define EG_EXEC_KERNEL_COMPILER_H

#include "base/memory.h"

/// Machine code that cudaLibraryLoadData loads; free it with eg_free(alloc, bytes, count,
/// 1).
typedef struct eg_kernel_code {
  char *bytes;
  size_t count;
} eg_kernel_code;

/// Returns the compiler's version; 0: there is none.
uint32_t eg_kernel_compiler_version(void);
/// Compiles a source, which includes files of exec/cuda/device only, for devices of
/// compute capability `sm` (90: 9.0). Fails with EGRAPH_E_UNSUPPORTED without a compiler,
/// and with EGRAPH_E_INTERNAL and the compiler's messages where it refuses the source.
egraph_status eg_kernel_compile(egraph_allocator alloc, const char *source, int sm,
                                eg_kernel_code *out);

#endif
