// The threads of kernels, oneDNN's and egraph's. oneDNN calls an OpenMP runtime (GNU's,
// or LLVM's by the same names), whose threads spin for milliseconds when they wait: with
// fewer processors than threads every parallel region takes milliseconds. After
// eg_cpu_use_own_threads (onednn_imports.c) egraph answers these calls, and oneDNN's
// regions run on a team. On threads without a team, such as those of a host program that
// uses oneDNN itself, egraph passes the call to the runtime. Otherwise all regions run on
// the runtime's threads.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_KERNEL_THREADS_H
#define EG_EXEC_CPU_KERNEL_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/cpu/team.h"

typedef struct eg_omp_runtime {
  void (*set_threads)(int); // sets the number for parallel regions of the calling thread
  int (*max_threads)(void);
  void (*parallel)(void (*body)(void *), void *argument, unsigned threads,
                   unsigned flags);
} eg_omp_runtime;

/// Finds the OpenMP runtime. Returns false when there is none, because oneDNN was built
/// on another threading runtime.
bool eg_omp_find(eg_omp_runtime *out);
/// Finds a function among the loaded objects; `out` points to a function pointer.
bool eg_function_find(const char *name, void *out);
/// True when oneDNN's parallel regions can run on egraph's teams of threads:
/// eg_cpu_use_own_threads has succeeded.
bool eg_omp_takes_teams(void);
/// From now on, parallel regions of the calling thread run on `team`, or, if it is NULL,
/// on the OpenMP runtime's threads. Returns the previous team.
eg_team *eg_omp_lend(eg_team *team);
/// Returns the team on which the calling thread's regions run, or NULL.
eg_team *eg_omp_lent(void);
/// Returns the number of threads of the caller's parallel regions; 0 when unknown.
uint32_t eg_omp_threads(void);
/// Calls body(argument) `threads` times, on as many threads at the same time as are free.
void eg_omp_run(void (*body)(void *), void *argument, uint32_t threads);
/// Calls body(argument) once on each thread whose floating-point flags belong to the
/// calling thread's regions of `threads` threads: the calling thread, and the OpenMP
/// runtime's threads.
void eg_omp_run_on_each(void (*body)(void *), void *argument, uint32_t threads);

// ---- parts of a loop ----------------------------------------------------------------

// The threads of a region share the parts of one of egraph's loops. A thread begins with
// its own share of consecutive parts, as oneDNN's kernels divide their loops, so most of
// its data is in its cache from the previous region. Then it takes the remaining parts of
// other threads, which may have no processor.
//
//   parts       0 1 2 3 | 4 5 6 7
//   thread 0    0 1 2 3         7
//   thread 1              4 5 6
//

enum { EG_MAX_SHARES = 32 };

typedef struct eg_parts {
  int64_t count;
  uint32_t shares;
  atomic_uint entered; // number of threads outside of teams that have entered
  atomic_llong taken[EG_MAX_SHARES];
} eg_parts;

/// Returns the number of units in one part of a loop over `whole` units, at most `most`;
/// where there are several parts, all threads get equally many.
int64_t eg_parts_size(int64_t whole, int64_t most, uint32_t threads);
/// Calls body(argument) on at most `threads` threads; the calls divide `count` parts of a
/// loop among themselves by taking them from `parts`.
void eg_parts_run(eg_parts *parts, int64_t count, void (*body)(void *), void *argument,
                  uint32_t threads);
/// Returns the share (range of parts) with which the calling thread begins; for the body.
uint32_t eg_parts_enter(eg_parts *parts);
/// Takes the next part; *share may become another thread's. False: no part is left.
bool eg_parts_take(eg_parts *parts, uint32_t *share, int64_t *out);
/// Calls body(user, begin, end) for ranges of `step` units (the last may be shorter) that
/// cover [0, whole), on at most `threads` threads.
void eg_parts_each(int64_t whole, int64_t step, uint32_t threads,
                   void (*body)(const void *user, int64_t begin, int64_t end),
                   const void *user);
/// Calls body(user, unit, scratch) for units [0, count), on at most `threads` threads,
/// and at most EG_MAX_SHARES. `scratch` has `floats` elements for each of these threads;
/// a thread's calls get the same ones.
void eg_parts_with_scratch(int64_t count, uint32_t threads, float *scratch,
                           int64_t floats,
                           void (*body)(const void *user, int64_t unit, float *scratch),
                           const void *user);

// ---- the flag "invalid operation" ---------------------------------------------------

// The floating-point flag "invalid operation". On x86 every minimum, maximum and ordered
// comparison with a NaN raises the flag, and so does every operation that turns numbers
// into a NaN. Therefore a kernel that did not raise it has read no NaN, and has lost
// none. Reading the flag costs nothing, whereas checking the operands would take one more
// pass over memory.
//
// Each thread has its own flag. A team hands the flag to the calling thread; flags of an
// OpenMP runtime's threads are read on these threads.

/// True when the flags that kernels raise on `threads` threads (0: unknown) can be read.
bool eg_invalid_flag_works(uint32_t threads);
/// Clears the flag on the threads of the calling thread's parallel regions.
void eg_invalid_flag_clear(uint32_t threads);
/// True when one of the threads of the calling thread's parallel regions has raised the
/// cleared flag, or when this cannot be known.
bool eg_invalid_flag_is_up(uint32_t threads);

#endif
