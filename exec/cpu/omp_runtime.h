// The threads of oneDNN's kernels, and of ours beside them. oneDNN calls an OpenMP
// runtime (GNU's, or LLVM's by the same names) whose threads spin for milliseconds where
// they wait for each other: with a core less than threads every parallel region takes
// that long. So where the linker's tables allow it, oneDNN asks us instead, and its
// regions run on a team; for threads without a team, such as those of a host that uses
// oneDNN itself, the call goes on to the runtime. Otherwise its regions run on the
// runtime's threads.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_OMP_RUNTIME_H
#define EG_EXEC_CPU_OMP_RUNTIME_H

#include "exec/cpu/team.h"

typedef struct eg_omp_runtime {
  void (*set_threads)(int); // of the calling thread's parallel regions
  int (*max_threads)(void);
  void (*parallel)(void (*body)(void *), void *argument, unsigned threads,
                   unsigned flags);
} eg_omp_runtime;

/// False when there is none: oneDNN was built on another threading runtime.
bool eg_omp_find(eg_omp_runtime *out);
/// True when oneDNN's regions can run on teams; the first call sees to it.
bool eg_omp_takes_teams(void);
/// From here on regions of the calling thread run on `team`, or, NULL, on the runtime's
/// threads. Returns the team before.
eg_team *eg_omp_lend(eg_team *team);
/// Threads of the calling thread's parallel regions, 0 when unknown.
uint32_t eg_omp_threads(void);
/// Calls body(argument) `threads` times, at the same time on as many threads as are free.
void eg_omp_run(void (*body)(void *), void *argument, uint32_t threads);
/// Calls body(argument) once on each thread whose floating-point flags tell of the
/// calling thread's regions, of `threads` threads: the calling one, and the runtime's.
void eg_omp_run_on_each(void (*body)(void *), void *argument, uint32_t threads);

#endif
