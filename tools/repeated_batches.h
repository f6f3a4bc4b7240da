// Micro-batches in the middle of a simulated step that take the course of the one before
// them: files that draw a long step leave them out.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_REPEATED_BATCHES_H
#define EG_TOOLS_REPEATED_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "include/egraph.h"

typedef struct repeated_batches {
  uint32_t first, count; // micro-batches; those around them take the same course
  double from, until; // seconds: the start of the first, and of the one behind the last
} repeated_batches;

/// None in a step of at most 20,000 tasks. Otherwise the longest run of micro-batches of
/// the same tasks, of which each is as much later as the next, but two at either end.
/// False: there is not enough memory.
bool repeated_batches_find(const egraph_simulation *simulation, repeated_batches *out);
bool repeated_batches_have(const repeated_batches *out, uint32_t micro_batch);
bool repeated_batches_have_time(const repeated_batches *out, double seconds);

#endif
