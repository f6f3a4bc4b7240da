// Lists in which a pattern comes again and again, for printing it once.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_REPEATS_H
#define EG_PCG_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct eg_repeat {
  uint32_t period, count; // the pattern's length, and how often it stands there
} eg_repeat;

/// The repetition from item `first` on that covers most items, if it is long enough to be
/// worth a remark: 4 times, 16 items beside the first. Otherwise count is 1. `alike` says
/// whether two items are the same to the reader. Patterns have 512 items at most.
eg_repeat eg_repeat_at(uint32_t first, uint32_t len,
                       bool (*alike)(const void *user, uint32_t a, uint32_t b),
                       const void *user);

#endif
