// Parts of a loop of ours that the threads of a region share. A thread begins with its
// own share of them, one in a row as oneDNN's kernels divide their loops, so that much of
// what it reads is in its own cache since the region before; then it takes what is left
// of the others', whose threads may have no processor.
//
//   parts       0 1 2 3 | 4 5 6 7
//   thread 0    0 1 2 3         7
//   thread 1              4 5 6
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_PARTS_H
#define EG_EXEC_CPU_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { EG_MAX_SHARES = 32 };

typedef struct eg_parts {
  int64_t count;
  uint32_t shares;
  atomic_uint entered; // threads that know no number of theirs
  atomic_llong taken[EG_MAX_SHARES];
} eg_parts;

/// Units of a part of `whole`: at most `most`; where there are several parts, so many
/// that all threads take equally many.
int64_t eg_parts_size(int64_t whole, int64_t most, uint32_t threads);
/// Calls body(argument), which takes parts of `parts`, on at most `threads` threads.
void eg_parts_run(eg_parts *parts, int64_t count, void (*body)(void *), void *argument,
                  uint32_t threads);
/// Within the body: the share that the calling thread begins with.
uint32_t eg_parts_enter(eg_parts *parts);
/// Takes the next part; *share may become another thread's. False: none is left.
bool eg_parts_take(eg_parts *parts, uint32_t *share, int64_t *out);

#endif
