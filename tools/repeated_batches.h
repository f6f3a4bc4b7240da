// Finds micro-batches in the middle of a simulated step that repeat the micro-batch
// before them; files that draw a long step leave them out.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_REPEATED_BATCHES_H
#define EG_TOOLS_REPEATED_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "include/egraph.h"

typedef struct repeated_batches {
  uint32_t first, count; // micro-batches; the micro-batches around them do the same
  double from, until;    // seconds: the starts of the first one and of the one after
                         // the last
} repeated_batches;

/// Finds no micro-batches in a step of at most 20,000 tasks. In a longer step it finds
/// the longest run of consecutive micro-batches that do the same tasks at equal distances
/// in time, less two at each end. False: there is not enough memory.
bool repeated_batches_find(const egraph_simulation *simulation, repeated_batches *out);
bool repeated_batches_have(const repeated_batches *out, uint32_t micro_batch);
bool repeated_batches_have_time(const repeated_batches *out, double seconds);

#endif
