// Kernels with a planted fault each, for the test of the emulator.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_PLANTED_KERNELS_H
#define EG_TESTS_PLANTED_KERNELS_H

#include "tests/gpu/emulator/emulator.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Elements of `out`; blocks of all kernels but the one that is about blocks write the
/// same ones, so a launch has one block.
enum { PLANTED_ELEMENTS = 64 };

/// A kernel, and what the emulator finds in it when it has its fault.
typedef struct planted {
  const char *name, *finding;
  uint32_t blocks;
  void (*kernel)(bool has_fault, int *out);
} planted;
extern const planted planted_kernels[];
extern const size_t planted_count;

cudaError_t planted_launch(const planted *p, bool has_fault, int *out,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
