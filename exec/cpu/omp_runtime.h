// The OpenMP runtime that oneDNN was linked with, GNU's or LLVM's.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_OMP_RUNTIME_H
#define EG_EXEC_CPU_OMP_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

typedef struct eg_omp_runtime {
  void (*set_threads)(int); // of the calling thread's parallel regions
  int (*max_threads)(void);
  void (*parallel)(void (*body)(void *), void *argument, unsigned threads,
                   unsigned flags);
} eg_omp_runtime;

/// False when there is none: oneDNN was built on another threading runtime.
bool eg_omp_find(eg_omp_runtime *out);
/// Threads of the calling thread's parallel regions, 0 when unknown.
uint32_t eg_omp_threads(void);
/// Calls body(argument) once on each of `threads` threads: the calling one and, where
/// there is a runtime, others of its parallel regions.
void eg_omp_run(void (*body)(void *), void *argument, uint32_t threads);

#endif
